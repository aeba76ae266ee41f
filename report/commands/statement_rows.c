#include "report/commands/statement_rows.h"

#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void statement_rows_put_blob(struct gv_rows *rows, const unsigned char *bytes, size_t count)
{
    char *text = malloc(count * 2 + 4);

    if (!text) {
        gv_rows_null(rows);
        rows->error = -ENOMEM;
        return;
    }
    strcpy(text, "x'");
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 + i * 2, 3, "%02x", bytes[i]);
    strcpy(text + 2 + count * 2, "'");
    gv_rows_bytes(rows, text, strlen(text));
    free(text);
}

static void statement_rows_put(struct gv_rows *rows, sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        gv_rows_number(rows, sqlite3_column_int64(statement, column));
        break;
    case SQLITE_FLOAT:
        gv_rows_real(rows, sqlite3_column_double(statement, column));
        break;
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        gv_rows_bytes(rows, text ? text : "", (size_t)sqlite3_column_bytes(statement, column));
        break;
    }
    case SQLITE_BLOB: {
        const unsigned char *bytes = sqlite3_column_blob(statement, column);
        statement_rows_put_blob(rows, bytes, (size_t)sqlite3_column_bytes(statement, column));
        break;
    }
    default:
        gv_rows_null(rows);
        break;
    }
}

int gv_statement_rows_write(sqlite3_stmt *statement, FILE *out, enum gv_format format,
                            const struct gv_column *columns, int count, int result,
                            struct gv_json *json)
{
    struct gv_rows rows;

    gv_rows_begin(&rows, out, format, columns, (size_t)count, json);
    for (; result == SQLITE_ROW && !rows.error && !ferror(out); result = sqlite3_step(statement))
        for (int i = 0; i < count; i++)
            statement_rows_put(&rows, statement, i);
    int error = gv_rows_end(&rows);
    if (!error && result != SQLITE_DONE)
        error = ferror(out) ? -EIO : -EINVAL;
    return error;
}

int gv_statement_rows_all(sqlite3_stmt *statement, FILE *out, enum gv_format format,
                          struct gv_json *json)
{
    struct gv_column columns[GV_STATEMENT_COLUMNS];
    int count = sqlite3_column_count(statement);

    if (count > GV_STATEMENT_COLUMNS)
        return -E2BIG;
    for (int i = 0; i < count; i++)
        columns[i] = (struct gv_column){sqlite3_column_name(statement, i), GV_COLUMN_TEXT};
    return gv_statement_rows_write(statement, out, format, columns, count, sqlite3_step(statement),
                                   json);
}

int gv_statement_rows_ask(sqlite3 *trace, const char *sql, const int64_t *values, int count,
                          FILE *out, enum gv_format format, struct gv_json *json)
{
    sqlite3_stmt *statement = NULL;
    int result = gv_database_ask(trace, sql, values, count, &statement);
    int error = result == SQLITE_OK ? gv_statement_rows_all(statement, out, format, json)
                                    : gv_database_error(trace, result);

    sqlite3_finalize(statement);
    return error;
}

static void statement_rows_add(sqlite3_stmt *row, int column, const char *name,
                               struct gv_json *json)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        gv_json_number(json, name, sqlite3_column_int64(row, column));
        break;
    case SQLITE_FLOAT:
        gv_json_real(json, name, sqlite3_column_double(row, column));
        break;
    case SQLITE_TEXT:
        gv_json_text(json, name, (const char *)sqlite3_column_text(row, column));
        break;
    default:
        gv_json_null(json, name);
        break;
    }
}

void gv_statement_rows_fields(sqlite3_stmt *row, int count, struct gv_json *json)
{
    for (int i = 0; i < count; i++)
        statement_rows_add(row, i, sqlite3_column_name(row, i), json);
}

int gv_statement_rows_object(void *json, sqlite3_stmt *row)
{
    gv_statement_rows_fields(row, sqlite3_column_count(row), json);
    return 0;
}

int gv_statement_rows_array(void *json, sqlite3_stmt *row)
{
    gv_json_open(json, NULL, '[');
    for (int i = 0; i < sqlite3_column_count(row); i++)
        statement_rows_add(row, i, NULL, json);
    gv_json_close(json, ']');
    return 0;
}
