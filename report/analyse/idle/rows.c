/* Splits each idle time by its reasons, and stores the rows. */
#include "report/analyse/idle/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_idle_idle.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GV_IDLE_QUEUED "the GPU had queued work"

struct idle_row {
    size_t lane;
    enum gv_idle_reason reason;
    enum gv_idle_confidence confidence;
    const char *detail;
    int64_t start_ns, duration_ns, gaps, samples, stack, previous, next;
    int64_t call;     /* that explains it; 0: none */
    int64_t delay_ns; /* part of the time inside calls */
};

struct idle_rows {
    struct gv_idle_run *run;
    struct idle_row *rows;
    size_t count, room;
};

/* A part of an idle time with the same verdict. */
struct idle_turn {
    uint32_t verdict;
    int64_t start_ns, host_ns, samples;
    struct gv_idle_most most;
};

static int row_add(struct idle_rows *rows, const struct idle_row *row)
{
    int error = row->duration_ns > 0
                    ? gv_array_room(&rows->rows, rows->count, &rows->room, sizeof(*rows->rows))
                    : 0;

    if (!error && row->duration_ns > 0)
        rows->rows[rows->count++] = *row;
    return error;
}

/* What a reason is called in an idle time at the beginning or the end of a process. */
static enum gv_idle_reason placed(enum gv_idle_reason reason, enum gv_idle_place place)
{
    if (place == GV_IDLE_BETWEEN || !(gv_idle_reasons[reason].traits & GV_IDLE_GENERAL))
        return reason;
    return place == GV_IDLE_FIRST ? GV_REASON_START : GV_REASON_END;
}

/* Time inside calls, and after the one that gave the device work; in some of it the thread had no
 * CPU. */
static int row_cuda(struct idle_rows *rows, struct idle_row row, enum gv_idle_place place,
                    int64_t queued_ns)
{
    struct idle_row delayed = row;
    int error;

    delayed.reason = GV_REASON_DESCHEDULED;
    delayed.confidence = GV_IDLE_INFERRED;
    delayed.detail = NULL;
    delayed.samples = delayed.stack = 0;
    delayed.duration_ns = row.delay_ns;
    row.duration_ns -= row.delay_ns;
    error = row_add(rows, &delayed);
    if (error)
        return error;
    row.reason = placed(GV_REASON_CUDA, place);
    if (queued_ns > row.duration_ns / 2) {
        row.detail = GV_IDLE_QUEUED;
        row.call = row.next; /* its line */
    }
    row.confidence = GV_IDLE_INFERRED;
    row.samples = row.stack = 0;
    return row_add(rows, &row);
}

static int row_verdict(struct idle_rows *rows, struct idle_row row, enum gv_idle_place place,
                       uint32_t number, const struct gv_idle_most *most)
{
    const struct gv_idle_verdict *verdict = &rows->run->verdicts[number];

    row.reason = placed(verdict->reason, place);
    row.detail = verdict->detail;
    /* Of a wait for data, that of the busiest worker. */
    row.stack = most->stack && !verdict->workers ? most->stack : verdict->stack;
    row.call = 0;
    return row_add(rows, &row);
}

/* The part of `ns` from share `from` to share `to` of `of`: the parts add up to `ns`. */
static int64_t share(int64_t ns, int64_t from, int64_t to, int64_t of)
{
    return (int64_t)((__int128)ns * to / of) - (int64_t)((__int128)ns * from / of);
}

/* Splits row->duration_ns by what the samples of a group, or of others like it, say. */
static int rows_by_tally(struct idle_rows *rows, struct idle_row row,
                         const struct gv_idle_group *group, bool own)
{
    const struct gv_idle_run *run = rows->run;
    int64_t ns = row.duration_ns, from = 0;
    int error = 0;

    for (size_t at = group->tallies; at && !error; at = run->tallies[at - 1].next) {
        const struct gv_idle_tally *tally = &run->tallies[at - 1];
        row.duration_ns = share(ns, from, from + tally->count, group->samples);
        row.samples = own ? tally->count : 0;
        from += tally->count;
        error = row_verdict(rows, row, GV_IDLE_BETWEEN, tally->verdict, &tally->most);
    }
    return error;
}

/* Without samples: as other idle times of the thread before the same call; else the calls explain
 * it if they take most of it. What is long is as those before the same function with any kernel. */
