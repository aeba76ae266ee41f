/* Keeps long idle times, adds short ones to groups, and finds what of them was inside calls. */
#include "report/analyse/idle/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_idle_idle.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>

int gv_idle_lane(struct gv_idle_run *run, int64_t process, int64_t device, int64_t thread,
                 size_t *lane)
{
    const struct gv_key key = {{(uint64_t)process, (uint64_t)device, (uint64_t)thread}};
    int64_t number = gv_key_map_find(&run->lane_numbers, &key);
    int error = 0;

    if (!number) {
        error = gv_array_room(&run->lanes, run->lane_count, &run->lane_room, sizeof(*run->lanes));
        if (error)
            return error;
        run->lanes[run->lane_count] = (struct gv_idle_lane){process, thread, device};
        number = (int64_t)++run->lane_count;
        error = gv_key_map_add(&run->lane_numbers, &key, number);
    }
    *lane = (size_t)number - 1;
    return error;
}

/* ---- how often each verdict was seen ---- */

static struct gv_idle_tally *tally_find(const struct gv_idle_run *run,
                                        const struct gv_idle_group *group, uint32_t verdict,
                                        bool by_reason)
{
    for (size_t at = group->tallies; at; at = run->tallies[at - 1].next) {
        uint32_t known = run->tallies[at - 1].verdict;
        if (known == verdict ||
            (by_reason && run->verdicts[known].reason == run->verdicts[verdict].reason))
            return &run->tallies[at - 1];
    }
    return NULL;
}

/* If there are many: as another of the same reason, or unknown. */
static int tally_add(struct gv_idle_run *run, struct gv_idle_group *group,
                     const struct gv_idle_sample *sample)
{
    uint32_t verdict = sample->verdict;
    bool is_full = group->kinds >= GV_IDLE_TALLIES_MOST;
    struct gv_idle_tally *tally = tally_find(run, group, verdict, false);
    int error;

    if (!tally && is_full)
        tally = tally_find(run, group, verdict, true);
    if (!tally && is_full)
        tally = tally_find(run, group, verdict = 0, false);
    group->samples++;
    if (tally) {
        tally->count++;
        if (tally->verdict == sample->verdict)
            gv_idle_most_add(&tally->most, sample->stack);
        return 0;
    }
    error = gv_array_room(&run->tallies, run->tally_count, &run->tally_room, sizeof(*run->tallies));
    if (error)
        return error;
    run->tallies[run->tally_count] = (struct gv_idle_tally){
        .next = group->tallies, .verdict = verdict, .count = 1, .most = {sample->stack, 1}};
    group->tallies = ++run->tally_count;
    group->kinds++;
    return 0;
}

/* Adds the samples of the gap's thread to a group. */
static int tally_gap(struct gv_idle_run *run, const struct gv_idle_gap *gap,
                     struct gv_idle_group *group)
{
    int64_t thread = run->lanes[gap->lane].thread;
    int error = 0;

    for (size_t i = gv_idle_samples_from(run, thread, gap->start_ns);
         i < run->sample_count && !error && run->samples[i].thread == thread &&
         run->samples[i].at_ns < gap->host_ns;
         i++)
        error = tally_add(run, group, &run->samples[i]);
    return error;
}

/* Adds the samples of the gap's thread to what other gaps before such a call are like. */
static int tally_after(struct gv_idle_run *run, const struct gv_idle_gap *gap, uint64_t after,
                       size_t most)
{
    const struct gv_key key = {{(uint64_t)run->lanes[gap->lane].thread, after, 0}};
    int64_t number = gv_key_map_find(&run->after_numbers, &key);
    int error = 0;

    if (!number && run->after_count < most) {
        error =
            gv_array_room(&run->afters, run->after_count, &run->after_room, sizeof(*run->afters));
        if (error)
            return error;
        run->afters[run->after_count] = (struct gv_idle_group){.lane = gap->lane};
        number = (int64_t)++run->after_count;
        error = gv_key_map_add(&run->after_numbers, &key, number);
    }
    return error || !number ? error : tally_gap(run, gap, &run->afters[number - 1]);
}

const struct gv_idle_group *gv_idle_others(const struct gv_idle_run *run, int64_t thread,
                                           uint64_t after)
{
    const struct gv_key key = {{(uint64_t)thread, after, 0}};
    int64_t number = gv_key_map_find(&run->after_numbers, &key);

    return number && run->afters[number - 1].samples > 0 ? &run->afters[number - 1] : NULL;
}

/* ---- groups ---- */

