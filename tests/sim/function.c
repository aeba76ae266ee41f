/* Queries of kernels and functions: names, attributes, occupancy. */
#include "tests/sim/sim.h"

#define THREADS_PER_PROCESSOR 2048
#define PROCESSORS            132

static struct gv_sim_entry *entry_of(const void *handle)
{
    if (gv_sim_is(handle, GV_SIM_FUNCTION))
        return ((const struct gv_sim_function *)handle)->entry;
    if (gv_sim_is(handle, GV_SIM_KERNEL))
        return ((const struct gv_sim_kernel *)handle)->entry;
    return NULL;
}

CUresult gv_sim_cuFuncGetName(const char **name, CUfunction hfunc)
{
    struct gv_sim_entry *entry = entry_of(hfunc);
    if (!name || !entry)
        return name ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    *name = entry->name;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuKernelGetName(const char **name, CUkernel hfunc)
{
    return gv_sim_cuFuncGetName(name, (CUfunction)hfunc);
}

CUresult gv_sim_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    if (!hmod || !gv_sim_is(hfunc, GV_SIM_FUNCTION))
        return hmod ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    *hmod = (CUmodule)((struct gv_sim_function *)hfunc)->module;
    return CUDA_SUCCESS;
}

static CUresult attribute(int *pi, CUfunction_attribute attrib, const struct gv_sim_entry *entry,
                          const int *set)
{
    if ((unsigned)attrib >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *pi = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *pi = (int)entry->local_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *pi = GV_SIM_KERNEL_REGISTERS;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *pi = 90;
        break;
    default:
        *pi = set[attrib];
    }
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    if (!pi)
        return CUDA_ERROR_INVALID_VALUE;
    if (gv_sim_is(hfunc, GV_SIM_FUNCTION))
        return attribute(pi, attrib, entry_of(hfunc),
                         ((struct gv_sim_function *)hfunc)->attributes);
    if (gv_sim_is(hfunc, GV_SIM_KERNEL))
        return attribute(pi, attrib, entry_of(hfunc), ((struct gv_sim_kernel *)hfunc)->attributes);
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult gv_sim_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                     CUdevice dev)
{
    CUresult result = gv_sim_device_check(dev);
    return result ? result : gv_sim_cuFuncGetAttribute(pi, attrib, (CUfunction)kernel);
}

CUresult gv_sim_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    if ((unsigned)attrib >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (gv_sim_is(hfunc, GV_SIM_FUNCTION))
        ((struct gv_sim_function *)hfunc)->attributes[attrib] = value;
    else if (gv_sim_is(hfunc, GV_SIM_KERNEL))
        ((struct gv_sim_kernel *)hfunc)->attributes[attrib] = value;
    else
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxResetPersistingL2Cache(void)
{
    return gv_sim_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult gv_sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks,
                                                                     CUfunction func, int blockSize,
                                                                     size_t dynamicSMemSize,
                                                                     unsigned int flags)
{
    (void)dynamicSMemSize;
    (void)flags;
    if (!entry_of(func))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!numBlocks || blockSize <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    *numBlocks = blockSize > 1024 ? 0 : THREADS_PER_PROCESSOR / blockSize;
    if (*numBlocks > 32)
        *numBlocks = 32;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                            int blockSize, size_t dynamicSMemSize)
{
    return gv_sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                       dynamicSMemSize, 0);
}

/* Calls the program's function on its own thread; it may throw through us. */
CUresult
gv_sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                                 CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                 size_t dynamicSMemSize, int blockSizeLimit,
                                                 unsigned int flags)
{
    (void)dynamicSMemSize;
    (void)flags;
    if (!entry_of(func))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!minGridSize || !blockSize || blockSizeLimit < 0)
        return CUDA_ERROR_INVALID_VALUE;
    int best = 0, limit = blockSizeLimit && blockSizeLimit < 1024 ? blockSizeLimit : 1024;
    for (int size = limit; size > 0; size = size > 32 ? (size - 1) / 32 * 32 : 0)
        if ((!blockSizeToDynamicSMemSize || blockSizeToDynamicSMemSize(size) <= 232448) && !best)
            best = size;
    *blockSize = best;
    *minGridSize = best ? PROCESSORS * (THREADS_PER_PROCESSOR / best) : 0;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                                 CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                 size_t dynamicSMemSize, int blockSizeLimit)
{
    return gv_sim_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                            blockSizeToDynamicSMemSize,
                                                            dynamicSMemSize, blockSizeLimit, 0);
}
