/* Writes the rows of a SQLite statement, with its columns' names. */
#ifndef GV_COMMANDS_STATEMENT_ROWS_H
#define GV_COMMANDS_STATEMENT_ROWS_H

#include "report/show/rows.h"

#include <sqlite3.h>

/* Writes this row and the following ones, blobs as texts: x'00ff'. `result` is what the last step
 * returned. `json`: the document that the rows are in; NULL: none. 0; -EINVAL: SQL failed, see
 * sqlite3_errmsg(); or -errno. */
int gv_statement_rows_write(sqlite3_stmt *statement, FILE *out, enum gv_format format,
                            const struct gv_column *columns, int count, int result,
                            struct gv_json *json);

/* All rows of a statement that was not stepped, as CSV, or added to an open array of `json`. The
 * same; or -E2BIG: it has more columns. */
#define GV_STATEMENT_COLUMNS 64
int gv_statement_rows_all(sqlite3_stmt *statement, FILE *out, enum gv_format format,
                          struct gv_json *json);
/* The same of a query with its first `count` parameters. */
int gv_statement_rows_ask(sqlite3 *trace, const char *sql, const int64_t *values, int count,
                          FILE *out, enum gv_format format, struct gv_json *json);
/* A row's first `count` columns as members of an open object. */
void gv_statement_rows_fields(sqlite3_stmt *row, int count, struct gv_json *json);
/* For gv_database_each(): a row as the members of the open object, or as an array of its own. */
int gv_statement_rows_object(void *json, sqlite3_stmt *row);
int gv_statement_rows_array(void *json, sqlite3_stmt *row);

#endif
