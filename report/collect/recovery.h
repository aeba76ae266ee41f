/* Stores the records of a session whose collector is dead or never existed. */
#ifndef GV_COLLECT_RECOVERY_H
#define GV_COLLECT_RECOVERY_H

#include "trace/session.h"

#include <stddef.h>

struct gv_recovery {
    /* The trace's path; empty: there was nothing. After an error: the intended path, if it was
     * tried. */
    char path[GV_SESSION_PATH_BYTES];
    size_t records;
    size_t spools_left; /* spools of processes that still run */
    size_t damaged;     /* spools that are cut or damaged, and not read; they stay */
};

/* 0; -EBUSY: a collector is at work; -ENOENT: nothing of the session exists;
 * -EXDEV: a collector of another container is at work; or another -errno.
 * `wanted` may be NULL: the session's own path. */
int gv_recovery_run(const char *directory, const char *session, const char *wanted,
                    struct gv_recovery *recovery);

#endif
