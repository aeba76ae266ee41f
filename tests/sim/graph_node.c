/* The nodes of a graph, added by hand. */
#include "tests/sim/sim.h"

struct gv_sim_node *gv_sim_node_new(struct gv_sim_graph *graph, CUgraphNodeType type,
                                    uint64_t duration_ns)
{
    struct gv_sim_node *node = gv_sim_object_new(GV_SIM_NODE, sizeof *node);
    if (!node)
        return NULL;
    node->graph = graph;
    node->type = type;
    node->duration_ns = duration_ns;
    node->index = graph->nodes.count;
    if (gv_sim_nodes_add(&graph->nodes, node)) {
        gv_sim_object_free(node);
        return NULL;
    }
    gv_sim_trace_node(node, NULL);
    return node;
}

uint64_t gv_sim_node_id(const void *node)
{
    const struct gv_sim_node *n = node;
    return gv_sim_is(node, GV_SIM_NODE) ? (uint64_t)n->graph->id << 32 | n->index : 0;
}

struct gv_sim_node *gv_sim_node_kernel(struct gv_sim_graph *graph, CUfunction handle,
                                       struct gv_sim_function *function, uint64_t duration_ns)
{
    (void)function;
    struct gv_sim_node *node = gv_sim_node_new(graph, CU_GRAPH_NODE_TYPE_KERNEL, duration_ns);
    if (node)
        node->function = handle;
    return node;
}

struct gv_sim_node *gv_sim_node_host(struct gv_sim_graph *graph, CUhostFn function, void *data)
{
    struct gv_sim_node *node = gv_sim_node_new(graph, CU_GRAPH_NODE_TYPE_HOST, 0);
    if (node) {
        node->host = function;
        node->host_data = data;
    }
    return node;
}

static CUresult check(CUgraphNode *made, CUgraph graph, const CUgraphNode *needs, size_t count)
{
    if (!made || !gv_sim_is(graph, GV_SIM_GRAPH) || (count && !needs))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!gv_sim_is(needs[i], GV_SIM_NODE))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult finish(CUgraphNode *made, struct gv_sim_node *node, const CUgraphNode *needs,
                       size_t count)
{
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (gv_sim_nodes_add(&node->needs, (struct gv_sim_node *)needs[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    *made = (CUgraphNode)node;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                        const CUgraphNode *dependencies, size_t numDependencies,
                                        const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CUresult result = check(phGraphNode, hGraph, dependencies, numDependencies);
    struct gv_sim_function *function;
    if (!result)
        result = nodeParams ? gv_sim_function_of(nodeParams->func, gv_sim_current(), &function)
                            : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    struct gv_sim_node *node = gv_sim_node_kernel(
        (struct gv_sim_graph *)hGraph, nodeParams->func, function,
        gv_sim_kernel_ns(function->entry, nodeParams->kernelParams, nodeParams->extra));
    if (node)
        node->kernel = *nodeParams;
    return finish(phGraphNode, node, dependencies, numDependencies);
}

CUresult gv_sim_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         CUgraph childGraph)
{
    CUresult result = check(phGraphNode, hGraph, dependencies, numDependencies);
    if (result || !gv_sim_is(childGraph, GV_SIM_GRAPH))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    return finish(
        phGraphNode,
        gv_sim_node_child((struct gv_sim_graph *)hGraph, (const struct gv_sim_graph *)childGraph),
        dependencies, numDependencies);
}

CUresult gv_sim_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies)
{
    CUresult result = check(phGraphNode, hGraph, dependencies, numDependencies);
    if (result)
        return result;
    return finish(phGraphNode,
                  gv_sim_node_new((struct gv_sim_graph *)hGraph, CU_GRAPH_NODE_TYPE_EMPTY, 0),
                  dependencies, numDependencies);
}

CUresult gv_sim_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    CUresult result = check(phGraphNode, hGraph, dependencies, numDependencies);
    if (result || !nodeParams || !nodeParams->fn)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    return finish(
        phGraphNode,
        gv_sim_node_host((struct gv_sim_graph *)hGraph, nodeParams->fn, nodeParams->userData),
        dependencies, numDependencies);
}

CUresult gv_sim_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    const struct gv_sim_node *node = (const struct gv_sim_node *)hNode;
    if (!gv_sim_is(hNode, GV_SIM_NODE) || node->type != CU_GRAPH_NODE_TYPE_HOST || !nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    *nodeParams = (CUDA_HOST_NODE_PARAMS){.fn = node->host, .userData = node->host_data};
    return CUDA_SUCCESS;
}

static CUresult list_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count, bool roots)
{
    if (!gv_sim_is(graph, GV_SIM_GRAPH) || !count)
        return CUDA_ERROR_INVALID_VALUE;
    const struct gv_sim_nodes *all = &((struct gv_sim_graph *)graph)->nodes;
    size_t room = nodes ? *count : 0, found = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (roots && all->list[i]->needs.count)
            continue;
        if (found < room)
            nodes[found] = (CUgraphNode)all->list[i];
        found++;
    }
    for (size_t i = found; i < room; i++)
        nodes[i] = NULL;
    *count = nodes && found > room ? room : found;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    return list_nodes(hGraph, nodes, numNodes, false);
}
