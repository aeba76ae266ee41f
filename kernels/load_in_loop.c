/*
 * Filters frames, and loads the filter's code again for each frame.
 *
 *     load_in_loop [FRAMES [once]]      default 10
 *
 * Reading a frame takes the host 60 ms, and filtering it takes the GPU 100 ms. The two could
 * overlap, but each load waits until the GPU is idle: 160 ms a frame. With `once` the program loads
 * the code before the loop, which is the fix: 100 ms a frame.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static CUmodule module;
static CUfunction filter;

static void load_filter(void)
{
    CUmodule last = module;
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&filter, module, "spin"));
    if (last)
        CHECK(cuModuleUnload(last));
}

static void read_frame(void)
{
    for (uint64_t end_ns = gv_clock_ns() + 60000000; gv_clock_ns() < end_ns;)
        continue;
}

int main(int argc, char **argv)
{
    int frames = argc > 1 ? atoi(argv[1]) : 10;
    bool once = argc > 2 && strcmp(argv[2], "once") == 0;
    uint64_t filter_ns = 100000000;
    void *parameters[] = {&filter_ns};
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

    uint64_t start_ns = gv_clock_ns();
    if (once)
        load_filter();
    for (int i = 0; i < frames; i++) {
        if (!once)
            load_filter();
        read_frame();
        CHECK(cuLaunchKernel(filter, 264, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
    }
    CHECK(cuStreamSynchronize(stream));
    printf("%d frames in %.2f s\n", frames, gv_clock_ms_since(start_ns) / 1e3);

    CHECK(cuModuleUnload(module));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
