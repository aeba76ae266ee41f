/*
 * A call that waits for a stream waits for the host functions in it too: a load, a free, a copy, a
 * synchronisation, and an unload behind a callback. One in another context is not waited for. In a
 * capture, a host function becomes a node of the graph, which has what the program gave.
 */
#include "kernels/stalls/stage.h"

#include <unistd.h>

struct job {
    uint64_t ms;
    int runs;
};

static void CUDA_CB work(void *data)
{
    struct job *job = data;

    usleep((useconds_t)job->ms * 1000);
    job->runs++;
}

static void CUDA_CB call_back(CUstream stream, CUresult result, void *data)
{
    (void)stream;
    CHECK(result);
    work(data);
}

static void launch(const struct gv_stage *stage, struct job *job)
{
    if (!stage->idle)
        CHECK(cuLaunchHostFunc(stage->stream, work, job));
}

/* The graph's node must have the program's function, which runs at each launch. */
static bool is_captured_whole(const struct gv_stage *stage)
{
    struct job job = {0};
    CUDA_HOST_NODE_PARAMS given;
    CUgraphExec executable;
    CUgraphNode node;
    CUgraph graph;
    size_t count = 1;

    CHECK(cuStreamBeginCapture(stage->other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuLaunchHostFunc(stage->other, work, &job));
    CHECK(cuStreamEndCapture(stage->other, &graph));
    CHECK(cuGraphGetNodes(graph, &node, &count));
    CHECK(cuGraphHostNodeGetParams(node, &given));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 3; i++)
        CHECK(cuGraphLaunch(executable, stage->other));
    CHECK(cuStreamSynchronize(stage->other));
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
    return count == 1 && given.fn == work && given.userData == &job && job.runs == 3;
}

int main(int argc, char **argv)
{
    struct gv_stage stage, second;
    struct job job = {0};
    CUdeviceptr memory;
    CUmodule module;
    char pageable[4096];

    gv_stage_open(&stage, argc, argv);
    job.ms = stage.busy_ms;
    gv_stage_second(&second, &stage);
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxSetCurrent(stage.context));
    CHECK(cuMemAlloc(&memory, 1 << 20));
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    CHECK(cuModuleUnload(module));
    if (!is_captured_whole(&stage)) {
        puts("a captured host function is not the program's own");
        return 1;
    }
    launch(&stage, &job);
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    if (!stage.idle)
        CHECK(cuStreamAddCallback(stage.stream, call_back, &job, 0));
    TIMED("unload", cuModuleUnload, (module));
    launch(&stage, &job);
    TIMED("copy", cuMemcpyDtoHAsync, (pageable, memory, sizeof(pageable), stage.stream));
    launch(&stage, &job);
    TIMED("free", cuMemFree, (memory));
    launch(&stage, &job);
    TIMED("stream", cuStreamSynchronize, (stage.stream));
    launch(&stage, &job);
    CHECK(cuCtxSetCurrent(second.context));
    TIMED("other", cuModuleLoadData, (&module, gv_ptx_second));
    CHECK(cuCtxDestroy(second.context));
    CHECK(cuCtxSetCurrent(stage.context));
    CHECK(cuCtxSynchronize());
    printf("the host function ran %d times\n", job.runs);
    return gv_stage_close(&stage);
}
