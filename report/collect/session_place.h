/*
 * Where sessions keep their files, and the session file itself, as the collector and the commands
 * see them.
 */
#ifndef GV_COLLECT_SESSION_PLACE_H
#define GV_COLLECT_SESSION_PLACE_H

#include "trace/session.h"

#include <stdbool.h>
#include <stddef.h>

/* This user's spool directory: GPUVERIFY_SPOOL_DIR, or /dev/shm/gpuverify-<uid>. */
void gv_session_place_default(char *out, size_t size);

/* The session's id at the start of a file name in a spool directory; false: none is there. */
bool gv_session_place_id(const char *name, char id[GV_SESSION_ID_BYTES]);

/* Maps the session file open on `fd`. 0; -EPROTO: it is none, or not finished; -errno. */
int gv_session_place_map(int fd, struct gv_session_file **file);
void gv_session_place_unmap(struct gv_session_file *file);

/* Opens a session's file. The descriptor, or -errno. */
int gv_session_place_open(const char *directory, const char *session);

#endif
