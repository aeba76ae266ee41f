/* Waits for other threads to leave code that takes microseconds. */
#ifndef GV_BASE_AWAIT_H
#define GV_BASE_AWAIT_H

#include "trace/futex.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define GV_AWAIT_YIELDS   100
#define GV_AWAIT_PAUSES   2000 /* takes milliseconds if the machine is busy */
#define GV_AWAIT_PAUSE_NS 100000

/* Waits until `*count` is at most `most`, for some tenths of a second. False: it is not. */
static inline bool gv_await(const _Atomic int *count, int most)
{
    for (int i = 0; atomic_load(count) > most; i++) {
        if (i >= GV_AWAIT_YIELDS + GV_AWAIT_PAUSES)
            return false;
        if (i < GV_AWAIT_YIELDS)
            sched_yield();
        else
            gv_pause_ns(GV_AWAIT_PAUSE_NS);
    }
    return true;
}

#endif
