/* gpuverify rows FILE TABLE=DESCRIPTOR...: what a fleet keeps of a trace, for the Python package.
 */
#include "report/commands/commands.h"
#include "report/commands/sql_values.h"
#include "report/commands/statement_rows.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
        error = gv_statement_rows_ask(trace, sql, NULL, 0, out, GV_FORMAT_CSV, NULL);
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
