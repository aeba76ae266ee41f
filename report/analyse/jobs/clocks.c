#include "report/analyse/jobs/clocks.h"

#include "report/analyse/jobs/clock_fit.h"
#include "report/analyse/jobs/collectives.h"
#include "report/store/time_sum.h"
#include "report/analyse_jobs_jobs.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Ends of collectives that are looked at, about: medians of more say the same. */
#define ENDS 4096

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
        error = gv_database_compile((*clocks)->shared,
                                    "INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?, ?, ?)",
                                    &(*clocks)->add);
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
        gv_time_column(row, 3),       gv_time_column(row, 4),
    };

    return gv_database_add(clocks->add, values, 6);
}

int gv_clocks_take(struct gv_clocks *clocks, int64_t trace, sqlite3 *opened)
{
    int error = gv_operations_ensure(opened);

    if (!error)
        error = gv_replays_find(opened);

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
    return gv_clock_at_least(bounds, gv_time_column(row, 0), gv_time_column(row, 1));
}

static int take_high(void *bounds, sqlite3_stmt *row)
{
    return gv_clock_at_most(bounds, gv_time_column(row, 0), gv_time_column(row, 1));
}

static int take_end(void *bounds, sqlite3_stmt *row)
{
    return gv_clock_ended(bounds, gv_time_column(row, 0), gv_time_column(row, 1));
}

/* Traces of one machine have one clock, unless a collective shows that they do not: a name may be
 * that of two machines, and somebody may have set the clock. Each becomes one of the first trace's,
 * if it can. */
static int join_machine(struct gv_clocks *clocks, const struct gv_trace_clock *traces, size_t which,
                        size_t *first)
{
    int64_t contradicts = 1, added_ns = 0;
    int error = 0;

    first[which] = which;
    for (size_t i = 0; i < which && contradicts && traces[which].host && !error; i++) {
        if (first[i] != i || !traces[i].host || strcmp(traces[i].host, traces[which].host) != 0)
            continue;
        added_ns = gv_time_difference(traces[which].unix_offset_ns, traces[i].unix_offset_ns);
        error =
            gv_database_number(clocks->shared, sql_contradicts,
                               (int64_t[]){(int64_t)i, (int64_t)which, added_ns}, 3, &contradicts);
        if (!contradicts)
            first[which] = i;
    }
    if (first[which] == which)
        added_ns = 0;
    return error ? error
                 : gv_database_script(clocks->shared, sql_join_machine,
                                      (int64_t[]){(int64_t)which, (int64_t)first[which], added_ns},
                                      3);
}

/* The known clock's error in the other trace's time, which may begin earlier and end later: of two
 * lines that differ by at most the error at both ends of a time, the distance grows evenly beyond
 * them. */
static int64_t known_error_ns(const struct gv_trace_clock *known,
                              const struct gv_trace_clock *trace, const struct gv_clock_fit *fit)
{
    double from = (double)trace->from_ns * (1 + fit->drift) + fit->offset_ns;
    double until = (double)trace->until_ns * (1 + fit->drift) + fit->offset_ns;
    double outside = fmax(0, fmax((double)known->from_ns - from, until - (double)known->until_ns));
    double span = fmax(1, (double)known->until_ns - (double)known->from_ns);

    return (int64_t)ceil(fmin((double)known->error_ns * (1 + 2 * outside / span), 1e18));
}

/* Aligns a machine's first trace by one that is aligned. */
static int align(struct gv_clocks *clocks, struct gv_trace_clock *traces, int64_t by, int64_t which,
                 int64_t matched)
{
    const int64_t pair[] = {by, which, 1 + matched / ENDS};
    const struct gv_trace_clock *known = &traces[by];
    struct gv_trace_clock *trace = &traces[which];
    struct gv_clock_bounds bounds = {0};
    struct gv_clock_fit fit;
    int error = gv_database_each(clocks->shared, sql_at_least, pair, 2, take_low, &bounds);

    if (!error)
        error = gv_database_each(clocks->shared, sql_at_most, pair, 2, take_high, &bounds);
    if (!error)
        error = gv_database_each(clocks->shared, sql_ends, pair, 3, take_end, &bounds);
    if (!error)
        error = gv_clock_fit(&bounds, trace->from_ns, trace->until_ns, &fit);
    gv_clock_bounds_free(&bounds);
    if (error)
        return error;
    trace->method = GV_CLOCK_COLLECTIVES;
    trace->matched = matched;
    trace->drift = (1 + known->drift) * (1 + fit.drift) - 1;
    trace->offset_ns = (1 + known->drift) * fit.offset_ns + known->offset_ns;
    trace->error_ns = known->error_ns < 0 ? -1 : fit.error_ns + known_error_ns(known, trace, &fit);
    return 0;
}

