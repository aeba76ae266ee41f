/*
 * Computes when each device was busy. Operations are not stored in order of time, so zones of ids
 * that start in a stretch of time are read together and sorted, one stretch after the other.
 */
#include "report/analyse/totals/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_totals_totals.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum gv_busy_column {
    GV_BUSY_PLACE,
    GV_BUSY_KIND,
    GV_BUSY_START,
    GV_BUSY_DURATION,
    GV_BUSY_COPY_KIND,
    GV_BUSY_CALL,
    GV_BUSY_SHAPE,
    GV_BUSY_BYTES,
};

struct gv_busy_op {
    int64_t start_ns, end_ns, call, bytes;
    uint32_t place, shape; /* cut off: no trace of ours has so many */
    uint16_t device;
    uint8_t kind, copy_kind;
    bool copies;
    bool host_copies; /* between host and device */
};

struct gv_busy_batch {
    struct gv_busy_op *ops;
    size_t count, room;
};

static int busy_compare(const void *left, const void *right)
{
    const struct gv_busy_op *one = left, *other = right;

    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static int busy_compare_zones(const void *left, const void *right)
{
    const struct gv_totals_zone *one = left, *other = right;

    return one->from_ns < other->from_ns ? -1 : one->from_ns > other->from_ns;
}

/* How much of the time from start_ns to the operation is known to be idle: missing ones may have
 * filled the rest. */
static int64_t busy_known_gaps(const struct gv_totals_run *run, const struct gv_busy_op *op,
                               int64_t start_ns)
{
    const struct gv_totals_unseen *unseen;
    int64_t known_ns = 0;

    while (start_ns < op->start_ns && (unseen = gv_totals_unseen_after(run, start_ns)) &&
           unseen->start_ns < op->start_ns) {
        known_ns += unseen->start_ns > start_ns ? unseen->start_ns - start_ns : 0;
        start_ns = unseen->end_ns;
    }
    return known_ns + (op->start_ns > start_ns ? op->start_ns - start_ns : 0);
}

static int busy_line(struct gv_totals_run *run, const struct gv_busy_op *op, int64_t idle_ns)
{
    const struct gv_lines_operation operation = {
        .process = gv_id_table_get(&run->places, op->place, 0),
        .call = op->call,
        .kind = op->kind,
        .copy_kind = op->copy_kind,
        .shape = op->shape,
        .name = gv_id_table_get(&run->shapes, op->shape, 2),
        .size = gv_lines_size(op->bytes),
        .start_ns = op->start_ns,
        .duration_ns = op->end_ns - op->start_ns,
        .idle_ns = idle_ns,
    };

    return gv_lines_take(run->lines, &operation);
}

/* The row of the sums that the operation is of: see gv_estimate_work. */
static int64_t busy_number(const struct gv_totals_run *run, const struct gv_busy_op *op)
{
    return op->kind == GV_GPU_KERNEL ? gv_totals_kernel_of(run, op->shape) - run->kernels
           : op->kind == GV_GPU_COPY ? (int64_t)gv_totals_copy_kind(op->copy_kind)
           : op->kind == GV_GPU_SET  ? -1
                                     : 0;
}

/* busy_ns, own_ns: by how much it made the device's busy time longer, and that of its like. */
static int busy_scaled(struct gv_totals_run *run, const struct gv_busy_op *op, int64_t busy_ns,
                       int64_t own_ns)
{
    const struct gv_estimate_work work = {
        .kind = op->kind,
        .number = busy_number(run, op),
        .device = op->device,
        .amounts = {[GV_ESTIMATE_NS] = op->end_ns - op->start_ns,
                    [GV_ESTIMATE_BUSY] = busy_ns,
                    [GV_ESTIMATE_OWN] = own_ns,
                    [GV_ESTIMATE_OPERATIONS] = 1,
                    [GV_ESTIMATE_BYTES] = op->bytes},
    };

    return gv_scaled_take(run->scaled, gv_id_table_get(&run->places, op->place, 0), op->call,
                          &work);
}

/* The time that [start_ns, end_ns) adds to the time covered until *until_ns. */
static int64_t busy_cover(int64_t *until_ns, int64_t start_ns, int64_t end_ns)
{
    int64_t from_ns = start_ns > *until_ns ? start_ns : *until_ns;

    if (end_ns <= from_ns)
        return 0;
    *until_ns = end_ns;
    return end_ns - from_ns;
}

static int busy_take(struct gv_totals_run *run, const struct gv_busy_op *op)
{
    struct gv_totals_device *state = &run->devices[op->device];
    int64_t before_ns = state->until_ns, added_ns, busy_ns, idle_ns = 0;

    if (state->operations++ == 0) {
        state->first_ns = op->start_ns;
        state->until_ns = state->kernel_until_ns = state->copy_until_ns = before_ns = op->start_ns;
        state->host_copy_until_ns = op->start_ns;
    }
    if (op->start_ns > before_ns)
        idle_ns = busy_known_gaps(run, op, before_ns);
    busy_ns = added_ns = busy_cover(&state->until_ns, op->start_ns, op->end_ns);
    state->busy_ns += added_ns;
    state->known.busy_ns += gv_totals_known_ns(run, op->end_ns - added_ns, op->end_ns);
    if (added_ns > 0 && op->device < GV_TOTALS_LANES)
        gv_lane_add(&run->busy[op->device], op->end_ns - added_ns, op->end_ns);
    if (op->host_copies)
        state->known.host_copy_ns += gv_totals_known_ns(
            run, op->end_ns - busy_cover(&state->host_copy_until_ns, op->start_ns, op->end_ns),
            op->end_ns);
    if (op->copies) {
        added_ns = busy_cover(&state->copy_until_ns, op->start_ns, op->end_ns);
        state->copy_ns += added_ns;
        state->known.copy_ns += gv_totals_known_ns(run, op->end_ns - added_ns, op->end_ns);
        gv_lane_add(&run->copying, op->end_ns - added_ns, op->end_ns);
    } else {
        added_ns = busy_cover(&state->kernel_until_ns, op->start_ns, op->end_ns);
        state->kernel_ns += added_ns;
        state->known.kernel_ns += gv_totals_known_ns(run, op->end_ns - added_ns, op->end_ns);
    }
    if (op->end_ns > state->last_ns)
        state->last_ns = op->end_ns;
    int error = gv_range_pass_busy(run->range_pass, gv_id_table_get(&run->places, op->place, 0),
                                   op->start_ns, op->end_ns);
    if (!error)
        error = busy_scaled(run, op, busy_ns, added_ns);
    return error ? error : busy_line(run, op, idle_ns);
}

/* False: it is not in the selected part. */
static bool busy_read(const struct gv_totals_run *run, sqlite3_stmt *row, struct gv_busy_op *op)
{
    int64_t place = sqlite3_column_int64(row, GV_BUSY_PLACE);
    int64_t kind = sqlite3_column_int64(row, GV_BUSY_KIND);
    int64_t copy_kind = sqlite3_column_int64(row, GV_BUSY_COPY_KIND);
    int64_t number = gv_id_table_get(&run->places, place, 2) - 1;
    const struct gv_totals_part *part = &run->part;

    op->start_ns = gv_time_column(row, GV_BUSY_START);
    if (!gv_totals_in_part(run, op->start_ns) ||
        (part->process && gv_id_table_get(&run->places, place, 0) != part->process) ||
        (part->device >= 0 && gv_id_table_get(&run->places, place, 1) != part->device) ||
        number < 0 || (uint64_t)number >= run->device_count)
        return false;
    op->call = sqlite3_column_int64(row, GV_BUSY_CALL);
    if (!gv_range_choice_has(part->ranges, op->call))
        return false;
    op->end_ns = gv_totals_end(row, GV_BUSY_DURATION, op->start_ns);
    op->place = (uint32_t)place;
    op->shape = (uint32_t)sqlite3_column_int64(row, GV_BUSY_SHAPE);
    op->bytes = sqlite3_column_int64(row, GV_BUSY_BYTES);
    op->kind = (uint8_t)kind;
    op->copy_kind = (uint8_t)copy_kind;
    op->device = (uint16_t)number;
    op->copies = kind == GV_GPU_COPY || kind == GV_GPU_SET;
    op->host_copies = kind == GV_GPU_COPY && gv_totals_copy_is_with_host(copy_kind);
    return true;
}

static int busy_add(struct gv_busy_batch *batch, const struct gv_busy_op *op)
{
    int error = gv_array_room(&batch->ops, batch->count, &batch->room, sizeof(*batch->ops));

    if (!error)
        batch->ops[batch->count++] = *op;
    return error;
}

static int busy_zone(struct gv_totals_run *run, struct gv_busy_batch *batch, sqlite3_stmt *rows,
                     const struct gv_totals_zone *zone, int64_t from_ns, int64_t to_ns)
{
    int result = SQLITE_ROW, error = 0;

    sqlite3_bind_int64(rows, 2, zone->first_id);
    sqlite3_bind_int64(rows, 3, zone->last_id);
    while (!error && (result = sqlite3_step(rows)) == SQLITE_ROW) {
        struct gv_busy_op op;
        if (busy_read(run, rows, &op) && op.start_ns >= from_ns && op.start_ns < to_ns)
            error = busy_add(batch, &op);
    }
    sqlite3_reset(rows);
    return error ? error : gv_database_error(run->trace, result);
}

/* One stretch of time. */
static int busy_stretch(struct gv_totals_run *run, struct gv_busy_batch *batch, sqlite3_stmt *rows,
                        int64_t from_ns, int64_t to_ns)
{
    int error = 0;

    batch->count = 0;
    for (size_t i = 0; i < run->zone_count && run->zones[i].from_ns < to_ns && !error; i++)
        if (run->zones[i].to_ns >= from_ns)
            error = busy_zone(run, batch, rows, &run->zones[i], from_ns, to_ns);
    if (error || batch->count == 0)
        return error;
    qsort(batch->ops, batch->count, sizeof(*batch->ops), busy_compare);
    for (size_t i = 0; i < batch->count && !error; i++)
        error = busy_take(run, &batch->ops[i]);
    return error;
}

static int busy_take_row(void *context, sqlite3_stmt *row)
{
    struct gv_totals_run *run = context;
    struct gv_busy_op op;

    return busy_read(run, row, &op) ? busy_take(run, &op) : 0;
}

/* Reads all that start after that, sorted by SQLite, which uses files if they do not fit into
 * memory. */
static int busy_rest(struct gv_totals_run *run, int64_t from_ns)
{
    const int64_t values[] = {run->part.thread, from_ns};

    return gv_database_each(run->trace, sql_ops_sorted, values, 2, busy_take_row, run);
}

/* The end of the stretch from from_ns, chosen so that few zones start in it. False: too many
 * zones overlap, as with many processes, to fit into memory. */
static bool busy_stretch_end(const struct gv_totals_run *run, int64_t from_ns, int64_t *to_ns)
{
    size_t zones = 0, most = 0;

    for (size_t i = 0; i < run->zone_count && run->zones[i].from_ns <= from_ns; i++)
        most += run->zones[i].to_ns >= from_ns;
    if (2 * most > GV_TOTALS_ZONES_MOST)
        return false;
    /* Avoids reading a zone many times. */
    most = 2 * most > GV_TOTALS_ZONES_READ ? 2 * most : GV_TOTALS_ZONES_READ;
    *to_ns = INT64_MAX;
    for (size_t i = 0; i < run->zone_count; i++) {
        if (run->zones[i].to_ns < from_ns)
            continue;
        if (++zones > most && run->zones[i].from_ns > from_ns) {
            *to_ns = run->zones[i].from_ns;
            break;
        }
    }
    return true;
}

int gv_totals_busy(struct gv_totals_run *run)
{
    struct gv_busy_batch batch = {0};
    sqlite3_stmt *rows = NULL;
    int64_t from_ns = INT64_MIN, to_ns;
    int error = gv_database_error(
        run->trace, gv_database_ask(run->trace, sql_ops_of_zone, &run->part.thread, 1, &rows));

    if (run->zone_count > 0)
        qsort(run->zones, run->zone_count, sizeof(*run->zones), busy_compare_zones);
    while (!error && run->zone_count > 0 && from_ns != INT64_MAX) {
        bool fits = busy_stretch_end(run, from_ns, &to_ns);
        error = fits ? busy_stretch(run, &batch, rows, from_ns, to_ns) : busy_rest(run, from_ns);
        from_ns = fits ? to_ns : INT64_MAX;
    }
    if (!error)
        error = gv_range_pass_busy_end(run->range_pass);
    sqlite3_finalize(rows);
    free(batch.ops);
    return error;
}
