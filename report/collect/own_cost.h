/*
 * What gpuverify itself cost a process (trace/own_cost.def): counters of its spool, and estimates
 * for what is too short to be measured each time.
 *
 * An estimate is a number of calls, or of nodes of graphs, times the cost of one. The process
 * measures the hooks of some calls (preload/hooks/calls.c). An estimate counts as some of them: two
 * readings of the session's clock, and the time for a record. A reading takes 10 to 250 ns on
 * different machines, so it is measured here. What CUPTI adds to a call was measured once
 * (docs/performance.md).
 */
#ifndef GV_COLLECT_OWN_COST_H
#define GV_COLLECT_OWN_COST_H

#include "report/store/database.h"
#include "report/store/key_map.h"
#include "trace/spool_reader.h"

#include <stdbool.h>

/* Of one process. */
struct gv_process_cost {
    struct gv_database *database;
    const struct gv_spool_reader *reader;
    int64_t process;     /* row */
    double estimated_ns; /* of a hook, with its clock on this machine */
    /* Whose cost is not stored yet: */
    uint64_t ranged;            /* begins, ends and marks */
    uint64_t hooked;            /* calls */
    uint64_t correlated;        /* of these: CUPTI numbered them */
    uint64_t graphs;            /* of these: launches of graphs */
    uint64_t nodes;             /* of these graphs */
    struct gv_key_map nodes_of; /* how many a graph that can be launched has, by its handle */
    bool stored;
    struct gv_own_cost_counts counts[GV_OWN_COST_COUNT]; /* as last stored */
};

/* Takes 0.1 ms for the first process. */
void gv_process_cost_open(struct gv_process_cost *cost, struct gv_database *database,
                          const struct gv_spool_reader *reader, const struct gv_clock *clock);

void gv_process_cost_close(struct gv_process_cost *cost);

/* A graph was instantiated. 0 or -ENOMEM. */
int gv_process_cost_note_graph(struct gv_process_cost *cost, uint64_t graph, uint64_t nodes);
/* CUPTI numbered a call; `graph`: the one that it launched, or 0. */
void gv_process_cost_count_correlated(struct gv_process_cost *cost, uint64_t graph);

/* All inside a transaction; 0 or -errno. The first, in the one that stores the calls: adds their
 * cost, and forgets them. The second stores what has changed in the spool. */
int gv_process_cost_add_calls(struct gv_process_cost *cost);
int gv_process_cost_store(struct gv_process_cost *cost, const struct gv_spool_status *now);

/* The process waits for us at its end. Stores how long it has waited, because it cannot report
 * that itself afterwards. */
int gv_process_cost_store_wait(struct gv_process_cost *cost);

#endif
