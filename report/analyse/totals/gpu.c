/* Sums up the GPU operations, and gives them to those that want them. */
#include "report/analyse/totals/run.h"

#include "report/store/time_sum.h"
#include "report/store/database.h"

static int totals_kernel(struct gv_totals_run *run, const struct gv_pass_operation *operation,
                         int64_t duration_ns)
{
    int64_t shape = operation->shape;
    int64_t blocks = gv_id_table_get(&run->shapes, shape, 1);
    int64_t multiprocessors = gv_id_table_get(&run->places, operation->place, 3);
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
    kernel->device = gv_id_table_get(&run->places, operation->place, 4);
    return gv_duration_total_add(&kernel->time, duration_ns, 1);
}

static int totals_sums(struct gv_totals_run *run, const struct gv_pass_operation *operation,
                       int64_t duration_ns)
{
    int64_t kind = operation->kind, copy_kind = operation->copy_kind, bytes = operation->bytes;

    if (kind == GV_GPU_KERNEL)
        return totals_kernel(run, operation, duration_ns);
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
        run->graph_time_ns = gv_time_sum(run->graph_time_ns, duration_ns);
    }
    return 0;
}

/* Whether the operation is in the selected part. */
static bool totals_wants(const struct gv_totals_run *run, const struct gv_pass_operation *operation)
{
    const struct gv_totals_part *part = &run->part;

    return operation->is_of_thread &&
           (!part->process ||
            gv_id_table_get(&run->places, operation->place, 0) == part->process) &&
           (part->device < 0 ||
            gv_id_table_get(&run->places, operation->place, 1) == part->device) &&
           gv_totals_in_part(run, operation->key.at_ns) &&
           gv_range_choice_has(part->ranges, operation->call);
}

/* CUPTI returns an operation without times if it had not ended when the program did. */
static int totals_untimed(void *context, const struct gv_pass_operation *operation)
{
    struct gv_totals_run *run = context;
    int64_t start_ns = INT64_MIN;
    int error;

    if (!totals_wants(run, operation))
        return 0;
    run->operations++;
    run->found_operations += operation->call != 0;
    run->untimed++;
    if (!operation->place || operation->place >= run->places.rows)
        return 0;
    error = gv_database_number(run->trace, "SELECT start_ns FROM call WHERE id = ?",
                               &operation->call, 1, &start_ns);
    if (error || start_ns == INT64_MIN)
        return error;
    struct gv_totals_place *times = &run->place_times[operation->place];
    if (!times->untimed || start_ns < times->launched_ns)
        times->launched_ns = start_ns;
    times->untimed = true;
    return 0;
}

int gv_totals_untimed(struct gv_totals_run *run)
{
    return gv_pass_run_untimed(run->pass, totals_untimed, run);
}

/* From the call's start to the operation's. */
static int totals_latency(struct gv_totals_run *run, const struct gv_pass_operation *operation)
{
    const struct gv_totals_start *start =
        &run->starts_of[(uint64_t)operation->call % GV_TOTALS_STARTS];

    return operation->call && start->call == operation->call
               ? gv_duration_total_add(&run->latency, operation->key.at_ns - start->start_ns, 1)
               : 0;
}

static int totals_line(struct gv_totals_run *run, const struct gv_pass_operation *op,
                       int64_t idle_ns)
{
    const struct gv_lines_operation operation = {
        .process = gv_id_table_get(&run->places, op->place, 0),
        .call = op->call,
        .kind = op->kind,
        .copy_kind = op->copy_kind,
        .shape = op->shape,
        .is_node = op->node != 0,
        .stack = op->stack,
        .name = gv_id_table_get(&run->shapes, op->shape, 2),
        .size = gv_lines_size(op->bytes),
        .start_ns = op->key.at_ns,
        .duration_ns = op->key.end_ns - op->key.at_ns,
        .idle_ns = idle_ns,
    };

    return gv_lines_take(run->lines, &operation);
}

int gv_totals_operation(void *context, const struct gv_pass_operation *operation)
{
    struct gv_totals_run *run = context;
    int64_t device = gv_id_table_get(&run->places, operation->place, 2) - 1;
    int64_t duration_ns = operation->key.end_ns - operation->key.at_ns, idle_ns;
    int error;

    if (!totals_wants(run, operation))
        return 0;
    run->operations++;
    run->found_operations += operation->call != 0;
    error = totals_sums(run, operation, duration_ns);
    if (!error)
        error = totals_latency(run, operation);
    if (!error && operation->node)
        error = gv_graph_totals_take(&run->nodes_of_graphs, operation,
                                     gv_id_table_get(&run->places, operation->place, 0),
                                     gv_id_table_get(&run->shapes, operation->shape, 2));
    if (!error)
        error = gv_range_pass_operation(run->range_pass, operation->call, duration_ns);
    if (error || device < 0 || (uint64_t)device >= run->device_count)
        return error;
    idle_ns = gv_totals_busy(run, operation, (size_t)device);
    error = gv_range_pass_busy(run->range_pass, gv_id_table_get(&run->places, operation->place, 0),
                               operation->key.at_ns, operation->key.end_ns);
    return error ? error : totals_line(run, operation, idle_ns);
}
