/*
 * How much of each interval a process had no work on any device: no lane of the ledger has that.
 * Work and the borders of intervals come in the order of time, so the idle time up to a moment is
 * known as soon as all earlier work is. That of an interval is the one up to its end, less the one
 * up to its start.
 */
#include "report/analyse/ranges/pass.h"
#include "report/analyse/ranges/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_ranges_ranges.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <stdlib.h>

enum border_column { BORDER_CONSUMER, BORDER_KEY, BORDER_PROCESS, BORDER_AT, BORDER_IS_END };

/* at_ns: when it begins, if it is a new one. */
static int find_clock(struct gv_range_idle *idle, int64_t process, int64_t at_ns, size_t *clock)
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
    idle->clocks[*clock] = (struct gv_range_clock){.until_ns = at_ns};
    return gv_key_map_add(&idle->clock_of, &key, (int64_t)*clock + 1);
}

static int64_t idle_at(const struct gv_range_clock *clock, int64_t at_ns)
{
    return at_ns > clock->until_ns ? gv_time_sum(clock->idle_ns, at_ns - clock->until_ns)
                                   : clock->idle_ns;
}

/* ---- the order of time ---- */

static int compare_unseen(const void *left, const void *right)
{
    const struct gv_range_unseen *one = left, *other = right;

    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static int next_border(struct gv_range_pass *pass)
{
    struct gv_range_idle *idle = &pass->idle;
    int result = sqlite3_step(idle->borders);

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
    error = gv_database_error(pass->trace,
                              gv_database_ask(pass->trace, sql_borders, values, 4, &idle->borders));
    return error ? error : next_border(pass);
}

/* Takes all borders until then. All earlier work must be known. */
static int go_on(struct gv_range_pass *pass, int64_t at_ns)
{
    struct gv_range_idle *idle = &pass->idle;
    sqlite3_stmt *row = idle->borders;
    int error = 0;

    while (!error && !idle->ended && gv_time_column(row, BORDER_AT) <= at_ns) {
        const struct gv_range_consumer *consumer =
            &pass->consumers[sqlite3_column_int64(row, BORDER_CONSUMER)];
        int64_t border_ns = gv_time_column(row, BORDER_AT);
        size_t clock;
        error = find_clock(idle, sqlite3_column_int64(row, BORDER_PROCESS), border_ns, &clock);
        if (error)
            return error;
        int64_t idle_ns = idle_at(&idle->clocks[clock], border_ns);
        error = consumer->idle(consumer->context, sqlite3_column_int64(row, BORDER_KEY),
                               sqlite3_column_int(row, BORDER_IS_END) ? idle_ns : -idle_ns);
        if (!error)
            error = next_border(pass);
    }
    return error;
}

static int take_work(struct gv_range_pass *pass, int64_t process, int64_t start_ns, int64_t end_ns)
{
    struct gv_range_clock *clock;
    size_t number;
    int error = go_on(pass, start_ns);

    if (!error)
        error = find_clock(&pass->idle, process, start_ns, &number);
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
    sqlite3_finalize(idle->borders);
    gv_key_map_free(&idle->clock_of);
    free(idle->clocks);
    free(idle->unseen);
    *idle = (struct gv_range_idle){0};
}
