#include "report/analyse/steps/steps.h"

#include "report/analyse/lines/pass.h"
#include "report/analyse/names/places.h"
#include "report/analyse/steps/run.h"
#include "report/store/time_sum.h"
#include "report/analyse_steps_steps.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/mix.h"
#include "trace/spool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Other threads have no steps unless the program names them. */
#define STEPS_THREADS 64u
/* Steps with sums in memory; a power of two. */
#define STEPS_SUMS 4096u
/* A step's number in its bucket. */
#define STEPS_NUMBER   40
#define STEPS_WEIGHT   1e6 /* at most */
#define STEPS_SHORT    4   /* a thread that lasts such a part of another comes and goes */
#define BEGINS_CAPTURE 1   /* in sql_roles */

struct steps_thread {
    struct gv_step_detector *detector;
    struct gv_step_anchor *anchor;
    int64_t first_ns, last_ns;        /* of what the detector took */
    uint64_t work;                    /* of that, by weight */
    bool makes_graphs;                /* since its last launch of one, */
    bool made_one;                    /* and before that */
    bool captures;                    /* what it launches goes into a graph */
    size_t series;                    /* its own + 1; 0: none */
    size_t read;                      /* number of series whose steps it is in + 1 */
    int64_t number, start_ns, end_ns; /* of the step in which its last call was, or the next one */
};

struct steps_series {
    int64_t id, process, thread;
    bool found; /* in the launches */
    struct gv_step_cutter *cutter;
    struct gv_piece_kinds *kinds; /* of steps that words bound */
    struct gv_step_stream *stream;
    int64_t number, start_ns, end_ns;
    uint64_t after, work;
    bool open; /* calls in the step came */
};

struct gv_steps {
    sqlite3 *trace;
    struct gv_totals_part part;
    struct gv_pass *pass;
    struct gv_id_table roles, process_of, names;
    struct steps_thread *threads; /* by id */
    size_t detectors;
    struct {
        double ns, count;
        int64_t call;  /* of the newest one */
    } kernels, graphs; /* that ran so far */
    struct gv_step_words *words;
    struct steps_series *series;
    size_t series_count, series_room;
    sqlite3_stmt *add, *next, *set_kind, *add_sums;
    struct gv_places places;
    struct {
        int64_t bucket;
        struct gv_range_sums sums;
    } sums[STEPS_SUMS];
};

static struct steps_thread *thread_at(const struct gv_steps *steps, int64_t thread)
{
    return &steps->threads[thread > 0 && (uint64_t)thread < steps->process_of.rows ? thread : 0];
}

/* ---- the calls ---- */

/* A graph that is made anew for each launch is another one each time: which one says nothing. */
static uint64_t graph_of(struct steps_thread *thread, const struct gv_pass_call *row)
{
    bool is_again = thread->makes_graphs && thread->made_one;

    thread->made_one = thread->makes_graphs;
    thread->makes_graphs = false;
    return is_again ? 0 : (uint64_t)row->object;
}

/* How many kernels a launch of a graph is, by the time that they took so far. */
static uint32_t weight_of(const struct gv_steps *steps, enum gv_step_role role)
{
    double kernel_ns = steps->kernels.ns / fmax(steps->kernels.count, 1);
    double graph_ns = steps->graphs.ns / fmax(steps->graphs.count, 1);

    if (role != GV_STEP_GRAPH || kernel_ns <= 0)
        return 1;
    return (uint32_t)fmin(fmax(graph_ns / kernel_ns, 1), STEPS_WEIGHT);
}

/* False: it is none for the steps, or not in the part. */
static bool call_of(struct gv_steps *steps, const struct gv_pass_call *row,
                    struct gv_step_call *call)
{
    const struct gv_totals_part *part = &steps->part;
    int64_t process = gv_id_table_get(&steps->process_of, row->thread, 0);
    int64_t number = row->result == 0 ? gv_id_table_get(&steps->roles, row->api, 0) : 0;
    int64_t marks = gv_id_table_get(&steps->roles, row->api, 2);
    enum gv_step_role role = (enum gv_step_role)(number - 1);
    struct steps_thread *thread = thread_at(steps, row->thread);

