/*
 * How much of each interval a process had no work on any device. Work and intervals come in the
 * order of their starts, so the idle time up to a moment is known as soon as all earlier work is.
 * That of an interval is the difference between the one up to its end and the one up to its start.
 */
#include "report/analyse/ranges/pass.h"
#include "report/analyse/ranges/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_ranges_ranges.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <stdlib.h>

enum interval_column {
    INTERVAL_CONSUMER,
    INTERVAL_KEY,
    INTERVAL_PROCESS,
    INTERVAL_START,
    INTERVAL_DURATION,
};

static int find_clock(struct gv_range_idle *idle, int64_t process, size_t *clock)
{
    const struct gv_key key = {{(uint64_t)process, 0, 0}};
    int64_t number = gv_key_map_find(&idle->clock_of, &key);
    int error;

    *clock = (size_t)number - 1;
    if (number)
        return 0;
    error =
        gv_array_room(&idle->clocks, idle->clock_count, &idle->clock_room, sizeof(*idle->clocks));
    if (error)
        return error;
    *clock = idle->clock_count++;
    idle->clocks[*clock] = (struct gv_range_clock){.until_ns = -(INT64_C(1) << 60)};
    return gv_key_map_add(&idle->clock_of, &key, (int64_t)*clock + 1);
}

static int64_t idle_at(const struct gv_range_clock *clock, int64_t at_ns)
{
    return at_ns > clock->until_ns ? gv_time_sum(clock->idle_ns, at_ns - clock->until_ns)
                                   : clock->idle_ns;
}

/* ---- the open intervals ---- */

static void swap(struct gv_range_interval *left, struct gv_range_interval *right)
{
    struct gv_range_interval kept = *left;

    *left = *right;
    *right = kept;
}

static int open_interval(struct gv_range_idle *idle, const struct gv_range_interval *interval)
{
    int error = gv_array_room(&idle->open, idle->open_count, &idle->open_room, sizeof(*idle->open));
    size_t at = idle->open_count;

    if (error)
        return error;
    idle->open[idle->open_count++] = *interval;
    for (; at > 0 && idle->open[(at - 1) / 2].end_ns > idle->open[at].end_ns; at = (at - 1) / 2)
        swap(&idle->open[at], &idle->open[(at - 1) / 2]);
    return 0;
}

static struct gv_range_interval close_first(struct gv_range_idle *idle)
{
    struct gv_range_interval first = idle->open[0];
    size_t at = 0, next;

    idle->open[0] = idle->open[--idle->open_count];
    while ((next = 2 * at + 1) < idle->open_count) {
        if (next + 1 < idle->open_count && idle->open[next + 1].end_ns < idle->open[next].end_ns)
            next++;
        if (idle->open[at].end_ns <= idle->open[next].end_ns)
            break;
        swap(&idle->open[at], &idle->open[next]);
        at = next;
    }
    return first;
}

static int close_until(struct gv_range_pass *pass, int64_t at_ns)
{
    struct gv_range_idle *idle = &pass->idle;
    int error = 0;

    while (!error && idle->open_count && idle->open[0].end_ns <= at_ns) {
        struct gv_range_interval interval = close_first(idle);
        const struct gv_range_consumer *consumer = &pass->consumers[interval.consumer];
        error = consumer->idle(
            consumer->context, interval.key,
            gv_time_difference(idle_at(&idle->clocks[interval.clock], interval.end_ns),
                               interval.idle_ns));
    }
    return error;
}

/* ---- the order of time ---- */

