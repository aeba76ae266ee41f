/* Sums up the GPU operations, in the order of their storage. */
#include "report/analyse/totals/run.h"

#include "report/analyse/time_sum.h"
#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>

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
        if (run->zone_count == run->zone_room) {
            size_t room = run->zone_room ? 2 * run->zone_room : 64;
            struct gv_totals_zone *zones = realloc(run->zones, room * sizeof(*zones));
            if (!zones)
                return -ENOMEM;
            run->zones = zones;
            run->zone_room = room;
        }
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

/* From the call's start to the operation's. */
static int totals_latency(struct gv_totals_run *run, sqlite3_stmt *call, int64_t id,
                          int64_t start_ns)
{
    int error = 0;

    sqlite3_bind_int64(call, 1, id);
    if (sqlite3_step(call) == SQLITE_ROW)
        error = gv_duration_total_add(&run->latency, start_ns - gv_time_column(call, 0), 1);
    sqlite3_reset(call);
    return error;
}

/* CUPTI returns an operation without times if it had not ended when the program did. */
static void totals_untimed(struct gv_totals_run *run, sqlite3_stmt *row, sqlite3_stmt *call)
{
    int64_t place = sqlite3_column_int64(row, GV_OP_PLACE);

    run->untimed++;
    if (place <= 0 || (uint64_t)place >= run->places.rows)
        return;
    struct gv_totals_place *times = &run->place_times[place];
    sqlite3_bind_int64(call, 1, sqlite3_column_int64(row, GV_OP_CALL));
    if (sqlite3_step(call) == SQLITE_ROW) {
        int64_t start_ns = gv_time_column(call, 0);
        if (!times->untimed || start_ns < times->launched_ns)
            times->launched_ns = start_ns;
        times->untimed = true;
    }
    sqlite3_reset(call);
}

/* Operations of a stream run in order. */
void gv_totals_gpu_known(struct gv_totals_run *run)
{
    for (size_t i = 0; i < run->places.rows; i++) {
        const struct gv_totals_place *place = &run->place_times[i];
        int64_t from_ns = place->last_ns > place->launched_ns ? place->last_ns : place->launched_ns;
        if (place->untimed && from_ns < run->known_ns)
            run->known_ns = from_ns;
    }
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
           gv_totals_in_part(run, gv_time_column(row, GV_OP_START));
}

static int totals_gpu_row(struct gv_totals_run *run, sqlite3_stmt *row, sqlite3_stmt *call,
                          int64_t every)
{
    int64_t call_id = sqlite3_column_int64(row, GV_OP_CALL);
    int64_t start_ns = gv_time_column(row, GV_OP_START);
    int error;

    if (!totals_gpu_wanted(run, row))
        return 0;
    run->operations++;
    run->found_operations += call_id != 0;
    if (sqlite3_column_type(row, GV_OP_START) == SQLITE_NULL ||
        sqlite3_column_type(row, GV_OP_DURATION) == SQLITE_NULL) {
        totals_untimed(run, row, call);
        return 0;
    }
    totals_place_end(run, sqlite3_column_int64(row, GV_OP_PLACE),
                     gv_totals_end(row, GV_OP_DURATION, start_ns));
    error = totals_operation(run, row, gv_totals_end(row, GV_OP_DURATION, start_ns) - start_ns);
    if (!error)
        error = totals_zone(run, sqlite3_column_int64(row, GV_OP_ID), start_ns,
                            run->operations % GV_TOTALS_ZONE == 0);
    if (!error && call_id && run->operations % every == 0)
        error = totals_latency(run, call, call_id, start_ns);
    return error;
}

int gv_totals_gpu(struct gv_totals_run *run)
{
    sqlite3_stmt *rows = NULL, *call = NULL, *most = NULL;
    int64_t every = 1;
    int error = 0;
    int result = gv_database_ask(run->trace, sql_ops, &run->part.thread, 1, &rows);

    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(run->trace, "SELECT start_ns FROM call WHERE id = ?", -1, &call,
                                    NULL);
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(run->trace, "SELECT max(id) FROM gpu_op", -1, &most, NULL);
    if (result == SQLITE_OK && sqlite3_step(most) == SQLITE_ROW)
        every = sqlite3_column_int64(most, 0) / GV_TOTALS_LATENCIES + 1;
    while (!error && (result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW)
        error = totals_gpu_row(run, rows, call, every > 0 ? every : 1);
    sqlite3_finalize(rows);
    sqlite3_finalize(call);
    sqlite3_finalize(most);
    return error ? error : gv_database_error(run->trace, result);
}
