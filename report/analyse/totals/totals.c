#include "report/analyse/totals/totals.h"

#include "report/analyse/jobs/collectives.h"
#include "report/analyse/ledger/analysis.h"
#include "report/analyse/names/places.h"
#include "report/analyse/totals/run.h"
#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"
#include "report/store/shadow.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

static const char *const totals_tables[] = {
#define GV_SCHEMA_MADE_BY_TOTALS(table) #table,
#include "report/store_schema_columns.inc"
};
static const char *const totals_views[] = {
    "gpu_lines",      "memory_lines", "memory_peak", "range_summary", "steps",   "scaled", "ledger",
    "ledger_minutes", "findings",     "facts",       "idle",          "minutes", "ranks"};
#define GV_TOTALS_TABLES (sizeof(totals_tables) / sizeof(totals_tables[0]))
#define GV_TOTALS_VIEWS  (sizeof(totals_views) / sizeof(totals_views[0]))

static const char *const totals_class_names[] = {
    NULL,
#define GV_TOTALS_CLASS(name, text, fact) text,
#include "report/analyse/totals/classes.def"
};
bool gv_totals_is_all(const struct gv_totals_part *part)
{
    return part->process == 0 && part->thread == 0 && part->device < 0 &&
           part->from_ns == INT64_MIN && part->to_ns == INT64_MAX && !part->ranges;
}

static int totals_read_apis(struct gv_totals_run *run)
{
    sqlite3_str *sql = sqlite3_str_new(run->trace);
    int error;

    /* A host function is launched, but is no GPU work. */
    sqlite3_str_appendall(
        sql, "SELECT id, CASE CASE WHEN class = 'launch' AND gpu_work = 0 THEN '' ELSE class END");
    for (unsigned int i = 1; i < GV_TOTALS_CLASSES; i++)
        sqlite3_str_appendf(sql, " WHEN %Q THEN %u", totals_class_names[i], i);
    sqlite3_str_appendall(sql,
                          " ELSE 0 END, class = 'collective',"
                          " coalesce(begins_capture, 0) + 2 * coalesce(ends_capture, 0), gpu_work"
                          " FROM api");
    char *text = sqlite3_str_finish(sql);
    error = text ? gv_id_table_read(&run->apis, run->trace, text) : -ENOMEM;
    sqlite3_free(text);
    return error;
}

static void totals_count_devices(struct gv_totals_run *run)
{
    for (size_t id = 1; id < run->places.rows; id++) {
        int64_t number = gv_id_table_get(&run->places, (int64_t)id, 2);
        if (number <= 0 || number > GV_TOTALS_DEVICES)
            continue;
        run->devices[number - 1].device = gv_id_table_get(&run->places, (int64_t)id, 4);
        if ((size_t)number > run->device_count)
            run->device_count = (size_t)number;
    }
}

static const struct {
    const char *sql;
    size_t table; /* in struct gv_totals_run */
} totals_id_tables[] = {
    {"SELECT id, process FROM thread", offsetof(struct gv_totals_run, threads)},
    {sql_processes, offsetof(struct gv_totals_run, blocking)},
    {sql_places, offsetof(struct gv_totals_run, places)},
    {sql_shapes, offsetof(struct gv_totals_run, shapes)},
    {"SELECT id, starts_cuda FROM api", offsetof(struct gv_totals_run, starts)},
    {"SELECT id, memory FROM api", offsetof(struct gv_totals_run, memory)},
    {sql_contexts, offsetof(struct gv_totals_run, contexts)},
    {"SELECT id, context FROM stream", offsetof(struct gv_totals_run, streams)},
    {"SELECT id, 1 FROM kernel", offsetof(struct gv_totals_run, kernel_ids)},
};
#define GV_TOTALS_ID_TABLES (sizeof(totals_id_tables) / sizeof(totals_id_tables[0]))

static struct gv_id_table *totals_id_table(struct gv_totals_run *run, size_t number)
{
    return (void *)((char *)run + totals_id_tables[number].table);
}

