/*
 * SQL on an open trace, somebody's or a named query of report/commands/query/queries.sql. Nothing
 * but reading is let through: no writing, no other files, no settings of SQLite's.
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

/* NULL: there is none of that name. */
const struct gv_query *gv_query_find(const char *name);
/* The one that was probably meant; NULL: none is near. */
const struct gv_query *gv_query_nearest(const char *name);

/* Allows this connection only to read, from now on. *of_gpu, which has to stay, becomes true when a
 * statement is compiled that reads what only CUPTI tells. 0 or -errno. */
int gv_query_restrict(sqlite3 *trace, bool *of_gpu);

/* Compiles one statement. 0; -EINVAL: see *why, which is the caller's to free with sqlite3_free().
 */
int gv_query_prepare(sqlite3 *trace, const char *sql, sqlite3_stmt **statement, char **why);

/* Writes all rows; *any: there were some. 0; -EINVAL: the SQL failed, see sqlite3_errmsg(); or
 * -errno. */
int gv_query_print(sqlite3_stmt *statement, FILE *out, enum gv_format format, bool *any);

/* Writes the first value of the first row, as it is; nothing for NULL. 0; -ENODATA: there is no
 * row; -EINVAL: the SQL failed. */
int gv_query_print_value(sqlite3_stmt *statement, FILE *out);

/* Says on stderr that a query gave no row, and why: an empty table does not say whether nothing
 * happened or nothing was seen. `of_gpu`: the query asked for what the GPU did. */
void gv_query_say_empty(sqlite3 *trace, bool of_gpu);

#endif
