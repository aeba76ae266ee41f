/* Opens a trace from anybody, so that nothing in it is run and nothing is written, and says what is
 * wrong with one. */
#ifndef GV_COMMANDS_TRACE_OPEN_H
#define GV_COMMANDS_TRACE_OPEN_H

#include <sqlite3.h>
#include <stdbool.h>

/* Waits for a collector that is about to finish, stores what a dead one left behind, and opens the
 * trace. It is not analysed. 0; or after a message -EPROTO: not a trace; -errno. */
int gv_trace_open_settled(const char *path, sqlite3 **trace);

/* Opens the file at a path without links so that only our own SQL runs, and does nothing else. 0;
 * or -EBADMSG, -ENOTSUP after a message; or -errno. */
int gv_trace_open_bare(const char *path, sqlite3 **trace);

/* Whether a process of the trace still runs on this machine. 0 or -errno. */
int gv_trace_open_lives(sqlite3 *trace, bool *lives);

/* The same by path, and for the session's first process too, which may start more. */
bool gv_trace_open_any_lives(const char *path, const char *session);

/* Says why a file cannot be read as a trace, by what gv_trace_file_probe() returned. */
void gv_trace_open_say(const char *path, int error);

/* What went wrong with an open trace, in words, right after it did: SQLite's if it has any, or
 * those of a -errno. */
const char *gv_trace_open_why(sqlite3 *trace, int error);

#endif
