/*
 * Graphs: making, instantiating, launching. A graph runs as long as its longest chain of nodes. Its
 * copies and sets happen when it is launched, its host functions at their time.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>

struct gv_sim_exec {
    struct gv_sim_object object;
    struct gv_sim_graph *graph; /* a copy of its own */
    uint64_t total_ns;
    unsigned long long flags;
    uint32_t id;
};

static _Atomic uint32_t next_id = 1;

uint32_t gv_sim_graph_id(const void *exec)
{
    return gv_sim_is(exec, GV_SIM_EXEC) ? ((const struct gv_sim_exec *)exec)->id : 0;
}

uint32_t gv_sim_graph_newest(void)
{
    return atomic_load(&next_id) - 1;
}

struct gv_sim_graph *gv_sim_graph_new(void)
{
    static _Atomic uint32_t last;
    struct gv_sim_graph *graph = gv_sim_object_new(GV_SIM_GRAPH, sizeof *graph);
    if (graph)
        graph->id = atomic_fetch_add(&last, 1) + 1;
    return graph;
}

void gv_sim_graph_free(struct gv_sim_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct gv_sim_node *node = graph->nodes.list[i];
        gv_sim_nodes_free(&node->needs);
        if (node->child)
            gv_sim_graph_free(node->child);
        gv_sim_object_free(node);
    }
    gv_sim_nodes_free(&graph->nodes);
    gv_sim_object_free(graph);
}

static struct gv_sim_graph *graph_copy(const struct gv_sim_graph *from);

static int node_copy(struct gv_sim_graph *graph, struct gv_sim_node *from)
{
    struct gv_sim_node *node = gv_sim_node_new(graph, from->type, from->duration_ns);
    if (!node)
        return -1;
    gv_sim_trace_node(node, from);
    from->copy = node;
    node->function = from->function;
    node->kernel = from->kernel;
    node->rows = from->rows;
    node->fill = from->fill;
    node->host = from->host;
    node->host_data = from->host_data;
    if (from->child && !(node->child = graph_copy(from->child)))
        return -1;
    return 0;
}

static struct gv_sim_graph *graph_copy(const struct gv_sim_graph *from)
{
    struct gv_sim_graph *graph = gv_sim_graph_new();
    int error = graph ? 0 : -1;
    for (size_t i = 0; i < from->nodes.count && !error; i++)
        error = node_copy(graph, from->nodes.list[i]);
    for (size_t i = 0; i < from->nodes.count && !error; i++) {
        const struct gv_sim_node *node = from->nodes.list[i];
        for (size_t n = 0; n < node->needs.count && !error; n++)
            error = gv_sim_nodes_add(&node->copy->needs, node->needs.list[n]->copy);
    }
    if (error && graph) {
        gv_sim_graph_free(graph);
        graph = NULL;
    }
    return graph;
}

/* The end of each node, relative to the start. Repeats until nothing changes, because edges may
 * point back in the order of creation. False: a cycle. */
static bool schedule(struct gv_sim_graph *graph, uint64_t *total_ns)
{
    bool moved = true;
    *total_ns = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct gv_sim_node *node = graph->nodes.list[i];
        node->finish_ns = 0;
        if (node->child && !schedule(node->child, &node->duration_ns))
            return false;
    }
    for (size_t round = 0; moved; round++) {
        if (round > graph->nodes.count + 1)
            return false;
        moved = false;
        for (size_t i = 0; i < graph->nodes.count; i++) {
            struct gv_sim_node *node = graph->nodes.list[i];
            uint64_t finish = node->duration_ns + 1; /* so that a cycle never settles */
            for (size_t n = 0; n < node->needs.count; n++)
                if (node->needs.list[n]->finish_ns + node->duration_ns + 1 > finish)
                    finish = node->needs.list[n]->finish_ns + node->duration_ns + 1;
            moved |= finish != node->finish_ns;
            node->finish_ns = finish;
            if (finish > *total_ns)
                *total_ns = finish;
        }
    }
    return true;
}

