#include "report/commands/diff/diff.h"

#include "report/analyse/totals/totals.h"
#include "report/commands/sql_values.h"
#include "report/commands_diff_areas.inc"
#include "report/commands_diff_read.inc"
#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const struct gv_diff_area gv_diff_areas[GV_DIFF_AREAS] = {
#define GV_DIFF_AREA(name, by_range, by_step, title, what, counted, kernels)                       \
    {#name, by_range, by_step, title, what, counted, kernels},
#include "report/commands/diff/areas.def"
};

const char gv_diff_area_words[] = ""
#define GV_DIFF_AREA(name, by_range, by_step, title, what, counted, kernels) " " #name
#include "report/commands/diff/areas.def"
    ;

struct gv_diff_query {
    enum gv_diff_area_id area;
    enum gv_diff_basis basis;
    const char *sql;
    enum gv_diff_unit units[GV_DIFF_COLUMNS]; /* as many columns as the query has after the first */
};

static const struct gv_diff_query diff_queries[] = {
#define GV_DIFF_QUERY(area, basis, query, ...)                                                     \
    {GV_DIFF_AREA_##area, GV_DIFF_ON_##basis, sql_##query, {__VA_ARGS__}},
#include "report/commands/diff/areas.def"
};

int gv_diff_begin(struct gv_diff *diff)
{
    int result = sqlite3_open_v2(":memory:", &diff->values,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                     SQLITE_OPEN_PRIVATECACHE,
                                 NULL);

    if (result == SQLITE_OK)
        result = sqlite3_exec(diff->values, sql_begin, NULL, NULL, NULL);
    return gv_database_error(diff->values, result);
}

/* Rows of a run, and where they are stored. */
struct diff_reading {
    const struct gv_diff_query *query; /* NULL: of findings or facts */
    sqlite3_stmt *insert;
    int64_t run;
};

static int diff_take_values(void *context, sqlite3_stmt *row)
{
    const struct diff_reading *reading = context;
    const char *what = (const char *)sqlite3_column_text(row, 0);
    int result = sqlite3_bind_text(reading->insert, 5, what ? what : "?", -1, SQLITE_STATIC);
    int error = gv_database_error(sqlite3_db_handle(reading->insert), result);

    for (int i = 1; i < sqlite3_column_count(row) && !error; i++) {
        const int64_t numbers[] = {reading->query->area, reading->query->basis,
                                   reading->query->units[i - 1], reading->run};
        if (sqlite3_column_type(row, i) == SQLITE_NULL)
            continue; /* not known */
        sqlite3_bind_double(reading->insert, 6, sqlite3_column_double(row, i));
        error = gv_database_add(reading->insert, numbers, 4);
    }
    return error;
}

static int diff_take_run(void *context, sqlite3_stmt *row)
{
    struct gv_diff_run *run = context;

    run->gpu_seen = sqlite3_column_int(row, 0) != 0;
    run->gpu_whole = sqlite3_column_int(row, 1) != 0;
    run->sampled = sqlite3_column_int(row, 2) != 0;
    run->complete = sqlite3_column_int(row, 3) != 0;
    run->lost = sqlite3_column_int64(row, 4);
    run->run_ns = gv_time_column_duration(row, 5);
    run->steps = sqlite3_column_int64(row, 8);
    snprintf(run->device, sizeof(run->device), "%s", gv_database_text(row, 6));
    snprintf(run->headline, sizeof(run->headline), "%s", gv_database_text(row, 7));
    return 0;
}

/* The table finding has the view's columns, whatever they are, and the run's number. */
static int diff_make_findings(sqlite3 *values, sqlite3_stmt *rows, sqlite3_stmt **insert)
{
    sqlite3_str *create = sqlite3_str_new(values), *add = sqlite3_str_new(values);
    char *create_sql, *add_sql;

    sqlite3_str_appendall(create, "CREATE TABLE IF NOT EXISTS finding (");
    sqlite3_str_appendall(add, "INSERT INTO finding VALUES (");
    for (int i = 0; i < sqlite3_column_count(rows); i++) {
        sqlite3_str_appendf(create, "\"%w\", ", sqlite3_column_name(rows, i));
        sqlite3_str_appendall(add, "?, ");
    }
    sqlite3_str_appendall(create, "run)");
    sqlite3_str_appendall(add, "?)");
    create_sql = sqlite3_str_finish(create);
    add_sql = sqlite3_str_finish(add);
    int result =
        create_sql && add_sql ? sqlite3_exec(values, create_sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(values, add_sql, -1, insert, NULL);
    sqlite3_free(create_sql);
    sqlite3_free(add_sql);
    return gv_database_error(values, result);
}

/* The run's number comes after the columns. */
static int diff_take_row(void *context, sqlite3_stmt *row)
{
    const struct diff_reading *reading = context;
    const int count = sqlite3_column_count(row);
    int result = sqlite3_bind_int64(reading->insert, count + 1, reading->run);

    for (int i = 0; i < count && result == SQLITE_OK; i++)
        result = sqlite3_bind_value(reading->insert, i + 1, sqlite3_column_value(row, i));
    return result == SQLITE_OK ? gv_database_step(reading->insert)
                               : gv_database_error(sqlite3_db_handle(reading->insert), result);
}

static int diff_read_findings(const struct gv_diff *diff, size_t number, sqlite3 *trace)
{
    struct diff_reading reading = {.run = (int64_t)number};
    sqlite3_stmt *rows = NULL;
    int error = gv_database_compile(trace, sql_all_findings, &rows);

    if (!error)
        error = diff_make_findings(diff->values, rows, &reading.insert);
    if (!error)
        error = gv_database_rows(rows, NULL, 0, diff_take_row, &reading);
    sqlite3_finalize(rows);
    sqlite3_finalize(reading.insert);
    return error;
}

static int diff_read_run_facts(const struct gv_diff *diff, size_t number, sqlite3 *trace)
{
    struct diff_reading reading = {.run = (int64_t)number};
    int error =
        gv_database_compile(diff->values, "INSERT INTO fact VALUES (?, ?)", &reading.insert);

    if (!error)
        error = gv_database_each(trace, sql_facts, NULL, 0, diff_take_row, &reading);
    sqlite3_finalize(reading.insert);
    return error;
}

static bool diff_knows(const struct gv_diff_run *run, enum gv_diff_basis basis)
{
    return (run->gpu_whole || basis != GV_DIFF_ON_GPU) &&
           (run->gpu_seen || basis != GV_DIFF_ON_GPU_SUMS);
}

int gv_diff_read(struct gv_diff *diff, size_t number, sqlite3 *trace)
{
    struct gv_diff_run *run = &diff->runs[number];
    struct diff_reading reading = {.run = (int64_t)number};
    int error = gv_sql_values_register(trace, true);

    if (!error)
        error = gv_totals_ensure(trace, &GV_TOTALS_ALL);
    if (!error)
        error = gv_database_each(trace, sql_describe, NULL, 0, diff_take_run, run);
    if (!error)
        error = diff_read_findings(diff, number, trace);
    if (!error)
        error = diff_read_run_facts(diff, number, trace);
    /* If two kernels still share a name, the first one counts. */
    if (!error)
        error = gv_database_compile(
            diff->values,
            "INSERT OR IGNORE INTO value (area, basis, unit, run, what, value) VALUES"
            " (?, ?, ?, ?, ?, ?)",
            &reading.insert);
    for (size_t i = 0; i < sizeof(diff_queries) / sizeof(diff_queries[0]) && !error; i++) {
        reading.query = &diff_queries[i];
        if (diff->wanted[reading.query->area] && diff_knows(run, reading.query->basis))
            error =
                gv_database_each(trace, reading.query->sql, NULL, 0, diff_take_values, &reading);
    }
    sqlite3_finalize(reading.insert);
    return error;
}

void gv_diff_free(struct gv_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++)
        free(diff->changes[i].what);
    free(diff->changes);
    sqlite3_close(diff->values);
}
