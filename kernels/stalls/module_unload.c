/* cuModuleUnload waits until the context is idle. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    gv_stage_busy(&stage);
    TIMED("unload", cuModuleUnload, (module));
    return gv_stage_close(&stage);
}
