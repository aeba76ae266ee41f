/* With eager loading, a library is put onto the GPU when it is loaded, which waits, and the first
 * launch of its kernel does not. */
#include "kernels/stalls/images.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr memory;
    void *cubin, *parameters[] = {&memory};
    size_t size;

    /* The simulator reads it earlier. */
    if (setenv("CUDA_MODULE_LOADING", "EAGER", 1) != 0)
        return 1;
    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAlloc(&memory, 4096));
    cubin = gv_images_cubin(&size);
    gv_stage_busy(&stage);
    TIMED("load", cuLibraryLoadData, (&library, cubin, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "late"));
    gv_stage_busy(&stage);
    TIMED("launch", cuLaunchKernel,
          ((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stage.other, parameters, NULL));
    free(cubin);
    return gv_stage_close(&stage);
}