    thread->makes_graphs |= number < 0;
    if (marks && (row->result == 0 || marks != BEGINS_CAPTURE))
        thread->captures = marks == BEGINS_CAPTURE;
    if (number <= 0 || thread->captures || process == 0 ||
        (part->process && process != part->process) ||
        (part->thread && row->thread != part->thread) || row->key.at_ns < part->from_ns ||
        row->key.at_ns >= part->to_ns)
        return false;
    uint64_t what = gv_id_table_get(&steps->roles, row->api, 1)
                        ? (uint64_t)gv_id_table_get(&steps->names, row->kernel, 0)
                    : role == GV_STEP_GRAPH ? graph_of(thread, row)
                    : role == GV_STEP_WAIT  ? 0
                                            : gv_lines_size(row->bytes);

    *call = (struct gv_step_call){
        .event = {gv_mix(gv_mix(1, row->api), what), role, 0, weight_of(steps, role)},
        .id = row->key.id,
        .thread = row->thread,
        .process = process,
        .start_ns = row->key.at_ns,
        .end_ns = row->key.end_ns,
    };
    return true;
}

static int each_call(struct gv_steps *steps,
                     int (*take)(void *context, const struct gv_pass_call *row),
                     gv_pass_take_operation *weigh)
{
    const struct gv_pass_consumer consumer = {steps, take, weigh};

    for (size_t i = 0; i < steps->process_of.rows; i++)
        steps->threads[i].makes_graphs = steps->threads[i].made_one = steps->threads[i].captures =
            false;
    return gv_pass_run(steps->pass, &consumer, NULL);
}

/* ---- finding ---- */

/* The line of a call whose stack was taken; 0: not known. */
static int line_of(struct gv_steps *steps, uint32_t stack, uint32_t *line)
{
    int64_t place = 0;
    int error = stack ? gv_place_of_stack(steps->trace, &steps->places, stack, &place) : 0;

    *line = (uint32_t)place;
    return error;
}

static int find_in_call(void *context, const struct gv_pass_call *row)
{
    struct gv_steps *steps = context;
    struct gv_step_call call;

    if (!call_of(steps, row, &call))
        return 0;
    struct steps_thread *thread = thread_at(steps, call.thread);
    int error = gv_step_words_take(steps->words, &call);
    thread->first_ns = thread->detector ? thread->first_ns : call.start_ns;
    thread->last_ns = call.end_ns;
    thread->work += call.event.role != GV_STEP_WAIT ? call.event.weight : 0;
    if (!error)
        error = line_of(steps, row->stack, &call.event.line);
    if (!error && !thread->detector && steps->detectors < STEPS_THREADS) {
        thread->detector = gv_step_detector_open();
        steps->detectors++;
        error = thread->detector ? 0 : -ENOMEM;
    }
    if (!error && thread->detector)
        error = gv_step_detector_take(thread->detector, &call.event);
    return error;
}

static int take_series(void *context, sqlite3_stmt *row)
{
    struct gv_steps *steps = context;
    struct steps_series *series;
    int error =
        gv_array_room(&steps->series, steps->series_count, &steps->series_room, sizeof(*series));

    if (error)
        return error;
    series = &steps->series[steps->series_count++];
    *series = (struct steps_series){
        .id = sqlite3_column_int64(row, 0),
        .process = sqlite3_column_int64(row, 1),
        .thread = sqlite3_column_int64(row, 2),
        .found = sqlite3_column_int(row, 3) != 0,
        .end_ns = INT64_MIN,
    };
    thread_at(steps, series->thread)->series = steps->series_count;
    return 0;
}

static bool is_of_named(const struct gv_steps *steps, int64_t process)
{
    for (size_t i = 0; i < steps->series_count; i++)
        if (!steps->series[i].found && steps->series[i].process == process)
            return true;
    return false;
}

/* Waits end steps; a copy says less, another launch least. */
static int rank_of(const struct gv_step_anchor *anchor)
{
    return anchor->class == GV_STEP_ANCHOR_WORK                                            ? 2
           : anchor->class == GV_STEP_ANCHOR_MOVE || anchor->class == GV_STEP_ANCHOR_GRAPH ? 1
                                                                                           : 0;
}

