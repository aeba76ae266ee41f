/* Loading a fat binary, whose PTX is in the driver's cache, waits for the GPU. */
#include "kernels/stalls/fat_binary.h"
#include "kernels/stalls/stage.h"

GV_FAT_BINARY(second, GV_PTX_HEAD GV_PTX_EMPTY_AS("fat_empty"));

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuModuleLoadData(&module, &second));
    CHECK(cuModuleUnload(module));
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoadData, (&module, &second));
    return gv_stage_close(&stage);
}
