/* Resets the device in the middle, and makes and destroys contexts. Work continues in the new
 * ones. */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/ptx.h"

#define ROUNDS   3
#define LAUNCHES 10

static void work(void)
{
    CUmodule module;
    CUfunction empty;

    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
}

int main(void)
{
    CUdevice device;
    CUcontext context;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(cuDevicePrimaryCtxRetain(&context, device));
        CHECK(cuCtxSetCurrent(context));
        work();
        CHECK(cuDevicePrimaryCtxReset(device));
#if CUDA_VERSION >= 13000
        CHECK(cuCtxCreate(&context, NULL, 0, device));
#else
        CHECK(cuCtxCreate(&context, 0, device));
#endif
        work();
        CHECK(cuCtxDestroy(context));
    }
    printf("%d launches\n", 2 * ROUNDS * LAUNCHES);
    return 0;
}
