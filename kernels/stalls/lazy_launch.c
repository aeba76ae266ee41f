/* The first launch of a library's kernel loads its code and waits for the GPU; the second does
 * not. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUlibrary library;
    CUkernel kernel;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuLibraryLoadData(&library, gv_ptx_second, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "second_empty"));
    gv_stage_busy(&stage);
    TIMED("first", cuLaunchKernel,
          ((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
    CHECK(cuCtxSynchronize());
    gv_stage_busy(&stage);
    TIMED("second", cuLaunchKernel,
          ((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
    return gv_stage_close(&stage);
}
