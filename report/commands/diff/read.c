#include "report/commands/diff/diff.h"

#include "report/commands/sql_values.h"
#include "report/commands_diff_areas.inc"
#include "report/commands_diff_read.inc"
#include "report/show/format.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct gv_diff_area gv_diff_areas[GV_DIFF_AREAS] = {
#define GV_DIFF_AREA(name, by_range, title, what, counted, kernels)                                \
    {#name, by_range, title, what, counted, kernels},
#include "report/commands/diff/areas.def"
};

const char gv_diff_area_words[] = ""
#define GV_DIFF_AREA(name, by_range, title, what, counted, kernels) " " #name
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

/* Their standard errors are about the same. */
static bool is_gpu_time(const char *key)
{
    return strcmp(key, "busy_ns") == 0 || strcmp(key, "computing_ns") == 0 ||
           strcmp(key, "copying_ns") == 0;
}

static int diff_read_facts(const struct gv_run_facts *facts, size_t run, sqlite3_stmt *insert)
{
    const struct {
        const char *key;
        const char *label;
        int64_t value;
        bool known;
    } values[] = {
#define GV_REPORT_FACT(key, label, value, known) {key, label, value, known},
#include "report/commands/report/facts.def"
    };
    int error = 0;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && !error; i++) {
        const char *key = values[i].key;
        struct gv_diff_value value = {
            .area = GV_DIFF_AREA_run,
            .what = values[i].label,
            .basis = GV_DIFF_ON_GPU, /* unknown is not 0 */
            .unit = gv_format_ends_in(key, "_ns")      ? GV_DIFF_NS
                    : gv_format_ends_in(key, "_bytes") ? GV_DIFF_BYTES
                                                       : GV_DIFF_COUNT,
            .run = run,
            .value = (double)values[i].value,
        };
        if (values[i].known)
            error = diff_keep(insert, &value);
        if (values[i].known && !error && facts->scaled && is_gpu_time(key)) {
            value.unit = (enum gv_diff_unit)GV_DIFF_ERROR_NS;
            value.value = (double)facts->gpu_busy_error_ns;
            error = diff_keep(insert, &value);
        }
    }
    return error;
}

static int diff_read_verdict(const struct gv_verdict *verdict, size_t run, sqlite3_stmt *insert)
{
    int error = 0;

    for (size_t i = 0; i < verdict->count && !error; i++) {
        struct gv_diff_value value = {.area = GV_DIFF_AREA_verdict,
                                      .what = gv_verdict_name(verdict->findings[i].class),
                                      .basis = GV_DIFF_ON_EITHER,
                                      .unit = GV_DIFF_SHARE,
                                      .run = run,
                                      .value = verdict->findings[i].weight};
        error = diff_keep(insert, &value);
    }
    return error;
}

static void diff_describe(struct gv_diff_run *run, const struct gv_run_facts *facts)
{
    run->gpu_seen = facts->gpu_known;
    run->gpu_whole = facts->gpu_whole;
    run->seen_ppm = facts->scaled ? facts->scaled_seen_ppm : 0;
    run->complete = facts->complete;
    run->lost = facts->lost;
    run->window_ns = facts->window_ns;
    snprintf(run->device, sizeof(run->device), "%s",
             facts->simulated ? "a simulated GPU" : facts->device);
    gv_verdict_make(facts, &run->verdict);
}

static int diff_read_areas(const struct gv_diff *diff, size_t number, sqlite3 *trace,
                           const struct gv_run_facts *facts, sqlite3_stmt *insert)
{
    const struct gv_diff_run *run = &diff->runs[number];
    int error = 0;

    if (diff->wanted[GV_DIFF_AREA_verdict])
        error = diff_read_verdict(&run->verdict, number, insert);
    if (!error && diff->wanted[GV_DIFF_AREA_run])
        error = diff_read_facts(facts, number, insert);
    for (size_t i = 0; i < sizeof(diff_queries) / sizeof(diff_queries[0]) && !error; i++)
        if (diff->wanted[diff_queries[i].area] &&
            (run->gpu_whole || diff_queries[i].basis != GV_DIFF_ON_GPU) &&
            (run->gpu_seen || diff_queries[i].basis != GV_DIFF_ON_GPU_SUMS))
            error = diff_read_query(&diff_queries[i], number, trace, insert);
    return error;
}

int gv_diff_read(struct gv_diff *diff, size_t number, sqlite3 *trace)
{
    const struct gv_totals_part all = GV_TOTALS_ALL;
    struct gv_run_facts facts = {0};
    sqlite3_stmt *insert = NULL;
    int error = gv_sql_values_register(trace, true);

    if (!error)
        error = gv_run_facts_read(trace, &all, &facts);
    if (error)
        return error;
    diff_describe(&diff->runs[number], &facts);
    /* If two kernels still share a name, the first one counts. */
    error = gv_database_error(
        diff->values,
        sqlite3_prepare_v2(diff->values, "INSERT OR IGNORE INTO value VALUES (?, ?, ?, ?, ?, ?)",
                           -1, &insert, NULL));
    if (!error)
        error = diff_read_areas(diff, number, trace, &facts, insert);
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
