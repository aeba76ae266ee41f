/* What a finding cost, and the most that the run would save without it. */
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

int64_t gv_summary_cost(const struct gv_run_facts *facts, const struct gv_finding *finding)
{
    bool seen = facts->operations > 0;

    switch (finding->class) {
    case GV_VERDICT_LAUNCH_BLOCKING:
        return facts->blocking_ns;
    case GV_VERDICT_UNFINISHED:
        return facts->flight_ns;
    case GV_VERDICT_STALLED:
        return facts->wait_ns;
    case GV_VERDICT_LATE_RANK:
        return facts->late.total_ns;
    case GV_VERDICT_DESCHEDULED:
        return facts->delay_ns;
    case GV_VERDICT_UNEXPLAINED:
        return facts->unknown_ns;
    case GV_VERDICT_LOAD:
        return gv_time_sum(facts->first_use_ns, facts->unsure_ns);
    case GV_VERDICT_TRANSFER:
        return seen ? gv_time_sum(facts->host_copy_ns, facts->copy_gap_ns) : facts->thread_copy_ns;
    case GV_VERDICT_LAUNCH:
        return seen ? facts->launch_gap_ns : facts->thread_launch_ns;
    case GV_VERDICT_UNDERFILLED:
        return (int64_t)((double)facts->kernel_ns * gv_run_facts_underfilled(facts));
    case GV_VERDICT_IDLE_LINE:
        return facts->idle[finding->idle].saves_ns;
    case GV_VERDICT_HOST:
        return facts->run_ns - facts->busiest_ns;
    case GV_VERDICT_IDLE:
        return gv_run_facts_device_ns(facts) - facts->busy_ns;
    case GV_VERDICT_ACCELERATED:
        return facts->kernel_ns;
    default:
        return -1;
    }
}

int64_t gv_summary_saves(const struct gv_run_facts *facts, const struct gv_finding *finding)
{
    int64_t devices = facts->devices_used > 0 ? facts->devices_used : 1;
    int64_t cost_ns = gv_summary_cost(facts, finding), rest_ns;
    double underfilled = gv_run_facts_underfilled(facts) * (1 - gv_run_facts_filled(facts));

    switch (finding->class) {
    case GV_VERDICT_LAUNCH_BLOCKING:
    case GV_VERDICT_STALLED:
    case GV_VERDICT_DESCHEDULED:
    case GV_VERDICT_UNEXPLAINED:
        return gv_summary_saves_of_wait(facts, cost_ns);
    case GV_VERDICT_LOAD:
        return gv_summary_saves_of_wait(
            facts, gv_time_sum(facts->first_use_ns - facts->start_ns, facts->unsure_ns));
    case GV_VERDICT_LATE_RANK: /* GPUs that wait are busy */
        return saved_ns(cost_ns, facts->window_ns);
    case GV_VERDICT_TRANSFER:
        if (facts->operations > 0)
            cost_ns = gv_time_sum(facts->busy_ns - facts->kernel_ns, facts->copy_gap_ns) / devices;
        return saved_ns(cost_ns, facts->window_ns);
    case GV_VERDICT_LAUNCH:
        return saved_ns(facts->operations > 0 ? cost_ns / devices : cost_ns, facts->window_ns);
    case GV_VERDICT_IDLE_LINE:
        return gv_verdict_idle_saves(facts, finding);
    case GV_VERDICT_IDLE:
        /* Its weight leaves out what other findings tell. */
        rest_ns = (int64_t)(finding->weight * (double)gv_run_facts_device_ns(facts));
        return saved_ns((rest_ns < cost_ns ? rest_ns : cost_ns) / devices, facts->window_ns);
    case GV_VERDICT_UNDERFILLED:
        return saved_ns((int64_t)((double)facts->kernel_ns * underfilled) / devices,
                        facts->window_ns);
    default:
        return -1;
    }
}
