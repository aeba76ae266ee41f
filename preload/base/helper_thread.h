/*
 * Work on a short-lived thread of our own, because it takes the dynamic loader's lock: a library's
 * constructor holds that, and may be waiting for the very thread whose call we are in. So whoever
 * wants the result waits for a while, and then goes without.
 *
 * Once in a process for each struct gv_aside. The thread handles no signal of the program's, and
 * while it works, a fork of the process waits for it, but not for long.
 */
#ifndef GV_BASE_HELPER_THREAD_H
#define GV_BASE_HELPER_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gv_aside {
    void (*work)(void);
    _Atomic uint32_t done; /* futex */
};

/* 0, or -errno: the work is not done. */
int gv_aside_start(struct gv_aside *aside);

static inline bool gv_aside_is_done(struct gv_aside *aside)
{
    return atomic_load_explicit(&aside->done, memory_order_acquire) != 0;
}

/* Waits for the work's end, no longer than `patience_ms`: true if it has ended. */
bool gv_aside_await(struct gv_aside *aside, int64_t patience_ms);

#endif
