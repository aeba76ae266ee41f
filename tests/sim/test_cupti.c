/* The simulated libcupti's records and callbacks, as a client sees them: test_cupti LIBCUPTI */
#include "tests/sim/cupti_client.h"

static void check_kernel(uint64_t before, uint32_t correlation)
{
    const struct seen *s = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    EXPECT(s != NULL);
    if (!s)
        return;
    EXPECT(s->kernel.start >= before && s->kernel.end - s->kernel.start == 5 * MS);
    EXPECT(s->kernel.end <= client_clock());
    EXPECT(s->kernel.correlationId == correlation);
    EXPECT(!strcmp(s->kernel.name, "spin"));
    EXPECT(s->kernel.gridX == 3 && s->kernel.gridY == 2 && s->kernel.blockX == 64);
    EXPECT(s->kernel.dynamicSharedMemory == 48 && s->kernel.registersPerThread == 16);
    EXPECT(s->kernel.deviceId == 0 && s->kernel.contextId && s->kernel.streamId == 1);
    EXPECT(s->kernel.graphNodeId == 0);
}

static void kernels_copies_and_sets(void)
{
    static char host[4096];
    CUdeviceptr device;
    begin(work_kinds);
    subscribe();
    start_cuda();
    EXPECT(contexts_made == 1 && modules_loaded == 1 && cubin_bytes == strlen(gv_ptx_tour));
    CHECK(cuMemAlloc(&device, sizeof host));
    uint64_t before = client_clock();
    launch_spin(5 * MS, NULL);
    uint32_t correlation = last_correlation;
    flush(0);
    EXPECT(!seen_count); /* it still runs */
    CHECK(cuMemcpyHtoD(device, host, sizeof host));
    uint64_t after = client_clock();
    CHECK(cuMemsetD32Async(device, 7, 256, NULL));
    CHECK(cuMemcpyPeer(device, context, device + 2048, context, 1024));
    CHECK(cuCtxSynchronize());
    flush(0);
    check_kernel(before, correlation);
    const struct seen *copy = find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
    const struct seen *set = find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    const struct seen *peer = find(CUPTI_ACTIVITY_KIND_MEMCPY2, 0);
    EXPECT(copy && set && peer && seen_count == 4);
    if (!copy || !set || !peer)
        return;
    EXPECT(copy->copy.bytes == sizeof host && copy->copy.correlationId > correlation);
    EXPECT(copy->copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EXPECT(copy->copy.start >= before + 5 * MS && copy->copy.end <= after);
    EXPECT(set->set.bytes == 1024 && set->set.value == 7 && set->set.flags == 1);
    EXPECT(peer->peer.bytes == 1024 && peer->peer.srcContextId == peer->peer.dstContextId);
    EXPECT(peer->peer.correlationId > set->set.correlationId);
    EXPECT(!buffers_out);
}

static CUgraphExec make_graph(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_spin(2 * MS, stream);
    launch_spin(1 * MS, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void graphs(void)
{
    CUstream stream;
    begin(work_kinds);
    start_cuda();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUgraphExec exec = make_graph(stream);
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    flush(0);
    const struct seen *whole = find(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0);
    EXPECT(whole && seen_count == 1);
    if (whole)
        EXPECT(whole->graph.end - whole->graph.start >= 3 * MS && whole->graph.graphId &&
               whole->graph.correlationId);
    EXPECT_RESULT(cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), CUPTI_SUCCESS);
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    flush(0);
    const struct seen *first = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const struct seen *second = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    EXPECT(first && second && seen_count == 3);
    if (!first || !second)
        return;
    EXPECT(first->kernel.end - first->kernel.start == 2 * MS);
    EXPECT(second->kernel.start >= first->kernel.end);
    EXPECT(first->kernel.graphNodeId && first->kernel.graphNodeId != second->kernel.graphNodeId);
    EXPECT(first->kernel.correlationId == second->kernel.correlationId);
}

/* Calls that add nodes, and their clones, whose numbers the records have. */
static void nodes(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_INVALID};
    uint64_t id = 0, ns = 1 * MS;
    void *parameters[] = {&ns};
    CUDA_KERNEL_NODE_PARAMS kernel = {.gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = parameters};
    CUgraphNode node;
    CUgraphExec exec;
    CUgraph graph;
    CUstream stream;
    begin(kinds);
    subscribe();
    start_cuda();
    kernel.func = spin;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT(make_graph(stream) != NULL);
    EXPECT(node_count == 6); /* two, and each clone twice */
    EXPECT(nodes_made[0] != nodes_made[1] && !originals[0] && !originals[1]);
    EXPECT(nodes_made[2] == nodes_made[3] && originals[3] == nodes_made[0]);
    EXPECT(nodes_made[4] == nodes_made[5] && originals[5] == nodes_made[1]);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    EXPECT_RESULT(cupti.cuptiGetGraphNodeId(node, &id), CUPTI_SUCCESS);
    EXPECT(node_count == 7 && nodes_made[6] == id);
    EXPECT_RESULT(cupti.cuptiGetGraphNodeId(NULL, &id), CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    flush(0);
    const struct seen *ran = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    EXPECT(ran && ran->kernel.graphNodeId == nodes_made[8] && originals[8] == nodes_made[6]);
    EXPECT(ran && ran->kernel.end - ran->kernel.start == 1 * MS);
}

/* A lazy load behind a kernel: CUPTI says how long the loading took, and nothing of the wait. */
static void code(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                               CUPTI_ACTIVITY_KIND_INVALID};
    CUlibrary library;
    CUkernel kernel;
    setenv("GV_SIM_JIT_NS", "3000000", 1);
    begin(kinds);
    CUptiResult jit = cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_JIT);
    EXPECT(version == 18 ? jit == CUPTI_ERROR_INVALID_KIND : jit == CUPTI_SUCCESS);
    EXPECT_RESULT(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MODULE), CUPTI_ERROR_INVALID_KIND);
    start_cuda();
    CHECK(cuLibraryLoadData(&library, gv_ptx_tour, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "empty"));
    launch_spin(100 * MS, NULL);
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
    flush(0);
    const struct seen *lazy = find(CUPTI_ACTIVITY_KIND_OVERHEAD, 0);
    const struct seen *wait = find(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0);
    EXPECT(lazy && wait && count(CUPTI_ACTIVITY_KIND_OVERHEAD) == 1);
    if (lazy)
        EXPECT((int)lazy->overhead.overheadKind == 5 << 16 &&
               lazy->overhead.end - lazy->overhead.start < 50 * MS);
    if (wait)
        EXPECT(wait->wait.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
    const struct seen *compiled = find(CUPTI_ACTIVITY_KIND_JIT, 0);
    const struct seen *cached = find(CUPTI_ACTIVITY_KIND_JIT, 1);
    EXPECT((compiled && cached) == (version != 18));
    if (!compiled || !cached)
        return;
    EXPECT(compiled->jit.jitOperationType == CUPTI_ACTIVITY_JIT_OPERATION_COMPILE);
    EXPECT(compiled->jit.end - compiled->jit.start >= 3 * MS && compiled->jit.correlationId);
    EXPECT(cached->jit.jitOperationType == CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD);
}

