#include "report/analyse/scaled/scaled.h"

#include "report/analyse/gpu_unseen.h"
#include "report/analyse_scaled_scaled.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/id_table.h"
#include "report/store/key_map.h"
#include "report/store/time_sum.h"
#include "trace/call_table.h"
#include "trace/mix.h"
#include "trace/spool.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NONE SIZE_MAX
/* A small copy takes as long as one of so many bytes. */
#define LEAST_COPY 32768

struct sample {
    int64_t call, duration_ns, error_ns;
    double weight;
};

/* Calls that are alike. With the sizes x, which are 1 of launches, the durations d and the weights
 * w of its samples. */
struct cell {
    size_t above; /* all of the same kernel, or of copies by the same call; NONE: this is it */
    int64_t kind, kernel, api;
    double calls, samples;
    double wx, wd, wwxx, wwxd, wwdd, w, we;
    double each, variance; /* of a call of size 1 */
    /* Of what was added, and gets this cell's average. */
    double added_size, added_calls;
};

struct capture {
    int64_t process, stream, start_ns, end_ns;
};

struct gv_scaled {
    sqlite3 *trace;
    struct gv_id_table threads, kernels, apis;
    struct sample *samples;
    size_t sample_count, sample_room;
    struct capture *captures; /* by process, stream and start */
    size_t capture_count, capture_room;
    struct cell *cells;
    size_t cell_count, cell_room;
    struct gv_key_map numbers;
};

/* ---- reading ---- */

static int take_sample(void *context, sqlite3_stmt *row)
{
    struct gv_scaled *scaled = context;
    int error = gv_array_room(&scaled->samples, scaled->sample_count, &scaled->sample_room,
                              sizeof(*scaled->samples));

    if (!error)
        scaled->samples[scaled->sample_count++] = (struct sample){
            .call = sqlite3_column_int64(row, 0),
            .duration_ns = gv_time_column_duration(row, 1),
            .error_ns = gv_time_column_duration(row, 2),
            .weight = fmax(1, (double)sqlite3_column_int64(row, 3)),
        };
    return error;
}

static const struct sample *sample_of(const struct gv_scaled *scaled, int64_t call)
{
    size_t low = 0, high = scaled->sample_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scaled->samples[middle].call < call)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scaled->sample_count && scaled->samples[low].call == call ? &scaled->samples[low]
                                                                           : NULL;
}

static int take_capture(void *context, sqlite3_stmt *row)
{
    struct gv_scaled *scaled = context;
    int error = gv_array_room(&scaled->captures, scaled->capture_count, &scaled->capture_room,
                              sizeof(*scaled->captures));

    if (!error)
        scaled->captures[scaled->capture_count++] =
            (struct capture){.process = sqlite3_column_int64(row, 0),
                             .stream = sqlite3_column_int64(row, 1),
                             .start_ns = sqlite3_column_int64(row, 2),
                             .end_ns = sqlite3_column_int64(row, 3)};
    return error;
}

static int read_captures(struct gv_scaled *scaled)
{
    int closed, error = gv_gpu_captured_open(scaled->trace, 0);

    if (!error)
        error = gv_database_each(scaled->trace, sql_captures, NULL, 0, take_capture, scaled);
    closed = gv_gpu_captured_close(scaled->trace);
    return error ? error : closed;
}

/* Whether a capture began before the call, or is of a stream before the call's. */
static bool is_before(const struct capture *capture, int64_t process,
                      const struct gv_pass_call *call)
{
    if (capture->process != process)
        return capture->process < process;
    if (capture->stream != call->stream)
        return capture->stream < call->stream;
    return capture->start_ns <= call->key.at_ns;
}

/* What is captured runs with its graph. */
static bool is_captured(const struct gv_scaled *scaled, int64_t process,
                        const struct gv_pass_call *call)
{
    size_t low = 0, high = scaled->capture_count;
    const struct capture *last;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(&scaled->captures[middle], process, call))
            low = middle + 1;
        else
            high = middle;
    }
    last = low > 0 ? &scaled->captures[low - 1] : NULL;
    return last && last->process == process && last->stream == call->stream &&
           call->key.at_ns < last->end_ns;
}

