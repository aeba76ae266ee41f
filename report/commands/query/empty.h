/* Why a query gave no row, where people read: an empty table does not say whether nothing happened
 * or nothing was seen. */
#ifndef GV_COMMANDS_QUERY_EMPTY_H
#define GV_COMMANDS_QUERY_EMPTY_H

#include <sqlite3.h>
#include <stdbool.h>

/* Whether a table of the trace holds what only CUPTI tells. */
bool gv_query_is_of_gpu(const char *table);

/* Says it on stderr. `of_gpu`: the query asked for what the GPU did. */
void gv_query_say_empty(sqlite3 *trace, bool of_gpu);

#endif
