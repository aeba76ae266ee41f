/*
 * Says on a terminal that SQL takes its time: a line on stderr that counts seconds from the second
 * one on, and is gone when the work is done. Nothing where stderr is no terminal.
 */
#ifndef GV_COMMANDS_PROGRESS_H
#define GV_COMMANDS_PROGRESS_H

#include <sqlite3.h>

/* Watches a connection. `what` is put before the seconds, and has to stay there. One at a time. */
void gv_progress_begin(sqlite3 *database, const char *what);
/* Before anything is printed. It may come more than once. */
void gv_progress_end(sqlite3 *database);

#endif
