/* Explains an empty result to people: an empty table does not say whether nothing happened or
 * nothing was recorded. */
#ifndef GV_COMMANDS_QUERY_EMPTY_H
#define GV_COMMANDS_QUERY_EMPTY_H

#include <sqlite3.h>
#include <stdbool.h>

/* Whether a table of the trace has what only CUPTI reports. */
bool gv_query_is_of_gpu(const char *table);

/* Prints it on stderr. `of_gpu`: the query asked for GPU activity. */
void gv_query_say_empty(sqlite3 *trace, bool of_gpu);

#endif
