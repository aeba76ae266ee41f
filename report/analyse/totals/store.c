/* Writes the sums into their tables. */
#include "report/analyse/totals/run.h"

#include "report/analyse/time_sum.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define GV_STORE_TEXT_BYTES 64

/* Runs a prepared statement with `count` numbers; it is reset. */
static int gv_store_row(struct gv_totals_run *run, sqlite3_stmt *add, int count, ...)
{
    va_list values;
    int result;

    va_start(values, count);
    for (int i = 1; i <= count; i++)
        sqlite3_bind_int64(add, i, va_arg(values, int64_t));
    va_end(values);
    result = sqlite3_step(add);
    sqlite3_reset(add);
    return gv_database_error(run->trace, result);
}

static int gv_store_prepare(struct gv_totals_run *run, sqlite3_stmt **add, const char *sql)
{
    return gv_database_error(run->trace, sqlite3_prepare_v2(run->trace, sql, -1, add, NULL));
}

static int64_t gv_totals_stretch_ns(struct gv_totals_run *run)
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

/* What the calls of a thread took at most: all of them, or those of a class less their waits. */
static int64_t gv_totals_most_ns(const struct gv_totals_run *run, enum gv_totals_class class)
{
    int64_t most_ns = 0;

    for (size_t i = 0; i < run->threads.rows; i++) {
        const struct gv_totals_thread *thread = &run->thread_times[i];
        int64_t ns = class == GV_TOTALS_COPY     ? thread->copy_ns
                     : class == GV_TOTALS_LAUNCH ? thread->launch_ns
                                                 : thread->total_ns;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return most_ns;
}

static struct gv_totals_known gv_totals_known_sum(const struct gv_totals_run *run)
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

static int gv_store_fact(struct gv_totals_run *run, sqlite3_stmt *add, const char *key,
                         int64_t value)
{
    sqlite3_bind_text(add, 2, key, -1, SQLITE_TRANSIENT);
    return gv_store_row(run, add, 1, value);
}

static int gv_store_facts(struct gv_totals_run *run)
{
    static const char *const classes[] = {
        "other",
#define GV_TOTALS_CLASS(name, text, fact) fact,
#include "report/analyse/totals/classes.def"
    };
    struct gv_totals_known known = gv_totals_known_sum(run);
    const struct {
        const char *key;
        int64_t value;
    } facts[] = {
#define GV_TOTALS_FACT(key, expression) {key, expression},
#include "report/analyse/totals/facts.def"
    };
    sqlite3_stmt *add = NULL;
    char key[GV_STORE_TEXT_BYTES];
    int error = gv_store_prepare(run, &add, "INSERT INTO fact (value, key) VALUES (?1, ?2)");

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && !error; i++)
        error = gv_store_fact(run, add, facts[i].key, facts[i].value);
    for (size_t i = 0; i < GV_TOTALS_CLASSES && !error; i++) {
        snprintf(key, sizeof(key), "%s_calls", classes[i]);
        error = gv_store_fact(run, add, key, run->class_count[i]);
        snprintf(key, sizeof(key), "%s_ns", classes[i]);
        if (!error)
            error = gv_store_fact(run, add, key, run->class_ns[i]);
    }
    sqlite3_finalize(add);
    return error;
}

static int gv_store_apis(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error = gv_store_prepare(run, &add,
                                 "INSERT INTO api_total (api, count, errors, total_ns, min_ns,"
                                 " median_ns, max_ns, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");

    for (size_t i = 1; i < run->apis.rows && !error; i++) {
        const struct gv_duration_total *time = &run->api_times[i];
        if (time->count > 0)
            error = gv_store_row(run, add, 8, (int64_t)i, time->count, run->api_errors[i],
                                 time->total_ns, time->min_ns, gv_duration_total_median_ns(time),
                                 time->max_ns, run->api_bytes[i]);
    }
    sqlite3_finalize(add);
    return error;
}

static int gv_store_threads(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error = gv_store_prepare(run, &add,
                                 "INSERT INTO thread_total (thread, count, total_ns, first_ns,"
                                 " last_ns) VALUES (?, ?, ?, ?, ?)");

    for (size_t i = 1; i < run->threads.rows && !error; i++) {
        const struct gv_totals_thread *thread = &run->thread_times[i];
        if (thread->count > 0)
            error = gv_store_row(run, add, 5, (int64_t)i, thread->count, thread->total_ns,
                                 thread->first_ns, thread->last_ns);
    }
    sqlite3_finalize(add);
    return error;
}

