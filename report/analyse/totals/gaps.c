/*
 * Finds what the host did in the short gaps between operations. Otherwise, a program whose copies
 * make the GPU wait would look like one that launches too slowly.
 *
 * With many gaps, a sample stands for all, so memory does not grow with the trace. The sample
 * avoids any repeating pattern.
 */
#include "report/analyse/totals/run.h"

#include "report/store/time_sum.h"
#include "report/store/database.h"

#include <stdlib.h>

/* 2^64 divided by the golden ratio: its multiples are evenly spread, also those of every nth
 * number. */
#define GV_GAPS_SPREAD UINT64_C(0x9e3779b97f4a7c15)

static bool gaps_is_kept(const struct gv_totals_run *run, uint64_t number)
{
    return run->thinned == 0 || number * GV_GAPS_SPREAD >> (64 - run->thinned) == 0;
}

static void gaps_thin(struct gv_totals_run *run)
{
    size_t kept = 0;

    run->thinned++;
    for (size_t i = 0; i < run->short_gap_count; i++)
        if (gaps_is_kept(run, run->short_gaps[i].number))
            run->short_gaps[kept++] = run->short_gaps[i];
    run->short_gap_count = kept;
}

void gv_totals_gaps_note(struct gv_totals_run *run, int64_t start_ns, int64_t end_ns, int64_t call,
                         bool copies)
{
    uint64_t number = run->short_gaps_seen++;

    run->short_gaps_ns = gv_time_sum(run->short_gaps_ns, end_ns - start_ns);
    while (gaps_is_kept(run, number) && run->short_gap_count == GV_TOTALS_SHORT_GAPS)
        gaps_thin(run);
    if (gaps_is_kept(run, number))
        run->short_gaps[run->short_gap_count++] = (struct gv_totals_short_gap){.number = number,
                                                                               .start_ns = start_ns,
                                                                               .end_ns = end_ns,
                                                                               .call = call,
                                                                               .copies = copies};
}

