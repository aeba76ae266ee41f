/* Computes when each device was busy. */
#include "report/analyse/totals/run.h"

#include "report/store/time_sum.h"

#include <string.h>

/* A gap, or the known part of one, before an operation. Keeps the longest ones, sorted by length.
 */
static void busy_gap(struct gv_totals_run *run, size_t device, int64_t start_ns, int64_t end_ns)
{
    struct gv_totals_device *state = &run->devices[device];
    size_t at = run->gap_count;

    if (end_ns <= start_ns)
        return;
    state->gaps++;
    if (end_ns - start_ns < GV_TOTALS_SHORT_GAP_NS) {
        state->short_gaps++;
        state->short_gap_ns = gv_time_sum(state->short_gap_ns, end_ns - start_ns);
    }
    while (at > 0 && run->gaps[at - 1].end_ns - run->gaps[at - 1].start_ns < end_ns - start_ns)
        at--;
    if (at == GV_TOTALS_GAPS)
        return;
    if (run->gap_count < GV_TOTALS_GAPS)
        run->gap_count++;
    memmove(&run->gaps[at + 1], &run->gaps[at], (run->gap_count - 1 - at) * sizeof(run->gaps[0]));
    run->gaps[at] = (struct gv_totals_gap){device, start_ns, end_ns, NULL};
}

/* Missing operations may have filled the rest of it. Returns how long they are together. */
static int64_t busy_known_gaps(struct gv_totals_run *run, size_t device, int64_t start_ns,
                               int64_t end_ns)
{
    const struct gv_totals_unseen *unseen;
    int64_t known_ns = 0;

    while (start_ns < end_ns && (unseen = gv_totals_unseen_after(run, start_ns)) &&
           unseen->start_ns < end_ns) {
        busy_gap(run, device, start_ns, unseen->start_ns);
        known_ns += unseen->start_ns > start_ns ? unseen->start_ns - start_ns : 0;
        start_ns = unseen->end_ns;
    }
    busy_gap(run, device, start_ns, end_ns);
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

void gv_totals_busy(struct gv_totals_run *run, const struct gv_pass_operation *op, size_t device,
                    struct gv_totals_busy *added)
{
    struct gv_totals_device *state = &run->devices[device];
    int64_t start_ns = op->key.at_ns, end_ns = op->key.end_ns, added_ns;
    bool copies = op->kind == GV_GPU_COPY || op->kind == GV_GPU_SET;

    if (state->operations++ == 0) {
        state->first_ns = state->until_ns = start_ns;
        state->kernel_until_ns = state->copy_until_ns = state->host_copy_until_ns = start_ns;
    }
    added->idle_ns = start_ns > state->until_ns
                         ? busy_known_gaps(run, device, state->until_ns, start_ns)
                         : 0;
    added->busy_ns = added_ns = busy_cover(&state->until_ns, start_ns, end_ns);
    state->busy_ns += added_ns;
    state->known.busy_ns += gv_totals_known_ns(run, end_ns - added_ns, end_ns);
    if (added_ns > 0 && device < GV_TOTALS_LANES)
        gv_lane_add(&run->busy[device], end_ns - added_ns, end_ns);
    if (op->kind == GV_GPU_COPY && gv_totals_copy_is_with_host(op->copy_kind))
        state->known.host_copy_ns += gv_totals_known_ns(
            run, end_ns - busy_cover(&state->host_copy_until_ns, start_ns, end_ns), end_ns);
    added->own_ns = added_ns = busy_cover(
        copies ? &state->copy_until_ns : &state->kernel_until_ns, start_ns, end_ns);
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
}
