#include "report/collect/own_cost.h"

#include "report/store/row.h"
#include "trace/clock.h"

#include <string.h>

/* The estimate of a hook counts as so many measured ones. */
#define GV_OWN_COST_WEIGHT 20.0
/* Of the estimate, beside the two readings. On three machines with an H100, a hook added 56 to 164
 * ns to launches, copies, graphs and waits, 71 in the median (scripts/bench gpu): the driver leaves
 * few of our lines in the caches. In a loop of simulated launches on two AMD EPYC it added 43 and
 * 48 ns (scripts/bench hook prints that beside the estimate). A clock's reading takes 10 ns on
 * both. */
#define GV_OWN_COST_RECORD_NS 50.0
#define GV_OWN_COST_CACHES_NS 25.0 /* of these: what the driver evicted, in a call into it */
/* CUPTI added 630 ns to a launch and 430 ns to a small copy on an H200 (scripts/bench gpu). On two
 * machines, gpu-kinds showed 1.1 to 1.7 us for a launch of a graph, and 94 to 170 ns for each node.
 */
#define GV_OWN_COST_CUPTI_NS 600.0
#define GV_OWN_COST_GRAPH_NS 1400.0
#define GV_OWN_COST_NODE_NS  130.0

#define GV_OWN_COST_GRAPHS 8192u /* with known nodes; one more, and all are forgotten */

#define GV_OWN_COST_READINGS 256
#define GV_OWN_COST_TRIES    16

static const char *const cost_names[GV_OWN_COST_COUNT] = {
#define GV_OWN_COST(name, text, help) text,
#include "trace/own_cost.def"
};