/* Sorted by the thread that ended them, then by time. */
static int gaps_compare(const void *left, const void *right)
{
    const struct gv_totals_short_gap *one = left, *other = right;

    if (one->thread != other->thread)
        return one->thread < other->thread ? -1 : 1;
    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

/* If the call had returned before the gap began, the host was ahead of the GPU: no thread made
 * it wait. */
static int gaps_find_threads(struct gv_totals_run *run)
{
    sqlite3_stmt *call = NULL;
    int result = sqlite3_prepare_v2(run->trace,
                                    "SELECT thread, start_ns, duration_ns FROM call WHERE id = ?1",
                                    -1, &call, NULL);
    int error = gv_database_error(run->trace, result);

    for (size_t i = 0; i < run->short_gap_count && !error; i++) {
        struct gv_totals_short_gap *gap = &run->short_gaps[i];
        sqlite3_bind_int64(call, 1, gap->call);
        result = sqlite3_step(call);
        if (result == SQLITE_ROW && gv_totals_end(call, 2, gv_time_column(call, 1)) > gap->start_ns)
            gap->thread = sqlite3_column_int64(call, 0);
        if (gap->thread < 0 || (uint64_t)gap->thread >= run->threads.rows)
            gap->thread = 0;
        error = gv_database_error(run->trace, result);
        sqlite3_reset(call);
    }
    sqlite3_finalize(call);
    return error;
}

int gv_totals_gaps_open(struct gv_totals_run *run)
{
    int error = gaps_find_threads(run);

    if (error)
        return error;
    if (run->short_gap_count > 1)
        qsort(run->short_gaps, run->short_gap_count, sizeof(*run->short_gaps), gaps_compare);
    for (size_t i = 0; i < run->short_gap_count; i++) {
        struct gv_totals_short_gap *gap = &run->short_gaps[i];
        struct gv_totals_thread *thread = &run->thread_times[gap->thread];
        bool first = thread->gaps_to == 0;

        if (first)
            thread->gaps_from = i;
        thread->gaps_to = i + 1;
        gap->reach_ns = !first && gap[-1].reach_ns > gap->end_ns ? gap[-1].reach_ns : gap->end_ns;
    }
    return 0;
}

/* The thread's first gap that ends after a time, or one before it. */
static size_t gaps_first(const struct gv_totals_run *run, const struct gv_totals_thread *thread,
                         int64_t from_ns)
{
    size_t low = thread->gaps_from, high = thread->gaps_to;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->short_gaps[middle].reach_ns > from_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void gaps_take(struct gv_totals_run *run, const struct gv_totals_thread *thread,
                      bool launches, int64_t start_ns, int64_t end_ns)
{
    for (size_t i = gaps_first(run, thread, start_ns);
         i < thread->gaps_to && run->short_gaps[i].start_ns < end_ns; i++) {
        struct gv_totals_short_gap *gap = &run->short_gaps[i];
        int64_t from_ns = start_ns > gap->start_ns ? start_ns : gap->start_ns;
        int64_t to_ns = end_ns < gap->end_ns ? end_ns : gap->end_ns;
        int64_t *taken_ns = launches ? &gap->launch_ns : &gap->copy_ns;

        if (to_ns > from_ns && (launches || gap->copies))
            *taken_ns = gv_time_sum(*taken_ns, to_ns - from_ns);
    }
}

void gv_totals_gaps_call(struct gv_totals_run *run, int64_t thread_id, enum gv_totals_class class,
                         int64_t start_ns, int64_t end_ns)
{
    struct gv_totals_thread *thread;

    if (thread_id <= 0 || (uint64_t)thread_id >= run->threads.rows)
        return;
    thread = &run->thread_times[thread_id];
    if (thread->gaps_to == 0)
        return;
    /* Events, queries and the like neither launch nor delay launches. */
    if (class == GV_TOTALS_LAUNCH) {
        bool goes_on = thread->launched_ns && thread->launched_ns < start_ns;
        gaps_take(run, thread, true, goes_on ? thread->launched_ns : start_ns, end_ns);
        thread->launched_ns = end_ns;
    } else if (class != GV_TOTALS_OTHER) {
        thread->launched_ns = 0;
    }
    if (class == GV_TOTALS_COPY)
        gaps_take(run, thread, false, start_ns, end_ns);
}

/* Extrapolates from the sample to all gaps. */
static int64_t gaps_scale(int64_t part, int64_t some, int64_t all)
{
    return some > 0 && some != all ? (int64_t)((double)part * ((double)all / (double)some)) : part;
}

void gv_totals_gaps_sum(struct gv_totals_run *run)
{
    int64_t some_ns = 0, launch_ns = 0, copy_ns = 0, launch_gaps = 0, launch_gaps_ns = 0;

    for (size_t i = 0; i < run->short_gap_count; i++) {
        const struct gv_totals_short_gap *gap = &run->short_gaps[i];
        int64_t ns = gap->end_ns - gap->start_ns;

        some_ns = gv_time_sum(some_ns, ns);
        launch_ns = gv_time_sum(launch_ns, gap->launch_ns < ns ? gap->launch_ns : ns);
        copy_ns = gv_time_sum(copy_ns, gap->copy_ns < ns ? gap->copy_ns : ns);
        if (gap->launch_ns >= ns / 2) {
            launch_gaps++;
            launch_gaps_ns = gv_time_sum(launch_gaps_ns, ns);
        }
    }
    run->launch_gap_ns = gaps_scale(launch_ns, some_ns, run->short_gaps_ns);
    run->copy_gap_ns = gaps_scale(copy_ns, some_ns, run->short_gaps_ns);
    run->launch_gaps =
        gaps_scale(launch_gaps, (int64_t)run->short_gap_count, (int64_t)run->short_gaps_seen);
    run->launch_gaps_ns =
        gaps_scale(launch_gaps_ns, (int64_t)run->short_gap_count, (int64_t)run->short_gaps_seen);
}
