/*
 * Another thread's call waits while a load waits for the GPU. Built once for each such call:
 * lock_launch, lock_first (its kernel was not launched before), lock_copy, lock_alloc, lock_event,
 * lock_graph.
 */
#include "kernels/stalls/stage.h"

#include <pthread.h>

#define LOCK_LAUNCH 1
#define LOCK_COPY   2
#define LOCK_ALLOC  3
#define LOCK_EVENT  4
#define LOCK_FIRST  5
#define LOCK_GRAPH  6

static struct gv_stage stage;

static void *load(void *unused)
{
    CUmodule module;

    (void)unused;
    CHECK(cuCtxSetCurrent(stage.context));
    gv_stage_enter(&stage);
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t loader;
    CUdeviceptr memory, more;
    CUevent event;
    void *pinned;
    CUmodule warm;
    CUfunction fill;
    CUgraph graph;
    CUgraphExec executable;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAlloc(&memory, 4096));
    CHECK(cuMemAllocHost(&pinned, 4096));
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CHECK(cuMemcpyHtoDAsync(memory, pinned, 4096, stage.other));
    CHECK(cuEventRecord(event, stage.other));
    /* Loading a kernel's module would wait here already, behind the other load. */
    CHECK(cuModuleGetFunction(&fill, stage.module, "fill"));
    CHECK(cuModuleLoadData(&warm, gv_ptx_second));
    CHECK(cuModuleUnload(warm));
    CHECK(cuStreamBeginCapture(stage.other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gv_stage_launch_empty(stage.empty, stage.other);
    CHECK(cuStreamEndCapture(stage.other, &graph));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    CHECK(cuGraphLaunch(executable, stage.other));
    CHECK(cuCtxSynchronize());
    gv_stage_busy(&stage);
    if (pthread_create(&loader, NULL, load, NULL) != 0)
        return 1;
    gv_stage_await(&stage, 20000);
#if LOCK_CALL == LOCK_LAUNCH
    (void)more;
    TIMED("behind", cuLaunchKernel, (stage.empty, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
#elif LOCK_CALL == LOCK_FIRST
    unsigned value = 1;
    void *parameters[] = {&memory, &value};
    (void)more;
    TIMED("behind", cuLaunchKernel, (fill, 1, 1, 1, 1, 1, 1, 0, stage.other, parameters, NULL));
#elif LOCK_CALL == LOCK_COPY
    (void)more;
    TIMED("behind", cuMemcpyHtoDAsync, (memory, pinned, 4096, stage.other));
#elif LOCK_CALL == LOCK_ALLOC
    TIMED("behind", cuMemAlloc, (&more, 64u << 20));
#elif LOCK_CALL == LOCK_GRAPH
    (void)more;
    TIMED("behind", cuGraphLaunch, (executable, stage.other));
#else
    (void)more;
    TIMED("behind", cuEventRecord, (event, stage.other));
#endif
    pthread_join(loader, NULL);
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
    return gv_stage_close(&stage);
}
