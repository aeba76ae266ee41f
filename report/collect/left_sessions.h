/*
 * Sessions whose programs and collector are gone, and whose files are still there: for example
 * after the collector was killed. `gpuverify recover` stores or removes them.
 */
#ifndef GV_COLLECT_LEFT_SESSIONS_H
#define GV_COLLECT_LEFT_SESSIONS_H

#include "trace/session.h"

#include <stddef.h>
#include <stdint.h>

struct gv_left_sessions {
    size_t count;
    int64_t bytes;
};

/* Counts those in a folder. 0 or -errno. */
int gv_left_sessions_find(const char *directory, struct gv_left_sessions *left);

/* Removes the files of a session, and counts it. 0; -EBUSY: it is not over; or -errno. */
int gv_left_session_discard(const char *directory, const char *session,
                            struct gv_left_sessions *left);

#endif
