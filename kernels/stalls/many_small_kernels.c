/* Hundreds of short kernels instead of one long one: the load waits for the last of them. */
#include "kernels/stalls/stage.h"

#define KERNELS 300

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    CHECK(cuModuleUnload(module));
    uint64_t each_ns = stage.busy_ms * 1000000u / KERNELS;
    void *parameters[] = {&each_ns};
    for (int i = 0; i < KERNELS && !stage.idle; i++)
        CHECK(cuLaunchKernel(stage.spin, 1, 1, 1, 1, 1, 1, 0, stage.stream, parameters, NULL));
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    return gv_stage_close(&stage);
}