static int group_of(struct gv_idle_run *run, const struct gv_idle_gap *gap,
                    struct gv_idle_group **group)
{
    struct gv_key key = {{gap->lane, gap->before, gap->after}};
    int64_t number = gv_key_map_find(&run->group_numbers, &key);
    int error;

    if (!number && run->group_count >= GV_IDLE_GROUPS_MOST) {
        key.part[1] = UINT64_MAX;
        key.part[2] = run->group_count < 2 * GV_IDLE_GROUPS_MOST ? gap->after : UINT64_MAX;
        number = gv_key_map_find(&run->group_numbers, &key);
    }
    if (!number) {
        error =
            gv_array_room(&run->groups, run->group_count, &run->group_room, sizeof(*run->groups));
        if (error)
            return error;
        run->groups[run->group_count] =
            (struct gv_idle_group){.lane = gap->lane, .after = gap->after, .first = *gap};
        number = (int64_t)++run->group_count;
        error = gv_key_map_add(&run->group_numbers, &key, number);
        if (error)
            return error;
    }
    *group = &run->groups[number - 1];
    return 0;
}

static int window_add(struct gv_idle_run *run, const struct gv_idle_window *window)
{
    int error =
        gv_array_room(&run->windows, run->window_count, &run->window_room, sizeof(*run->windows));

    if (!error)
        run->windows[run->window_count++] = *window;
    return error;
}

/* Of many short gaps, a part stands for all. */
static int group_window(struct gv_idle_run *run, const struct gv_idle_gap *gap, size_t group)
{
    const struct gv_idle_window window = {
        .lane = gap->lane,
        .owner = group,
        .is_short = true,
        .start_ns = gap->start_ns,
        .end_ns = gap->host_ns,
    };
    size_t kept = 0;

    if (run->short_gaps++ & ((UINT64_C(1) << run->thinned) - 1))
        return 0;
    if (run->window_count == GV_IDLE_WINDOWS_MOST) {
        for (size_t i = 0; i < run->window_count; i += 2)
            run->windows[kept++] = run->windows[i];
        run->window_count = kept;
        run->thinned++;
    }
    return window_add(run, &window);
}

static int group_add(struct gv_idle_run *run, const struct gv_idle_gap *gap)
{
    struct gv_idle_group *group;
    int error = group_of(run, gap, &group);

    if (error)
        return error;
    group->gaps++;
    if (gap->start_ns < group->first.start_ns)
        group->first = *gap;
    group->total_ns = gv_time_sum(group->total_ns, gap->end_ns - gap->start_ns);
    group->host_ns = gv_time_sum(group->host_ns, gap->host_ns - gap->start_ns);
    group->launched_ns = gv_time_sum(group->launched_ns, gap->end_ns - gap->launched_ns);
    if (gap->launched_ns - gap->host_ns > group->call_ns) {
        group->call = gap->next;
        group->call_ns = gap->launched_ns - gap->host_ns;
    }
    if (gap->host_ns == gap->start_ns)
        return 0;
    error = tally_gap(run, gap, group);
    return error ? error : group_window(run, gap, (size_t)(group - run->groups));
}

/* Groups the shorter half of too many long ones, about. */
static int group_shorter(struct gv_idle_run *run)
{
    size_t kept = 0;
    int error = 0;

    run->long_ns *= 2;
    for (size_t i = 0; i < run->gap_count && !error; i++) {
        const struct gv_idle_gap gap = run->gaps[i];
        if (gap.place == GV_IDLE_BETWEEN && gap.end_ns - gap.start_ns < run->long_ns)
            error = group_add(run, &gap);
        else
            run->gaps[kept++] = gap;
    }
    run->gap_count = kept;
    return error;
}

static int gap_take(struct gv_idle_run *run, const struct gv_idle_gap *gap)
{
    bool between = gap->place == GV_IDLE_BETWEEN;
    bool is_short = gap->end_ns - gap->start_ns < run->long_ns;
    int error = 0;

    if (between && gap->host_ns > gap->start_ns)
        error = tally_after(run, gap, gap->after, GV_IDLE_GROUPS_MOST);
    /* Not the long ones: what happens once would stand for all. There are few functions. */
    if (!error && between && is_short && GV_IDLE_FUNCTION(gap->after) != gap->after)
        error = tally_after(run, gap, GV_IDLE_FUNCTION(gap->after), SIZE_MAX);
    if (error)
        return error;
    if (between && is_short)
        return group_add(run, gap);
    error = gv_array_room(&run->gaps, run->gap_count, &run->gap_room, sizeof(*run->gaps));
    if (error)
        return error;
    run->gaps[run->gap_count++] = *gap;
    /* Those at the beginnings and ends of processes stay. */
    return run->gap_count % GV_IDLE_LONG_MOST == 0 && run->long_ns < INT64_MAX / 4
               ? group_shorter(run)
               : 0;
}

