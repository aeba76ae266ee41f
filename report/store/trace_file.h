/*
 * Which file a trace goes to: never through a symbolic link, never over anything but an old trace.
 */
#ifndef GV_STORE_TRACE_FILE_H
#define GV_STORE_TRACE_FILE_H

#include "trace/session.h"

#include <stdbool.h>
#include <stddef.h>

/* What a file says about itself. Texts are cut to fit. */
struct gv_trace_probe {
    char session[GV_SESSION_ID_BYTES];
    char spool_directory[GV_SESSION_PATH_BYTES];
    bool complete;
};

/* 0: a trace of ours; -ENODATA: an empty file; -EUCLEAN: a trace that is cut or damaged;
 * -EMEDIUMTYPE: its journal is no regular file, and it is not opened; -EPROTO: something else;
 * -EBUSY; or another -errno. A link is not followed (-ELOOP). */
int gv_trace_file_probe(const char *path, struct gv_trace_probe *probe);

/*
 * Makes the file for a session's trace at `wanted`, mode 0600, or finds it if the session has one
 * there. An old trace, and an empty file, give way; anything else is left alone, and "-2", "-3",
 * ... is put before the extension. `path` becomes absolute, free of links. 0; -ENOTSUP: a device
 * or a pipe is there; or another -errno.
 */
int gv_trace_file_claim(const char *wanted, const char *session, char *path, size_t size);

/*
 * Removes a trace that nobody adds to any more, as a new one there would: until then it would be
 * taken for that of a run that leaves none. Everything else stays. 0, also when there is nothing to
 * remove; -EEXIST: a trace that is left alone; or another -errno.
 */
int gv_trace_file_drop(const char *path);

/* Whether `directory` holds anything of this session: its file, or a spool. */
bool gv_trace_file_session_remains(const char *directory, const char *session);

#endif
