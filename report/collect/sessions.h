/*
 * The sessions' folders and files, and which session something belongs to, for the collector and
 * the commands.
 */
#ifndef GV_COLLECT_SESSIONS_H
#define GV_COLLECT_SESSIONS_H

#include "trace/session.h"

#include <stdbool.h>
#include <stddef.h>

#define GV_SESSION_PLACES 2

/* The possible folders of a session's files: 0, the shared one (GPUVERIFY_SPOOL_DIR relative to
 * `start`, or /dev/shm/gpuverify-<uid>); 1, the one beside `trace`, an absolute path or NULL. 0
 * or -errno. */
int gv_session_place_folder(int which, const char *start, const char *trace, char *out,
                            size_t size);

/* The shared one, relative to the working folder. */
void gv_session_place_default(char *out, size_t size);

/* The session's id at the start of a file name in a spool directory. False: none. */
bool gv_session_place_id(const char *name, char id[GV_SESSION_ID_BYTES]);

/* Whether the session's first process still runs. */
bool gv_session_place_root_lives(const char *session);

/* Maps the session file open on `fd`. 0; -EPROTO: not a session file, or unfinished; -errno. */
int gv_session_place_map(int fd, struct gv_session_file **file);
void gv_session_place_unmap(struct gv_session_file *file);

/* Opens a session's file. Returns the descriptor, or -errno. */
int gv_session_place_open(const char *directory, const char *session);

/* Opens and maps it. 0; -EPROTO or -errno, and *file is NULL. */
int gv_session_place_find(const char *directory, const char *session,
                          struct gv_session_file **file);

/* Removes all of a session's files. 0 or -errno. */
int gv_session_place_discard(const char *directory, const char *session);

/* Whether to follow a trace, which may be a stranger's, to the folder of its session: the session's
 * file is there, and belongs to this user. Opens nothing. 0; -ENOENT; -EPERM: another user's. */
int gv_session_place_confirm(const char *directory, const char *session);

/* For a trace that does not exist because its collector died before making it, or never started:
 * finds the session whose trace was to be `path`, and the folder of its records. 0; -ENOENT:
 * none; or another -errno. */
int gv_unwritten_trace_find(const char *path, char *directory, size_t size,
                            char session[GV_SESSION_ID_BYTES]);

#endif
