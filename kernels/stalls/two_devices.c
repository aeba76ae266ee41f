/* A kernel on one device does not delay a load on another one. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage, second;
    CUmodule module;
    int devices;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuDeviceGetCount(&devices));
    if (devices < 2) {
        puts("skipped: this needs two devices");
        return GV_STAGE_SKIPPED;
    }
    second = stage;
    CHECK(cuDeviceGet(&second.device, 1));
    CHECK(cuDevicePrimaryCtxRetain(&second.context, second.device));
    CHECK(cuCtxSetCurrent(second.context));
    gv_stage_set(&second);
    CHECK(cuCtxSetCurrent(stage.context));
    CHECK(cuModuleLoadData(&module, gv_ptx_second)); /* compiles it */
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxSetCurrent(second.context));
    gv_stage_busy(&second);
    CHECK(cuCtxSetCurrent(stage.context));
    TIMED("other", cuModuleLoadData, (&module, gv_ptx_second));
    gv_stage_busy(&stage);
    TIMED("same", cuModuleUnload, (module));
    CHECK(cuCtxSetCurrent(second.context));
    gv_stage_close(&second);
    CHECK(cuCtxSetCurrent(stage.context));
    return gv_stage_close(&stage);
}
