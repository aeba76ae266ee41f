/* Making a context takes long, longer on a busy device, but waits for no kernel. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUcontext made;

    gv_stage_open(&stage, argc, argv);
    gv_stage_busy(&stage);
    uint64_t start_ns = gv_clock_ns();
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&made, NULL, 0, stage.device));
#else
    CHECK(cuCtxCreate(&made, 0, stage.device));
#endif
    gv_stage_say("create", "cuCtxCreate", gv_clock_ms_since(start_ns));
    CHECK(cuCtxDestroy(made));
    CHECK(cuCtxSetCurrent(stage.context));
    return gv_stage_close(&stage);
}
