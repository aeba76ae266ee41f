/*
 * Put these around our own work in a program's call if it may call libc: errno stays as the call
 * left it, and the thread cannot be cancelled inside. A cancelled attach would leave half a
 * session.
 *
 * Not needed where only memory is written. Nests.
 */
#ifndef GV_BASE_OWN_WORK_H
#define GV_BASE_OWN_WORK_H

#include <errno.h>
#include <pthread.h>

struct gv_own_work {
    int saved_errno;
    int cancel_state;
};

static inline void gv_own_work_begin(struct gv_own_work *work)
{
    work->saved_errno = errno;
    if (pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &work->cancel_state))
        work->cancel_state = PTHREAD_CANCEL_DISABLE; /* cannot fail with these arguments */
}

static inline void gv_own_work_end(const struct gv_own_work *work)
{
    int disabled;

    if (work->cancel_state != PTHREAD_CANCEL_DISABLE)
        pthread_setcancelstate(work->cancel_state, &disabled);
    errno = work->saved_errno;
}

#endif