/* While the one of its process that does the most works all the time. */
static bool comes_and_goes(const struct steps_thread *one, const struct steps_thread *busiest)
{
    return busiest->work > one->work &&
           gv_time_difference(busiest->last_ns, busiest->first_ns) / STEPS_SHORT >
               gv_time_difference(one->last_ns, one->first_ns);
}

/* Of each process, the thread with steps that has the most work. */
static int find_busiest(const struct gv_steps *steps, struct gv_key_map *busiest)
{
    int error = 0;

    for (size_t i = 1; i < steps->process_of.rows && !error; i++) {
        int64_t process = gv_id_table_get(&steps->process_of, (int64_t)i, 0);
        const struct gv_key key = {{(uint64_t)process, 0, 0}};
        int64_t known = gv_key_map_find(busiest, &key);
        if (!steps->threads[i].anchor || steps->threads[i].work <= steps->threads[known].work)
            continue;
        gv_key_map_remove(busiest, &key);
        error = gv_key_map_add(busiest, &key, (int64_t)i);
    }
    return error;
}

/* An autotuner's threads come and go. */
static bool lasts_as(const struct steps_thread *other, const struct steps_thread *thread)
{
    int64_t first_ns = other->first_ns > thread->first_ns ? other->first_ns : thread->first_ns;
    int64_t last_ns = other->last_ns < thread->last_ns ? other->last_ns : thread->last_ns;

    return last_ns - first_ns > (thread->last_ns - thread->first_ns) / 2;
}

/* Of the threads of a process, those that wait for the GPU have steps of their own. What others
 * launch in a loop may be a part of the same steps, so it counts only if there is nothing better
 * that lasts as long. */
static bool is_part_of_others(const struct gv_steps *steps, size_t thread)
{
    int64_t process = gv_id_table_get(&steps->process_of, (int64_t)thread, 0);
    int rank = rank_of(steps->threads[thread].anchor);

    for (size_t other = 0; rank > 0 && other < steps->process_of.rows; other++) {
        const struct gv_step_anchor *anchor = steps->threads[other].anchor;
        if (other != thread && anchor &&
            gv_id_table_get(&steps->process_of, (int64_t)other, 0) == process &&
            (rank_of(anchor) < rank || (rank_of(anchor) == rank && other < thread)) &&
            lasts_as(&steps->threads[other], &steps->threads[thread]))
            return true;
    }
    return false;
}

static int find_series(struct gv_steps *steps)
{
    struct gv_key_map busiest = {0};
    int error = 0;

    for (size_t i = 0; i < steps->process_of.rows && !error; i++) {
        struct steps_thread *thread = &steps->threads[i];
        if (!thread->detector ||
            is_of_named(steps, gv_id_table_get(&steps->process_of, (int64_t)i, 0)))
            continue;
        thread->anchor = malloc(sizeof(*thread->anchor));
        if (!thread->anchor)
            error = -ENOMEM;
        else if (!gv_step_detector_choose(thread->detector, thread->anchor)) {
            free(thread->anchor);
            thread->anchor = NULL;
        }
    }
    if (!error)
        error = find_busiest(steps, &busiest);
    for (size_t i = 0; i < steps->process_of.rows && !error; i++) {
        const int64_t values[] = {gv_id_table_get(&steps->process_of, (int64_t)i, 0), (int64_t)i};
        const struct gv_key key = {{(uint64_t)values[0], 0, 0}};
        const struct steps_thread *most = &steps->threads[gv_key_map_find(&busiest, &key)];
        if (steps->threads[i].anchor && !is_part_of_others(steps, i) &&
            !comes_and_goes(&steps->threads[i], most))
            error = gv_database_script(steps->trace, sql_add_series, values, 2);
    }
    gv_key_map_free(&busiest);
    for (size_t i = 0; i < steps->process_of.rows; i++) {
        gv_step_detector_close(steps->threads[i].detector);
        steps->threads[i].detector = NULL;
    }
    return error;
}

