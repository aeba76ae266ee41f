#include "report/analyse/totals/totals.h"

#include "report/analyse/gpu_unseen.h"
#include "report/analyse/totals/run.h"
#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"
#include "report/store/shadow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const totals_tables[] = {
    "fact",         "api_total",   "kernel_total", "copy_total",   "device_total",
    "gap",          "gap_call",    "timeline",     "thread_total", "error_total",
    "launch_total", "memory_left", "copy_median",
};
#define GV_TOTALS_TABLES (sizeof(totals_tables) / sizeof(totals_tables[0]))

static const char *const totals_class_names[] = {
    NULL,
#define GV_TOTALS_CLASS(name, text, fact) text,
#include "report/analyse/totals/classes.def"
};
bool gv_totals_is_all(const struct gv_totals_part *part)
{
    return part->process == 0 && part->thread == 0 && part->device < 0 &&
           part->from_ns == INT64_MIN && part->to_ns == INT64_MAX;
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
    sqlite3_str_appendall(sql, " ELSE 0 END FROM api");
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

static int totals_open(struct gv_totals_run *run)
{
    int error = gv_id_table_read(&run->threads, run->trace, "SELECT id, process FROM thread");

    if (!error)
        error = gv_id_table_read(&run->blocking, run->trace, sql_processes);
    if (!error)
        error = totals_read_apis(run);
    if (!error)
        error = gv_id_table_read(&run->places, run->trace, sql_places);
    if (!error)
        error = gv_id_table_read(&run->shapes, run->trace, sql_shapes);
    if (!error)
        error = gv_id_table_read(&run->starts, run->trace, "SELECT id, starts_cuda FROM api");
    if (!error)
        error = gv_totals_memory_open(run);
    if (!error)
        error = gv_id_table_read(&run->kernel_ids, run->trace, "SELECT id, 1 FROM kernel");
    if (error)
        return error;
    totals_count_devices(run);
    run->kernel_count = 1;
    for (size_t id = 1; id < run->shapes.rows; id++) {
        size_t rank = (size_t)gv_id_table_get(&run->shapes, (int64_t)id, 0);
        if (rank >= run->kernel_count)
            run->kernel_count = rank + 1;
    }
    run->kernels = calloc(run->kernel_count, sizeof(*run->kernels));
    run->api_times = calloc(run->apis.rows + 1, sizeof(*run->api_times));
    run->api_errors = calloc(run->apis.rows + 1, sizeof(*run->api_errors));
    run->api_bytes = calloc(run->apis.rows + 1, sizeof(*run->api_bytes));
    run->thread_times = calloc(run->threads.rows + 1, sizeof(*run->thread_times));
    run->launches = calloc(run->kernel_ids.rows + 1, sizeof(*run->launches));
    run->place_times = calloc(run->places.rows + 1, sizeof(*run->place_times));
    return run->kernels && run->place_times && run->api_times && run->api_errors &&
                   run->api_bytes && run->thread_times && run->launches
               ? 0
               : -ENOMEM;
}

static int totals_open_gaps(struct gv_totals_run *run)
{
    for (size_t i = 0; i < run->gap_count; i++) {
        run->gaps[i].api_ns = calloc(run->apis.rows + 1, sizeof(*run->gaps[i].api_ns));
        if (!run->gaps[i].api_ns)
            return -ENOMEM;
    }
    return 0;
}

static void totals_close(struct gv_totals_run *run)
{
    for (size_t i = 0; run->kernels && i < run->kernel_count; i++)
        gv_duration_total_free(&run->kernels[i].time);
    for (size_t i = 0; run->api_times && i < run->apis.rows; i++)
        gv_duration_total_free(&run->api_times[i]);
    for (size_t i = 0; i < GV_TOTALS_COPY_KINDS; i++)
        gv_duration_total_free(&run->copies[i]);
    for (size_t i = 0; i < GV_TOTALS_DIRECTIONS; i++)
        gv_duration_total_free(&run->directions[i]);
    gv_duration_total_free(&run->sets);
    gv_duration_total_free(&run->latency);
    for (size_t i = 0; i < run->gap_count; i++)
        free(run->gaps[i].api_ns);
    gv_id_table_free(&run->threads);
    gv_id_table_free(&run->blocking);
    gv_id_table_free(&run->apis);
    gv_id_table_free(&run->places);
    gv_id_table_free(&run->shapes);
    free(run->kernels);
    free(run->api_times);
    free(run->api_errors);
    free(run->api_bytes);
    free(run->thread_times);
    free(run->place_times);
    free(run->launches);
    gv_id_table_free(&run->starts);
    gv_id_table_free(&run->memory);
    gv_id_table_free(&run->contexts);
    gv_id_table_free(&run->streams);
    gv_id_table_free(&run->kernel_ids);
    sqlite3_finalize(run->memory_add);
    gv_memory_log_free(&run->memory_log);
    free(run->short_gaps);
    free(run->zones);
    free(run);
}

static void totals_take_unseen(void *context, const struct gv_gpu_unseen *unseen)
{
    struct gv_totals_run *run = context;

    if ((!run->part.process || run->part.process == unseen->process) &&
        unseen->known_ns < run->known_ns)
        run->known_ns = unseen->known_ns;
}

static int totals_make(sqlite3 *trace, const struct gv_totals_part *part, bool exact)
{
    struct gv_totals_run *run = calloc(1, sizeof(*run));
    int error;

    if (!run)
        return -ENOMEM;
    run->trace = trace;
    run->part = *part;
    run->known_ns = INT64_MAX;
    error = totals_open(run);
    if (!error)
        error = gv_gpu_unseen_each(trace, totals_take_unseen, run);
    if (!error)
        error = gv_totals_gpu(run);
    if (!error)
        gv_totals_gpu_known(run);
    if (!error)
        error = gv_totals_gaps_prepare(run);
    if (!error)
        error = gv_totals_busy(run);
    if (!error)
        error = totals_open_gaps(run);
    if (!error)
        error = gv_totals_gaps_open(run);
    if (!error)
        error = gv_totals_calls(run);
    if (!error)
        gv_totals_gaps_sum(run);
    if (!error)
        error = gv_totals_waits(run);
    if (!error)
        error = gv_totals_first_use(run);
    if (!error && exact)
        error = gv_totals_medians(run);
    if (!error)
        error = gv_totals_store(run);
    totals_close(run);
    return error;
}

static int totals_execute(sqlite3 *trace, const char *sql)
{
    return gv_database_error(trace, sqlite3_exec(trace, sql, NULL, NULL, NULL));
}

/* One statement for each of the tables, with %s for its name. */
static int totals_each(sqlite3 *trace, const char *format)
{
    char sql[128];
    int error = 0;

    for (size_t i = 0; i < GV_TOTALS_TABLES && !error; i++) {
        sqlite3_snprintf(sizeof(sql), sql, format, totals_tables[i]);
        error = totals_execute(trace, sql);
    }
    return error;
}

int gv_totals_keep(sqlite3 *trace)
{
    struct gv_totals_part all = GV_TOTALS_ALL;
    char sql[128];
    int error = totals_execute(trace, "BEGIN IMMEDIATE");

    if (!error)
        error = totals_each(trace, "DELETE FROM main.%s");
    if (!error)
        error = totals_make(trace, &all, true);
    sqlite3_snprintf(sizeof(sql), sql,
                     "INSERT OR REPLACE INTO meta (key, value) VALUES"
                     " ('totals', %d)",
                     GV_TOTALS_VERSION);
    if (!error)
        error = totals_execute(trace, sql);
    if (!error)
        error = totals_execute(trace, "COMMIT");
    if (error && !sqlite3_get_autocommit(trace))
        totals_execute(trace, "ROLLBACK");
    return error;
}

int gv_totals_are_kept(sqlite3 *trace)
{
    sqlite3_stmt *row = NULL;
    int kept = 0;
    int result = sqlite3_prepare_v2(trace, sql_version, -1, &row, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    if (result == SQLITE_ROW)
        kept = sqlite3_column_int(row, 0) == GV_TOTALS_VERSION;
    sqlite3_finalize(row);
    return gv_database_error(trace, result) ? gv_database_error(trace, result) : kept;
}

int gv_totals_ensure(sqlite3 *trace, const struct gv_totals_part *part)
{
    int kept = gv_totals_is_all(part) ? gv_totals_are_kept(trace) : 0, error;

    if (kept < 0)
        return kept;
    error = totals_each(trace, "DROP TABLE IF EXISTS temp.%s");
    if (error || kept)
        return error;
    for (size_t i = 0; i < GV_TOTALS_TABLES && !error; i++)
        error = gv_shadow_make(trace, "TABLE", totals_tables[i]);
    return error ? error : totals_make(trace, part, false);
}