/* It runs as long as the graph. NULL: no memory, or a cycle. */
struct gv_sim_node *gv_sim_node_child(struct gv_sim_graph *graph, const struct gv_sim_graph *child)
{
    uint64_t total_ns = 0;
    struct gv_sim_graph *copy = graph_copy(child);
    struct gv_sim_node *node = copy && schedule(copy, &total_ns)
                                   ? gv_sim_node_new(graph, CU_GRAPH_NODE_TYPE_GRAPH, total_ns)
                                   : NULL;
    if (node)
        node->child = copy;
    else if (copy)
        gv_sim_graph_free(copy);
    return node;
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    if (!exec || !gv_sim_is(graph, GV_SIM_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_exec *made = gv_sim_object_new(GV_SIM_EXEC, sizeof *made);
    if (!made || !(made->graph = graph_copy((struct gv_sim_graph *)graph))) {
        if (made)
            gv_sim_object_free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->flags = flags;
    made->id = atomic_fetch_add(&next_id, 1);
    if (!schedule(made->graph, &made->total_ns)) {
        gv_sim_graph_free(made->graph);
        gv_sim_object_free(made);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *exec = (CUgraphExec)made;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                            unsigned long long flags)
{
    return instantiate(phGraphExec, hGraph, flags);
}

CUresult gv_sim_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
                                      CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    if (phErrorNode)
        *phErrorNode = NULL;
    if (logBuffer && bufferSize)
        *logBuffer = 0;
    return instantiate(phGraphExec, hGraph, 0);
}

CUresult gv_sim_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
                                   CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    return gv_sim_cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult gv_sim_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    if (!gv_sim_is(hGraphExec, GV_SIM_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    gv_sim_graph_free(((struct gv_sim_exec *)hGraphExec)->graph);
    gv_sim_object_free(hGraphExec);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
    CUresult result;
    if (!gv_sim_is(hGraph, GV_SIM_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    return gv_sim_stream_of(hStream, &result) ? CUDA_SUCCESS : result;
}

/* What a graph does apart from taking time. */
static void perform(const struct gv_sim_graph *graph, struct gv_sim_stream *stream,
                    uint64_t start_ns)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct gv_sim_node *node = graph->nodes.list[i];
        if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY)
            gv_sim_rows_copy(&node->rows);
        else if (node->type == CU_GRAPH_NODE_TYPE_MEMSET)
            gv_sim_fill_do(&node->fill);
        else if (node->type == CU_GRAPH_NODE_TYPE_HOST)
            gv_sim_host_queue(stream, start_ns + node->finish_ns, node->host, NULL,
                              node->host_data);
        else if (node->child)
            perform(node->child, stream, start_ns + node->finish_ns - node->duration_ns);
    }
}

/* The nodes that take time. Those of child graphs run as nodes of the whole, behind its own
 * (`next`) and without having been made or cloned (driver 580). */
static void tell_nodes(const struct gv_sim_graph *graph, const struct gv_sim_stream *stream,
                       uint64_t start_ns, const struct gv_sim_exec *exec, uint64_t *next)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct gv_sim_node *node = graph->nodes.list[i];
        struct gv_sim_operation work;
        uint64_t end_ns = start_ns + node->finish_ns;
        uint64_t number = graph == exec->graph
                              ? gv_sim_node_id(node)
                              : gv_sim_node_id(exec->graph->nodes.list[0]) + (*next)++;
        const char *name;
        if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
            if (gv_sim_cuFuncGetName(&name, node->function))
                continue;
            gv_sim_trace_kernel(&work, name, &node->kernel);
        } else if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY) {
            gv_sim_trace_copy(&work, &node->rows);
        } else if (node->type == CU_GRAPH_NODE_TYPE_MEMSET) {
            gv_sim_trace_set(&work, &node->fill);
        } else {
            if (node->child)
                tell_nodes(node->child, stream, end_ns - node->duration_ns, exec, next);
            continue;
        }
        work.async = true;
        work.graph = exec->id;
        work.graph_node = number;
        gv_sim_trace_work(stream, end_ns, node->duration_ns, &work);
    }
}

static void tell(const struct gv_sim_exec *exec, const struct gv_sim_stream *stream,
                 uint64_t end_ns)
{
    struct gv_sim_operation work = {.kind = GV_SIM_OPERATION_GRAPH, .graph = exec->id};
    gv_sim_trace_work(stream, end_ns, exec->total_ns, &work);
    uint64_t next = exec->graph->nodes.count;
    tell_nodes(exec->graph, stream, end_ns - exec->total_ns, exec, &next);
}

CUresult gv_sim_cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s)
        return result;
    if (!gv_sim_is(hGraph, GV_SIM_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_exec *exec = (struct gv_sim_exec *)hGraph;
    if (gv_sim_captured(s, &result)) {
        struct gv_sim_graph *graph = result ? NULL : gv_sim_capture_graph(s);
        struct gv_sim_node *node =
            graph ? gv_sim_node_new(graph, CU_GRAPH_NODE_TYPE_GRAPH, exec->total_ns) : NULL;
        if (node)
            node->child = graph_copy(exec->graph);
        return result ? result : gv_sim_capture_add(s, node);
    }
    if (result)
        return result;
    gv_sim_stream_lock(s);
    uint64_t end = gv_sim_stream_push(s, exec->total_ns);
    perform(exec->graph, s, end - exec->total_ns);
    pthread_mutex_unlock(&s->context->work);
    if (gv_sim_traced())
        tell(exec, s, end);
    gv_sim_stream_launched(s);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    if (!phGraph || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *phGraph = (CUgraph)gv_sim_graph_new();
    return *phGraph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gv_sim_cuGraphDestroy(CUgraph hGraph)
{
    if (!gv_sim_is(hGraph, GV_SIM_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    gv_sim_graph_free((struct gv_sim_graph *)hGraph);
    return CUDA_SUCCESS;
}