/* ---- cells ---- */

struct keys {
    struct gv_key all, leaf;
    int64_t kind;
    double size;
};

static uint64_t octave(int64_t bytes)
{
    return bytes > 0 ? (uint64_t)(64 - __builtin_clzll((uint64_t)bytes)) : 0;
}

/* False: the call puts no work on the GPU, or its process was not sampled. */
static bool find_keys(const struct gv_scaled *scaled, const struct gv_pass_call *call,
                      struct keys *keys)
{
    int64_t work = gv_id_table_get(&scaled->apis, call->api, 0);
    int64_t process = gv_id_table_get(&scaled->threads, call->thread, 0);
    uint64_t rank = (uint64_t)gv_id_table_get(&scaled->kernels, call->kernel, 0);
    uint64_t place = gv_mix(call->thread, call->stream);

    if (!work || call->result != 0 || call->bytes < 0 ||
        !gv_id_table_get(&scaled->threads, call->thread, 1) || is_captured(scaled, process, call))
        return false;
    keys->size = 1;
    if (work == GV_GPU_WORK_KERNEL) {
        /* A kernel without a name is like none other. */
        keys->kind = GV_GPU_KERNEL;
        keys->all = (struct gv_key){{GV_GPU_KERNEL, rank, rank ? 0 : call->kernel}};
    } else if (work == GV_GPU_WORK_GRAPH) {
        keys->kind = GV_GPU_GRAPH;
        keys->all = (struct gv_key){{GV_GPU_GRAPH, 0, 0}};
        place = gv_mix((uint64_t)process, (uint64_t)call->object);
    } else {
        keys->kind = gv_id_table_get(&scaled->apis, call->api, 1) ? GV_GPU_SET : GV_GPU_COPY;
        keys->all = (struct gv_key){{GV_GPU_COPY, call->api, 0}};
        place = octave(call->bytes);
        keys->size = (double)call->bytes + LEAST_COPY;
    }
    keys->leaf = keys->all;
    keys->leaf.part[0] |= UINT64_C(1) << 32;
    keys->leaf.part[2] ^= place;
    return true;
}

static int find_cell(struct gv_scaled *scaled, const struct gv_key *key, const struct cell *new,
                     size_t *cell)
{
    int64_t number = gv_key_map_find(&scaled->numbers, key);
    int error;

    *cell = (size_t)number - 1;
    if (number)
        return 0;
    if (scaled->cell_count >= GV_SCALED_CELLS && new->above != NONE) {
        *cell = new->above;
        return 0;
    }
    error = gv_array_room(&scaled->cells, scaled->cell_count, &scaled->cell_room,
                          sizeof(*scaled->cells));
    if (error)
        return error;
    *cell = scaled->cell_count++;
    scaled->cells[*cell] = *new;
    return gv_key_map_add(&scaled->numbers, key, (int64_t)*cell + 1);
}

static void count(struct cell *cell, const struct sample *sample, double size)
{
    double w, d;

    cell->calls++;
    if (!sample)
        return;
    w = sample->weight;
    d = (double)sample->duration_ns;
    cell->samples++;
    cell->wx += w * size;
    cell->wd += w * d;
    cell->wwxx += w * w * size * size;
    cell->wwxd += w * w * size * d;
    cell->wwdd += w * w * d * d;
    cell->w += w;
    cell->we += w * (double)sample->error_ns;
}

static int count_call(struct gv_scaled *scaled, const struct gv_pass_call *call)
{
    struct keys keys;
    struct cell new;
    size_t all, leaf;
    int error;

    if (!find_keys(scaled, call, &keys))
        return 0;
    new = (struct cell){.above = NONE, .kind = keys.kind, .kernel = call->kernel, .api = call->api};
    error = find_cell(scaled, &keys.all, &new, &all);
    new.above = all;
    if (!error)
        error = find_cell(scaled, &keys.leaf, &new, &leaf);
    if (error)
        return error;
    const struct sample *sample = sample_of(scaled, call->key.id);
    count(&scaled->cells[all], sample, keys.size);
    if (leaf != all)
        count(&scaled->cells[leaf], sample, keys.size);
    return 0;
}

