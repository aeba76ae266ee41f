/*
 * Loads a module, launches its kernel and unloads it, then does the same with another module, in
 * turn. A driver may give both kernels the same handle (GV_SIM_REUSE_HANDLES=1 makes the simulator
 * do so). They are still two kernels.
 *
 *     reload [ROUNDS]      default 4
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/ptx.h"

static const char first[] = GV_PTX_HEAD GV_PTX_EMPTY_AS("first_kernel");
static const char other[] = GV_PTX_HEAD GV_PTX_EMPTY_AS("other_kernel");

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 4, reused = 0;
    CUdevice device;
    CUcontext context;
    CUfunction last = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < rounds; i++) {
        CUmodule module;
        CUfunction function;
        CHECK(cuModuleLoadData(&module, i % 2 ? other : first));
        CHECK(cuModuleGetFunction(&function, module, i % 2 ? "other_kernel" : "first_kernel"));
        CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        CHECK(cuCtxSynchronize());
        CHECK(cuModuleUnload(module));
        reused += function == last;
        last = function;
    }
    printf("%d modules came and went\n", rounds);
    fprintf(stderr, "%d handles were reused\n", reused);
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
