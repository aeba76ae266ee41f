/*
 * A graph of ten kernels, captured once and launched a hundred times.
 *
 *     graph_launches [LAUNCHES]      default 100
 */
#include "kernels/ordinary/workload.h"

#define NODES 10

int main(int argc, char **argv)
{
    unsigned long launches = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    struct gv_workload workload;
    CUstream stream;
    CUgraph graph;
    CUgraphExec executable;

    gv_workload_open(&workload, 0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < NODES; i++)
        CHECK(cuLaunchKernel(workload.empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    uint64_t start_ns = gv_clock_ns();
    for (unsigned long i = 0; i < launches; i++)
        CHECK(cuGraphLaunch(executable, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("launched a graph of %d kernels %lu times in %.3f ms\n", NODES, launches,
           gv_clock_ms_since(start_ns));
    gv_claim("graphs", launches, "graph");
    gv_claim("calls", launches, "cuGraphLaunch");
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
    gv_workload_close(&workload);
    return 0;
}
