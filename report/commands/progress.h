/*
 * Shows on a terminal that SQL takes long: a line on stderr that counts seconds from the second one
 * on, and disappears at the end. Prints nothing if stderr is not a terminal.
 */
#ifndef GV_COMMANDS_PROGRESS_H
#define GV_COMMANDS_PROGRESS_H

#include <sqlite3.h>

/* Watches a connection. `what` comes before the seconds, and must stay valid. One at a time. */
void gv_progress_begin(sqlite3 *database, const char *what);
/* Call it before printing. More than one call is fine. */
void gv_progress_end(sqlite3 *database);

#endif
