/* What a page tells of single stalls, idle times and unfinished calls. */
#ifndef GV_COMMANDS_EXPORT_STORIES_H
#define GV_COMMANDS_EXPORT_STORIES_H

#include "report/show/json.h"

#include <sqlite3.h>

/* Writes an array of objects: an explanation as `gpuverify explain --format json` has it, with its
 * "kind" (stall, idle), all "frames" of its stack, and the calls of its thread "before" and "after"
 * it. The longest of each kind. 0 or -errno. */
int gv_stories_write(sqlite3 *trace, const char *path, struct gv_json *json);

#endif
