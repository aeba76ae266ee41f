/*
 * Watches a program's session for `gpuverify run`: whether it exists, and where its trace is. Keeps
 * the session file mapped, because the collector removes it at the end.
 */
#ifndef GV_COLLECT_SESSION_WATCH_H
#define GV_COLLECT_SESSION_WATCH_H

#include "trace/session.h"

#include <stdbool.h>
#include <stddef.h>

struct gv_session_watch {
    char session[GV_SESSION_ID_BYTES];
    char directory[GV_SESSION_PATH_BYTES];      /* its path */
    struct gv_session_file *file;               /* NULL: not found yet */
    uint32_t root;                              /* the program, while it runs */
    char root_directory[GV_SESSION_PATH_BYTES]; /* same as ours; empty: unknown */
    char root_program[128];                     /* the longest that the library allows in a path */
};

void gv_session_watch_start(struct gv_session_watch *watch, const char *session);
/* Looks for the session's file. True if it is known. */
bool gv_session_watch_look(struct gv_session_watch *watch);
/* Tells the collector the signal that ended the program. Call it before waiting for the program. */
void gv_session_watch_tell_signal(struct gv_session_watch *watch, int number);
/* The trace's path, once the collector has made it. 0; -ENODATA: there was no session; or -errno:
 * the collector could not write it. */
int gv_session_watch_trace(struct gv_session_watch *watch, char *path, size_t size);
void gv_session_watch_end(struct gv_session_watch *watch);

#endif
