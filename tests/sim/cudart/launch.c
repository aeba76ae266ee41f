/* Launches, and queries of kernels. */
#include "tests/sim/cudart/cudart.h"

#include <string.h>

cudaError_t gv_rt_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                   size_t sharedMem, cudaStream_t stream)
{
    CUkernel kernel;
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_kernel(func, &kernel));
    return gv_rt_result(DRIVER(cuLaunchKernel)((CUfunction)kernel, gridDim.x, gridDim.y, gridDim.z,
                                               blockDim.x, blockDim.y, blockDim.z,
                                               (unsigned int)sharedMem, stream, args, NULL));
}

cudaError_t gv_rt_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                      void **args)
{
    CUkernel kernel;
    if (!config)
        return cudaErrorInvalidValue;
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_kernel(func, &kernel));
    CUlaunchConfig driver = {.gridDimX = config->gridDim.x,
                             .gridDimY = config->gridDim.y,
                             .gridDimZ = config->gridDim.z,
                             .blockDimX = config->blockDim.x,
                             .blockDimY = config->blockDim.y,
                             .blockDimZ = config->blockDim.z,
                             .sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
                             .hStream = config->stream,
                             .attrs = (CUlaunchAttribute *)config->attrs,
                             .numAttrs = config->numAttrs};
    return gv_rt_result(DRIVER(cuLaunchKernelEx)(&driver, (CUfunction)kernel, args, NULL));
}

cudaError_t gv_rt___cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                                     size_t sharedMem, cudaStream_t stream)
{
    GV_RT_FORWARD(DRIVER(cuLaunchKernel)((CUfunction)kernel, gridDim.x, gridDim.y, gridDim.z,
                                         blockDim.x, blockDim.y, blockDim.z,
                                         (unsigned int)sharedMem, stream, args, NULL));
}

cudaError_t gv_rt_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    GV_RT_FORWARD(DRIVER(cuLaunchHostFunc)(stream, fn, userData));
}

static int fact(CUkernel kernel, CUfunction_attribute attribute)
{
    int value = 0;
    return DRIVER(cuKernelGetAttribute)(&value, attribute, kernel, 0) ? 0 : value;
}

cudaError_t gv_rt_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    CUkernel kernel;
    if (!attr)
        return cudaErrorInvalidValue;
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_kernel(func, &kernel));
    memset(attr, 0, sizeof *attr);
    attr->maxThreadsPerBlock = fact(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    attr->numRegs = fact(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS);
    attr->localSizeBytes = (size_t)fact(kernel, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    attr->binaryVersion = fact(kernel, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    attr->ptxVersion = fact(kernel, CU_FUNC_ATTRIBUTE_PTX_VERSION);
    return cudaSuccess;
}

GV_RT_EXPORT cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    CUkernel kernel;
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_kernel(func, &kernel));
    return gv_rt_result(DRIVER(cuKernelGetName)(name, kernel));
}

cudaError_t gv_rt_cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                      enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                      unsigned int numJitOptions,
                                      enum cudaLibraryOption *libraryOptions,
                                      void **libraryOptionValues, unsigned int numLibraryOptions)
{
    GV_RT_FORWARD(DRIVER(cuLibraryLoadData)(
        (CUlibrary *)library, code, (CUjit_option *)jitOptions, jitOptionsValues, numJitOptions,
        (CUlibraryOption *)libraryOptions, libraryOptionValues, numLibraryOptions));
}

cudaError_t gv_rt_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                          enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                          unsigned int numJitOptions,
                                          enum cudaLibraryOption *libraryOptions,
                                          void **libraryOptionValues,
                                          unsigned int numLibraryOptions)
{
    GV_RT_FORWARD(DRIVER(cuLibraryLoadFromFile)(
        (CUlibrary *)library, fileName, (CUjit_option *)jitOptions, jitOptionsValues, numJitOptions,
        (CUlibraryOption *)libraryOptions, libraryOptionValues, numLibraryOptions));
}

cudaError_t gv_rt_cudaLibraryUnload(cudaLibrary_t library)
{
    GV_RT_FORWARD(DRIVER(cuLibraryUnload)((CUlibrary)library));
}

cudaError_t gv_rt_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
                                       const char *name)
{
    GV_RT_FORWARD(DRIVER(cuLibraryGetKernel)((CUkernel *)pKernel, (CUlibrary)library, name));
}
