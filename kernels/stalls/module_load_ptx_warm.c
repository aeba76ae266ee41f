/* cuModuleLoadData of PTX whose compiled code is in the driver's cache: only the wait. */
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
