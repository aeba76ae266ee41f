/*
 * Work on a short-lived thread of our own, because it takes the dynamic loader's lock: a library's
 * constructor holds that, and may be waiting for the very thread whose call we are in. So whoever
 * wants the result waits for a while, and then goes without.
 *
 * Once in a process for each struct gv_helper_thread. The thread handles no signal of the
 * program's, and while it works, a fork of the process waits for it, but not for long.
 */
#ifndef GV_BASE_HELPER_THREAD_H
#define GV_BASE_HELPER_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gv_helper_thread {
    void (*work)(void);
    _Atomic uint32_t done; /* futex */
};

/* 0, or -errno: the work is not done. */
int gv_helper_thread_start(struct gv_helper_thread *helper);

static inline bool gv_helper_thread_is_done(struct gv_helper_thread *helper)
{
    return atomic_load_explicit(&helper->done, memory_order_acquire) != 0;
}

/* Waits for the work's end, no longer than `patience_ms`: true if it has ended. */
bool gv_helper_thread_await(struct gv_helper_thread *helper, int64_t patience_ms);

#endif
