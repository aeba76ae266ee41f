/* A stream is captured into a graph, in the strictest mode, and the graph is launched. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUgraph graph;
    CUgraphExec executable;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuStreamBeginCapture(stage.other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 20; i++)
        gv_stage_launch_empty(stage.empty, stage.other);
    CHECK(cuStreamEndCapture(stage.other, &graph));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    gv_stage_busy(&stage);
    TIMED("graph", cuGraphLaunch, (executable, stage.other));
    CHECK(cuStreamSynchronize(stage.other));
    puts("the captured graph ran");
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
    return gv_stage_close(&stage);
}
