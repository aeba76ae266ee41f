/*
 * Chooses the file for a trace: never through a symbolic link, never over anything but an old
 * trace.
 */
#ifndef GV_STORE_TRACE_FILE_H
#define GV_STORE_TRACE_FILE_H

#include "trace/session.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* What a file says about itself. Texts are cut to fit. */
struct gv_trace_probe {
    char session[GV_SESSION_ID_BYTES];
    char spool_directory[GV_SESSION_PATH_BYTES];
    bool complete; /* nothing is added to it; also a snapshot */
};

/* 0: a trace of ours; -ENODATA: an empty file, or what a killed collector had not committed;
 * -EUCLEAN: a cut or damaged trace; -EMEDIUMTYPE: its journal is not a regular file, so it is not
 * opened; -EPROTO: something else; -EBUSY; or another -errno. Does not follow a link (-ELOOP). */
int gv_trace_file_probe(const char *path, struct gv_trace_probe *probe);

/* A collector may be killed while this read-only connection is open. From now on, what it had not
 * committed is rolled back before a statement begins. 0 or -errno. */
int gv_trace_file_roll_back(sqlite3 *trace);

/*
 * Makes the file for a session's trace at `wanted`, mode 0600, or finds it if the session already
 * has one there. Replaces an old trace or an empty file. Leaves any other file alone, and uses
 * NAME-2, NAME-3, ... instead. `path` becomes absolute, without links. 0; -ENOTSUP: a device or a
 * pipe; or another -errno.
 */
int gv_trace_file_claim(const char *wanted, const char *session, char *path, size_t size);

/*
 * Removes a finished trace, as a new one would. Otherwise it would be mistaken for the trace of a
 * run that leaves none. Leaves everything else. 0, also if there is nothing to remove; -EEXIST: a
 * trace that must stay; or another -errno.
 */
int gv_trace_file_drop(const char *path);

/* Whether another process has the trace open for writing, in whichever container: a collector keeps
 * it locked for life. Not for a trace that this process has open. */
bool gv_trace_file_is_being_written(const char *path);

/* The name of a file that SQLite may keep beside a trace: `number` from 0 on. False: there are no
 * more. */
#define GV_TRACE_FILE_BESIDE_BYTES (PATH_MAX + 16)
bool gv_trace_file_beside(const char *path, size_t number, char name[GV_TRACE_FILE_BESIDE_BYTES]);

/* Whether `directory` has anything of this session: its file, or a spool. */
bool gv_trace_file_session_remains(const char *directory, const char *session);

#endif