static int64_t limited(int64_t ns, int64_t least_ns, int64_t most_ns)
{
    return ns < least_ns ? least_ns : ns > most_ns ? most_ns : ns;
}

int gv_idle_gap_take(struct gv_idle_run *run, const struct gv_idle_gap *gap, int64_t from_ns,
                     int64_t to_ns)
{
    struct gv_idle_gap part = *gap;
    int error = 0;

    from_ns = limited(from_ns, run->from_ns, run->until_ns);
    to_ns = limited(to_ns, run->from_ns, run->until_ns);
    for (int64_t at_ns = from_ns; !error && at_ns < to_ns; at_ns = part.end_ns) {
        part.start_ns = at_ns;
        part.end_ns = to_ns;
        if (run->ranges && !gv_range_choice_cut(run->ranges, run->lanes[gap->lane].process,
                                                &part.start_ns, &part.end_ns))
            return 0;
        part.host_ns = limited(gap->host_ns, part.start_ns, part.end_ns);
        part.launched_ns = limited(gap->launched_ns, part.host_ns, part.end_ns);
        error = gap_take(run, &part);
    }
    return error;
}

/* ---- the calls ---- */

/* One window around each sample of a long gap: to the middle between it and the next. */
static int gap_windows(struct gv_idle_run *run, size_t number)
{
    const struct gv_idle_gap *gap = &run->gaps[number];
    int64_t thread = run->lanes[gap->lane].thread, from_ns = gap->start_ns;
    size_t at = gv_idle_samples_from(run, thread, gap->start_ns);
    size_t end = gv_idle_samples_from(run, thread, gap->host_ns);
    int error = 0;

    for (size_t i = at; !error && (i < end || i == at); i++) {
        bool last = i + 1 >= end;
        struct gv_idle_window window = {
            .lane = gap->lane,
            .owner = number,
            .verdict = i < end ? run->samples[i].verdict : 0,
            .sampled = i < end,
            .stack = i < end ? run->samples[i].stack : 0,
            .start_ns = from_ns,
            .end_ns = last ? gap->host_ns
                           : run->samples[i].at_ns +
                                 (run->samples[i + 1].at_ns - run->samples[i].at_ns) / 2,
        };
        from_ns = window.end_ns;
        error = window_add(run, &window);
    }
    return error;
}

static int window_compare(const void *left, const void *right)
{
    const struct gv_idle_window *one = left, *other = right;

    if (one->lane != other->lane)
        return one->lane < other->lane ? -1 : 1;
    if (one->start_ns != other->start_ns)
        return one->start_ns < other->start_ns ? -1 : 1;
    return one->end_ns < other->end_ns ? -1 : one->end_ns > other->end_ns;
}

/* The windows of a lane, while the calls of its thread pass. */
struct idle_pass {
    int64_t thread;
    size_t at, to; /* the first that may not be over */
    size_t named;  /* the first whose previous call is not known */
    int64_t call;
};

struct idle_passing {
    struct gv_idle_run *run;
    struct idle_pass *passes; /* by thread */
    size_t *first;            /* by thread: of its passes */
    sqlite3_stmt *delay;
};

static int pass_compare(const void *left, const void *right)
{
    const struct idle_pass *one = left, *other = right;

    return one->thread < other->thread ? -1 : one->thread > other->thread;
}

/* For how long, at least, the thread waited for a CPU in a call. */
static int64_t call_delay_ns(const struct idle_passing *passing, int64_t call)
{
    int64_t delay_ns = 0;

    sqlite3_bind_int64(passing->delay, 1, call);
    if (sqlite3_step(passing->delay) == SQLITE_ROW)
        delay_ns = gv_time_column_duration(passing->delay, 0);
    sqlite3_reset(passing->delay);
    return delay_ns;
}