static int totals_open_ranges(struct gv_totals_run *run)
{
    int kept = gv_totals_is_all(&run->part) ? 0 : gv_totals_are_kept(run->trace);
    int error = kept < 0 ? kept : gv_range_totals_open(&run->ranges, run->trace, &run->part);

    if (!error)
        error =
            gv_steps_open(&run->steps, run->trace, &run->part, run->pass, run->ranges, kept > 0);
    if (error || !(run->ranges || run->steps))
        return error;
    error = gv_range_pass_open(&run->range_pass, run->trace, &run->part);
    if (!error && run->ranges)
        gv_range_pass_add(run->range_pass, gv_range_totals_consumer(run->ranges));
    if (!error && run->steps)
        gv_range_pass_add(run->range_pass, gv_steps_consumer(run->steps));
    return error;
}

static int totals_open(struct gv_totals_run *run)
{
    int error = totals_read_apis(run);

    for (size_t i = 0; i < GV_TOTALS_ID_TABLES && !error; i++)
        error = gv_id_table_read(totals_id_table(run, i), run->trace, totals_id_tables[i].sql);
    if (!error)
        error = gv_stopped_read(run->trace, &run->stopped);
    if (!error)
        error = gv_totals_memory_open(run);
    if (!error)
        error = totals_open_ranges(run);
    if (!error)
        error = gv_scaled_open(&run->scaled, run->trace, run->pass);
    if (!error)
        error = gv_lines_open(&run->lines, run->trace, &run->part);
    if (error)
        return error;
    totals_count_devices(run);
    run->nodes_of_graphs.trace = run->trace;
    run->nodes_of_graphs.places = &run->stack_places;
    run->kernel_count = 1;
    for (size_t id = 1; id < run->shapes.rows; id++) {
        size_t rank = (size_t)gv_id_table_get(&run->shapes, (int64_t)id, 0);
        if (rank >= run->kernel_count)
            run->kernel_count = rank + 1;
    }
    run->kernels = calloc(run->kernel_count, sizeof(*run->kernels));
    run->api_sums = calloc(run->apis.rows + 1, sizeof(*run->api_sums));
    run->thread_times = calloc(run->threads.rows + 1, sizeof(*run->thread_times));
    run->launches = calloc(run->kernel_ids.rows + 1, sizeof(*run->launches));
    run->place_times = calloc(run->places.rows + 1, sizeof(*run->place_times));
    return run->kernels && run->place_times && run->api_sums && run->thread_times && run->launches
               ? 0
               : -ENOMEM;
}

static void totals_close(struct gv_totals_run *run)
{
    for (size_t i = 0; run->kernels && i < run->kernel_count; i++)
        gv_duration_total_free(&run->kernels[i].time);
    for (size_t i = 0; run->api_sums && i < run->apis.rows; i++)
        gv_duration_total_free(&run->api_sums[i].time);
    for (size_t i = 0; i < GV_TOTALS_COPY_KINDS; i++)
        gv_duration_total_free(&run->copies[i]);
    for (size_t i = 0; i < GV_TOTALS_DIRECTIONS; i++)
        gv_duration_total_free(&run->directions[i]);
    gv_duration_total_free(&run->sets);
    gv_duration_total_free(&run->latency);
    for (size_t i = 0; i < GV_TOTALS_ID_TABLES; i++)
        gv_id_table_free(totals_id_table(run, i));
    gv_id_table_free(&run->apis);
    gv_lines_close(run->lines);
    gv_scaled_close(run->scaled);
    gv_range_pass_close(run->range_pass);
    gv_range_totals_close(run->ranges);
    gv_steps_close(run->steps);
    free(run->kernels);
    free(run->api_sums);
    free(run->thread_times);
    free(run->place_times);
    free(run->launches);
    sqlite3_finalize(run->memory_add);
    gv_memory_log_free(&run->memory_log);
    gv_graph_totals_free(&run->nodes_of_graphs);
    gv_places_free(&run->stack_places);
    free(run->unseen);
    free(run->unseen_times.times);
    free(run->stopped.times);
    free(run);
}

/* Gives the memory back, and ends its statements: some that follow need that. */
static int totals_lines(struct gv_totals_run *run)
{
    int error = gv_lines_store(run->lines);

    gv_lines_close(run->lines);
    run->lines = NULL;
    return error;
}

static int totals_read(struct gv_totals_run *run)
{
    const struct gv_pass_consumer consumer = {run, gv_totals_call, gv_totals_operation};
    int error = gv_pass_run(run->pass, &consumer, NULL);

    return error ? error : gv_graph_totals_end(&run->nodes_of_graphs);
}

