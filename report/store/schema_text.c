#include "report/store/schema_text.h"

#include "report/store/schema.h"
#include "report/store_schema_text.inc"

#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

#define GV_SCHEMA_HELP_BYTES 512
#define GV_SCHEMA_MARK       " -- "

/* The comment of the line that ends with this column's name, or that begins the view. */
static void schema_comment(const char *sql, const char *name, char help[GV_SCHEMA_HELP_BYTES])
{
    size_t wanted = strlen(name);

    help[0] = '\0';
    while (*sql) {
        size_t line = strcspn(sql, "\n");
        const char *mark = strstr(sql, GV_SCHEMA_MARK), *end = mark;
        if (mark && mark < sql + line) {
            end -= end > sql && end[-1] == ',';
            end -= end > sql && end[-1] == '"'; /* of a name that is SQL's, too */
            const char *word = end - wanted;
            if (word >= sql && strncmp(word, name, wanted) == 0 &&
                (word == sql || word[-1] == '"' || isspace((unsigned char)word[-1]))) {
                mark += strlen(GV_SCHEMA_MARK);
                line -= (size_t)(mark - sql);
                line = line < GV_SCHEMA_HELP_BYTES ? line : GV_SCHEMA_HELP_BYTES - 1;
                memcpy(help, mark, line);
                help[line] = '\0';
                return;
            }
        }
        sql += line + (sql[line] == '\n');
    }
}

static const char *schema_cell(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    return text ? text : "";
}

static int schema_columns(sqlite3_stmt *statement, gv_schema_take *take, void *context,
                          size_t *count)
{
    int result;

    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        char row[GV_SCHEMA_HELP_BYTES] = "", help[GV_SCHEMA_HELP_BYTES] = "";
        struct gv_schema_column column = {
            .view = strcmp(schema_cell(statement, 0), "view") == 0,
            .object = schema_cell(statement, 1),
            .row = row,
            .name = schema_cell(statement, 3),
            .type = schema_cell(statement, 4),
            .help = help,
        };
        if (column.view) {
            schema_comment(schema_cell(statement, 2), "AS", row);
            schema_comment(schema_cell(statement, 2), column.name, help);
        }
        take(&column, context);
        ++*count;
    }
    return result == SQLITE_DONE ? 0 : -EIO;
}

int gv_schema_describe(const char *only, bool tables, gv_schema_take *take, void *context)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *database = NULL;
    size_t count = 0;
    int error = -EIO;

    if (sqlite3_open(":memory:", &database) == SQLITE_OK &&
        sqlite3_exec(database, gv_schema_sql, NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(database, sql_columns, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, only, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int(statement, 2, tables) == SQLITE_OK)
        error = schema_columns(statement, take, context, &count);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return !error && count == 0 ? -ENOENT : error;
}
