/* Opens a trace from anybody for reading: nothing in it is run, and nothing is written. */
#ifndef GV_COMMANDS_TRACE_VIEW_H
#define GV_COMMANDS_TRACE_VIEW_H

#include <sqlite3.h>
#include <stdbool.h>

/* Waits for a collector that is about to finish, stores what a dead one left behind, and opens
 * the trace. 0; or after a message -EPROTO: not a trace; -errno. */
int gv_trace_view_open(const char *path, sqlite3 **trace);

/* Opens the file at a path without links so that only our own SQL runs, and does nothing else. 0;
 * or -EBADMSG, -ENOTSUP after a message; or -errno. */
int gv_trace_view_open_bare(const char *path, sqlite3 **trace);

/* The same without looking for stalls, idle time and sums that the trace lacks. */
int gv_trace_view_open_unanalysed(const char *path, sqlite3 **trace);

/* Opens the trace, has it read, and closes it. `read` returns the exit code, or -errno for a
 * message. Returns the exit code. */
int gv_trace_view_read(const char *path, int (*read)(sqlite3 *trace, void *context), void *context);

/* The same for a reader that itself tells of the time of which only sums by minute are kept. To
 * users of the others it is said on stderr. */
int gv_trace_view_read_older(const char *path, int (*read)(sqlite3 *trace, void *context),
                             void *context);

/* Says it, if the trace has such a time. */
void gv_trace_view_say_older(sqlite3 *trace, const char *path);

/* Whether a process of the trace still runs on this machine. 0 or -errno. */
int gv_trace_view_lives(sqlite3 *trace, bool *lives);

/* Says why a file cannot be read as a trace, by what gv_trace_file_probe() returned. */
void gv_trace_view_say(const char *path, int error);

/* What went wrong with an open trace, in words, right after it did: SQLite's if it has any, or
 * those of a -errno. */
const char *gv_trace_view_why(sqlite3 *trace, int error);

#endif