/* How much wider the interval of 95 % is than that of many samples: Student's t, by its expansion.
 */
static double widened(double samples)
{
    double n = samples > 4 ? samples - 1 : 3;

    return (1.96 + 2.372 / n + 2.822 / (n * n) + 2.556 / (n * n * n)) / 1.96;
}

/* Of a ratio; none of what was measured itself. Few say nothing about how much calls differ. */
static void solve(struct cell *cell)
{
    double r, squares, rest;

    if (cell->samples < 1 || !(cell->wx > 0))
        return;
    r = cell->each = cell->wd / cell->wx;
    rest = cell->calls > cell->samples ? 1 - cell->samples / cell->calls : 0;
    squares = fmax(0, cell->wwdd - 2 * r * cell->wwxd + r * r * cell->wwxx);
    if (cell->samples >= GV_SCALED_FEW)
        cell->variance = squares / (cell->wx * cell->wx) * cell->samples / (cell->samples - 1) *
                         rest * widened(cell->samples) * widened(cell->samples);
    else
        cell->variance = rest > 0 ? r * r : 0;
}

static int read_calls(struct gv_scaled *scaled, struct gv_pass *pass)
{
    const struct gv_pass_call *call = NULL;
    int error = gv_pass_begin_calls(pass);

    while (!error && !(error = gv_pass_next_call(pass, &call)) && call)
        error = count_call(scaled, call);
    for (size_t i = 0; i < scaled->cell_count && !error; i++)
        solve(&scaled->cells[i]);
    return error;
}

int gv_scaled_open(struct gv_scaled **made, sqlite3 *trace, struct gv_pass *pass)
{
    struct gv_scaled *scaled = calloc(1, sizeof(*scaled));
    int error;

    if (!scaled)
        return -ENOMEM;
    scaled->trace = trace;
    error = gv_database_each(trace, sql_samples, NULL, 0, take_sample, scaled);
    if (error || !scaled->sample_count) {
        gv_scaled_close(scaled);
        return error;
    }
    *made = scaled;
    error = gv_id_table_read(&scaled->threads, trace, sql_threads);
    if (!error)
        error = gv_id_table_read(&scaled->kernels, trace, sql_kernel_names);
    if (!error)
        error = gv_id_table_read(&scaled->apis, trace, sql_apis);
    if (!error)
        error = read_captures(scaled);
    if (!error)
        error = read_calls(scaled, pass);
    free(scaled->samples);
    scaled->samples = NULL;
    return error;
}

void gv_scaled_close(struct gv_scaled *scaled)
{
    if (!scaled)
        return;
    gv_id_table_free(&scaled->threads);
    gv_id_table_free(&scaled->kernels);
    gv_id_table_free(&scaled->apis);
    gv_key_map_free(&scaled->numbers);
    free(scaled->samples);
    free(scaled->captures);
    free(scaled->cells);
    free(scaled);
}

/* ---- using it ---- */

/* The cell whose average a call gets; NULL: it has none. */
static struct cell *source_of(const struct gv_scaled *scaled, const struct keys *keys)
{
    int64_t leaf = gv_key_map_find(&scaled->numbers, &keys->leaf);
    int64_t all = gv_key_map_find(&scaled->numbers, &keys->all);
    struct cell *cell = leaf ? &scaled->cells[leaf - 1] : NULL;

    if (cell && (cell->samples >= GV_SCALED_FEW || (cell->samples > 0 && cell->variance == 0)))
        return cell;
    return all ? &scaled->cells[all - 1] : NULL;
}

static int64_t rounded(double amount)
{
    return amount < 9e18 ? llround(amount) : INT64_MAX;
}

