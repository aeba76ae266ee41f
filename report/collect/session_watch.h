/*
 * What `gpuverify run` sees of its program's session from outside: whether there is one, and where
 * its trace is. The session file is held mapped, because its collector removes it at the end.
 */
#ifndef GV_COLLECT_SESSION_WATCH_H
#define GV_COLLECT_SESSION_WATCH_H

#include "trace/session.h"

#include <stdbool.h>
#include <stddef.h>

struct gv_session_watch {
    char session[GV_SESSION_ID_BYTES];
    char directory[GV_SESSION_PATH_BYTES];      /* where it was found */
    struct gv_session_file *file;               /* NULL: not seen yet */
    uint32_t root;                              /* the program, as long as it runs */
    char root_directory[GV_SESSION_PATH_BYTES]; /* it starts in ours; empty: unknown */
    char root_program[128];                     /* as long as the library lets it be in a path */
};

void gv_session_watch_start(struct gv_session_watch *watch, const char *session);
/* Looks for the session's file. True when it is known. */
bool gv_session_watch_look(struct gv_session_watch *watch);
/* By which signal the program ended, for its collector, before it is waited for. */
void gv_session_watch_tell_signal(struct gv_session_watch *watch, int number);
/* Where the trace is, once its collector has made it. 0; -ENOENT: there was no session; or -errno
 * of what kept the collector from writing it. */
int gv_session_watch_trace(struct gv_session_watch *watch, char *path, size_t size);
void gv_session_watch_end(struct gv_session_watch *watch);

#endif
