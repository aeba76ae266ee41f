/*
 * Virtual memory management for one mapping per allocation: reserve, create, map, unmap, release.
 * Two mappings of one allocation do not share bytes.
 */
#include "tests/sim/sim.h"

#include <sys/mman.h>

#define GRANULARITY ((size_t)2 << 20)

struct gv_sim_allocation {
    struct gv_sim_object object;
    size_t size_bytes;
    CUmemAllocationProp properties;
};

CUresult gv_sim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                              CUmemAllocationGranularity_flags option)
{
    (void)option;
    if (!granularity || !prop)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                    CUdeviceptr addr, unsigned long long flags)
{
    if (!ptr || !size || size % GRANULARITY || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (alignment < GRANULARITY)
        alignment = GRANULARITY;
    void *made = mmap((void *)addr, size + alignment, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uintptr_t start = ((uintptr_t)made + alignment - 1) / alignment * alignment;
    if (start > (uintptr_t)made)
        munmap(made, start - (uintptr_t)made);
    munmap((void *)(start + size), (uintptr_t)made + alignment - start);
    *ptr = start;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    return ptr && size && !munmap((void *)ptr, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult gv_sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                            const CUmemAllocationProp *prop, unsigned long long flags)
{
    if (!handle || !size || size % GRANULARITY || !prop || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_allocation *made = gv_sim_object_new(GV_SIM_MEMORY, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->size_bytes = size;
    made->properties = *prop;
    *handle = (CUmemGenericAllocationHandle)made;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    if (!gv_sim_is((void *)handle, GV_SIM_MEMORY))
        return CUDA_ERROR_INVALID_VALUE;
    gv_sim_object_free((void *)handle);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                       CUmemGenericAllocationHandle handle)
{
    if (!prop || !gv_sim_is((void *)handle, GV_SIM_MEMORY))
        return CUDA_ERROR_INVALID_VALUE;
    *prop = ((struct gv_sim_allocation *)handle)->properties;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    if (!gv_sim_is((void *)handle, GV_SIM_MEMORY) || !ptr || !size || offset || flags ||
        size > ((struct gv_sim_allocation *)handle)->size_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_range range = {
        .start = ptr, .size_bytes = size, .memory = GV_SIM_DEVICE, .context = gv_sim_current()};
    if (mprotect((void *)ptr, size, PROT_READ | PROT_WRITE))
        return CUDA_ERROR_INVALID_VALUE;
    return gv_sim_memory_add(&range);
}

CUresult gv_sim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                               size_t count)
{
    return ptr && size && desc && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult gv_sim_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult result = gv_sim_memory_free((uintptr_t)ptr, false);
    if (!result)
        gv_sim_machine_free(size);
    if (!result &&
        mmap((void *)ptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        result = CUDA_ERROR_UNKNOWN;
    return result;
}
