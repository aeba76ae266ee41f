/*
 * Put these around our own work in a program's call if it may call libc: errno stays as the call
 * left it, and the thread cannot be cancelled inside. A cancelled attach would leave half a
 * session, and a thread that is cancelled in the program's allocator keeps its lock. The type of
 * cancellation changes too: glibc acts on a signal that is already on its way whatever the state
 * is.
 *
 * Not needed where only memory is written. Nests: end with what begin returned. A handler of the
 * program may run meanwhile, and leave by a jump or an exception: gv_own_work_leave() then makes
 * the thread cancellable again.
 */
#ifndef GV_BASE_OWN_WORK_H
#define GV_BASE_OWN_WORK_H

#include <errno.h>
#include <pthread.h>

struct gv_own_work {
    unsigned depth;
    int cancel_state, cancel_type; /* before the outermost */
};

/* This thread's. (thread.c) */
extern _Thread_local struct gv_own_work gv_own_work __attribute__((tls_model("initial-exec")));

static inline int gv_own_work_begin(void)
{
    int saved_errno = errno;

    /* The depth first: a handler's own work must not replace the state. */
    if (gv_own_work.depth++ == 0) {
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &gv_own_work.cancel_type);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &gv_own_work.cancel_state);
    }
    return saved_errno;
}

static inline void gv_own_work_leave(void)
{
    int other;

    if (gv_own_work.depth == 0)
        return;
    gv_own_work.depth = 0;
    pthread_setcanceltype(gv_own_work.cancel_type, &other);
    pthread_setcancelstate(gv_own_work.cancel_state, &other);
}

static inline void gv_own_work_end(int saved_errno)
{
    if (gv_own_work.depth > 1)
        gv_own_work.depth--;
    else
        gv_own_work_leave();
    errno = saved_errno;
}

#endif
