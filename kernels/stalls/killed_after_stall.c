/* The program is killed just after a load waited: what CUPTI has of the kernel is lost with it. */
#include "kernels/stalls/stage.h"

#include <signal.h>

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuModuleLoadData(&module, gv_ptx_second)); /* compiled from here on */
    CHECK(cuModuleUnload(module));
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    fflush(stdout);
    if (!stage.idle)
        raise(SIGKILL);
    return gv_stage_close(&stage);
}