/* Of a graph there is one operation, or one of each node. */
static int weigh(void *context, const struct gv_pass_operation *row)
{
    struct gv_steps *steps = context;
    double ns = (double)gv_time_difference(row->key.end_ns, row->key.at_ns);

    if (row->node || row->kind == GV_GPU_GRAPH) {
        steps->graphs.ns += ns;
        steps->graphs.count += row->kind == GV_GPU_GRAPH || row->call != steps->graphs.call;
        steps->graphs.call = row->call;
    } else if (row->kind == GV_GPU_KERNEL) {
        steps->kernels.ns += ns;
        steps->kernels.count++;
    }
    return 0;
}

static bool launches_graphs(const struct gv_steps *steps)
{
    for (size_t i = 0; i < steps->roles.rows; i++)
        if (gv_id_table_get(&steps->roles, (int64_t)i, 0) == GV_STEP_GRAPH + 1)
            return true;
    return false;
}

static int find_steps(struct gv_steps *steps, struct gv_range_totals *ranges)
{
    int error = ranges ? gv_step_words_open(&steps->words, steps->trace, &steps->part, ranges) : 0;

    if (!error)
        error = each_call(steps, find_in_call, launches_graphs(steps) ? weigh : NULL);
    if (!error)
        error = gv_step_words_store(steps->words);
    gv_step_words_close(steps->words);
    steps->words = NULL;
    if (!error)
        error = gv_database_each(steps->trace, sql_series, NULL, 0, take_series, steps);
    if (!error)
        error = find_series(steps);
    steps->series_count = 0;
    return error ? error : gv_database_each(steps->trace, sql_series, NULL, 0, take_series, steps);
}

/* ---- cutting ---- */

static int add_found(struct gv_steps *steps, struct steps_series *series,
                     const struct gv_step_found *found)
{
    return gv_database_add(steps->add,
                           (const int64_t[]){series->id, ++series->number, found->kind + 1,
                                             found->start_ns,
                                             gv_time_difference(found->end_ns, found->start_ns)},
                           5);
}

static int next_step(struct gv_steps *steps, int64_t series, int64_t least, int64_t *number,
                     int64_t *start_ns, int64_t *end_ns)
{
    int result;

    sqlite3_bind_int64(steps->next, 1, series);
    sqlite3_bind_int64(steps->next, 2, least);
    result = sqlite3_step(steps->next);
    *number = result == SQLITE_ROW ? sqlite3_column_int64(steps->next, 0) : INT64_MAX;
    *start_ns = result == SQLITE_ROW ? gv_time_column(steps->next, 1) : INT64_MAX;
    *end_ns = result == SQLITE_ROW ? gv_time_column(steps->next, 2) : INT64_MAX;
    sqlite3_reset(steps->next);
    return gv_database_error(steps->trace, result);
}

/* The step that words bound is over: its kind is known. */
static int settle_kind(struct gv_steps *steps, struct steps_series *series)
{
    struct gv_piece piece;
    int kind;

    if (!series->open)
        return 0;
    series->open = false;
    gv_piece_cut(&piece, series->stream, series->after);
    kind = gv_piece_kinds_add(series->kinds, &piece, series->stream->work - series->work);
    return gv_database_add(steps->set_kind, (const int64_t[]){series->id, series->number, kind + 1},
                           3);
}

static int take_named(struct gv_steps *steps, struct steps_series *series,
                      const struct gv_step_call *call)
{
    int error = 0;

    while (!error && call->start_ns >= series->end_ns) {
        error = settle_kind(steps, series);
        if (!error)
            error = next_step(steps, series->id, series->number + 1, &series->number,
                              &series->start_ns, &series->end_ns);
    }
    if (!error && !series->open && call->start_ns >= series->start_ns) {
        series->open = true;
        series->after = series->stream->position;
        series->work = series->stream->work;
    }
    gv_step_stream_take(series->stream, &call->event);
    return error;
}