static int gv_store_kernels(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error = gv_store_prepare(
        run, &add,
        "INSERT INTO kernel_total (rank, count, total_ns, min_ns, median_ns, max_ns, shape, shapes,"
        " device) VALUES (?1, ?2, ?3, ?4, ?5, ?6, nullif(?7, 0), ?8, nullif(?9, 0))");

    for (size_t i = 0; i < run->kernel_count && !error; i++) {
        const struct gv_totals_kernel *kernel = &run->kernels[i];
        if (kernel->time.count > 0)
            error =
                gv_store_row(run, add, 9, (int64_t)i, kernel->time.count, kernel->time.total_ns,
                             kernel->time.min_ns, gv_duration_total_median_ns(&kernel->time),
                             kernel->time.max_ns, kernel->shape, kernel->shapes, kernel->device);
    }
    sqlite3_finalize(add);
    if (error)
        return error;
    return gv_database_error(
        run->trace,
        sqlite3_exec(run->trace,
                     "UPDATE kernel_total SET name = (SELECT n.name FROM gpu_shape s JOIN gpu_name"
                     " n ON n.id = s.name WHERE s.id = kernel_total.shape)",
                     NULL, NULL, NULL));
}

static int gv_store_copies(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error = gv_store_prepare(run, &add,
                                 "INSERT INTO copy_total (copy_kind, count, total_ns, min_ns,"
                                 " median_ns, max_ns, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)");

    for (size_t i = 0; i <= GV_TOTALS_COPY_KINDS && !error; i++) {
        bool sets = i == GV_TOTALS_COPY_KINDS;
        const struct gv_duration_total *time = sets ? &run->sets : &run->copies[i];
        if (time->count > 0)
            error = gv_store_row(run, add, 7, sets ? INT64_C(-1) : (int64_t)i, time->count,
                                 time->total_ns, time->min_ns, gv_duration_total_median_ns(time),
                                 time->max_ns, sets ? run->set_bytes : run->copy_bytes[i]);
    }
    sqlite3_finalize(add);
    return error;
}

static int gv_store_directions(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error =
        gv_store_prepare(run, &add, "INSERT INTO copy_median (direction, median_ns) VALUES (?, ?)");

    for (size_t i = 0; i <= GV_TOTALS_DIRECTIONS && !error; i++) {
        bool sets = i == GV_TOTALS_DIRECTIONS;
        const struct gv_duration_total *time = sets ? &run->sets : &run->directions[i];
        if (time->count > 0)
            error = gv_store_row(run, add, 2, sets ? INT64_C(-1) : (int64_t)i,
                                 gv_duration_total_median_ns(time));
    }
    sqlite3_finalize(add);
    return error;
}

static int gv_store_devices(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error = gv_store_prepare(
        run, &add,
        "INSERT INTO device_total (number, device, operations, first_ns, last_ns, busy_ns,"
        " kernel_ns, copy_ns, gaps, short_gaps, short_gap_ns) VALUES (?1, nullif(?2, 0), ?3, ?4,"
        " ?5, ?6, ?7, ?8, ?9, ?10, ?11)");

    for (size_t i = 0; i < run->device_count && !error; i++) {
        const struct gv_totals_device *device = &run->devices[i];
        if (device->operations > 0)
            error = gv_store_row(run, add, 11, (int64_t)i + 1, device->device, device->operations,
                                 device->first_ns, device->last_ns, device->busy_ns,
                                 device->kernel_ns, device->copy_ns, device->gaps,
                                 device->short_gaps, device->short_gap_ns);
    }
    sqlite3_finalize(add);
    return error;
}

