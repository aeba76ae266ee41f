/*
 * Runs SQL on an open trace: the user's, or a named query of report/commands/query/queries.sql.
 * Only reading is allowed: no writing, no other files, no settings of SQLite.
 */
#ifndef GV_COMMANDS_QUERY_QUERY_H
#define GV_COMMANDS_QUERY_QUERY_H

#include "report/show/rows.h"

#include <sqlite3.h>
#include <stddef.h>

struct gv_query {
    const char *name;
    const char *help;
    const char *sql;
};

extern const struct gv_query gv_queries[];
extern const size_t gv_queries_count;

/* NULL: no query has that name. */
const struct gv_query *gv_query_find(const char *name);
/* The one that was probably meant; NULL: none is near. */
const struct gv_query *gv_query_nearest(const char *name);

/* Restricts this connection to reading. *of_gpu, which must stay valid, becomes true when a
 * compiled statement reads what only CUPTI reports. 0 or -errno. */
int gv_query_restrict(sqlite3 *trace, bool *of_gpu);

/* Compiles one statement. 0; -EINVAL: *why has the reason; free it with sqlite3_free(). */
int gv_query_prepare(sqlite3 *trace, const char *sql, sqlite3_stmt **statement, char **why);

/* Writes all rows; *any: there were some. 0; -EINVAL: SQL failed, see sqlite3_errmsg(); or
 * -errno. */
int gv_query_print(sqlite3_stmt *statement, FILE *out, enum gv_format format, bool *any);

/* Writes the first value of the first row unchanged; nothing for NULL. 0; -ENODATA: no row;
 * -EINVAL: SQL failed. */
int gv_query_print_value(sqlite3_stmt *statement, FILE *out);

/* Says on stderr that a query gave no row, and why: an empty table does not say whether nothing
 * happened or nothing was seen. `of_gpu`: the query asked for what the GPU did. */
void gv_query_say_empty(sqlite3 *trace, bool of_gpu);

#endif