static int cut_at_call(void *context, const struct gv_pass_call *row)
{
    struct gv_steps *steps = context;
    struct gv_step_call call;
    struct gv_step_found found;

    if (!call_of(steps, row, &call) || !thread_at(steps, call.thread)->series)
        return 0;
    struct steps_series *series = &steps->series[thread_at(steps, call.thread)->series - 1];
    if (!series->found)
        return take_named(steps, series, &call);
    if (gv_step_cutter_take(series->cutter, &call.event, call.start_ns, call.end_ns, &found))
        return add_found(steps, series, &found);
    return 0;
}

static int series_open(const struct gv_steps *steps, struct steps_series *series)
{
    if (series->found) {
        series->cutter = calloc(1, sizeof(*series->cutter));
        if (series->cutter)
            series->cutter->anchor = thread_at(steps, series->thread)->anchor;
        return series->cutter ? 0 : -ENOMEM;
    }
    series->kinds = calloc(1, sizeof(*series->kinds));
    series->stream = calloc(1, sizeof(*series->stream));
    return series->kinds && series->stream ? 0 : -ENOMEM;
}

static int series_end(struct gv_steps *steps, struct steps_series *series)
{
    struct gv_step_found found;

    if (!series->found)
        return series->number != INT64_MAX ? settle_kind(steps, series) : 0;
    return gv_step_cutter_end(series->cutter, &found) ? add_found(steps, series, &found) : 0;
}

static int cut_steps(struct gv_steps *steps)
{
    int error = 0;

    for (size_t i = 0; i < steps->series_count && !error; i++)
        error = series_open(steps, &steps->series[i]);
    if (!error && steps->series_count)
        error = each_call(steps, cut_at_call, NULL);
    for (size_t i = 0; i < steps->series_count && !error; i++)
        error = series_end(steps, &steps->series[i]);
    return error ? error : gv_database_script(steps->trace, sql_settle_kinds, NULL, 0);
}

/* ---- what happened in them ---- */

/* A call counts for its thread's steps, or else for those of the only series of its process. */
static size_t series_of(const struct gv_steps *steps, const struct gv_range_call *call)
{
    size_t only = 0, own = thread_at(steps, call->thread)->series;

    for (size_t i = 0; i < steps->series_count && !own; i++) {
        if (steps->series[i].process != call->process)
            continue;
        if (only)
            return 0;
        only = i + 1;
    }
    return own ? own : only;
}

static int place(void *context, const struct gv_range_call *call, int64_t *bucket)
{
    struct gv_steps *steps = context;
    struct steps_thread *thread = thread_at(steps, call->thread);
    int error = 0;

    *bucket = 0;
    if (!thread->read) {
        thread->read = series_of(steps, call) + 1;
        thread->end_ns = INT64_MIN;
        thread->number = 0;
    }
    if (thread->read == 1)
        return 0;
    int64_t series = steps->series[thread->read - 2].id;
    while (!error && call->start_ns >= thread->end_ns)
        error = next_step(steps, series, thread->number + 1, &thread->number, &thread->start_ns,
                          &thread->end_ns);
    if (!error && call->start_ns >= thread->start_ns)
        *bucket = series << STEPS_NUMBER | thread->number;
    return error;
}

static int add_bucket(sqlite3_stmt *statement, int64_t bucket, const struct gv_range_sums *sums)
{
    const int64_t values[] = {
        bucket >> STEPS_NUMBER,
        bucket & ((INT64_C(1) << STEPS_NUMBER) - 1),
#define GV_RANGE_SUM(name) sums->name,
#include "report/analyse/ranges/sums.def"
    };

    return bucket ? gv_database_add(statement, values, sizeof(values) / sizeof(values[0])) : 0;
}

static int add(void *context, int64_t bucket, const struct gv_range_sums *did)
{
    struct gv_steps *steps = context;
    size_t slot = gv_mix(0, (uint64_t)bucket) >> 32 & (STEPS_SUMS - 1);
    int error = 0;

    if (!bucket)
        return 0;
    if (steps->sums[slot].bucket != bucket) {
        error = add_bucket(steps->add_sums, steps->sums[slot].bucket, &steps->sums[slot].sums);
        steps->sums[slot].bucket = bucket;
        memset(&steps->sums[slot].sums, 0, sizeof(steps->sums[slot].sums));
    }
    if (!error)
        gv_range_sums_add(&steps->sums[slot].sums, did);
    return error;
}

