#include "report/analyse/stalls/sums.h"

#include "report/analyse/time_sum.h"
#include "report/analyse/time_union.h"
#include "report/analyse/totals/totals.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An untrusted file must not make us allocate all memory. */
#define THREADS_MOST (1 << 20)

struct gv_stall_thread {
    int64_t process, first_ns, last_ns;
    bool any;
};

struct gv_stall_threads {
    struct gv_stall_thread *threads; /* by row */
    size_t count;
};

typedef void take_row(sqlite3_stmt *row, void *target);

static int each_row(sqlite3 *trace, const char *sql, take_row *take, void *target)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(trace, sql, -1, &rows, NULL);

    if (result == SQLITE_OK)
        while ((result = sqlite3_step(rows)) == SQLITE_ROW)
            take(rows, target);
    sqlite3_finalize(rows);
    return result == SQLITE_DONE ? 0 : result == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

static struct gv_stall_thread *thread_of(const struct gv_stall_threads *all, int64_t row)
{
    return row > 0 && (uint64_t)row < all->count ? &all->threads[row] : NULL;
}

static void take_highest(sqlite3_stmt *row, void *target)
{
    *(int64_t *)target = sqlite3_column_int64(row, 0);
}

static void take_process(sqlite3_stmt *row, void *target)
{
    struct gv_stall_thread *thread = thread_of(target, sqlite3_column_int64(row, 0));

    if (thread)
        thread->process = sqlite3_column_int64(row, 1);
}

static void take_call(sqlite3_stmt *row, void *target)
{
    struct gv_stall_thread *thread = thread_of(target, sqlite3_column_int64(row, 0));
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

static int compare_threads(const void *left, const void *right)
{
    const struct gv_stall_thread *a = left, *b = right;

    return a->process < b->process ? -1 : a->process > b->process;
}

/* Adds up the processes' spans. */
static int64_t add_spans(struct gv_stall_threads *all, int64_t *processes)
{
    int64_t sum_ns = 0;

    qsort(all->threads, all->count, sizeof(*all->threads), compare_threads);
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

/* Each thread's span if totals are stored, otherwise all calls. */
static const char *calls_sql(sqlite3 *trace)
{
    return gv_totals_are_kept(trace) == 1
               ? "SELECT thread, first_ns, last_ns - first_ns FROM main.thread_total"
               : "SELECT thread, start_ns, duration_ns FROM call";
}

static int read_run(sqlite3 *trace, struct gv_stall_sums *sums)
{
    struct gv_stall_threads all = {0};
    int64_t highest = 0;
    int error = each_row(trace, "SELECT coalesce(max(id), 0) FROM thread", take_highest, &highest);

    if (!error && (highest < 0 || highest > THREADS_MOST))
        error = -EPROTO;
    if (error)
        return error;
    all.count = (size_t)highest + 1;
    all.threads = calloc(all.count, sizeof(*all.threads));
    if (!all.threads)
        return -ENOMEM;
    error = each_row(trace, "SELECT id, process FROM thread", take_process, &all);
    if (!error)
        error = each_row(trace, calls_sql(trace), take_call, &all);
    sums->run_ns = add_spans(&all, &sums->processes);
    free(all.threads);
    return error;
}

static void take_counts(sqlite3_stmt *row, void *target)
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

static void take_lost(sqlite3_stmt *row, void *target)
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
    error = each_row(trace,
                     "SELECT coalesce(sum(NOT expected), 0), coalesce(sum(expected != 0), 0),"
                     " CAST(total(CASE WHEN expected THEN wait_ns + jit_ns ELSE 0 END) AS INTEGER),"
                     " (SELECT count(*) FROM flight),"
                     " CAST(total(CASE WHEN expected THEN 0 ELSE jit_ns END) AS INTEGER),"
                     " count(CASE WHEN cause = 'unknown' AND NOT expected THEN 1 END) FROM stall",
                     take_counts, sums);
    /* In a call, the lost time comes first, its own work last. */
    if (!error)
        error = each_row(trace,
                         "SELECT process, start_ns, wait_ns + jit_ns, cause = 'unknown'"
                         " FROM stalls WHERE NOT expected ORDER BY process, start_ns",
                         take_lost, &lost);
    sums->lost_ns = lost.all.sum_ns;
    sums->known_ns = lost.known.sum_ns;
    sums->unknown_ns = lost.unknown.sum_ns;
    return error ? error : read_run(trace, sums);
}
