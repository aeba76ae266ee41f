/* Computes when each device was busy. */
#include "report/analyse/totals/run.h"

#include "report/store/time_sum.h"

/* How much of a time is known to be idle: missing operations may have filled the rest. */
static int64_t busy_known_gaps(const struct gv_totals_run *run, int64_t start_ns, int64_t end_ns)
{
    const struct gv_totals_unseen *unseen;
    int64_t known_ns = 0;

    while (start_ns < end_ns && (unseen = gv_totals_unseen_after(run, start_ns)) &&
           unseen->start_ns < end_ns) {
        known_ns += unseen->start_ns > start_ns ? unseen->start_ns - start_ns : 0;
        start_ns = unseen->end_ns;
    }
    return known_ns + (end_ns > start_ns ? end_ns - start_ns : 0);
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

int64_t gv_totals_busy(struct gv_totals_run *run, const struct gv_pass_operation *op, size_t device)
{
    struct gv_totals_device *state = &run->devices[device];
    int64_t start_ns = op->key.at_ns, end_ns = op->key.end_ns, added_ns, idle_ns;
    bool copies = op->kind == GV_GPU_COPY || op->kind == GV_GPU_SET;

    if (state->operations++ == 0) {
        state->first_ns = state->until_ns = start_ns;
        state->kernel_until_ns = state->copy_until_ns = state->host_copy_until_ns = start_ns;
    }
    idle_ns = busy_known_gaps(run, state->until_ns, start_ns);
    added_ns = busy_cover(&state->until_ns, start_ns, end_ns);
    state->busy_ns += added_ns;
    state->known.busy_ns += gv_totals_known_ns(run, end_ns - added_ns, end_ns);
    if (added_ns > 0 && device < GV_TOTALS_LANES)
        gv_lane_add(&run->busy[device], end_ns - added_ns, end_ns);
    if (op->kind == GV_GPU_COPY && gv_totals_copy_is_with_host(op->copy_kind))
        state->known.host_copy_ns += gv_totals_known_ns(
            run, end_ns - busy_cover(&state->host_copy_until_ns, start_ns, end_ns), end_ns);
    added_ns =
        busy_cover(copies ? &state->copy_until_ns : &state->kernel_until_ns, start_ns, end_ns);
    if (copies) {
        state->copy_ns += added_ns;
        state->known.copy_ns += gv_totals_known_ns(run, end_ns - added_ns, end_ns);
        gv_lane_add(&run->copying, end_ns - added_ns, end_ns);
    } else {
        state->kernel_ns += added_ns;
        state->known.kernel_ns += gv_totals_known_ns(run, end_ns - added_ns, end_ns);
    }
    if (end_ns > state->last_ns)
        state->last_ns = end_ns;
    return idle_ns;
}
