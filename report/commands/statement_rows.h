/* Writes the rows of a SQLite statement, with its columns' names. */
#ifndef GV_COMMANDS_STATEMENT_ROWS_H
#define GV_COMMANDS_STATEMENT_ROWS_H

#include "report/show/rows.h"

#include <sqlite3.h>

/* Adds one value of the statement's row. A blob is a text: x'00ff'. */
void gv_statement_rows_put(struct gv_rows *rows, sqlite3_stmt *statement, int column);

/* Writes this row and the following ones; `result` is what the last step returned. 0; -EINVAL: SQL
 * failed, see sqlite3_errmsg(); or -errno. */
int gv_statement_rows_write(sqlite3_stmt *statement, FILE *out, enum gv_format format,
                            const struct gv_column *columns, int count, int result);

#endif
