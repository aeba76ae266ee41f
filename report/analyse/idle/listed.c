#include "report/analyse/idle/listed.h"

#include "report/analyse/names/kernel_name.h"
#include "report/store/time_sum.h"
#include "report/analyse_idle_listed.inc"
#include "report/store/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int take_row(sqlite3_stmt *statement, struct gv_idle_listed *row)
{
    int64_t *const numbers[] = {
        &row->id,      &row->process,  &row->pid,           &row->device,    &row->thread,
        &row->tid,     &row->start_ns, &row->duration_ns,   &row->gap,       &row->gaps,
        &row->samples, &row->stack,    &row->previous_call, &row->next_call,
    };
    char **const texts[] = {&row->reason,        &row->detail,    &row->confidence,
                            &row->previous_name, &row->next_name, &row->next_kernel,
                            &row->thread_name};
    char kernel[GV_KERNEL_NAME_BYTES];
    int column = 0;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = gv_time_column(statement, column++);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = (const char *)sqlite3_column_text(statement, column++);
        if (text && texts[i] == &row->next_kernel) {
            gv_kernel_name_short(text, kernel, sizeof(kernel));
            text = kernel;
        }
        *texts[i] = text ? strdup(text) : NULL;
        if (text && !*texts[i])
            return -ENOMEM;
    }
    return 0;
}

static int add_row(struct gv_idle_list *rows, sqlite3_stmt *statement)
{
    int error = gv_array_room(&rows->rows, rows->count, &rows->room, sizeof(*rows->rows));

    if (error)
        return error;
    rows->rows[rows->count] = (struct gv_idle_listed){0};
    return take_row(statement, &rows->rows[rows->count++]);
}

static int prepare(sqlite3 *trace, const struct gv_idle_filter *filter, sqlite3_stmt **statement)
{
    if (sqlite3_prepare_v2(trace, sql_rows, -1, statement, NULL) != SQLITE_OK ||
        sqlite3_bind_text(*statement, 1, filter->reasons, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(*statement, 2, filter->least_ns) != SQLITE_OK ||
        sqlite3_bind_int64(*statement, 3, filter->id) != SQLITE_OK ||
        sqlite3_bind_int64(*statement, 4, filter->pid) != SQLITE_OK ||
        sqlite3_bind_int64(*statement, 5, filter->tid) != SQLITE_OK ||
        sqlite3_bind_int64(*statement, 6, filter->device) != SQLITE_OK ||
        sqlite3_bind_int(*statement, 7, filter->by_start) != SQLITE_OK)
        return -EIO;
    return 0;
}

int gv_idle_listed_read(sqlite3 *trace, const struct gv_idle_filter *filter,
                        struct gv_idle_list *rows)
{
    sqlite3_stmt *statement = NULL;
    int error = prepare(trace, filter, &statement), result = 0;

    memset(rows, 0, sizeof(*rows));
    while (!error && (result = sqlite3_step(statement)) == SQLITE_ROW)
        error = add_row(rows, statement);
    if (!error && result != SQLITE_DONE)
        error = -EIO;
    sqlite3_finalize(statement);
    return error;
}

void gv_idle_listed_free(struct gv_idle_list *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct gv_idle_listed *row = &rows->rows[i];
        char *const texts[] = {row->reason,        row->detail,    row->confidence,
                               row->previous_name, row->next_name, row->next_kernel,
                               row->thread_name};
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++)
            free(texts[j]);
    }
    free(rows->rows);
    memset(rows, 0, sizeof(*rows));
}
