#include "report/store/row.h"

#include "report/store/schema.h"

#include <errno.h>

enum kind {
    ZERO,   /* 0 is a number like others */
    NUMBER, /* 0 is NULL */
    TEXT,
    NONE /* there is no field: always NULL */
};

struct column {
    uint16_t offset, kind;
};

static const struct column columns[] = {
#define GV_SCHEMA_FIELD(table, column, kind)    {offsetof(struct gv_row_##table, column), kind},
#define GV_SCHEMA_NO_FIELD(table, column, kind) {0, kind},
#include "report/store_schema_columns.inc"
};

static const struct {
    const char *name;
    size_t bytes;
    const struct column *column;
    int columns;
} tables[] = {
#define GV_SCHEMA_TABLE(table, first, count)                                                       \
    {#table, sizeof(struct gv_row_##table), &columns[first], count},
#include "report/store_schema_columns.inc"
};

static const bool replaced[GV_TABLE_COUNT] = {
#define GV_SCHEMA_REPLACED(table) [GV_TABLE_##table] = true,
#include "report/store_schema_columns.inc"
};

static int prepare(struct gv_database *database, enum gv_table table, size_t rows,
                   sqlite3_stmt **add)
{
    sqlite3_str *sql = sqlite3_str_new(database->handle);

    sqlite3_str_appendf(sql, "INSERT %sINTO %s VALUES ", replaced[table] ? "OR REPLACE " : "",
                        tables[table].name);
    for (size_t row = 0; row < rows; row++)
        for (int i = 0; i < tables[table].columns; i++)
            sqlite3_str_appendf(sql, "%s?%s",
                                i     ? ", "
                                : row ? ", ("
                                      : "(",
                                i + 1 == tables[table].columns ? ")" : "");
    char *text = sqlite3_str_finish(sql);
    int error = text ? gv_database_compile(database->handle, text, add) : -ENOMEM;
    sqlite3_free(text);
    return error;
}

static int bind(sqlite3_stmt *add, int parameter, const struct column *column, const void *row)
{
    const void *field = (const char *)row + column->offset;

    if (column->kind == TEXT)
        return sqlite3_bind_text(add, parameter, *(const char *const *)field, -1, SQLITE_STATIC);
    const int64_t number = column->kind == NONE ? GV_ROW_NULL : *(const int64_t *)field;
    return number == GV_ROW_NULL || (number == 0 && column->kind == NUMBER)
               ? sqlite3_bind_null(add, parameter)
               : sqlite3_bind_int64(add, parameter, number);
}

/* As many as the statement has. */
static int insert(struct gv_database *database, enum gv_table table, sqlite3_stmt *add,
                  const char *rows, size_t count)
{
    int result = SQLITE_OK, parameter = 1;

    for (size_t row = 0; row < count; row++, rows += tables[table].bytes)
        for (int i = 0; i < tables[table].columns && result == SQLITE_OK; i++)
            result = bind(add, parameter++, &tables[table].column[i], rows);
    if (result == SQLITE_OK)
        result = sqlite3_step(add);
    int error = gv_database_error(database->handle, result);
    sqlite3_reset(add);
    return error;
}

int gv_row_add(struct gv_database *database, enum gv_table table, const void *rows, size_t count)
{
    const size_t together = count == GV_ROW_BATCH ? count : 1;
    sqlite3_stmt **add = &database->adds[together > 1][table];
    int error = *add ? 0 : prepare(database, table, together, add);

    for (size_t i = 0; i < count && !error; i += together)
        error =
            insert(database, table, *add, (const char *)rows + i * tables[table].bytes, together);
    return error;
}
