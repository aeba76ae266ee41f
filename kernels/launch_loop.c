/*
 * Launches an empty kernel over and over from one thread.
 *
 *     launch_loop [LAUNCHES]      default 100000
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

int main(int argc, char **argv)
{
    long launches = argc > 1 ? atol(argv[1]) : 100000;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction empty;
    CUstream stream;
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    CHECK(cuStreamSynchronize(stream));
    uint64_t start_ns = gv_clock_ns();
    for (long i = 0; i < launches; i++)
        CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    uint64_t launched_ns = gv_clock_ns() - start_ns;
    CHECK(cuStreamSynchronize(stream));
    printf("launched %ld times: %.1f ns per launch\n", launches,
           (double)launched_ns / (double)(launches ? launches : 1));
    CHECK(cuModuleUnload(module));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
