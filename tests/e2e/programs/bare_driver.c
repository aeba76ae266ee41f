/* A driver whose calls do next to nothing, and take no lock: a signal handler may make them. */
#include <cuda.h>

#include <stdatomic.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult CUDAAPI cuInit(unsigned int flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuMemFree(CUdeviceptr memory)
{
    return memory ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    static _Atomic uintptr_t made;

    (void)module;
    *function = *name ? (CUfunction)((atomic_fetch_add(&made, 1) + 1) << 4) : NULL;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
