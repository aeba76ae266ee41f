/* Sums up the GPU operations, in the order of their storage. */
#include "report/analyse/totals/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_totals_totals.inc"
#include "report/store/array.h"
#include "report/store/database.h"

enum gv_op_column {
    GV_OP_ID,
    GV_OP_PLACE,
    GV_OP_KIND,
    GV_OP_SHAPE,
    GV_OP_START,
    GV_OP_DURATION,
    GV_OP_CALL,
    GV_OP_BYTES,
    GV_OP_COPY_KIND,
};

static const char sql_start_of_call[] = "SELECT start_ns FROM call WHERE id = ?";

struct gv_gpu_reading {
    struct gv_totals_run *run;
    sqlite3_stmt *call; /* when it started */
    int64_t every;      /* of so many operations, one call is looked up */
};

static int totals_kernel(struct gv_totals_run *run, sqlite3_stmt *row, int64_t duration_ns)
{
    int64_t shape = sqlite3_column_int64(row, GV_OP_SHAPE);
    int64_t blocks = gv_id_table_get(&run->shapes, shape, 1);
    int64_t multiprocessors =
        gv_id_table_get(&run->places, sqlite3_column_int64(row, GV_OP_PLACE), 3);
    struct gv_totals_kernel *kernel = gv_totals_kernel_of(run, shape);

    run->kernel_time_ns = gv_time_sum(run->kernel_time_ns, duration_ns);
    if (blocks > 0 && multiprocessors > 0) {
        run->blocks_known_ns = gv_time_sum(run->blocks_known_ns, duration_ns);
        run->underfilled_ns =
            gv_time_sum(run->underfilled_ns, blocks < multiprocessors ? duration_ns : 0);
        run->filled_ns += blocks < multiprocessors
                              ? (double)duration_ns * (double)blocks / (double)multiprocessors
                              : (double)duration_ns;
    }
    if (shape && shape != kernel->shape)
        kernel->shapes++;
    kernel->shape = shape;
    kernel->device = gv_id_table_get(&run->places, sqlite3_column_int64(row, GV_OP_PLACE), 4);
    return gv_duration_total_add(&kernel->time, duration_ns, 1);
}

static int totals_operation(struct gv_totals_run *run, sqlite3_stmt *row, int64_t duration_ns)
{
    int64_t kind = sqlite3_column_int64(row, GV_OP_KIND);
    int64_t copy_kind = sqlite3_column_int64(row, GV_OP_COPY_KIND);
    int64_t bytes = sqlite3_column_int64(row, GV_OP_BYTES);

    if (kind == GV_GPU_KERNEL)
        return totals_kernel(run, row, duration_ns);
    if (bytes < 0 || bytes > INT64_C(1) << 60)
        bytes = 0;
    if (kind == GV_GPU_COPY) {
        size_t which = gv_totals_copy_kind(copy_kind);
        run->copy_bytes[which] = gv_time_sum(run->copy_bytes[which], bytes);
        int error = gv_duration_total_add(&run->copies[which], duration_ns, 1);
        return error ? error
                     : gv_duration_total_add(&run->directions[which % GV_TOTALS_DIRECTIONS],
                                             duration_ns, 1);
    }
    if (kind == GV_GPU_SET) {
        run->set_bytes = gv_time_sum(run->set_bytes, bytes);
        return gv_duration_total_add(&run->sets, duration_ns, 1);
    }
    if (kind == GV_GPU_GRAPH) {
        run->graphs++;
        run->graph_time_ns += duration_ns;
    }
    return 0;
}

static int totals_zone(struct gv_totals_run *run, int64_t id, int64_t start_ns, bool next)
{
    struct gv_totals_zone *zone;

    if (next || run->zone_count == 0) {
        int error = gv_array_room(&run->zones, run->zone_count, &run->zone_room, sizeof(*zone));
        if (error)
            return error;
        run->zones[run->zone_count++] = (struct gv_totals_zone){id, id, start_ns, start_ns};
    }
    zone = &run->zones[run->zone_count - 1];
    zone->last_id = id;
    if (start_ns < zone->from_ns)
        zone->from_ns = start_ns;
    if (start_ns > zone->to_ns)
        zone->to_ns = start_ns;
    return 0;
}

