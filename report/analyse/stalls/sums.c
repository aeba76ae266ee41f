#include "report/analyse/stalls/sums.h"

#include "report/analyse/stopped.h"
#include "report/store/time_sum.h"
#include "report/analyse/time_union.h"
#include "report/analyse/totals/totals.h"
#include "report/analyse_stalls_sums.inc"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An untrusted file must not make us allocate all memory. */
#define PROCESSES_MOST (1 << 20)

/* From each process's first call to its last one's end, by row. */
struct gv_stall_spans {
    struct {
        int64_t first_ns, last_ns;
        bool any;
    } * list;
    int64_t count;
};

static int take_span(void *target, sqlite3_stmt *row)
{
    struct gv_stall_spans *spans = target;
    int64_t process = sqlite3_column_int64(row, 0);
    int64_t first_ns = sqlite3_column_int64(row, 1), last_ns = sqlite3_column_int64(row, 2);

    if (process < 0 || process >= spans->count)
        return 0;
    if (!spans->list[process].any || first_ns < spans->list[process].first_ns)
        spans->list[process].first_ns = first_ns;
    if (!spans->list[process].any || last_ns > spans->list[process].last_ns)
        spans->list[process].last_ns = last_ns;
    spans->list[process].any = true;
    return 0;
}

static int read_spans(sqlite3 *trace, struct gv_stall_sums *sums)
{
    const char *sql = gv_totals_are_kept(trace) == 1
                          ? "SELECT t.process, s.first_ns, s.last_ns FROM main.thread_total s"
                            " JOIN thread t ON t.id = s.thread"
                          : "SELECT t.process, c.start_ns, c.start_ns + c.duration_ns FROM call c"
                            " CROSS JOIN thread t ON t.id = c.thread";
    struct gv_stall_spans spans = {0};
    struct gv_stopped stopped = {0};
    int error = gv_database_number(trace, "SELECT coalesce(max(id), 0) + 1 FROM process", NULL, 0,
                                   &spans.count);

    if (!error && (spans.count < 0 || spans.count > PROCESSES_MOST))
        error = -EPROTO;
    if (error)
        return error;
    spans.list = calloc((size_t)spans.count, sizeof(*spans.list));
    if (!spans.list)
        return -ENOMEM;
    error = gv_database_each(trace, sql, NULL, 0, take_span, &spans);
    if (!error)
        error = gv_stopped_read(trace, &stopped);
    for (int64_t i = 0; i < spans.count; i++) {
        int64_t span_ns = gv_time_difference(spans.list[i].last_ns, spans.list[i].first_ns);
        sums->run_ns = gv_time_sum(sums->run_ns, span_ns);
        sums->run_ns -= gv_stopped_ns(&stopped, i, spans.list[i].first_ns, spans.list[i].last_ns);
        sums->processes += spans.list[i].any;
    }
    free(stopped.times);
    free(spans.list);
    return error;
}

static int take_counts(void *target, sqlite3_stmt *row)
{
    struct gv_stall_sums *sums = target;

    sums->count = sqlite3_column_int64(row, 0);
    sums->expected_count = sqlite3_column_int64(row, 1);
    sums->expected_ns = sqlite3_column_int64(row, 2);
    sums->unfinished = sqlite3_column_int64(row, 3);
    sums->jit_ns = sqlite3_column_int64(row, 4);
    sums->unknown_count = sqlite3_column_int64(row, 5);
    return 0;
}

struct gv_stall_unions {
    int64_t process; /* whose stalls are being added, in order of time */
    struct gv_time_union all, known, unknown;
};

static int take_lost(void *target, sqlite3_stmt *row)
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
    return 0;
}

int gv_stall_sums_read(sqlite3 *trace, struct gv_stall_sums *sums)
{
    struct gv_stall_unions lost = {0};
    int error;

    memset(sums, 0, sizeof(*sums));
    error = gv_database_each(trace, sql_counts, NULL, 0, take_counts, sums);
    /* In a call, the lost time comes first, its own work last. */
    if (!error)
        error = gv_database_each(trace, sql_lost, NULL, 0, take_lost, &lost);
    sums->lost_ns = lost.all.sum_ns;
    sums->known_ns = lost.known.sum_ns;
    sums->unknown_ns = lost.unknown.sum_ns;
    return error ? error : read_spans(trace, sums);
}
