/* With CUDA_LAUNCH_BLOCKING=1 each launch of a kernel or graph waits for it, but no copy or set
 * does; with 0 none waits. LAUNCH_BLOCKING: the variable's value. */
#include "kernels/stalls/stage.h"

#define COPY_BYTES (4u << 20)

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUgraph graph;
    CUgraphExec executable;
    CUdeviceptr memory;
    CUmodule module;
    void *pinned;

    CHECK(cuInit(0));
    /* The driver reads it when it makes a context. */
    if (setenv("CUDA_LAUNCH_BLOCKING", LAUNCH_BLOCKING, 1) != 0)
        return 1;
    gv_stage_open(&stage, argc, argv);
    uint64_t ns = stage.idle ? 0 : stage.busy_ms * 1000000u;
    void *parameters[] = {&ns};
    CHECK(cuMemAlloc(&memory, COPY_BYTES));
    CHECK(cuMemAllocHost(&pinned, COPY_BYTES));
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    CHECK(cuModuleUnload(module));
    CHECK(cuStreamBeginCapture(stage.other, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuLaunchKernel(stage.spin, 1, 1, 1, 1, 1, 1, 0, stage.other, parameters, NULL));
    CHECK(cuStreamEndCapture(stage.other, &graph));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    CHECK(cuGraphUpload(executable, stage.other));
    CHECK(cuMemcpyHtoD(memory, pinned, COPY_BYTES)); /* so that nothing below waits for pages */
    CHECK(cuCtxSynchronize());
    TIMED("launch", cuLaunchKernel,
          (stage.spin, 1, 1, 1, 1, 1, 1, 0, stage.stream, parameters, NULL));
    TIMED("graph", cuGraphLaunch, (executable, stage.other));
    /* Nothing runs any more, so this does not wait. */
    if (strcmp(LAUNCH_BLOCKING, "1") == 0)
        TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    TIMED("copy", cuMemcpyHtoDAsync, (memory, pinned, COPY_BYTES, stage.stream));
    TIMED("set", cuMemsetD8Async, (memory, 0, COPY_BYTES, stage.stream));
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(memory));
    return gv_stage_close(&stage);
}
