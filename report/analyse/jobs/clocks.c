#include "report/analyse/jobs/clocks.h"

#include "report/analyse/jobs/clock_fit.h"
#include "report/analyse/jobs/collectives.h"
#include "report/analyse_jobs_jobs.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct gv_clocks {
    sqlite3 *shared;
    sqlite3_stmt *add;
    int64_t trace; /* of which collectives are taken */
};

/* Two traces, and how many collectives they share. */
struct pair {
    int64_t one, other, count;
};

struct pairs {
    struct pair *list;
    size_t count, room;
};

const char *gv_clock_method_name(enum gv_clock_method method)
{
    static const char *const names[] = {
        [GV_CLOCK_REFERENCE] = "reference",
        [GV_CLOCK_COLLECTIVES] = "collectives",
        [GV_CLOCK_SAME_MACHINE] = "same machine",
        [GV_CLOCK_WALL] = "wall clock",
    };

    return names[method];
}

int gv_clocks_open(struct gv_clocks **clocks)
{
    int error = (*clocks = calloc(1, sizeof(**clocks))) ? 0 : -ENOMEM;

    if (error)
        return error;
    error = gv_database_error(NULL, sqlite3_open("", &(*clocks)->shared)); /* a temporary file */
    if (!error)
        error = gv_database_script((*clocks)->shared,
                                   "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, 0);
    if (!error)
        error = gv_database_script((*clocks)->shared, sql_new_meetings, NULL, 0);
    if (!error)
        error = gv_database_error(
            (*clocks)->shared,
            sqlite3_prepare_v2((*clocks)->shared,
                               "INSERT OR IGNORE INTO meeting VALUES (?, ?, ?, ?, ?, ?)", -1,
                               &(*clocks)->add, NULL));
    return error;
}

void gv_clocks_close(struct gv_clocks *clocks)
{
    if (!clocks)
        return;
    sqlite3_finalize(clocks->add);
    sqlite3_close(clocks->shared);
    free(clocks);
}

static int take_meeting(void *context, sqlite3_stmt *row)
{
    struct gv_clocks *clocks = context;
    const int64_t values[] = {
        sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
        sqlite3_column_int64(row, 2), clocks->trace,
        sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4),
    };

    return gv_database_add(clocks->add, values, 6);
}

int gv_clocks_take(struct gv_clocks *clocks, int64_t trace, sqlite3 *opened)
{
    int error = gv_replays_find(opened);

    clocks->trace = trace;
    if (!error)
        error = gv_database_script(clocks->shared, "BEGIN", NULL, 0);
    if (!error)
        error = gv_database_each(opened, sql_meetings, NULL, 0, take_meeting, clocks);
    return error ? error : gv_database_script(clocks->shared, "COMMIT", NULL, 0);
}

static int take_pair(void *context, sqlite3_stmt *row)
{
    struct pairs *pairs = context;
    int error = gv_array_room(&pairs->list, pairs->count, &pairs->room, sizeof(*pairs->list));

    if (!error)
        pairs->list[pairs->count++] =
            (struct pair){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                          sqlite3_column_int64(row, 2)};
    return error;
}

static int take_low(void *bounds, sqlite3_stmt *row)
{
    return gv_clock_at_least(bounds, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1));
}

static int take_high(void *bounds, sqlite3_stmt *row)
{
    return gv_clock_at_most(bounds, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1));
}

/* Aligns a trace by one that is aligned. */
static int align(struct gv_clocks *clocks, struct gv_trace_clock *traces, int64_t by, int64_t which,
                 int64_t matched)
{
    const int64_t pair[] = {by, which};
    const struct gv_trace_clock *known = &traces[by];
    struct gv_trace_clock *trace = &traces[which];
    struct gv_clock_bounds bounds = {0};
    struct gv_clock_fit fit;
    int error = gv_database_each(clocks->shared, sql_at_least, pair, 2, take_low, &bounds);

    if (!error)
        error = gv_database_each(clocks->shared, sql_at_most, pair, 2, take_high, &bounds);
    if (!error)
        error = gv_clock_fit(&bounds, trace->from_ns, trace->until_ns, &fit);
    gv_clock_bounds_free(&bounds);
    if (error)
        return error;
    trace->method = GV_CLOCK_COLLECTIVES;
    trace->matched = matched;
    trace->drift = (1 + known->drift) * (1 + fit.drift) - 1;
    trace->offset_ns = (1 + known->drift) * fit.offset_ns + known->offset_ns;
    trace->error_ns = fit.error_ns + known->error_ns;
    return 0;
}

/* From the reference on, each time by the pair that shares most. */
static int align_all(struct gv_clocks *clocks, struct gv_trace_clock *traces, size_t count,
                     const struct pairs *pairs, bool *aligned)
{
    int error = 0;

    for (size_t i = 0; i < pairs->count && !error; i++) {
        const struct pair *pair = &pairs->list[i];
        if ((size_t)pair->other >= count || aligned[pair->one] == aligned[pair->other])
            continue;
        bool first = aligned[pair->one];
        error = align(clocks, traces, first ? pair->one : pair->other,
                      first ? pair->other : pair->one, pair->count);
        aligned[pair->one] = aligned[pair->other] = true;
        i = SIZE_MAX; /* earlier pairs may be of use now */
    }
    return error;
}

/* Of one machine, the wall clocks of two traces are one clock, which somebody may have set in
 * between. */
static void use_wall_clock(struct gv_trace_clock *trace, const struct gv_trace_clock *traces,
                           size_t count, const bool *aligned)
{
    const struct gv_trace_clock *by = &traces[0];

    trace->method = GV_CLOCK_WALL;
    trace->error_ns = -1;
    for (size_t i = 0; i < count; i++)
        if (aligned[i] && trace->host && traces[i].host &&
            strcmp(trace->host, traces[i].host) == 0) {
            by = &traces[i];
            trace->method = GV_CLOCK_SAME_MACHINE;
            break;
        }
    trace->drift = by->drift;
    trace->offset_ns =
        by->offset_ns + (1 + by->drift) * (double)(trace->unix_offset_ns - by->unix_offset_ns);
}

int gv_clocks_solve(struct gv_clocks *clocks, struct gv_trace_clock *traces, size_t count)
{
    struct pairs pairs = {0};
    bool *aligned = calloc(count, sizeof(*aligned));
    int error = aligned ? gv_database_each(clocks->shared, sql_shared, NULL, 0, take_pair, &pairs)
                        : -ENOMEM;

    if (!error && count > 0) {
        aligned[0] = true;
        error = align_all(clocks, traces, count, &pairs, aligned);
    }
    for (size_t i = 0; i < count && !error; i++)
        if (!aligned[i])
            use_wall_clock(&traces[i], traces, count, aligned);
    free(aligned);
    free(pairs.list);
    return error;
}
