/* A driver whose calls do almost nothing and take no lock, so that a signal handler may make
 * them. */
#include <cuda.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_bool initialising;
static atomic_long freed_meanwhile;

EXPORT long bare_driver_interruptions(void);

/* Calls that signal handlers made in the middle of cuInit. */
EXPORT long bare_driver_interruptions(void)
{
    return atomic_load(&freed_meanwhile);
}

/* Takes BARE_DRIVER_INIT_MS of CPU time. */
EXPORT CUresult CUDAAPI cuInit(unsigned int flags)
{
    const char *wanted = getenv("BARE_DRIVER_INIT_MS");
    clock_t end = clock() + (wanted ? atol(wanted) : 0) * (CLOCKS_PER_SEC / 1000);

    atomic_store(&initialising, true);
    while (wanted && clock() < end)
        ;
    atomic_store(&initialising, false);
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemFree(CUdeviceptr memory)
{
    if (atomic_load(&initialising))
        atomic_fetch_add(&freed_meanwhile, 1);
    return memory ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    static _Atomic uintptr_t made;

    (void)module;
    *function = *name ? (CUfunction)((atomic_fetch_add(&made, 1) + 1) << 4) : NULL;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
