/* Bringing the records of a session into its trace when its collector is dead, or never was. */
#ifndef GV_COLLECT_RECOVERY_H
#define GV_COLLECT_RECOVERY_H

#include "trace/session.h"

#include <stdbool.h>
#include <stddef.h>

struct gv_recovery {
    /* Of the trace; empty: there was nothing. After an error: where it should have gone, if that
     * was tried. */
    char path[GV_SESSION_PATH_BYTES];
    size_t records;
    size_t spools_left; /* of processes that still run */
    size_t damaged;     /* spools that are cut or damaged, and not read: they stay where they are */
};

/* 0; -EBUSY: a collector is at work; -ENOENT: nothing of the session is there; or another -errno.
 * `wanted` may be NULL: where the session wants its trace. */
int gv_recovery_run(const char *directory, const char *session, const char *wanted,
                    struct gv_recovery *recovery);

#endif
