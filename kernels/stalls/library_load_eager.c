/* With eager loading, loading a library puts its code onto the GPU and waits. The first launch
 * of its kernel does not. */
#include "kernels/stalls/fat_binary.h"
#include "kernels/stalls/stage.h"

GV_FAT_BINARY(image, GV_PTX_HEAD GV_PTX_EMPTY_AS("eager_empty"));

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUlibrary library;
    CUkernel kernel;

    if (setenv("CUDA_MODULE_LOADING", "EAGER", 1) != 0)
        return 1;
    gv_stage_open(&stage, argc, argv);
    /* From now on the driver's cache has the compiled code. */
    CHECK(cuLibraryLoadData(&library, &image, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryUnload(library));
    gv_stage_busy(&stage);
    TIMED("load", cuLibraryLoadData, (&library, &image, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "eager_empty"));
    gv_stage_busy(&stage);
    TIMED("launch", cuLaunchKernel,
          ((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
    return gv_stage_close(&stage);
}