static int rows_without_samples(struct idle_rows *rows, struct idle_row row, uint64_t after,
                                enum gv_idle_place place, int64_t cuda_ns, int64_t queued_ns)
{
    const struct gv_idle_run *run = rows->run;
    int64_t thread = run->lanes[row.lane].thread, host_ns = row.duration_ns;
    bool is_short = host_ns / row.gaps < GV_IDLE_RUNS_NS, between = place == GV_IDLE_BETWEEN;
    const struct gv_idle_group *others = between ? gv_idle_others(run, thread, after) : NULL;
    int error;

    row.confidence = GV_IDLE_INFERRED;
    if (!others && host_ns <= cuda_ns) {
        row.duration_ns = gv_time_sum(host_ns, cuda_ns);
        return row_cuda(rows, row, place, queued_ns);
    }
    if (!others && between && !is_short)
        others = gv_idle_others(run, thread, GV_IDLE_FUNCTION(after));
    row.duration_ns = cuda_ns;
    error = row_cuda(rows, row, place, queued_ns);
    row.duration_ns = host_ns;
    if (error)
        return error;
    if (others)
        return rows_by_tally(rows, row, others, false);
    row.call = 0;
    row.reason =
        placed(!is_short                                                        ? GV_REASON_UNKNOWN
               : gv_id_table_get(&run->python, run->lanes[row.lane].process, 0) ? GV_REASON_PYTHON
                                                                                : GV_REASON_NATIVE,
               place);
    return row_add(rows, &row);
}

static int group_rows(struct idle_rows *rows, const struct gv_idle_group *group)
{
    int64_t inside_ns =
        group->looked_ns > 0 ? share(group->host_ns, 0, group->inside_ns, group->looked_ns) : 0;
    int64_t host_ns = group->host_ns - inside_ns, cuda_ns = group->total_ns - host_ns;
    struct idle_row row = {
        .lane = group->lane,
        .confidence = GV_IDLE_GROUPED,
        .start_ns = group->first.start_ns,
        .duration_ns = host_ns,
        .gaps = group->gaps,
        .previous = group->first.previous,
        .next = group->first.next,
        .call = group->call,
        .delay_ns =
            group->looked_ns > 0 ? share(group->host_ns, 0, group->delay_ns, group->looked_ns) : 0,
    };
    int error;

    if (group->samples == 0 || host_ns == 0)
        return rows_without_samples(rows, row, group->after, GV_IDLE_BETWEEN, cuda_ns,
                                    group->launched_ns);
    if (group->first.inferred)
        row.confidence = GV_IDLE_INFERRED;
    error = rows_by_tally(rows, row, group, true);
    row.duration_ns = cuda_ns;
    return error ? error : row_cuda(rows, row, GV_IDLE_BETWEEN, group->launched_ns);
}

/* ---- a long idle time ---- */

/* Joins the windows of the same verdict: neighbours, or all if there would be many. */
static size_t make_turns(const struct gv_idle_window *windows, size_t count, bool neighbours,
                         struct idle_turn *turns)
{
    size_t made = 0;

    for (size_t i = 0; i < count; i++) {
        const struct gv_idle_window *window = &windows[i];
        size_t at = neighbours && made ? made - 1 : 0;
        while (at < made && turns[at].verdict != window->verdict)
            at++;
        if (at == made)
            turns[made++] =
                (struct idle_turn){.verdict = window->verdict, .start_ns = window->start_ns};
        turns[at].host_ns += window->end_ns - window->start_ns - window->inside_ns;
        turns[at].samples += window->sampled;
        gv_idle_most_add(&turns[at].most, window->stack);
    }
    return made;
}

