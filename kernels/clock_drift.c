/*
 * Makes about a thousand launches and synchronous copies a second, for SECONDS. The order of their
 * times shows whether the clocks of the GPU and the host drift apart.
 *
 *     clock_drift [SECONDS]      default 5
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
    uint64_t start_ns = gv_clock_ns(), rounds = 0;
    char bytes[65536];
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction empty;
    CUdeviceptr memory;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cuMemAlloc(&memory, sizeof(bytes)));
    for (; gv_clock_ms_since(start_ns) < seconds * 1e3; rounds++) {
        CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        CHECK(cuMemcpyDtoH(bytes, memory, sizeof(bytes)));
        usleep(900);
    }
    printf("%s\n", rounds > 0 ? "done" : "nothing was done");
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
