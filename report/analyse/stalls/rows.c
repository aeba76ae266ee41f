#include "report/analyse/stalls/rows.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse_stalls_rows.inc"
#include "report/store/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int take_text(sqlite3_stmt *statement, int column, char **text)
{
    const char *found = (const char *)sqlite3_column_text(statement, column);

    *text = found ? strdup(found) : NULL;
    return found && !*text ? -ENOMEM : 0;
}

static int shorten(char **name)
{
    char out[GV_KERNEL_NAME_BYTES];
    char *copy;

    if (!*name)
        return 0;
    gv_kernel_name_short(*name, out, sizeof(out));
    copy = strdup(out);
    if (!copy)
        return -ENOMEM;
    free(*name);
    *name = copy;
    return 0;
}

static int take_row(sqlite3_stmt *statement, struct gv_stall_row *row, bool people)
{
    char **const names[] = {&row->kernel, &row->waited_name, &row->host_name};
    int column = 0, error = 0;

#define GV_STALL_NUMBER(name) row->name = sqlite3_column_int64(statement, column++);
#define GV_STALL_FLAG(name)   row->name = sqlite3_column_int(statement, column++) != 0;
#define GV_STALL_TEXT(name)   error = error ? error : take_text(statement, column++, &row->name);
#include "report/analyse/stalls/rows.def"
    for (size_t i = 0; people && i < sizeof(names) / sizeof(names[0]) && !error; i++)
        error = shorten(names[i]);
    return error;
}

static int add_row(struct gv_stall_rows *rows, sqlite3_stmt *statement, bool people)
{
    int error = gv_array_room(&rows->rows, rows->count, &rows->room, sizeof(*rows->rows));

    if (error)
        return error;
    rows->rows[rows->count] = (struct gv_stall_row){0};
    return take_row(statement, &rows->rows[rows->count++], people);
}

static int prepare(sqlite3 *trace, const char *sql, const struct gv_stall_filter *filter,
                   sqlite3_stmt **statement)
{
    if (sqlite3_prepare_v2(trace, sql, -1, statement, NULL) != SQLITE_OK ||
        sqlite3_bind_text(*statement, 1, filter->cause, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(*statement, 2, filter->least_ns) != SQLITE_OK ||
        sqlite3_bind_int(*statement, 3, filter->expected) != SQLITE_OK ||
        sqlite3_bind_int64(*statement, 4, filter->id) != SQLITE_OK ||
        sqlite3_bind_int64(*statement, 5, filter->blocked_by) != SQLITE_OK)
        return -EIO;
    return 0;
}

int gv_stall_rows_count(sqlite3 *trace, const struct gv_stall_filter *filter, int64_t *count)
{
    sqlite3_stmt *statement = NULL;
    int error = prepare(trace, sql_count, filter, &statement);

    if (!error && sqlite3_step(statement) != SQLITE_ROW)
        error = -EIO;
    *count = error ? 0 : sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return error;
}

int gv_stall_rows_read(sqlite3 *trace, const struct gv_stall_filter *filter,
                       struct gv_stall_rows *rows)
{
    sqlite3_stmt *statement = NULL;
    int error = prepare(trace, sql_rows, filter, &statement), result = 0;

    memset(rows, 0, sizeof(*rows));
    if (!error && sqlite3_bind_int64(statement, 6, filter->limit ? filter->limit : -1) != SQLITE_OK)
        error = -EIO;
    while (!error && (result = sqlite3_step(statement)) == SQLITE_ROW)
        error = add_row(rows, statement, filter->people);
    if (!error && result != SQLITE_DONE)
        error = -EIO;
    sqlite3_finalize(statement);
    return error;
}

void gv_stall_rows_free(struct gv_stall_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
#define GV_STALL_NUMBER(name)
#define GV_STALL_FLAG(name)
#define GV_STALL_TEXT(name) free(rows->rows[i].name);
#include "report/analyse/stalls/rows.def"
    }
    free(rows->rows);
    memset(rows, 0, sizeof(*rows));
}