static int compare_unseen(const void *left, const void *right)
{
    const struct gv_range_unseen *one = left, *other = right;

    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static int next_interval(struct gv_range_pass *pass)
{
    struct gv_range_idle *idle = &pass->idle;
    int result = sqlite3_step(idle->intervals);

    idle->ended = result != SQLITE_ROW;
    return gv_database_error(pass->trace, result);
}

static int begin(struct gv_range_pass *pass)
{
    const struct gv_totals_part *part = &pass->part;
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    struct gv_range_idle *idle = &pass->idle;
    int error;

    if (idle->begun)
        return 0;
    idle->begun = true;
    if (idle->unseen_count)
        qsort(idle->unseen, idle->unseen_count, sizeof(*idle->unseen), compare_unseen);
    error = gv_database_error(
        pass->trace, gv_database_ask(pass->trace, sql_intervals, values, 4, &idle->intervals));
    return error ? error : next_interval(pass);
}

/* Takes all intervals that start or end by then. All earlier work must be known. */
static int go_on(struct gv_range_pass *pass, int64_t at_ns)
{
    struct gv_range_idle *idle = &pass->idle;
    sqlite3_stmt *row = idle->intervals;
    int error = 0;

    while (!error && !idle->ended && gv_time_column(row, INTERVAL_START) <= at_ns) {
        int64_t start_ns = gv_time_column(row, INTERVAL_START);
        struct gv_range_interval interval = {
            .consumer = (size_t)sqlite3_column_int64(row, INTERVAL_CONSUMER),
            .key = sqlite3_column_int64(row, INTERVAL_KEY),
            .end_ns = start_ns + gv_time_column_duration(row, INTERVAL_DURATION),
        };
        if (interval.end_ns > pass->part.to_ns)
            interval.end_ns = pass->part.to_ns;
        error = close_until(pass, start_ns);
        if (!error)
            error = find_clock(idle, sqlite3_column_int64(row, INTERVAL_PROCESS), &interval.clock);
        if (error)
            return error;
        interval.idle_ns = idle_at(&idle->clocks[interval.clock], start_ns);
        error = open_interval(idle, &interval);
        if (!error)
            error = next_interval(pass);
    }
    return error ? error : close_until(pass, at_ns);
}

static int take_work(struct gv_range_pass *pass, int64_t process, int64_t start_ns, int64_t end_ns)
{
    struct gv_range_clock *clock;
    size_t number;
    int error = go_on(pass, start_ns);

    if (!error)
        error = find_clock(&pass->idle, process, &number);
    if (error)
        return error;
    clock = &pass->idle.clocks[number];
    clock->idle_ns = idle_at(clock, start_ns);
    if (start_ns > clock->until_ns)
        clock->until_ns = start_ns;
    if (end_ns > clock->until_ns)
        clock->until_ns = end_ns;
    return 0;
}

/* Time of which nothing is known is not idle. */
static int take_unseen(struct gv_range_pass *pass, int64_t until_ns)
{
    struct gv_range_idle *idle = &pass->idle;
    int error = 0;

    while (!error && idle->unseen_at < idle->unseen_count &&
           idle->unseen[idle->unseen_at].start_ns <= until_ns) {
        const struct gv_range_unseen *unseen = &idle->unseen[idle->unseen_at++];
        error = take_work(pass, unseen->process, unseen->start_ns, unseen->end_ns);
    }
    return error;
}

int gv_range_pass_unseen(struct gv_range_pass *pass, int64_t process, int64_t start_ns,
                         int64_t end_ns)
{
    struct gv_range_idle *idle = pass ? &pass->idle : NULL;
    int error = idle ? gv_array_room(&idle->unseen, idle->unseen_count, &idle->unseen_room,
                                     sizeof(*idle->unseen))
                     : 0;

    if (idle && !error)
        idle->unseen[idle->unseen_count++] = (struct gv_range_unseen){process, start_ns, end_ns};
    return error;
}

int gv_range_pass_busy(struct gv_range_pass *pass, int64_t process, int64_t start_ns,
                       int64_t end_ns)
{
    int error = pass ? begin(pass) : 0;

    if (pass && !error)
        error = take_unseen(pass, start_ns);
    return pass && !error ? take_work(pass, process, start_ns, end_ns) : error;
}

int gv_range_pass_busy_end(struct gv_range_pass *pass)
{
    int error = pass ? begin(pass) : 0;

    if (pass && !error)
        error = take_unseen(pass, INT64_MAX);
    if (pass && !error)
        error = go_on(pass, INT64_MAX);
    if (pass)
        gv_range_idle_free(&pass->idle);
    return error;
}

void gv_range_idle_free(struct gv_range_idle *idle)
{
    sqlite3_finalize(idle->intervals);
    gv_key_map_free(&idle->clock_of);
    free(idle->clocks);
    free(idle->open);
    free(idle->unseen);
    *idle = (struct gv_range_idle){0};
}
