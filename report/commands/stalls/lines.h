/* The lines of the program at which most time was lost, for the end of a summary. */
#ifndef GV_COMMANDS_STALLS_LINES_H
#define GV_COMMANDS_STALLS_LINES_H

#include <sqlite3.h>
#include <stdio.h>

/* At most `most` lines, each with all of its calls that were held up for one cause, under a
 * heading, and how to see more of the trace at `path`; nothing where there are no stalls, or none
 * that were not asked for. 0 or -errno. */
int gv_stall_lines_print(sqlite3 *trace, const char *path, FILE *out, int most, int columns);

#endif
