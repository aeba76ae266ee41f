/*
 * What needs a second reading: what the host did in the longest gaps, and exact medians. The sums of a
 * finished trace are stored, so it pays to count durations near the median one by one.
 */
#include "report/analyse/totals/run.h"

#include <errno.h>
#include <stdlib.h>

static void add_in_gaps(struct gv_totals_run *run, const struct gv_pass_call *call)
{
    int64_t start_ns = call->key.at_ns, end_ns = start_ns + call->duration_ns;

    for (size_t i = 0; i < run->gap_count; i++) {
        struct gv_totals_gap *gap = &run->gaps[i];
        int64_t from_ns = start_ns > gap->start_ns ? start_ns : gap->start_ns;
        int64_t to_ns = end_ns < gap->end_ns ? end_ns : gap->end_ns;
        if (to_ns > from_ns)
            gap->api_ns[call->api] = gv_time_sum(gap->api_ns[call->api], to_ns - from_ns);
    }
}

/* Without medians, nothing is near them. */
static int take_call(void *context, const struct gv_pass_call *call)
{
    struct gv_totals_run *run = context;
    int64_t count = call->folded ? call->folded : 1;

    if (!call->api || call->api >= run->apis.rows || !gv_totals_takes(run, call))
        return 0;
    add_in_gaps(run, call);
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

static void find_medians(struct gv_totals_run *run)
{
    for (size_t i = 1; i < run->apis.rows; i++)
        gv_duration_total_reread(&run->api_sums[i].time);
    for (size_t i = 0; i < run->kernel_count; i++)
        gv_duration_total_reread(&run->kernels[i].time);
    for (size_t i = 0; i < GV_TOTALS_COPY_KINDS; i++)
        gv_duration_total_reread(&run->copies[i]);
    for (size_t i = 0; i < GV_TOTALS_DIRECTIONS; i++)
        gv_duration_total_reread(&run->directions[i]);
    gv_duration_total_reread(&run->sets);
}

int gv_totals_again(struct gv_totals_run *run, bool exact)
{
    const struct gv_pass_consumer consumer = {run, take_call, exact ? take_operation : NULL};

    for (size_t i = 0; i < run->gap_count; i++) {
        run->gaps[i].api_ns = calloc(run->apis.rows + 1, sizeof(*run->gaps[i].api_ns));
        if (!run->gaps[i].api_ns)
            return -ENOMEM;
    }
    if (exact)
        find_medians(run);
    return exact || run->gap_count ? gv_pass_run(run->pass, &consumer, NULL) : 0;
}
