/*
 * What the nodes of graphs took, by the lines that added them (GPUVERIFY_GRAPHS=nodes), and how
 * long the graphs took as a whole: from the start of the first node of a launch to the end of the
 * last.
 *
 * A graph is all that was launched together: CUPTI's numbers of nodes say nothing about it, and a
 * handle is used again.
 */
#ifndef GV_TOTALS_GRAPHS_H
#define GV_TOTALS_GRAPHS_H

#include "report/analyse/names/places.h"
#include "report/analyse/totals/duration_total.h"
#include "report/pass/pass.h"

#include <sqlite3.h>

/* With more there are no sums of those beyond. */
#define GV_GRAPHS_MOST      1024u
#define GV_GRAPH_LINES_MOST 8192u
/* Launches that may run at the same time. */
#define GV_GRAPH_LAUNCHES 64u

struct gv_graph {
    int64_t process, operations;
    struct gv_duration_total whole;
};

struct gv_graph_line {
    int64_t graph, place, kind, name, copy_kind;
    struct gv_duration_total time;
};

struct gv_graph_totals {
    sqlite3 *trace;
    struct gv_places *places;
    struct gv_graph *graphs;
    size_t graph_count, graph_room;
    struct gv_graph_line *lines;
    size_t line_count, line_room;
    struct gv_key_map line_numbers;
    struct gv_graph_node {
        uint32_t graph, line; /* + 1; 0: not seen yet, or no sums of it */
    } * nodes;
    size_t node_count, node_room;
    struct gv_graph_launch {
        int64_t call, graph, start_ns, end_ns;
    } launches[GV_GRAPH_LAUNCHES];
    struct gv_graph_launch *latest;
};

/* An operation that is a node; `name`: its row of gpu_name. 0 or -errno. */
int gv_graph_totals_take(struct gv_graph_totals *totals, const struct gv_pass_operation *operation,
                         int64_t process, int64_t name);
/* After the last one: counts the last launches. 0 or -errno. */
int gv_graph_totals_end(struct gv_graph_totals *totals);
void gv_graph_totals_free(struct gv_graph_totals *totals);

#endif