/* From the reference on, each time by the pair that shares most. */
static int align_all(struct gv_clocks *clocks, struct gv_trace_clock *traces,
                     const struct pairs *pairs, bool *aligned)
{
    int error = 0;

    for (size_t i = 0; i < pairs->count && !error; i++) {
        const struct pair *pair = &pairs->list[i];
        if (aligned[pair->one] == aligned[pair->other])
            continue;
        bool first = aligned[pair->one];
        error = align(clocks, traces, first ? pair->one : pair->other,
                      first ? pair->other : pair->one, pair->count);
        aligned[pair->one] = aligned[pair->other] = true;
        i = SIZE_MAX; /* earlier pairs may be of use now */
    }
    return error;
}

static void use_wall_clock(struct gv_trace_clock *trace, const struct gv_trace_clock *by)
{
    trace->drift = by->drift;
    trace->offset_ns =
        by->offset_ns +
        (1 + by->drift) * (double)gv_time_difference(trace->unix_offset_ns, by->unix_offset_ns);
}

static void follow_first(struct gv_trace_clock *trace, const struct gv_trace_clock *first)
{
    use_wall_clock(trace, first);
    trace->method = first->method == GV_CLOCK_REFERENCE ? GV_CLOCK_SAME_MACHINE : first->method;
    trace->error_ns = first->error_ns;
    trace->matched = first->matched;
}

/* The first trace of a machine has to be right for the times of all. */
static void span_all(struct gv_trace_clock *traces, const size_t *first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gv_trace_clock *of = &traces[first[i]];
        int64_t added_ns = gv_time_difference(traces[i].unix_offset_ns, of->unix_offset_ns);
        int64_t from_ns = gv_time_sum(traces[i].from_ns, added_ns);
        int64_t until_ns = gv_time_sum(traces[i].until_ns, added_ns);
        if (from_ns < of->from_ns)
            of->from_ns = from_ns;
        if (until_ns > of->until_ns)
            of->until_ns = until_ns;
    }
}

static int solve(struct gv_clocks *clocks, struct gv_trace_clock *traces, size_t count,
                 size_t *first, bool *aligned)
{
    struct pairs pairs = {0};
    int error = 0;

    for (size_t i = 0; i < count && !error; i++)
        error = join_machine(clocks, traces, i, first);
    if (!error)
        error = gv_database_each(clocks->shared, sql_shared, NULL, 0, take_pair, &pairs);
    if (!error)
        span_all(traces, first, count);
    /* The reference, and after that one of each group of machines that shares nothing with it. */
    for (size_t i = 0; i < count && !error; i++) {
        if (first[i] != i || aligned[i])
            continue;
        aligned[i] = true;
        if (i > 0) {
            use_wall_clock(&traces[i], &traces[0]);
            traces[i].method = GV_CLOCK_WALL;
            traces[i].error_ns = -1;
        }
        error = align_all(clocks, traces, &pairs, aligned);
    }
    free(pairs.list);
    for (size_t i = 0; i < count && !error; i++)
        if (first[i] != i)
            follow_first(&traces[i], &traces[first[i]]);
    return error;
}

int gv_clocks_solve(struct gv_clocks *clocks, struct gv_trace_clock *traces, size_t count)
{
    size_t *first = calloc(count, sizeof(*first));
    bool *aligned = calloc(count, sizeof(*aligned));
    int error = first && aligned ? 0 : -ENOMEM;

    if (!error && count > 0)
        error = solve(clocks, traces, count, first, aligned);
    free(aligned);
    free(first);
    return error;
}
