/* A kernel in one context does not delay a load in another one until it ends. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage, second;
    CUmodule module;

    gv_stage_open(&stage, argc, argv);
    gv_stage_second(&second, &stage);
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    CHECK(cuModuleUnload(module));

    CHECK(cuCtxSetCurrent(stage.context));
    gv_stage_busy(&stage);
    CHECK(cuCtxSetCurrent(second.context));
    TIMED("other", cuModuleLoadData, (&module, gv_ptx_second));
    CHECK(cuCtxSynchronize());
    gv_stage_busy(&second);
    TIMED("same", cuModuleUnload, (module));
    CHECK(cuCtxDestroy(second.context));
    CHECK(cuCtxSetCurrent(stage.context));
    return gv_stage_close(&stage);
}
