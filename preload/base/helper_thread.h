/*
 * Runs work that takes the dynamic loader's lock on a short-lived thread of ours. A library's
 * constructor holds that lock, and may be waiting for the very thread whose call we are in. So the
 * caller waits for the result for a while, and then continues without it.
 *
 * Use each struct gv_helper_thread once in a process. The thread blocks the program's signals.
 * While it works, a fork waits for it, but not for long.
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

/* 0, or -errno: the work was not started. */
int gv_helper_thread_start(struct gv_helper_thread *helper);

static inline bool gv_helper_thread_is_done(struct gv_helper_thread *helper)
{
    return atomic_load_explicit(&helper->done, memory_order_acquire) != 0;
}

/* Waits for the work's end, for at most `patience_ms`. True: it has ended. */
bool gv_helper_thread_await(struct gv_helper_thread *helper, int64_t patience_ms);

#endif
