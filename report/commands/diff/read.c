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

/* One value to store. */
struct gv_diff_value {
    enum gv_diff_area_id area;
    const char *what;
    enum gv_diff_basis basis;
    enum gv_diff_unit unit;
    size_t run;
    double value;
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

static int diff_keep(sqlite3_stmt *insert, const struct gv_diff_value *value)
{
    int result = sqlite3_bind_text(insert, 2, value->what, -1, SQLITE_STATIC);

    if (result != SQLITE_OK)
        return gv_database_error(sqlite3_db_handle(insert), result);
    sqlite3_bind_int(insert, 1, (int)value->area);
    sqlite3_bind_int(insert, 3, (int)value->basis);
    sqlite3_bind_int(insert, 4, (int)value->unit);
    sqlite3_bind_int64(insert, 5, (int64_t)value->run);
    sqlite3_bind_double(insert, 6, value->value);
    return gv_database_step(insert);
}

static int diff_read_query(const struct gv_diff_query *query, size_t run, sqlite3 *trace,
                           sqlite3_stmt *insert)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(trace, query->sql, -1, &rows, NULL), error = 0;

    while (!error && (result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *what = (const char *)sqlite3_column_text(rows, 0);
        struct gv_diff_value value = {
            .area = query->area, .what = what ? what : "?", .basis = query->basis, .run = run};
        for (int i = 1; i < sqlite3_column_count(rows) && !error; i++) {
            if (sqlite3_column_type(rows, i) == SQLITE_NULL)
                continue; /* not known */
            value.unit = query->units[i - 1];
            value.value = sqlite3_column_double(rows, i);
            error = diff_keep(insert, &value);
        }
    }
    if (!error)
        error = gv_database_error(trace, result);
    sqlite3_finalize(rows);
    return error;
}

static int diff_take_run(void *context, sqlite3_stmt *row)
{
    struct gv_diff_run *run = context;
    const char *device = (const char *)sqlite3_column_text(row, 6);
    const char *headline = (const char *)sqlite3_column_text(row, 7);

    run->gpu_seen = sqlite3_column_int(row, 0) != 0;
    run->gpu_whole = sqlite3_column_int(row, 1) != 0;
    run->seen_ppm = sqlite3_column_int64(row, 2);
    run->complete = sqlite3_column_int(row, 3) != 0;
    run->lost = sqlite3_column_int64(row, 4);
    run->run_ns = gv_time_column_duration(row, 5);
    run->steps = sqlite3_column_int64(row, 8);
    snprintf(run->device, sizeof(run->device), "%s", device ? device : "");
    snprintf(run->headline, sizeof(run->headline), "%s", headline ? headline : "");
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

static int diff_read_findings(const struct gv_diff *diff, size_t number, sqlite3 *trace)
{
    sqlite3_stmt *rows = NULL, *insert = NULL;
    int result = sqlite3_prepare_v2(trace, sql_all_findings, -1, &rows, NULL);
    int error = gv_database_error(trace, result);

    if (!error)
        error = diff_make_findings(diff->values, rows, &insert);
    while (!error && (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const int count = sqlite3_column_count(rows);
        int bound = sqlite3_bind_int64(insert, count + 1, (int64_t)number);
        for (int i = 0; i < count && bound == SQLITE_OK; i++)
            bound = sqlite3_bind_value(insert, i + 1, sqlite3_column_value(rows, i));
        error =
            bound == SQLITE_OK ? gv_database_step(insert) : gv_database_error(diff->values, bound);
    }
    if (!error)
        error = gv_database_error(trace, result);
    sqlite3_finalize(rows);
    sqlite3_finalize(insert);
    return error;
}

struct diff_facts {
    sqlite3_stmt *insert;
    size_t run;
};

static int diff_take_fact(void *context, sqlite3_stmt *row)
{
    const struct diff_facts *facts = context;
    int result = sqlite3_bind_int64(facts->insert, 1, (int64_t)facts->run);

    if (result == SQLITE_OK)
        result = sqlite3_bind_value(facts->insert, 2, sqlite3_column_value(row, 0));
    return result == SQLITE_OK ? gv_database_step(facts->insert)
                               : gv_database_error(sqlite3_db_handle(facts->insert), result);
}

static int diff_read_run_facts(const struct gv_diff *diff, size_t number, sqlite3 *trace)
{
    struct diff_facts facts = {.run = number};
    int error = gv_database_error(diff->values,
                                  sqlite3_prepare_v2(diff->values, "INSERT INTO fact VALUES (?, ?)",
                                                     -1, &facts.insert, NULL));

    if (!error)
        error = gv_database_each(trace, sql_facts, NULL, 0, diff_take_fact, &facts);
    sqlite3_finalize(facts.insert);
    return error;
}

static bool diff_knows(const struct gv_diff_run *run, enum gv_diff_basis basis)
{
    return (run->gpu_whole || basis != GV_DIFF_ON_GPU) &&
           (run->gpu_seen || basis != GV_DIFF_ON_GPU_SUMS) &&
           (!run->seen_ppm || basis != GV_DIFF_ON_LEDGER);
}

int gv_diff_read(struct gv_diff *diff, size_t number, sqlite3 *trace)
{
    const struct gv_totals_part all = GV_TOTALS_ALL;
    struct gv_diff_run *run = &diff->runs[number];
    sqlite3_stmt *insert = NULL;
    int error = gv_sql_values_register(trace, true);

    if (!error)
        error = gv_totals_ensure(trace, &all);
    if (!error)
        error = gv_database_each(trace, sql_describe, NULL, 0, diff_take_run, run);
    if (!error)
        error = diff_read_findings(diff, number, trace);
    if (!error)
        error = diff_read_run_facts(diff, number, trace);
    /* If two kernels still share a name, the first one counts. */
    if (!error)
        error = gv_database_error(
            diff->values, sqlite3_prepare_v2(
                              diff->values, "INSERT OR IGNORE INTO value VALUES (?, ?, ?, ?, ?, ?)",
                              -1, &insert, NULL));
    for (size_t i = 0; i < sizeof(diff_queries) / sizeof(diff_queries[0]) && !error; i++)
        if (diff->wanted[diff_queries[i].area] && diff_knows(run, diff_queries[i].basis))
            error = diff_read_query(&diff_queries[i], number, trace, insert);
    sqlite3_finalize(insert);
    return error;
}

void gv_diff_free(struct gv_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++)
        free(diff->changes[i].what);
    free(diff->changes);
    sqlite3_close(diff->values);
}
