/*
 * Where sessions keep their files, the session file itself, and which session something belongs to,
 * as the collector and the commands see them.
 */
#ifndef GV_COLLECT_SESSIONS_H
#define GV_COLLECT_SESSIONS_H

#include "trace/session.h"

#include <stdbool.h>
#include <stddef.h>

#define GV_SESSION_PLACES 2

/* The folders in which a session may have its files: 0, the shared one (GPUVERIFY_SPOOL_DIR as seen
 * from `start`, or /dev/shm/gpuverify-<uid>); 1, the one beside `trace`, an absolute path or NULL.
 * 0 or -errno. */
int gv_session_place_folder(int which, const char *start, const char *trace, char *out,
                            size_t size);

/* The shared one, as seen from here. */
void gv_session_place_default(char *out, size_t size);

/* The session's id at the start of a file name in a spool directory; false: none is there. */
bool gv_session_place_id(const char *name, char id[GV_SESSION_ID_BYTES]);

/* Maps the session file open on `fd`. 0; -EPROTO: it is none, or not finished; -errno. */
int gv_session_place_map(int fd, struct gv_session_file **file);
void gv_session_place_unmap(struct gv_session_file *file);

/* Opens a session's file. The descriptor, or -errno. */
int gv_session_place_open(const char *directory, const char *session);

/* A trace that is not there because its collector died before it could make it, or never started:
 * the session whose trace `path` was to be, and the folder that its records are in. 0; -ENOENT:
 * there is none; or another -errno. */
int gv_unwritten_trace_find(const char *path, char *directory, size_t size,
                            char session[GV_SESSION_ID_BYTES]);

#endif
