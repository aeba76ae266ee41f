/* Names of ranges that a trace does not have. */
#ifndef GV_COMMANDS_RANGE_MISSING_H
#define GV_COMMANDS_RANGE_MISSING_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define GV_RANGE_MISSING_BYTES 1024

/* Says that no range of the trace, and with `marks` no mark, has this name, and which names it has:
 * the nearest one, or the most frequent ones. The names are unescaped. 0 or -errno. */
int gv_range_missing_say(sqlite3 *trace, const char *name, bool marks, char *out, size_t size);

#endif
