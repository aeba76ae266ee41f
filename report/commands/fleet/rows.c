/* gpuverify rows FILE TABLE=DESCRIPTOR...: what a fleet keeps of a trace, for the Python package.
 */
#include "report/commands/commands.h"
#include "report/commands/sql_values.h"
#include "report/commands/statement_rows.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GV_ROWS_COLUMNS 32

static const struct rows_table {
    const char *name;
    const char *sql;
} rows_tables[] = {
#define GV_SQL(name, help, text) {#name, text},
#include "report/commands_fleet_rows.inc"
};

static const char *rows_sql(const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof(rows_tables) / sizeof(rows_tables[0]); i++)
        if (strlen(rows_tables[i].name) == bytes && memcmp(rows_tables[i].name, name, bytes) == 0)
            return rows_tables[i].sql;
    return NULL;
}

/* Writes a table as CSV. 0 or -errno. */
static int rows_write(sqlite3 *trace, const char *sql, FILE *out)
{
    struct gv_column columns[GV_ROWS_COLUMNS];
    sqlite3_stmt *statement = NULL;
    int error = gv_database_error(trace, sqlite3_prepare_v2(trace, sql, -1, &statement, NULL));
    int count = error ? 0 : sqlite3_column_count(statement);

    for (int i = 0; i < count && i < GV_ROWS_COLUMNS; i++)
        columns[i] = (struct gv_column){sqlite3_column_name(statement, i), GV_COLUMN_TEXT};
    if (!error)
        error = count > GV_ROWS_COLUMNS
                    ? -E2BIG
                    : gv_statement_rows_write(statement, out, GV_FORMAT_CSV, columns, count,
                                              sqlite3_step(statement), NULL);
    if (error == -EINVAL)
        error = gv_database_error(trace, sqlite3_errcode(trace));
    sqlite3_finalize(statement);
    return error;
}

static int rows_read(sqlite3 *trace, void *context)
{
    char **words = context;
    int error = gv_sql_values_register(trace, false);

    for (size_t i = 0; words[i] && !error; i++) {
        const char *equals = strchr(words[i], '=');
        const char *sql = equals ? rows_sql(words[i], (size_t)(equals - words[i])) : NULL;
        FILE *out = sql ? fdopen(atoi(equals + 1), "w") : NULL;

        if (!out) {
            gv_message("rows: '%s' is not a table and a descriptor", words[i]);
            return GV_EXIT_USAGE;
        }
        error = rows_write(trace, sql, out);
        /* Its reader may have left because it could not write. */
        if (fclose(out) < 0 && !error)
            error = -errno;
    }
    return error;
}

int gv_command_rows(const struct gv_arguments *arguments)
{
    return gv_trace_view_read(arguments->operands[0], rows_read, arguments->operands + 1);
}