static void calls_and_external_ids(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                               CUPTI_ACTIVITY_KIND_INVALID};
    const CUpti_ExternalCorrelationKind own = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    const char *name;
    uint64_t id = 0;
    begin(kinds);
    EXPECT_RESULT(cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, &name),
                  CUPTI_SUCCESS);
    EXPECT(!strcmp(name, "cuMemcpyHtoD_v2"));
    EXPECT_RESULT(cupti.cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                  CUPTI_SUCCESS);
    start_cuda();
    EXPECT_RESULT(cupti.cuptiActivityPushExternalCorrelationId(own, 4711), CUPTI_SUCCESS);
    launch_spin(0, NULL);
    EXPECT_RESULT(cupti.cuptiActivityPopExternalCorrelationId(own, &id), CUPTI_SUCCESS);
    EXPECT(id == 4711);
    EXPECT_RESULT(cupti.cuptiActivityPopExternalCorrelationId(own, &id), CUPTI_ERROR_QUEUE_EMPTY);
    launch_spin(0, NULL);
    CHECK(cuCtxSynchronize());
    flush(0);
    const struct seen *call = find(CUPTI_ACTIVITY_KIND_DRIVER, 0);
    const struct seen *kernel = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const struct seen *external = find(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0);
    EXPECT(call && kernel && external && seen_count == 5);
    if (!call || !kernel || !external)
        return;
    EXPECT(call->call.cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel && !call->call.returnValue);
    EXPECT(call->call.correlationId == kernel->kernel.correlationId);
    EXPECT(external->external.correlationId == kernel->kernel.correlationId);
    EXPECT(external->external.externalId == 4711 && call->call.start <= kernel->kernel.start);
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        SCENARIO(kernels_copies_and_sets), SCENARIO(graphs), SCENARIO(nodes), SCENARIO(code),
        SCENARIO(calls_and_external_ids),
    };
    return run_scenarios(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
