/* Opens a trace from anybody for reading: nothing in it is run, and nothing is written. */
#ifndef GV_COMMANDS_TRACE_VIEW_H
#define GV_COMMANDS_TRACE_VIEW_H

#include "report/commands/trace_open.h"

#include <sqlite3.h>

/* Waits for a collector that is about to finish, stores what a dead one left behind, and opens
 * the trace; or merges the traces that a word stands for (report/commands/merge/merge.h). 0; or
 * after a message -EPROTO: not a trace; -errno. */
int gv_trace_view_open(const char *path, sqlite3 **trace);

/* Opens the trace, has it read, and closes it. `read` returns the exit code, or -errno for a
 * message. Returns the exit code. */
int gv_trace_view_read(const char *path, int (*read)(sqlite3 *trace, void *context), void *context);

/* The same for a reader that itself tells of the time of which only sums by minute are kept. To
 * users of the others it is said on stderr. */
int gv_trace_view_read_older(const char *path, int (*read)(sqlite3 *trace, void *context),
                             void *context);

/* Says it, if the trace has such a time. */
void gv_trace_view_say_older(sqlite3 *trace, const char *path);

#endif
