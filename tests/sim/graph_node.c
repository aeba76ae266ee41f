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
    if (!gv_sim_nodes_add(&graph->nodes, node))
        return node;
    gv_sim_object_free(node);
    return NULL;
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

CUresult gv_sim_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                        const CUgraphNode *dependencies, size_t numDependencies,
                                        const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CUresult result = check(phGraphNode, hGraph, dependencies, numDependencies);
    struct gv_sim_context *context = gv_sim_current();
    if (result || !nodeParams || !context)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    const void *handle = nodeParams->func ? (const void *)nodeParams->func : nodeParams->kern;
    struct gv_sim_function *function;
    result = gv_sim_function_of(handle, context, &function);
    if (result)
        return result;
    uint64_t ns = gv_sim_kernel_ns(function->entry, nodeParams->kernelParams, nodeParams->extra);
    struct gv_sim_node *node =
        gv_sim_node_kernel((struct gv_sim_graph *)hGraph, (CUfunction)handle, function, ns);
    if (node)
        node->kernel = *nodeParams;
    return finish(phGraphNode, node, dependencies, numDependencies);
}

CUresult gv_sim_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies,
                                     const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS params = {.func = nodeParams->func,
                                      .gridDimX = nodeParams->gridDimX,
                                      .gridDimY = nodeParams->gridDimY,
                                      .gridDimZ = nodeParams->gridDimZ,
                                      .blockDimX = nodeParams->blockDimX,
                                      .blockDimY = nodeParams->blockDimY,
                                      .blockDimZ = nodeParams->blockDimZ,
                                      .sharedMemBytes = nodeParams->sharedMemBytes,
                                      .kernelParams = nodeParams->kernelParams,
                                      .extra = nodeParams->extra};
    return gv_sim_cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies,
                                          &params);
}

CUresult gv_sim_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                              CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    if (!gv_sim_is(hNode, GV_SIM_NODE) || !nodeParams ||
        ((struct gv_sim_node *)hNode)->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    *nodeParams = ((struct gv_sim_node *)hNode)->kernel;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies,
                                     const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    CUresult result = check(phGraphNode, hGraph, dependencies, numDependencies);
    if (result || !gv_sim_context_of(ctx))
        return result ? result : CUDA_ERROR_INVALID_CONTEXT;
    struct gv_sim_rows rows;
    result = gv_sim_rows_of(copyParams, &rows);
    if (result)
        return result;
    struct gv_sim_node *node =
        gv_sim_node_new((struct gv_sim_graph *)hGraph, CU_GRAPH_NODE_TYPE_MEMCPY,
                        gv_sim_copy_ns(rows.width_bytes * rows.height * rows.depth));
    if (node)
        node->rows = rows;
    return finish(phGraphNode, node, dependencies, numDependencies);
}

CUresult gv_sim_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies,
                                     const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    CUresult result = check(phGraphNode, hGraph, dependencies, numDependencies);
    if (result || !memsetParams || !gv_sim_context_of(ctx))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMSET_NODE_PARAMS *p = memsetParams;
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_node *node =
        gv_sim_node_new((struct gv_sim_graph *)hGraph, CU_GRAPH_NODE_TYPE_MEMSET,
                        gv_sim_copy_ns(p->elementSize * p->width * p->height));
    if (node)
        node->fill = (struct gv_sim_fill){.target = (char *)p->dst,
                                          .pitch = p->pitch,
                                          .element_bytes = p->elementSize,
                                          .width = p->width,
                                          .height = p->height,
                                          .value = p->value};
    return finish(phGraphNode, node, dependencies, numDependencies);
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

CUresult gv_sim_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                          const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                          size_t numDependencies)
{
    (void)edgeData;
    if (!gv_sim_is(hGraph, GV_SIM_GRAPH) || (numDependencies && (!from || !to)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < numDependencies; i++) {
        if (!gv_sim_is(from[i], GV_SIM_NODE) || !gv_sim_is(to[i], GV_SIM_NODE))
            return CUDA_ERROR_INVALID_VALUE;
        if (gv_sim_nodes_add(&((struct gv_sim_node *)to[i])->needs, (struct gv_sim_node *)from[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from,
                                       const CUgraphNode *to, size_t numDependencies)
{
    return gv_sim_cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

CUresult gv_sim_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    if (!gv_sim_is(hNode, GV_SIM_NODE) || !type)
        return CUDA_ERROR_INVALID_VALUE;
    *type = ((struct gv_sim_node *)hNode)->type;
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

CUresult gv_sim_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    return list_nodes(hGraph, rootNodes, numRootNodes, true);
}
