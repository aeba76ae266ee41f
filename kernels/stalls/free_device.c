/* cuMemFree waits until the context is idle; cuMemFreeAsync does not. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUdeviceptr memory, ordered;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAlloc(&memory, 1 << 20));
    CHECK(cuMemAllocAsync(&ordered, 1 << 20, stage.other));
    CHECK(cuCtxSynchronize());
    gv_stage_busy(&stage);
    TIMED("ordered", cuMemFreeAsync, (ordered, stage.other));
    TIMED("free", cuMemFree, (memory));
    return gv_stage_close(&stage);
}
