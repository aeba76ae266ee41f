/* The data of a page's timeline. page/timeline.js reads it. */
#ifndef GV_COMMANDS_EXPORT_TIMELINE_H
#define GV_COMMANDS_EXPORT_TIMELINE_H

#include <sqlite3.h>
#include <stdio.h>

/* Writes it as JSON, null if nothing was recorded, of 18 MB at most, with 300 MB of memory at most.
 * 0 or -errno. */
int gv_timeline_write(sqlite3 *trace, FILE *out);

#endif
