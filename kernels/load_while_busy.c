/*
 * Loads a module while an unrelated kernel runs on another stream.
 *
 *     load_while_busy [MILLISECONDS [early]]      how long the kernel runs; default 1000
 *
 * Prints how long cuModuleLoadData took on an idle GPU and on a busy one. With `early` the program
 * loads the module before it launches the kernel, which is the fix.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <stdbool.h>
#include <string.h>

static double load_ms(void)
{
    CUmodule module;
    uint64_t start_ns = gv_clock_ns();
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    double ms = gv_clock_ms_since(start_ns);
    CHECK(cuModuleUnload(module));
    return ms;
}

int main(int argc, char **argv)
{
    bool early = argc > 2 && strcmp(argv[2], "early") == 0;
    uint64_t busy_ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, ns = busy_ms * 1000000u;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction spin;
    CUstream stream;
    char name[128];
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    printf("GPU: %s\n", name);
    load_ms(); /* compiles; later loads use the driver's cache */
    printf("loading a module on an idle GPU held the host for %.1f ms\n", load_ms());

    void *parameters[] = {&ns};
    if (early)
        printf("loading the module before the kernel held the host for %.1f ms\n", load_ms());
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    printf("a kernel of %llu ms now runs on another stream\n", (unsigned long long)busy_ms);
    if (!early)
        printf("loading the same module held the host for %.1f ms\n", load_ms());

    CHECK(cuStreamSynchronize(stream));
    CHECK(cuModuleUnload(module));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
