#include "report/analyse/stalls/rows.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse_stalls_rows.inc"
#include "report/store/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In the order of their columns. */
#define TEXTS(row)                                                                                 \
    {                                                                                              \
        &(row)->cause, &(row)->confidence, &(row)->advice, &(row)->name, &(row)->kernel,           \
            &(row)->waited_name, &(row)->blocked_name, &(row)->other_name, &(row)->other_did,      \
            &(row)->host_name, &(row)->profiler                                                    \
    }

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
    int64_t *const numbers[] = {
        &row->id,
        &row->call,
        &row->start_ns,
        &row->duration_ns,
        &row->wait_ns,
        &row->work_ns,
        &row->jit_ns,
        &row->waited_for,
        &row->blocked_by,
        &row->drained_count,
        &row->drained_ns,
        &row->process,
        &row->thread,
        &row->stack,
        &row->waited_end_ns,
        &row->blocked_thread,
        &row->blocked_stack,
        &row->blocked_stall,
        &row->other_pid,
        &row->host_function,
        &row->host_ns,
        &row->host_end_ns,
        &row->host_stack,
    };
    char **const texts[] = TEXTS(row),
                 **const names[] = {&row->kernel, &row->waited_name, &row->host_name};
    int column = 0, error = 0;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = sqlite3_column_int64(statement, column++);
    row->expected = sqlite3_column_int(statement, column++) != 0;
    row->unsure = sqlite3_column_int(statement, column++) != 0;
    row->stack_of_other = sqlite3_column_int(statement, column++) != 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !error; i++)
        error = take_text(statement, column++, texts[i]);
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
        char **const texts[] = TEXTS(&rows->rows[i]);

        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++)
            free(*texts[j]);
    }
    free(rows->rows);
    memset(rows, 0, sizeof(*rows));
}
