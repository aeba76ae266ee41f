/* cuModuleLoadData of new PTX: it compiles first, then waits for the GPU. */
#include "kernels/stalls/images.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;
    char *ptx = gv_images_ptx(true);

    gv_stage_open(&stage, argc, argv);
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoadData, (&module, ptx));
    free(ptx);
    return gv_stage_close(&stage);
}
