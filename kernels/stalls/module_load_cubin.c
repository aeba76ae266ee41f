/* cuModuleLoadData of a cubin waits until the context is idle. */
#include "kernels/stalls/images.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;
    size_t size;

    gv_stage_open(&stage, argc, argv);
    void *cubin = gv_images_cubin(&size);
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoadData, (&module, cubin));
    free(cubin);
    return gv_stage_close(&stage);
}
