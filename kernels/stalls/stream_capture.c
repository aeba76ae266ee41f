/* A stream, and another that joins it, are captured into a graph in the strictest mode. What
 * they get meanwhile is not work. Then the graph is launched. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUgraph graph;
    CUgraphExec executable;
    CUstream joined;
    CUevent fork, join;
    CUmodule module;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuStreamCreate(&joined, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&fork, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&join, CU_EVENT_DEFAULT));
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    CHECK(cuModuleUnload(module));
    gv_stage_launch_empty(stage.empty, joined);
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamBeginCapture(stage.other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 20; i++)
        gv_stage_launch_empty(stage.empty, stage.other);
    CHECK(cuEventRecord(fork, stage.other));
    CHECK(cuStreamWaitEvent(joined, fork, 0));
    for (int i = 0; i < 5; i++)
        gv_stage_launch_empty(stage.empty, joined);
    CHECK(cuEventRecord(join, joined));
    CHECK(cuStreamWaitEvent(stage.other, join, 0));
    CHECK(cuStreamEndCapture(stage.other, &graph));
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    gv_stage_busy(&stage);
    TIMED("graph", cuGraphLaunch, (executable, stage.other));
    CHECK(cuStreamSynchronize(stage.other));
    puts("the captured graph ran");
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuEventDestroy(fork));
    CHECK(cuEventDestroy(join));
    CHECK(cuStreamDestroy(joined));
    return gv_stage_close(&stage);
}