static int gap_rows(struct idle_rows *rows, const struct gv_idle_gap *gap,
                    const struct gv_idle_window *windows, size_t count)
{
    struct idle_turn *turns = calloc(count, sizeof(*turns));
    struct idle_row row = {
        .lane = gap->lane,
        .confidence = gap->inferred ? GV_IDLE_INFERRED : GV_IDLE_SAMPLED,
        .start_ns = gap->start_ns,
        .gaps = 1,
        .previous = windows[0].previous ? windows[0].previous : gap->previous,
        .next = gap->next,
        .call = gap->next,
    };
    int64_t host_ns = 0, cuda_ns, queued_ns = gap->end_ns - gap->launched_ns;
    int64_t called_ns = gap->host_ns, longest_ns = gap->launched_ns - gap->host_ns;
    size_t made, most = 0;
    int error = 0;

    if (!turns)
        return -ENOMEM;
    for (size_t i = count; i-- > 0;) {
        host_ns += windows[i].end_ns - windows[i].start_ns - windows[i].inside_ns;
        row.delay_ns += windows[i].delay_ns;
        if (windows[i].inside_ns > 0)
            called_ns = windows[i].called_ns;
        if (windows[i].call_ns > longest_ns) {
            row.call = windows[i].call;
            longest_ns = windows[i].call_ns;
        }
    }
    cuda_ns = gap->end_ns - gap->start_ns - host_ns;
    if (!windows[0].sampled) {
        row.duration_ns = host_ns;
        error = rows_without_samples(rows, row, gap->after, gap->place, cuda_ns, queued_ns);
        free(turns);
        return error;
    }
    made = make_turns(windows, count, true, turns);
    if (made > GV_IDLE_TURNS_MOST)
        made = make_turns(windows, count, false, turns);
    for (size_t i = 0; i < made; i++)
        if (turns[i].host_ns > turns[most].host_ns)
            most = i;
    /* A launch alone is no row. */
    if (cuda_ns < (gap->end_ns - gap->start_ns) / 100) {
        row.delay_ns = 0;
        turns[most].host_ns += cuda_ns;
        cuda_ns = 0;
    }
    for (size_t i = 0; i < made && !error; i++) {
        row.start_ns = turns[i].start_ns;
        row.duration_ns = turns[i].host_ns;
        row.samples = turns[i].samples;
        error = row_verdict(rows, row, gap->place, turns[i].verdict, &turns[i].most);
    }
    row.start_ns = called_ns;
    row.duration_ns = cuda_ns;
    free(turns);
    return error ? error : row_cuda(rows, row, gap->place, queued_ns);
}

static int rows_make(struct idle_rows *rows)
{
    const struct gv_idle_run *run = rows->run;
    size_t next;
    int error = 0;

    for (size_t i = 0; i < run->group_count && !error; i++)
        error = group_rows(rows, &run->groups[i]);
    /* The windows of a gap follow each other. */
    for (size_t i = 0; i < run->window_count && !error; i = next) {
        const struct gv_idle_window *window = &run->windows[i];
        next = i + 1;
        while (!window->is_short && next < run->window_count && !run->windows[next].is_short &&
               run->windows[next].owner == window->owner)
            next++;
        if (!window->is_short)
            error = gap_rows(rows, &run->gaps[window->owner], window, next - i);
    }
    return error;
}

/* ---- storing ---- */

static int row_compare(const void *left, const void *right)
{
    const struct idle_row *one = left, *other = right;

    if (one->start_ns != other->start_ns)
        return one->start_ns < other->start_ns ? -1 : 1;
    if (one->lane != other->lane)
        return one->lane < other->lane ? -1 : 1;
    return one->duration_ns > other->duration_ns ? -1 : one->duration_ns < other->duration_ns;
}

static int row_store(const struct idle_rows *rows, sqlite3_stmt *add, const struct idle_row *row)
{
    static const char *const confidences[] = {"sampled", "grouped", "inferred"};
    const struct gv_idle_lane *lane = &rows->run->lanes[row->lane];
    const int64_t numbers[] = {lane->process, lane->device,     lane->thread,
                               row->start_ns, row->duration_ns, row->gaps};

    for (int i = 0; i < 6; i++)
        sqlite3_bind_int64(add, i + 1, numbers[i]);
    sqlite3_bind_text(add, 7, gv_idle_reasons[row->reason].name, -1, SQLITE_STATIC);
    sqlite3_bind_text(add, 8, row->detail, -1, SQLITE_STATIC); /* NULL: none */
    sqlite3_bind_int64(add, 9, row->samples);
    sqlite3_bind_int64(add, 10, row->stack);
    sqlite3_bind_text(add, 11, confidences[row->confidence], -1, SQLITE_STATIC);
    sqlite3_bind_int64(add, 12, row->previous);
    sqlite3_bind_int64(add, 13, row->next);
    sqlite3_bind_int64(add, 14, row->call);
    return gv_database_step(add);
}

int gv_idle_rows_store(struct gv_idle_run *run)
{
    struct idle_rows rows = {.run = run};
    sqlite3_stmt *add = NULL;
    int error = rows_make(&rows);

    if (!error)
        error =
            gv_database_error(run->trace, sqlite3_prepare_v2(run->trace, sql_add, -1, &add, NULL));
    if (rows.count > 0)
        qsort(rows.rows, rows.count, sizeof(*rows.rows), row_compare);
    for (size_t i = 0; i < rows.count && !error; i++)
        error = row_store(&rows, add, &rows.rows[i]);
    sqlite3_finalize(add);
    free(rows.rows);
    return error;
}