/* In this order. */
static int (*const totals_steps[])(struct gv_totals_run *run) = {
    gv_totals_untimed,   gv_totals_unseen,   totals_read,         totals_lines,
    gv_totals_calls_end, gv_totals_recorded, gv_totals_first_use,
};

static int totals_make(sqlite3 *trace, const struct gv_totals_part *part, struct gv_pass *pass,
                       bool exact)
{
    struct gv_totals_run *run = calloc(1, sizeof(*run));
    int error;

    if (!run)
        return -ENOMEM;
    run->trace = trace;
    run->part = *part;
    run->pass = pass;
    error = totals_open(run);
    for (size_t i = 0; i < sizeof(totals_steps) / sizeof(totals_steps[0]) && !error; i++)
        error = totals_steps[i](run);
    if (!error && exact)
        error = gv_totals_medians(run);
    gv_scaled_sum(run->scaled, &run->sampled);
    if (!error)
        error = gv_totals_store(run);
    if (!error)
        error = gv_scaled_store(run->scaled);
    if (!error)
        error = gv_range_totals_store(run->ranges);
    if (!error)
        error = gv_steps_store(run->steps);
    totals_close(run);
    return error;
}

static int totals_ledger(sqlite3 *trace, const struct gv_totals_part *part, struct gv_pass *pass)
{
    int error = gv_ledger_make(trace, part, pass);

    return error ? error : gv_job_findings_join(trace);
}

int gv_totals_keep(sqlite3 *trace, struct gv_pass *pass)
{
    struct gv_totals_part all = GV_TOTALS_ALL;
    const int64_t version = GV_TOTALS_VERSION;
    int error = gv_range_choice_install(NULL, trace);

    if (!error)
        error = gv_database_begin_writing(trace);
    if (!error)
        error = gv_shadow_each(trace, "DELETE FROM main.%s", totals_tables, GV_TOTALS_TABLES);
    if (!error)
        error = totals_make(trace, &all, pass, true);
    if (!error)
        error = totals_ledger(trace, &all, pass);
    if (!error)
        error = gv_database_script(
            trace, "INSERT OR REPLACE INTO meta (key, value) VALUES ('totals', ?)", &version, 1);
    return gv_database_end_writing(trace, error);
}

int gv_totals_are_kept(sqlite3 *trace)
{
    int64_t version = 0;
    int error = gv_database_number(trace, sql_version, NULL, 0, &version);

    return error ? error : version == GV_TOTALS_VERSION;
}

int gv_totals_ensure(sqlite3 *trace, const struct gv_totals_part *part)
{
    const int64_t values[] = {part->process, part->thread, part->device,
                              part->from_ns, part->to_ns,  (int64_t)(intptr_t)part->ranges};
    int kept = gv_totals_is_all(part) ? gv_totals_are_kept(trace) : 0, error;
    struct gv_pass *pass = NULL;
    int64_t made = 0;

    if (kept < 0)
        return kept;
    error = gv_range_choice_install(part->ranges, trace);
    if (!error)
        error = gv_database_script(trace, sql_allow_made, NULL, 0);
    if (!error && !kept)
        error = gv_database_number(trace, sql_is_made, values, 6, &made);
    if (error || made)
        return error;
    error = gv_database_script(trace, sql_forget_made, NULL, 0);
    if (!error) /* the views stay: they may hide others of the file, and query what is there */
        error =
            gv_shadow_each(trace, "DROP TABLE IF EXISTS temp.%s", totals_tables, GV_TOTALS_TABLES);
    if (error || kept)
        return error;
    error = gv_places_open(trace);
    if (!error)
        error = gv_shadow_make_all(trace, "TABLE", totals_tables, GV_TOTALS_TABLES);
    if (!error)
        error = gv_shadow_make_all(trace, "VIEW", totals_views, GV_TOTALS_VIEWS);
    if (!error)
        error = gv_pass_open(&pass, trace, part->thread);
    if (!error)
        error = totals_make(trace, part, pass, false);
    if (!error)
        error = totals_ledger(trace, part, pass);
    gv_pass_close(pass);
    return error ? error : gv_database_script(trace, sql_set_made, values, 6);
}
