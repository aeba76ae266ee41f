/*
 * Four launches and two allocations for shim.c to count, by the linker or, with the argument
 * "dlsym", by look-ups in the global scope.
 */
#include "e2e.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct e2e_gpu gpu;
    CUdeviceptr memory[2];

    e2e_open(&gpu);
    REQUIRE(getpagesize() > 0);
    if (argc > 1 && !strcmp(argv[1], "dlsym")) {
        CUresult (*allocate)(CUdeviceptr *, size_t);
        CUresult (*launch)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                           unsigned int, unsigned int, unsigned int, CUstream, void **, void **);

        *(void **)&allocate = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
        *(void **)&launch = dlsym(RTLD_DEFAULT, "cuLaunchKernel");
        REQUIRE(allocate && launch);
        for (int i = 0; i < 4; i++)
            OK(launch(gpu.tick, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        for (int i = 0; i < 2; i++)
            OK(allocate(&memory[i], 4096));
    } else {
        e2e_tick(&gpu, 4);
        for (int i = 0; i < 2; i++)
            OK(cuMemAlloc(&memory[i], 4096));
    }
    OK(cuCtxSynchronize());
    printf("done\n");
    fflush(stdout);
    return 0;
}