int64_t gv_scaled_ns(const struct gv_scaled *scaled, const struct gv_pass_call *call,
                     double *error_ns)
{
    const struct cell *cell;
    struct keys keys;

    *error_ns = 0;
    if (!scaled || !find_keys(scaled, call, &keys))
        return -1;
    cell = source_of(scaled, &keys);
    if (!cell || cell->samples < 1)
        return -1;
    *error_ns = hypot(sqrt(cell->variance) * keys.size, cell->we / cell->w);
    return rounded(cell->each * keys.size);
}

int64_t gv_scaled_add(struct gv_scaled *scaled, const struct gv_pass_call *call)
{
    struct cell *cell;
    struct keys keys;

    if (!scaled || !find_keys(scaled, call, &keys))
        return -1;
    cell = source_of(scaled, &keys);
    if (!cell)
        return -1;
    cell->added_size += keys.size;
    cell->added_calls++;
    return cell->samples > 0 ? rounded(cell->each * keys.size) : -1;
}

/* ---- sums ---- */

struct row {
    double calls, ns, variance, common; /* common: the error of measuring, of all together */
    bool known;
};

static void add_row(struct row *row, const struct cell *cell)
{
    row->calls += cell->added_calls;
    if (cell->samples < 1)
        return;
    row->known = true;
    row->ns += cell->each * cell->added_size;
    row->variance += cell->added_size * cell->added_size * cell->variance;
    row->common += cell->we / cell->w * cell->added_calls;
}

static double error_of(const struct row *row)
{
    return sqrt(row->variance + row->common * row->common);
}

void gv_scaled_sum(const struct gv_scaled *scaled, struct gv_scaled_sums *sums)
{
    struct row all = {0};

    *sums = (struct gv_scaled_sums){0};
    for (size_t i = 0; scaled && i < scaled->cell_count; i++) {
        const struct cell *cell = &scaled->cells[i];
        int64_t *ns = cell->kind == GV_GPU_KERNEL  ? &sums->kernel_ns
                      : cell->kind == GV_GPU_GRAPH ? &sums->graph_ns
                                                   : &sums->copy_ns;
        add_row(&all, cell);
        *ns = gv_time_sum(*ns, rounded(cell->each * cell->added_size));
        sums->operations += rounded(cell->added_calls);
        if (cell->samples < 1)
            sums->unknown += rounded(cell->added_calls);
        if (cell->above == NONE)
            sums->samples += rounded(cell->samples);
    }
    sums->error_ns = rounded(error_of(&all));
}

int gv_scaled_store(const struct gv_scaled *scaled)
{
    struct row *rows = scaled ? calloc(scaled->cell_count + 1, sizeof(*rows)) : NULL;
    sqlite3_stmt *add = NULL;
    int error = 0;

    if (!scaled)
        return 0;
    error = rows ? gv_database_error(scaled->trace,
                                     sqlite3_prepare_v2(scaled->trace, sql_add_row, -1, &add, NULL))
                 : -ENOMEM;
    for (size_t i = 0; i < scaled->cell_count && !error; i++) {
        const struct cell *cell = &scaled->cells[i];
        add_row(&rows[cell->above == NONE ? i : cell->above], cell);
    }
    for (size_t i = 0; i < scaled->cell_count && !error; i++) {
        const struct cell *cell = &scaled->cells[i];
        const struct row *row = &rows[i];
        bool is_kernel = cell->kind == GV_GPU_KERNEL;
        if (cell->above != NONE || !(row->calls > 0))
            continue;
        error = gv_database_add(
            add,
            (const int64_t[]){cell->kind, is_kernel ? cell->kernel : 0,
                              is_kernel || cell->kind == GV_GPU_GRAPH ? 0 : cell->api,
                              rounded(row->calls), rounded(cell->samples),
                              row->known ? rounded(row->ns) : -1,
                              row->known ? rounded(error_of(row)) : -1},
            7);
    }
    sqlite3_finalize(add);
    free(rows);
    return error;
}