/* When an operation's call started. False: unknown. */
static bool totals_launched_at(const struct gv_gpu_reading *reading, int64_t call,
                               int64_t *start_ns)
{
    bool known = sqlite3_bind_int64(reading->call, 1, call) == SQLITE_OK &&
                 sqlite3_step(reading->call) == SQLITE_ROW;

    if (known)
        *start_ns = gv_time_column(reading->call, 0);
    sqlite3_reset(reading->call);
    return known;
}

/* CUPTI returns an operation without times if it had not ended when the program did. */
static void totals_untimed(const struct gv_gpu_reading *reading, int64_t place, int64_t call)
{
    struct gv_totals_run *run = reading->run;
    int64_t start_ns;

    run->untimed++;
    if (place <= 0 || (uint64_t)place >= run->places.rows ||
        !totals_launched_at(reading, call, &start_ns))
        return;
    struct gv_totals_place *times = &run->place_times[place];
    if (!times->untimed || start_ns < times->launched_ns)
        times->launched_ns = start_ns;
    times->untimed = true;
}

static void totals_place_end(struct gv_totals_run *run, int64_t place, int64_t end_ns)
{
    if (place > 0 && (uint64_t)place < run->places.rows && end_ns > run->place_times[place].last_ns)
        run->place_times[place].last_ns = end_ns;
}

/* Whether the operation is in the selected part. */
static bool totals_gpu_wanted(const struct gv_totals_run *run, sqlite3_stmt *row)
{
    int64_t place = sqlite3_column_int64(row, GV_OP_PLACE);
    const struct gv_totals_part *part = &run->part;

    return (part->process == 0 || gv_id_table_get(&run->places, place, 0) == part->process) &&
           (part->device < 0 || gv_id_table_get(&run->places, place, 1) == part->device) &&
           gv_totals_in_part(run, gv_time_column(row, GV_OP_START)) &&
           gv_range_choice_has(part->ranges, sqlite3_column_int64(row, GV_OP_CALL));
}

static int totals_gpu_row(void *context, sqlite3_stmt *row)
{
    const struct gv_gpu_reading *reading = context;
    struct gv_totals_run *run = reading->run;
    int64_t call = sqlite3_column_int64(row, GV_OP_CALL);
    int64_t place = sqlite3_column_int64(row, GV_OP_PLACE);
    int64_t start_ns = gv_time_column(row, GV_OP_START), launched_ns;
    int64_t end_ns = gv_totals_end(row, GV_OP_DURATION, start_ns);
    int error;

    if (!totals_gpu_wanted(run, row))
        return 0;
    run->operations++;
    run->found_operations += call != 0;
    if (sqlite3_column_type(row, GV_OP_START) == SQLITE_NULL ||
        sqlite3_column_type(row, GV_OP_DURATION) == SQLITE_NULL) {
        totals_untimed(reading, place, call);
        return 0;
    }
    totals_place_end(run, place, end_ns);
    error = totals_operation(run, row, end_ns - start_ns);
    if (!error)
        error = totals_zone(run, sqlite3_column_int64(row, GV_OP_ID), start_ns,
                            run->operations % GV_TOTALS_ZONE == 0);
    /* From the call's start to the operation's. */
    if (!error && call && run->operations % reading->every == 0 &&
        totals_launched_at(reading, call, &launched_ns))
        error = gv_duration_total_add(&run->latency, start_ns - launched_ns, 1);
    return error;
}

int gv_totals_gpu(struct gv_totals_run *run)
{
    struct gv_gpu_reading reading = {.run = run};
    int64_t most = 0;
    int error = gv_database_number(run->trace, "SELECT max(id) FROM gpu_op", NULL, 0, &most);

    reading.every = most > 0 ? most / GV_TOTALS_LATENCIES + 1 : 1;
    if (!error)
        error = gv_database_error(
            run->trace, sqlite3_prepare_v2(run->trace, sql_start_of_call, -1, &reading.call, NULL));
    if (!error)
        error =
            gv_database_each(run->trace, sql_ops, &run->part.thread, 1, totals_gpu_row, &reading);
    sqlite3_finalize(reading.call);
    return error;
}
