/* cuModuleLoadData of PTX that the driver's cache has compiled: it only waits. */
#include "kernels/stalls/images.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;
    char *ptx = gv_images_ptx(false);

    gv_stage_open(&stage, argc, argv);
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleUnload(module));
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoadData, (&module, ptx));
    free(ptx);
    return gv_stage_close(&stage);
}
