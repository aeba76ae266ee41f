/* cuKernelGetFunction loads the kernel's code, and waits for the GPU. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuLibraryLoadData(&library, gv_ptx_second, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "second_empty"));
    gv_stage_busy(&stage);
    TIMED("get", cuKernelGetFunction, (&function, kernel));
    return gv_stage_close(&stage);
}
