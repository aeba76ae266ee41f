#include "report/analyse/stalls/sums.h"

#include "report/analyse/time_sum.h"
#include "report/analyse/time_union.h"
#include "report/analyse/totals/totals.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Most threads in a trace; a file with more must not make us allocate all memory. */
#define GV_STALL_SUMS_THREADS (1 << 20)

struct gv_stall_thread {
    int64_t process, first_ns, last_ns;
    bool any;
};

struct gv_stall_threads {
    struct gv_stall_thread *threads; /* by row */
    size_t count;
};

typedef void gv_stall_sums_take(sqlite3_stmt *row, void *target);

static int gv_stall_sums_rows(sqlite3 *trace, const char *sql, gv_stall_sums_take *take,
                              void *target)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(trace, sql, -1, &rows, NULL);

    if (result == SQLITE_OK)
        while ((result = sqlite3_step(rows)) == SQLITE_ROW)
            take(rows, target);
    sqlite3_finalize(rows);
    return result == SQLITE_DONE ? 0 : result == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

static struct gv_stall_thread *gv_stall_sums_thread(const struct gv_stall_threads *all, int64_t row)
{
    return row > 0 && (uint64_t)row < all->count ? &all->threads[row] : NULL;
}

static void gv_stall_sums_highest(sqlite3_stmt *row, void *target)
{
    *(int64_t *)target = sqlite3_column_int64(row, 0);
}

static void gv_stall_sums_process(sqlite3_stmt *row, void *target)
{
    struct gv_stall_thread *thread = gv_stall_sums_thread(target, sqlite3_column_int64(row, 0));

    if (thread)
        thread->process = sqlite3_column_int64(row, 1);
}

static void gv_stall_sums_call(sqlite3_stmt *row, void *target)
{
    struct gv_stall_thread *thread = gv_stall_sums_thread(target, sqlite3_column_int64(row, 0));
    int64_t start_ns = sqlite3_column_int64(row, 1);
    int64_t end_ns = gv_time_sum(start_ns, sqlite3_column_int64(row, 2));

    if (!thread)
        return;
    if (!thread->any || start_ns < thread->first_ns)
        thread->first_ns = start_ns;
    if (!thread->any || end_ns > thread->last_ns)
        thread->last_ns = end_ns;
    thread->any = true;
}

static int gv_stall_thread_compare(const void *left, const void *right)
{
    const struct gv_stall_thread *a = left, *b = right;

    return a->process < b->process ? -1 : a->process > b->process;
}

/* The processes' time spans, one after the other. */
static int64_t gv_stall_sums_spans(struct gv_stall_threads *all, int64_t *processes)
{
    int64_t sum_ns = 0;

    qsort(all->threads, all->count, sizeof(*all->threads), gv_stall_thread_compare);
    for (size_t i = 0; i < all->count;) {
        struct gv_stall_thread span = {.process = all->threads[i].process};
        for (; i < all->count && all->threads[i].process == span.process; i++) {
            const struct gv_stall_thread *thread = &all->threads[i];
            if (thread->any && (!span.any || thread->first_ns < span.first_ns))
                span.first_ns = thread->first_ns;
            if (thread->any && (!span.any || thread->last_ns > span.last_ns))
                span.last_ns = thread->last_ns;
            span.any |= thread->any;
        }
        sum_ns = gv_time_sum(sum_ns, gv_time_difference(span.last_ns, span.first_ns));
        *processes += span.any;
    }
    return sum_ns;
}

/* Threads' time spans if they are stored, otherwise from all calls. */
static const char *gv_stall_sums_calls_sql(sqlite3 *trace)
{
    return gv_totals_are_kept(trace) == 1
               ? "SELECT thread, first_ns, last_ns - first_ns FROM main.thread_total"
               : "SELECT thread, start_ns, duration_ns FROM call";
}

static int gv_stall_sums_run(sqlite3 *trace, struct gv_stall_sums *sums)
{
    struct gv_stall_threads all = {0};
    int64_t highest = 0;
    int error = gv_stall_sums_rows(trace, "SELECT coalesce(max(id), 0) FROM thread",
                                   gv_stall_sums_highest, &highest);

    if (!error && (highest < 0 || highest > GV_STALL_SUMS_THREADS))
        error = -EPROTO;
    if (error)
        return error;
    all.count = (size_t)highest + 1;
    all.threads = calloc(all.count, sizeof(*all.threads));
    if (!all.threads)
        return -ENOMEM;
    error =
        gv_stall_sums_rows(trace, "SELECT id, process FROM thread", gv_stall_sums_process, &all);
    if (!error)
        error = gv_stall_sums_rows(trace, gv_stall_sums_calls_sql(trace), gv_stall_sums_call, &all);
    sums->run_ns = gv_stall_sums_spans(&all, &sums->processes);
    free(all.threads);
    return error;
}

static void gv_stall_sums_counts(sqlite3_stmt *row, void *target)
{
    struct gv_stall_sums *sums = target;

    sums->count = sqlite3_column_int64(row, 0);
    sums->expected_count = sqlite3_column_int64(row, 1);
    sums->expected_ns = sqlite3_column_int64(row, 2);
    sums->unfinished = sqlite3_column_int64(row, 3);
    sums->jit_ns = sqlite3_column_int64(row, 4);
    sums->unknown_count = sqlite3_column_int64(row, 5);
}

struct gv_stall_unions {
    int64_t process; /* whose stalls are being added, in order of time */
    struct gv_time_union all, known, unknown;
};

static void gv_stall_sums_lost(sqlite3_stmt *row, void *target)
{
    struct gv_stall_unions *unions = target;
    int64_t process = sqlite3_column_int64(row, 0), start_ns = sqlite3_column_int64(row, 1);
    int64_t end_ns = gv_time_sum(start_ns, sqlite3_column_int64(row, 2));

    if (process != unions->process) {
        gv_time_union_begin(&unions->all);
        gv_time_union_begin(&unions->known);
        gv_time_union_begin(&unions->unknown);
    }
    unions->process = process;
    gv_time_union_add(&unions->all, start_ns, end_ns);
    gv_time_union_add(sqlite3_column_int(row, 3) ? &unions->unknown : &unions->known, start_ns,
                      end_ns);
}

int gv_stall_sums_read(sqlite3 *trace, struct gv_stall_sums *sums)
{
    struct gv_stall_unions lost = {0};
    int error;

    memset(sums, 0, sizeof(*sums));
    error = gv_stall_sums_rows(
        trace,
        "SELECT coalesce(sum(NOT expected), 0), coalesce(sum(expected != 0), 0),"
        " CAST(total(CASE WHEN expected THEN wait_ns + jit_ns ELSE 0 END) AS INTEGER),"
        " (SELECT count(*) FROM flight),"
        " CAST(total(CASE WHEN expected THEN 0 ELSE jit_ns END) AS INTEGER),"
        " count(CASE WHEN cause = 'unknown' AND NOT expected THEN 1 END) FROM stall",
        gv_stall_sums_counts, sums);
    /* A call's lost time comes first, its own work last. */
    if (!error)
        error = gv_stall_sums_rows(trace,
                                   "SELECT process, start_ns, wait_ns + jit_ns, cause = 'unknown'"
                                   " FROM stalls WHERE NOT expected ORDER BY process, start_ns",
                                   gv_stall_sums_lost, &lost);
    sums->lost_ns = lost.all.sum_ns;
    sums->known_ns = lost.known.sum_ns;
    sums->unknown_ns = lost.unknown.sum_ns;
    return error ? error : gv_stall_sums_run(trace, sums);
}