static double estimated_hook_ns(const struct gv_clock *clock)
{
    static double known_ns[GV_CLOCK_TSC + 1];
    double *known = &known_ns[clock->kind == GV_CLOCK_TSC ? GV_CLOCK_TSC : GV_CLOCK_MONOTONIC];
    uint64_t least_ns = UINT64_MAX;

    if (*known > 0)
        return *known;
    /* The least of several tries: in the others, this process was interrupted. */
    for (int i = 0; i < GV_OWN_COST_TRIES; i++) {
        uint64_t begun_ns = gv_monotonic_ns(), took_ns;

        for (int j = 0; j < GV_OWN_COST_READINGS; j++) {
            uint64_t now_ns = gv_clock_read(clock);

            __asm__ volatile("" ::"r"(now_ns));
        }
        took_ns = gv_monotonic_ns() - begun_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    *known = 2.0 * (double)least_ns / GV_OWN_COST_READINGS + GV_OWN_COST_RECORD_NS;
    return *known;
}

void gv_process_cost_open(struct gv_process_cost *cost, struct gv_database *database,
                          const struct gv_spool_reader *reader, const struct gv_clock *clock)
{
    *cost = (struct gv_process_cost){
        .database = database, .reader = reader, .estimated_ns = estimated_hook_ns(clock)};
}

/* Without what only a damaged spool says. */
static struct gv_own_cost_counts believed(struct gv_own_cost_counts counts, uint64_t most_ns)
{
    return counts.count > INT64_MAX || counts.total_ns > INT64_MAX || counts.spared > INT64_MAX ||
                   counts.total_ns / most_ns > counts.count
               ? (struct gv_own_cost_counts){0}
               : counts;
}

static double hook_ns(const struct gv_process_cost *cost)
{
    struct gv_own_cost_counts measured;

    gv_spool_reader_own_cost(cost->reader, GV_OWN_COST_HOOKS, &measured);
    measured = believed(measured, GV_OWN_COST_HOOK_MOST_NS);
    return (GV_OWN_COST_WEIGHT * cost->estimated_ns + (double)measured.total_ns) /
           (GV_OWN_COST_WEIGHT + (double)measured.count);
}

static int cost_set(const struct gv_process_cost *cost, enum gv_own_cost what,
                    const struct gv_own_cost_counts *counts)
{
    return GV_ADD(cost->database, cost, .process = cost->process, .what = cost_names[what],
                  .count = (int64_t)counts->count, .total_ns = (int64_t)counts->total_ns,
                  .spared = (int64_t)counts->spared);
}

void gv_process_cost_close(struct gv_process_cost *cost)
{
    gv_key_map_free(&cost->nodes_of);
}

int gv_process_cost_note_graph(struct gv_process_cost *cost, uint64_t graph, uint64_t nodes)
{
    const struct gv_key key = {{graph, 0, 0}};

    gv_key_map_remove(&cost->nodes_of, &key); /* another one had this handle */
    if (cost->nodes_of.used >= GV_OWN_COST_GRAPHS)
        gv_key_map_free(&cost->nodes_of);
    return nodes <= INT32_MAX ? gv_key_map_add(&cost->nodes_of, &key, (int64_t)nodes) : 0;
}

void gv_process_cost_count_correlated(struct gv_process_cost *cost, uint64_t graph)
{
    const struct gv_key key = {{graph, 0, 0}};

    cost->correlated++;
    cost->graphs += graph != 0;
    cost->nodes += graph ? (uint64_t)gv_key_map_find(&cost->nodes_of, &key) : 0;
}

/* A damaged spool counts more calls than there can be. */
static int64_t whole(double total_ns)
{
    return total_ns < (double)INT64_MAX ? (int64_t)total_ns : INT64_MAX;
}

static int cost_add(const struct gv_process_cost *cost, enum gv_own_cost what, uint64_t count,
                    double total_ns)
{
    /* The first time also 0: each process has all rows. */
    return count || !cost->stored
               ? gv_database_run(cost->database, GV_STATEMENT_COST_ADD, "itii", cost->process,
                                 cost_names[what], (int64_t)count, whole(total_ns))
               : 0;
}

static double cost_of_cupti_ns(const struct gv_process_cost *cost)
{
    return (double)(cost->correlated - cost->graphs) * GV_OWN_COST_CUPTI_NS +
           (double)cost->graphs * GV_OWN_COST_GRAPH_NS + (double)cost->nodes * GV_OWN_COST_NODE_NS;
}

int gv_process_cost_add_calls(struct gv_process_cost *cost)
{
    int error =
        cost_add(cost, GV_OWN_COST_HOOKS, cost->hooked, (double)cost->hooked * hook_ns(cost));

    /* Half the readings of the clock, and the number of a text. */
    if (!error)
        error = cost_add(cost, GV_OWN_COST_RANGES, cost->ranged,
                         (double)cost->ranged * (cost->estimated_ns - GV_OWN_COST_CACHES_NS));
    if (!error)
        error = cost_add(cost, GV_OWN_COST_CALLBACKS, cost->correlated, cost_of_cupti_ns(cost));
    cost->hooked = cost->ranged = cost->correlated = cost->graphs = cost->nodes = 0;
    return error;
}

/* Their hooks ran too. */
static uint64_t cost_unrecorded(const struct gv_spool_slot_counts *slots,
                                const struct gv_spool_status *now)
{
    uint64_t count = slots->unrecorded;

    for (uint32_t i = 0; i < GV_SPOOL_CLASSES; i++)
        count += now->lost_calls[i];
    return count;
}

/* What is stored never falls with the mean: metrics show it as a counter. */
static struct gv_own_cost_counts cost_of_unrecorded(const struct gv_process_cost *cost,
                                                    const struct gv_spool_slot_counts *slots,
                                                    const struct gv_spool_status *now)
{
    const struct gv_own_cost_counts *known = &cost->counts[GV_OWN_COST_UNRECORDED];
    uint64_t count = cost_unrecorded(slots, now);
    uint64_t more = count > known->count ? count - known->count : 0;
    double total_ns = (double)known->total_ns + (more ? (double)more * hook_ns(cost) : 0);

    return (struct gv_own_cost_counts){.count = count, .total_ns = (uint64_t)whole(total_ns)};
}

int gv_process_cost_store(struct gv_process_cost *cost, const struct gv_spool_status *now)
{
    struct gv_spool_slot_counts slots;
    int error = 0;

    gv_spool_reader_slot_counts(cost->reader, &slots);
    for (int i = 0; i < GV_OWN_COST_COUNT && !error; i++) {
        struct gv_own_cost_counts counts = believed(now->own_cost[i], GV_OWN_COST_MOST_NS);
        struct gv_own_cost_counts *known = &cost->counts[i];

        if (i == GV_OWN_COST_HOOKS || i == GV_OWN_COST_RANGES || i == GV_OWN_COST_CALLBACKS)
            continue;
        if (i == GV_OWN_COST_UNRECORDED)
            counts = cost_of_unrecorded(cost, &slots, now);
        if (i == GV_OWN_COST_STACKS)
            counts.spared += slots.stacks_spared;
        if (!cost->stored || memcmp(&counts, known, sizeof(counts)) != 0)
            error = cost_set(cost, (enum gv_own_cost)i, &counts);
        *known = counts;
    }
    cost->stored |= !error;
    return error;
}

int gv_process_cost_store_wait(struct gv_process_cost *cost)
{
    struct gv_spool_status status;
    uint64_t now_ns = gv_monotonic_ns();

    gv_spool_reader_status(cost->reader, &status);
    if (!status.exiting || !status.ended_ns || status.ended_ns > now_ns)
        return 0;
    struct gv_own_cost_counts wait =
        believed(status.own_cost[GV_OWN_COST_END], GV_OWN_COST_MOST_NS);
    wait.count += wait.count == 0;
    wait.total_ns += now_ns - status.ended_ns;
    return cost_set(cost, GV_OWN_COST_END, &wait);
}
