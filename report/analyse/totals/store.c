/* Writes the sums into their tables. */
#include "report/analyse/totals/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"

#include <stdio.h>
#include <string.h>

#define GV_STORE_TEXT_BYTES 64

#define GV_STORE_COLUMNS 13

static int64_t totals_stretch_ns(struct gv_totals_run *run)
{
    struct gv_lane *lanes[GV_TOTALS_LANES + 3] = {&run->copying, &run->waiting, &run->loading};
    int64_t stretch_ns = 0;

    for (size_t i = 0; i < GV_TOTALS_LANES; i++)
        lanes[3 + i] = &run->busy[i];
    for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
        if (lanes[i]->stretch_ns > stretch_ns)
            stretch_ns = lanes[i]->stretch_ns;
    for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
        gv_lane_widen(lanes[i], stretch_ns);
    return stretch_ns;
}

static struct gv_totals_known totals_known_sum(const struct gv_totals_run *run)
{
    struct gv_totals_known sum = {0};

    for (size_t i = 0; i < run->device_count; i++) {
        const struct gv_totals_known *known = &run->devices[i].known;
        sum.busy_ns = gv_time_sum(sum.busy_ns, known->busy_ns);
        sum.kernel_ns = gv_time_sum(sum.kernel_ns, known->kernel_ns);
        sum.copy_ns = gv_time_sum(sum.copy_ns, known->copy_ns);
        sum.host_copy_ns = gv_time_sum(sum.host_copy_ns, known->host_copy_ns);
    }
    return sum;
}

/* Whether there is a row with that number; its values. */
typedef bool row_of(const struct gv_totals_run *run, size_t number, int64_t *values);

#define GV_ROW(...) memcpy(values, (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}))

static bool api_row(const struct gv_totals_run *run, size_t api, int64_t *values)
{
    const struct gv_duration_total *time = &run->api_sums[api].time;

    GV_ROW((int64_t)api, time->count, run->api_sums[api].errors, time->total_ns, time->min_ns,
           gv_duration_total_median_ns(time), time->max_ns, run->api_sums[api].bytes);
    return api > 0 && time->count > 0;
}

static bool thread_row(const struct gv_totals_run *run, size_t id, int64_t *values)
{
    const struct gv_totals_thread *thread = &run->thread_times[id];

    GV_ROW((int64_t)id, thread->count, thread->total_ns, thread->first_ns, thread->last_ns);
    return id > 0 && thread->count > 0;
}

static bool kernel_row(const struct gv_totals_run *run, size_t rank, int64_t *values)
{
    const struct gv_totals_kernel *kernel = &run->kernels[rank];

    GV_ROW((int64_t)rank, kernel->time.count, kernel->time.total_ns, kernel->time.min_ns,
           gv_duration_total_median_ns(&kernel->time), kernel->time.max_ns, kernel->shape,
           kernel->shapes, kernel->device);
    return kernel->time.count > 0;
}

/* The first one is memory sets. */
static bool copy_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_duration_total *time = number ? &run->copies[number - 1] : &run->sets;

    GV_ROW((int64_t)number - 1, time->count, time->total_ns, time->min_ns,
           gv_duration_total_median_ns(time), time->max_ns,
           number ? run->copy_bytes[number - 1] : run->set_bytes);
    return time->count > 0;
}

static bool direction_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_duration_total *time = number ? &run->directions[number - 1] : &run->sets;

    GV_ROW((int64_t)number - 1, gv_duration_total_median_ns(time));
    return time->count > 0;
}

static bool device_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_totals_device *device = &run->devices[number];

    GV_ROW((int64_t)number + 1, device->device, device->operations, device->first_ns,
           device->last_ns, device->busy_ns, device->kernel_ns, device->copy_ns);
    return device->operations > 0;
}

static bool error_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_totals_error *error = &run->errors[number];

    GV_ROW(error->api, error->result, error->count);
    return true;
}

static bool launch_row(const struct gv_totals_run *run, size_t kernel, int64_t *values)
{
    GV_ROW((int64_t)kernel, run->launches[kernel].count, run->launches[kernel].total_ns);
    return kernel > 0 && run->launches[kernel].count > 0;
}

static bool memory_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_memory_block *block = &run->memory_log.blocks[number];

    GV_ROW(block->call, (int64_t)block->space, block->bytes);
    return block->bytes > 0;
}

static bool memory_line_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_memory_line *line = &run->memory_log.lines[number];

    GV_ROW((int64_t)number + 1, line->place, line->api, (int64_t)line->space, line->allocations,
           line->allocated_bytes, line->freed, line->largest_bytes, line->peak_bytes,
           line->at_peak_bytes, line->left_bytes, gv_duration_total_median_ns(&line->life),
           line->time_ns);
    return true;
}

static bool memory_holder_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_memory_holder *holder = &run->memory_log.holders[number];

    GV_ROW((int64_t)holder->line + 1, holder->process, (int64_t)holder->device, holder->peak_bytes,
           holder->peak_blocks);
    return holder->peak_bytes > 0 && holder->device != GV_MEMORY_ON_HOST;
}

static bool memory_top_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_memory_device *device = &run->memory_log.devices[number];
    bool is_near = device->near_ns <= GV_MEMORY_SAMPLE_NS;

    GV_ROW((int64_t)number, device->peak_ns, device->peak_bytes,
           is_near ? device->outside_bytes : -1, device->near_at_ns);
    return device->peak_bytes > 0;
}

