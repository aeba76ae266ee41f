/*
 * Makes medians exact. The sums of a finished trace are stored, so it pays to take its calls and
 * operations a second time: durations near the median are counted one by one.
 */
#include "report/analyse/totals/run.h"

static int take_call(void *context, const struct gv_pass_call *call)
{
    struct gv_totals_run *run = context;
    int64_t count = call->folded ? call->folded : 1;

    if (!call->api || call->api >= run->apis.rows || !gv_totals_takes(run, call))
        return 0;
    return gv_duration_total_again(&run->api_sums[call->api].time, call->duration_ns / count,
                                   count);
}

static int take_operation(void *context, const struct gv_pass_operation *operation)
{
    struct gv_totals_run *run = context;
    int64_t duration_ns = operation->key.end_ns - operation->key.at_ns;
    size_t which = gv_totals_copy_kind(operation->copy_kind);

    if (operation->kind == GV_GPU_KERNEL)
        return gv_duration_total_again(&gv_totals_kernel_of(run, operation->shape)->time,
                                       duration_ns, 1);
    if (operation->kind == GV_GPU_SET)
        return gv_duration_total_again(&run->sets, duration_ns, 1);
    if (operation->kind != GV_GPU_COPY)
        return 0;
    int error = gv_duration_total_again(&run->copies[which], duration_ns, 1);
    return error ? error
                 : gv_duration_total_again(&run->directions[which % GV_TOTALS_DIRECTIONS],
                                           duration_ns, 1);
}

int gv_totals_medians(struct gv_totals_run *run)
{
    const struct gv_pass_consumer consumer = {run, take_call, take_operation};

    for (size_t i = 1; i < run->apis.rows; i++)
        gv_duration_total_reread(&run->api_sums[i].time);
    for (size_t i = 0; i < run->kernel_count; i++)
        gv_duration_total_reread(&run->kernels[i].time);
    for (size_t i = 0; i < GV_TOTALS_COPY_KINDS; i++)
        gv_duration_total_reread(&run->copies[i]);
    for (size_t i = 0; i < GV_TOTALS_DIRECTIONS; i++)
        gv_duration_total_reread(&run->directions[i]);
    gv_duration_total_reread(&run->sets);
    return gv_pass_run(run->pass, &consumer, NULL);
}
