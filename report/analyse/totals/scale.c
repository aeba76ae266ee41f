/* Makes sums of operations that were seen in windows those of the whole run. */
#include "report/analyse/totals/run.h"

#include <math.h>

static int64_t scaled(int64_t sum, double factor)
{
    double all = (double)sum * factor;

    return all < 9e18 ? llround(all) : INT64_MAX;
}

static void scale_devices(struct gv_totals_run *run, const struct gv_estimate *estimate)
{
    for (size_t i = 0; i < run->device_count; i++) {
        const struct gv_estimate_device *all = &estimate->devices[i];
        struct gv_totals_device *device = &run->devices[i];
        device->busy_ns = device->known.busy_ns = scaled(1, all->busy_ns);
        device->kernel_ns = device->known.kernel_ns = scaled(1, all->computing_ns);
        device->copy_ns = device->known.copy_ns = scaled(1, all->copying_ns);
        device->known.host_copy_ns = 0;
    }
}

static void scale_kernels(struct gv_totals_run *run, double kernels_ns)
{
    double factor = run->kernel_time_ns > 0 ? kernels_ns / (double)run->kernel_time_ns : 1;

    run->kernel_time_ns = scaled(run->kernel_time_ns, factor);
    run->blocks_known_ns = scaled(run->blocks_known_ns, factor);
    run->underfilled_ns = scaled(run->underfilled_ns, factor);
    run->filled_ns *= factor;
}

void gv_totals_scale(struct gv_totals_run *run)
{
    const struct gv_estimate *estimate = gv_scaled_estimate(run->scaled);
    double kernels_ns = 0, host_copies_ns = 0, operations = 0;

    run->scale = (struct gv_totals_scale){.operations = run->operations};
    if (!estimate)
        return;
    scale_devices(run, estimate);
    for (size_t i = 0; i < estimate->row_count; i++) {
        const struct gv_estimate_row *row = &estimate->rows[i];
        operations += row->known[GV_ESTIMATE_OPERATIONS] + row->unseen[GV_ESTIMATE_OPERATIONS];
        if (row->kind == GV_GPU_KERNEL)
            kernels_ns += row->known[GV_ESTIMATE_NS] + row->unseen[GV_ESTIMATE_NS];
        if (row->kind == GV_GPU_COPY && gv_totals_copy_is_with_host(row->number))
            host_copies_ns += row->known[GV_ESTIMATE_OWN] + row->unseen[GV_ESTIMATE_OWN];
        if (row->kind == GV_GPU_GRAPH) {
            run->graphs = gv_scaled_sum(row, GV_ESTIMATE_OPERATIONS);
            run->graph_time_ns = gv_scaled_sum(row, GV_ESTIMATE_NS);
        }
    }
    scale_kernels(run, kernels_ns);
    run->devices[0].known.host_copy_ns = scaled(1, host_copies_ns);
    run->scale = (struct gv_totals_scale){
        .windows = (int64_t)estimate->windows,
        .seen_ppm = gv_scaled_seen_ppm(run->scaled, run->first_ns, run->last_ns),
        .operations = scaled(1, operations),
        .busy_error_ns = scaled(1, gv_estimate_busy_error(estimate)),
    };
    for (size_t i = 0; i < estimate->unknown_count; i++)
        run->scale.unknown += estimate->unknown[i].calls;
}
