#include "report/analyse/totals/graphs.h"

#include "report/store/array.h"
#include "trace/spool.h"

#define NO_GRAPH (-1)

static int end_launch(struct gv_graph_totals *totals, struct gv_graph_launch *launch)
{
    int64_t call = launch->call;

    launch->call = 0;
    return call && launch->graph != NO_GRAPH
               ? gv_duration_total_add(&totals->graphs[launch->graph].whole,
                                       launch->end_ns - launch->start_ns, 1)
               : 0;
}

static int new_graph(struct gv_graph_totals *totals, int64_t process, int64_t *graph)
{
    int error = 0;

    *graph = NO_GRAPH;
    if (totals->graph_count < GV_GRAPHS_MOST)
        error = gv_array_room(&totals->graphs, totals->graph_count, &totals->graph_room,
                              sizeof(*totals->graphs));
    if (error || totals->graph_count >= GV_GRAPHS_MOST)
        return error;
    *graph = (int64_t)totals->graph_count;
    totals->graphs[totals->graph_count++] = (struct gv_graph){.process = process};
    return 0;
}

/* The launch that the call made, or the one to forget for it: which ended first. */
static struct gv_graph_launch *launch_of(struct gv_graph_totals *totals, int64_t call)
{
    struct gv_graph_launch *launch = totals->launches;

    if (totals->latest && totals->latest->call == call)
        return totals->latest;
    for (size_t i = 0; i < GV_GRAPH_LAUNCHES; i++) {
        if (totals->launches[i].call == call)
            return &totals->launches[i];
        if (launch->call &&
            (!totals->launches[i].call || totals->launches[i].end_ns < launch->end_ns))
            launch = &totals->launches[i];
    }
    return launch;
}

/* The graph whose launch the operation belongs to; `known`: its node's, or NO_GRAPH. */
static int launched(struct gv_graph_totals *totals, const struct gv_pass_operation *operation,
                    int64_t known, int64_t process, int64_t *graph)
{
    struct gv_graph_launch *launch = totals->latest = launch_of(totals, operation->call);
    int error = 0;

    if (launch->call != operation->call) {
        error = end_launch(totals, launch);
        *launch = (struct gv_graph_launch){operation->call, known, operation->key.at_ns,
                                           operation->key.end_ns};
        if (!error && known == NO_GRAPH)
            error = new_graph(totals, process, &launch->graph);
    } else if (operation->key.end_ns > launch->end_ns) {
        launch->end_ns = operation->key.end_ns;
    }
    *graph = launch->graph;
    return error;
}

static int new_line(struct gv_graph_totals *totals, const struct gv_graph_line *wanted,
                    uint32_t *number)
{
    const struct gv_key key = {
        {(uint64_t)wanted->graph << 32 | (uint64_t)wanted->kind << 16 | (uint64_t)wanted->copy_kind,
         (uint64_t)wanted->place, (uint64_t)wanted->name}};
    int error;

    *number = (uint32_t)gv_key_map_find(&totals->line_numbers, &key);
    if (*number || totals->line_count >= GV_GRAPH_LINES_MOST)
        return 0;
    error = gv_array_room(&totals->lines, totals->line_count, &totals->line_room,
                          sizeof(*totals->lines));
    if (error)
        return error;
    totals->lines[totals->line_count++] = *wanted;
    *number = (uint32_t)totals->line_count;
    return gv_key_map_add(&totals->line_numbers, &key, *number);
}

/* Of a node that has not been seen before. */
static int find_line(struct gv_graph_totals *totals, const struct gv_pass_operation *operation,
                     int64_t graph, int64_t name, uint32_t *number)
{
    struct gv_graph_line line = {
        .graph = graph,
        .kind = operation->kind,
        .name = operation->kind == GV_GPU_KERNEL ? name : 0,
        .copy_kind = operation->kind == GV_GPU_COPY ? operation->copy_kind & 255 : 0};
    int error = gv_place_of_stack(totals->trace, totals->places, operation->stack, &line.place);

    return error ? error : new_line(totals, &line, number);
}

static int node_of(struct gv_graph_totals *totals, uint32_t number, struct gv_graph_node **node)
{
    int error = 0;

    while (!error && totals->node_count <= number) {
        error = gv_array_room(&totals->nodes, totals->node_count, &totals->node_room,
                              sizeof(*totals->nodes));
        if (!error)
            totals->nodes[totals->node_count++] = (struct gv_graph_node){0};
    }
    *node = error ? NULL : &totals->nodes[number];
    return error;
}

int gv_graph_totals_take(struct gv_graph_totals *totals, const struct gv_pass_operation *operation,
                         int64_t process, int64_t name)
{
    struct gv_graph_node *node;
    int64_t graph;
    int error;

    if (!operation->node || operation->call <= 0)
        return 0;
    error = node_of(totals, operation->node, &node);
    if (!error)
        error = launched(totals, operation, (int64_t)node->graph - 1, process, &graph);
    if (error || graph == NO_GRAPH)
        return error;
    totals->graphs[graph].operations++;
    if (!node->graph) {
        node->graph = (uint32_t)graph + 1;
        error = find_line(totals, operation, graph, name, &node->line);
    }
    return node->line ? gv_duration_total_add(&totals->lines[node->line - 1].time,
                                              operation->key.end_ns - operation->key.at_ns, 1)
                      : error;
}

int gv_graph_totals_end(struct gv_graph_totals *totals)
{
    int error = 0;

    for (size_t i = 0; i < GV_GRAPH_LAUNCHES && !error; i++)
        error = end_launch(totals, &totals->launches[i]);
    return error;
}

void gv_graph_totals_free(struct gv_graph_totals *totals)
{
    for (size_t i = 0; i < totals->graph_count; i++)
        gv_duration_total_free(&totals->graphs[i].whole);
    for (size_t i = 0; i < totals->line_count; i++)
        gv_duration_total_free(&totals->lines[i].time);
    gv_key_map_free(&totals->line_numbers);
    free(totals->graphs);
    free(totals->lines);
    free(totals->nodes);
}