static bool graph_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_graph *graph = &run->nodes_of_graphs.graphs[number];

    GV_ROW((int64_t)number + 1, graph->process, graph->whole.count, graph->operations,
           graph->whole.total_ns, gv_duration_total_median_ns(&graph->whole));
    return graph->whole.count > 0;
}

static bool graph_line_row(const struct gv_totals_run *run, size_t number, int64_t *values)
{
    const struct gv_graph_line *line = &run->nodes_of_graphs.lines[number];

    GV_ROW(line->graph + 1, line->place, line->kind, line->name, line->copy_kind, line->time.count,
           line->time.total_ns, gv_duration_total_median_ns(&line->time));
    return true;
}

static int store_table(struct gv_totals_run *run, const char *sql, size_t rows, row_of *row)
{
    int64_t values[GV_STORE_COLUMNS];
    sqlite3_stmt *add = NULL;
    int error = gv_database_compile(run->trace, sql, &add);
    int count = sqlite3_bind_parameter_count(add);

    for (size_t i = 0; i < rows && !error; i++)
        if (row(run, i, values))
            error = gv_database_add(add, values, count);
    sqlite3_finalize(add);
    return error;
}

static int store_fact(struct gv_totals_run *run, sqlite3_stmt *add, const char *key, int64_t value)
{
    int result = sqlite3_bind_text(add, 2, key, -1, SQLITE_STATIC);

    return result == SQLITE_OK ? gv_database_add(add, &value, 1)
                               : gv_database_error(run->trace, result);
}

static int store_facts(struct gv_totals_run *run)
{
    static const char *const classes[] = {
        "other",
#define GV_TOTALS_CLASS(name, text, fact) fact,
#include "report/analyse/totals/classes.def"
    };
    struct gv_totals_known known = totals_known_sum(run);
    const struct {
        const char *key;
        int64_t value;
    } facts[] = {
#define GV_TOTALS_FACT(key, expression) {key, expression},
#include "report/analyse/totals/facts.def"
    };
    sqlite3_stmt *add = NULL;
    char key[GV_STORE_TEXT_BYTES];
    int error = gv_database_compile(run->trace, sql_add_fact, &add);

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && !error; i++)
        error = store_fact(run, add, facts[i].key, facts[i].value);
    for (size_t i = 0; i < GV_TOTALS_CLASSES && !error; i++) {
        snprintf(key, sizeof(key), "%s_calls", classes[i]);
        error = store_fact(run, add, key, run->class_count[i]);
        snprintf(key, sizeof(key), "%s_ns", classes[i]);
        if (!error)
            error = store_fact(run, add, key, run->class_ns[i]);
    }
    sqlite3_finalize(add);
    return error;
}

static int store_lane(struct gv_totals_run *run, sqlite3_stmt *add, const char *name,
                      const struct gv_lane *lane)
{
    int error = gv_database_error(run->trace, sqlite3_bind_text(add, 3, name, -1, SQLITE_STATIC));

    for (size_t i = 0; i < GV_LANE_STRETCHES && !error; i++)
        if (lane->taken_ns[i] != 0)
            error = gv_database_add(add, (const int64_t[]){(int64_t)i, lane->taken_ns[i]}, 2);
    return error;
}

static int store_lanes(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    char name[GV_STORE_TEXT_BYTES];
    int error = gv_database_compile(run->trace, sql_add_stretch, &add);

    for (size_t i = 0; i < GV_TOTALS_LANES && !error; i++) {
        snprintf(name, sizeof(name), "busy %zu", i + 1);
        error = store_lane(run, add, name, &run->busy[i]);
    }
    if (!error)
        error = store_lane(run, add, "copy", &run->copying);
    if (!error)
        error = store_lane(run, add, "sync", &run->waiting);
    if (!error)
        error = store_lane(run, add, "load", &run->loading);
    sqlite3_finalize(add);
    return error;
}

int gv_totals_store(struct gv_totals_run *run)
{
    const struct {
        const char *sql;
        size_t rows;
        row_of *row;
    } tables[] = {
        {sql_add_api, run->apis.rows, api_row},
        {sql_add_thread, run->threads.rows, thread_row},
        {sql_add_kernel, run->kernel_count, kernel_row},
        {sql_add_copy, GV_TOTALS_COPY_KINDS + 1, copy_row},
        {sql_add_direction, GV_TOTALS_DIRECTIONS + 1, direction_row},
        {sql_add_device, run->device_count, device_row},
        {sql_add_error, run->error_count, error_row},
        {sql_add_launch, run->kernel_ids.rows, launch_row},
        {sql_add_memory, run->memory_log.block_count, memory_row},
        {sql_add_memory_line, run->memory_log.line_count, memory_line_row},
        {sql_add_memory_holder, run->memory_log.holder_count, memory_holder_row},
        {sql_add_memory_top, GV_MEMORY_ON_HOST, memory_top_row},
        {sql_add_graph, run->nodes_of_graphs.graph_count, graph_row},
        {sql_add_graph_line, run->nodes_of_graphs.line_count, graph_line_row},
    };
    int error = store_facts(run);

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !error; i++)
        error = store_table(run, tables[i].sql, tables[i].rows, tables[i].row);
    return error ? error : store_lanes(run);
}