static int again(void *context)
{
    struct gv_steps *steps = context;

    for (size_t i = 0; i < steps->process_of.rows; i++)
        steps->threads[i].read = 0;
    return 0;
}

static int idle(void *context, int64_t key, int64_t idle_ns)
{
    return add(context, key, &(const struct gv_range_sums){.idle_ns = idle_ns});
}

struct gv_range_consumer gv_steps_consumer(struct gv_steps *steps)
{
    return (struct gv_range_consumer){steps, place, add, again, idle};
}

/* ---- from the start to the end ---- */

static int steps_prepare(struct gv_steps *steps)
{
    const struct {
        const char *sql;
        sqlite3_stmt **statement;
    } all[] = {{sql_add_step, &steps->add},
               {sql_next_step, &steps->next},
               {sql_set_kind, &steps->set_kind},
               {sql_add_sums, &steps->add_sums}};
    int result = SQLITE_OK;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && result == SQLITE_OK; i++)
        result = sqlite3_prepare_v2(steps->trace, all[i].sql, -1, all[i].statement, NULL);
    return gv_database_error(steps->trace, result);
}

int gv_steps_open(struct gv_steps **made, sqlite3 *trace, const struct gv_totals_part *part,
                  struct gv_pass *pass, struct gv_range_totals *ranges, bool kept)
{
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    struct gv_steps *steps = *made = calloc(1, sizeof(*steps));
    int error;

    if (!steps)
        return -ENOMEM;
    steps->trace = trace;
    steps->part = *part;
    steps->pass = pass;
    error = gv_id_table_read(&steps->roles, trace, sql_roles);
    if (!error)
        error = gv_id_table_read(&steps->names, trace, sql_names);
    if (!error)
        error = gv_id_table_read(&steps->process_of, trace, "SELECT id, process FROM thread");
    steps->threads = calloc(steps->process_of.rows + 1, sizeof(*steps->threads));
    if (!error && !steps->threads)
        error = -ENOMEM;
    if (!error)
        error = steps_prepare(steps);
    if (!error && kept)
        error = gv_database_script(trace, sql_kept, values, 4);
    if (!error && kept)
        error = gv_database_each(trace, sql_series, NULL, 0, take_series, steps);
    if (!error && !kept)
        error = find_steps(steps, ranges);
    if (!error && !kept)
        error = cut_steps(steps);
    if (!error && steps->series_count == 0) {
        gv_steps_close(steps);
        *made = NULL;
    }
    return error;
}

int gv_steps_store(struct gv_steps *steps)
{
    int error = 0;

    if (!steps)
        return 0;
    const int64_t selected = steps->part.thread != 0 || steps->part.ranges;
    for (size_t i = 0; i < STEPS_SUMS && !error; i++)
        error = add_bucket(steps->add_sums, steps->sums[i].bucket, &steps->sums[i].sums);
    if (!error)
        error = gv_database_script(steps->trace, sql_unknown, &selected, 1);
    return error ? error : gv_database_script(steps->trace, sql_warmup, NULL, 0);
}

void gv_steps_close(struct gv_steps *steps)
{
    if (!steps)
        return;
    for (size_t i = 0; steps->threads && i < steps->process_of.rows; i++) {
        gv_step_detector_close(steps->threads[i].detector);
        free(steps->threads[i].anchor);
    }
    for (size_t i = 0; i < steps->series_count; i++) {
        free(steps->series[i].cutter);
        free(steps->series[i].kinds);
        free(steps->series[i].stream);
    }
    gv_step_words_close(steps->words);
    sqlite3_finalize(steps->add);
    sqlite3_finalize(steps->next);
    sqlite3_finalize(steps->set_kind);
    sqlite3_finalize(steps->add_sums);
    gv_places_free(&steps->places);
    gv_id_table_free(&steps->roles);
    gv_id_table_free(&steps->process_of);
    gv_id_table_free(&steps->names);
    free(steps->series);
    free(steps->threads);
    free(steps);
}