static void pass_call(const struct idle_passing *passing, struct idle_pass *pass, int64_t call,
                      int64_t start_ns, int64_t end_ns)
{
    struct gv_idle_run *run = passing->run;

    for (; pass->named < pass->to && run->windows[pass->named].start_ns < start_ns; pass->named++)
        run->windows[pass->named].previous = pass->call;
    pass->call = call;
    while (pass->at < pass->to && run->windows[pass->at].end_ns <= start_ns)
        pass->at++;
    for (size_t i = pass->at; i < pass->to && run->windows[i].start_ns < end_ns; i++) {
        struct gv_idle_window *window = &run->windows[i];
        int64_t from_ns = start_ns > window->start_ns ? start_ns : window->start_ns;
        int64_t to_ns = end_ns < window->end_ns ? end_ns : window->end_ns;
        if (to_ns <= from_ns)
            continue;
        if (window->inside_ns == 0)
            window->called_ns = from_ns;
        window->inside_ns += to_ns - from_ns;
        if (to_ns - from_ns >= GV_IDLE_DELAY_NS) { /* it ran on when the GPU was done */
            int64_t delay_ns = call_delay_ns(passing, call);
            window->delay_ns += delay_ns < to_ns - from_ns ? delay_ns : to_ns - from_ns;
        }
        if (to_ns - from_ns > window->call_ns) {
            window->call = call;
            window->call_ns = to_ns - from_ns;
        }
        if (window->inside_ns > window->end_ns - window->start_ns) /* not in a trace of ours */
            window->inside_ns = window->end_ns - window->start_ns;
        if (window->delay_ns > window->inside_ns)
            window->delay_ns = window->inside_ns;
    }
}

static int take_call(void *context, sqlite3_stmt *row)
{
    struct idle_passing *passing = context;
    int64_t thread = sqlite3_column_int64(row, 1), start_ns = gv_time_column(row, 2);
    size_t at;

    if (thread <= 0 || (uint64_t)thread >= passing->run->threads.rows)
        return 0;
    for (at = passing->first[thread];
         at < passing->run->lane_count && passing->passes[at].thread == thread; at++)
        pass_call(passing, &passing->passes[at], sqlite3_column_int64(row, 0), start_ns,
                  start_ns + gv_time_column_duration(row, 3));
    return 0;
}

static void passes_open(struct idle_passing *passing)
{
    struct gv_idle_run *run = passing->run;
    size_t at = 0;

    for (size_t lane = 0; lane < run->lane_count; lane++) {
        struct idle_pass *pass = &passing->passes[lane];
        *pass = (struct idle_pass){.thread = run->lanes[lane].thread, .at = at, .named = at};
        while (at < run->window_count && run->windows[at].lane == lane)
            at++;
        pass->to = at;
    }
    if (run->lane_count > 0)
        qsort(passing->passes, run->lane_count, sizeof(*passing->passes), pass_compare);
    for (size_t i = 0; i < run->threads.rows; i++)
        passing->first[i] = run->lane_count;
    for (size_t i = run->lane_count; i-- > 0;) {
        int64_t thread = passing->passes[i].thread;
        if (thread > 0 && (uint64_t)thread < run->threads.rows)
            passing->first[thread] = i;
    }
}

static void passes_close(struct idle_passing *passing)
{
    struct gv_idle_run *run = passing->run;

    for (size_t i = 0; i < run->lane_count; i++) {
        struct idle_pass *pass = &passing->passes[i];
        for (; pass->named < pass->to; pass->named++)
            run->windows[pass->named].previous = pass->call;
    }
    for (size_t i = 0; i < run->window_count; i++) {
        const struct gv_idle_window *window = &run->windows[i];
        struct gv_idle_group *group = window->is_short ? &run->groups[window->owner] : NULL;
        if (!group)
            continue;
        group->looked_ns = gv_time_sum(group->looked_ns, window->end_ns - window->start_ns);
        group->inside_ns = gv_time_sum(group->inside_ns, window->inside_ns);
        group->delay_ns = gv_time_sum(group->delay_ns, window->delay_ns);
        if (window->call_ns > group->call_ns) {
            group->call = window->call;
            group->call_ns = window->call_ns;
        }
        if (window->start_ns == group->first.start_ns && window->previous)
            group->first.previous = window->previous;
    }
}

int gv_idle_calls_pass(struct gv_idle_run *run)
{
    struct idle_passing passing = {.run = run};
    int error = 0;

    for (size_t i = 0; i < run->gap_count && !error; i++)
        error = gap_windows(run, i);
    passing.passes = calloc(run->lane_count + 1, sizeof(*passing.passes));
    passing.first = calloc(run->threads.rows + 1, sizeof(*passing.first));
    if (!error && (!passing.passes || !passing.first))
        error = -ENOMEM;
    if (!error)
        error = gv_database_error(
            run->trace, sqlite3_prepare_v2(run->trace, sql_delay, -1, &passing.delay, NULL));
    if (!error && run->window_count > 0) {
        qsort(run->windows, run->window_count, sizeof(*run->windows), window_compare);
        passes_open(&passing);
        error = gv_database_each(run->trace, sql_calls, NULL, 0, take_call, &passing);
        passes_close(&passing);
    }
    sqlite3_finalize(passing.delay);
    free(passing.passes);
    free(passing.first);
    return error;
}