static int gv_store_gaps(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL, *call = NULL;
    int error = gv_store_prepare(
        run, &add, "INSERT INTO gap (id, device_total, start_ns, duration_ns) VALUES (?, ?, ?, ?)");

    if (!error)
        error = gv_store_prepare(run, &call,
                                 "INSERT INTO gap_call (gap, api, total_ns) VALUES (?, ?, ?)");
    for (size_t i = 0; i < run->gap_count && !error; i++) {
        const struct gv_totals_gap *gap = &run->gaps[i];
        error = gv_store_row(run, add, 4, (int64_t)i + 1, (int64_t)gap->device + 1, gap->start_ns,
                             gap->end_ns - gap->start_ns);
        for (size_t api = 1; api < run->apis.rows && !error; api++)
            if (gap->api_ns[api] > 0)
                error = gv_store_row(run, call, 3, (int64_t)i + 1, (int64_t)api, gap->api_ns[api]);
    }
    sqlite3_finalize(add);
    sqlite3_finalize(call);
    return error;
}

static int gv_store_errors(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error = gv_store_prepare(run, &add,
                                 "INSERT INTO error_total (api, result, count) VALUES (?, ?, ?)");

    for (size_t i = 0; i < run->error_count && !error; i++)
        error = gv_store_row(run, add, 3, run->errors[i].api, run->errors[i].result,
                             run->errors[i].count);
    sqlite3_finalize(add);
    return error;
}

static int gv_store_launches(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error = gv_store_prepare(
        run, &add, "INSERT INTO launch_total (kernel, count, total_ns) VALUES (?, ?, ?)");

    for (size_t i = 1; i < run->kernel_ids.rows && !error; i++)
        if (run->launches[i].count > 0)
            error = gv_store_row(run, add, 3, (int64_t)i, run->launches[i].count,
                                 run->launches[i].total_ns);
    sqlite3_finalize(add);
    return error;
}

static int gv_store_memory(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    int error = gv_store_prepare(run, &add,
                                 "INSERT OR REPLACE INTO memory_left (call, space, bytes) VALUES"
                                 " (?1, CASE ?2 WHEN 1 THEN 'device' WHEN 2 THEN 'host' ELSE"
                                 " 'managed' END, ?3)");

    for (size_t i = 0; i < run->memory_log.block_count && !error; i++) {
        const struct gv_memory_block *block = &run->memory_log.blocks[i];
        int64_t left_bytes = gv_memory_log_left(&run->memory_log, block);
        if (left_bytes > 0)
            error = gv_store_row(run, add, 3, block->call, (int64_t)block->space, left_bytes);
    }
    sqlite3_finalize(add);
    return error;
}

static int gv_store_lane(struct gv_totals_run *run, sqlite3_stmt *add, const char *name,
                         const struct gv_lane *lane)
{
    int error = 0;

    for (size_t i = 0; i < GV_LANE_STRETCHES && !error; i++) {
        if (lane->taken_ns[i] == 0)
            continue;
        sqlite3_bind_text(add, 3, name, -1, SQLITE_TRANSIENT);
        error = gv_store_row(run, add, 2, (int64_t)i, lane->taken_ns[i]);
    }
    return error;
}

static int gv_store_lanes(struct gv_totals_run *run)
{
    sqlite3_stmt *add = NULL;
    char name[GV_STORE_TEXT_BYTES];
    int error = gv_store_prepare(
        run, &add, "INSERT INTO timeline (stretch, taken_ns, lane) VALUES (?1, ?2, ?3)");

    for (size_t i = 0; i < GV_TOTALS_LANES && !error; i++) {
        snprintf(name, sizeof(name), "busy %zu", i + 1);
        error = gv_store_lane(run, add, name, &run->busy[i]);
    }
    if (!error)
        error = gv_store_lane(run, add, "copy", &run->copying);
    if (!error)
        error = gv_store_lane(run, add, "sync", &run->waiting);
    if (!error)
        error = gv_store_lane(run, add, "load", &run->loading);
    sqlite3_finalize(add);
    return error;
}

int gv_totals_store(struct gv_totals_run *run)
{
    int error = gv_store_facts(run);

    if (!error)
        error = gv_store_apis(run);
    if (!error)
        error = gv_store_threads(run);
    if (!error)
        error = gv_store_kernels(run);
    if (!error)
        error = gv_store_copies(run);
    if (!error)
        error = gv_store_directions(run);
    if (!error)
        error = gv_store_devices(run);
    if (!error)
        error = gv_store_gaps(run);
    if (!error)
        error = gv_store_errors(run);
    if (!error)
        error = gv_store_launches(run);
    if (!error)
        error = gv_store_memory(run);
    return error ? error : gv_store_lanes(run);
}
