/* The most that the run would save without a finding. */
#include "report/commands/summary/findings.h"

/* The saved part of a time: no more than `most`, and not negative. */
static int64_t saved_ns(int64_t ns, int64_t most_ns)
{
    int64_t least = ns < most_ns ? ns : most_ns;

    return least > 0 ? least : 0;
}

int64_t gv_summary_saves_of_wait(const struct gv_run_facts *facts, int64_t lost_ns)
{
    if (!facts->gpu_known || facts->devices_used == 0)
        return saved_ns(lost_ns, facts->window_ns);
    return saved_ns(lost_ns, facts->window_ns - facts->busiest_ns);
}

int64_t gv_summary_saves(const struct gv_run_facts *facts, const struct gv_finding *finding)
{
    int64_t devices = facts->devices_used > 0 ? facts->devices_used : 1;
    int64_t idle_ns = gv_run_facts_device_ns(facts) - facts->busy_ns, rest_ns;
    double underfilled = gv_run_facts_underfilled(facts) * (1 - gv_run_facts_filled(facts));

    switch (finding->class) {
    case GV_VERDICT_LAUNCH_BLOCKING:
        return gv_summary_saves_of_wait(facts, facts->blocking_ns);
    case GV_VERDICT_STALLED:
        return gv_summary_saves_of_wait(facts, facts->wait_ns);
    case GV_VERDICT_LATE_RANK:
        return saved_ns(facts->late.total_ns, facts->window_ns); /* GPUs that wait are busy */
    case GV_VERDICT_DESCHEDULED:
        return gv_summary_saves_of_wait(facts, facts->delay_ns);
    case GV_VERDICT_UNEXPLAINED:
        return gv_summary_saves_of_wait(facts, facts->unknown_ns);
    case GV_VERDICT_LOAD:
        return gv_summary_saves_of_wait(
            facts, gv_time_sum(facts->first_use_ns - facts->start_ns, facts->unsure_ns));
    case GV_VERDICT_TRANSFER:
        if (facts->operations == 0)
            return saved_ns(facts->thread_copy_ns, facts->window_ns);
        return saved_ns(gv_time_sum(facts->busy_ns - facts->kernel_ns, facts->copy_gap_ns) /
                            devices,
                        facts->window_ns);
    case GV_VERDICT_LAUNCH:
        return saved_ns(facts->operations ? facts->launch_gap_ns / devices
                                          : facts->thread_launch_ns,
                        facts->window_ns);
    case GV_VERDICT_IDLE_LINE:
        return gv_verdict_idle_saves(facts, finding);
    case GV_VERDICT_IDLE:
        /* Its weight leaves out what other findings tell. */
        rest_ns = (int64_t)(finding->weight * (double)gv_run_facts_device_ns(facts));
        return saved_ns((rest_ns < idle_ns ? rest_ns : idle_ns) / devices, facts->window_ns);
    case GV_VERDICT_UNDERFILLED:
        return saved_ns((int64_t)((double)facts->kernel_ns * underfilled) / devices,
                        facts->window_ns);
    default:
        return -1;
    }
}
