/*
 * Virtual memory management: reserve, create, map, unmap, retain, release. Memory lives until its
 * last handle is released and its last mapping is gone. Two mappings of one allocation do not share
 * bytes; nor do a process's memory and what another process opens of it.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRANULARITY ((size_t)2 << 20)

struct gv_sim_allocation {
    struct gv_sim_object object;
    size_t size_bytes;
    CUmemAllocationProp properties;
    unsigned handles, mappings;
};

struct mapping {
    struct mapping *next;
    CUdeviceptr start;
    size_t size_bytes;
    struct gv_sim_allocation *of;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

static bool is_on_device(const struct gv_sim_allocation *allocation)
{
    return allocation->properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

/* Called with the lock held. */
static void end_if_unused(struct gv_sim_allocation *allocation)
{
    if (allocation->handles || allocation->mappings)
        return;
    if (is_on_device(allocation))
        gv_sim_memory_give_back(allocation->size_bytes);
    gv_sim_object_free(allocation);
}

/* Called with the lock held. NULL: nothing is mapped there. */
static struct mapping **mapping_at(CUdeviceptr address)
{
    struct mapping **at = &mappings;

    while (*at && (address < (*at)->start || address - (*at)->start >= (*at)->size_bytes))
        at = &(*at)->next;
    return at;
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
    made->handles = 1;
    if (is_on_device(made) && !gv_sim_memory_take(size)) {
        gv_sim_object_free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = (CUmemGenericAllocationHandle)made;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct gv_sim_allocation *allocation = (void *)handle;
    CUresult result = CUDA_ERROR_INVALID_VALUE;

    pthread_mutex_lock(&lock);
    if (gv_sim_is(allocation, GV_SIM_MEMORY) && allocation->handles) {
        allocation->handles--;
        end_if_unused(allocation);
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult gv_sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct mapping *found = *mapping_at((CUdeviceptr)addr);
    if (found) {
        found->of->handles++;
        *handle = (CUmemGenericAllocationHandle)found->of;
    }
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult gv_sim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct gv_sim_allocation *allocation = (void *)handle;
    struct mapping *mapping = malloc(sizeof *mapping);

    if (!mapping)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    bool fine = gv_sim_is(allocation, GV_SIM_MEMORY) && allocation->handles && ptr && size &&
                !offset && !flags && size <= allocation->size_bytes &&
                !mprotect((void *)ptr, size, PROT_READ | PROT_WRITE);
    struct gv_sim_range range = {.start = ptr,
                                 .size_bytes = size,
                                 .memory = GV_SIM_DEVICE,
                                 .context = gv_sim_current(),
                                 .elsewhere = true};
    CUresult result = fine ? gv_sim_memory_add(&range) : CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        *mapping =
            (struct mapping){.next = mappings, .start = ptr, .size_bytes = size, .of = allocation};
        mappings = mapping;
        allocation->mappings++;
    } else {
        free(mapping);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* Called with the lock held. */
static CUresult unmap_one(struct mapping **at)
{
    struct mapping *mapping = *at;
    CUresult result = gv_sim_memory_free((uintptr_t)mapping->start, false);

    if (!result)
        gv_sim_machine_free(mapping->size_bytes);
    if (!result &&
        mmap((void *)mapping->start, mapping->size_bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        result = CUDA_ERROR_UNKNOWN;
    *at = mapping->next;
    mapping->of->mappings--;
    end_if_unused(mapping->of);
    free(mapping);
    return result;
}

CUresult gv_sim_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult result = size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

    pthread_mutex_lock(&lock);
    for (CUdeviceptr end = ptr + size; ptr < end && !result;) {
        struct mapping **at = mapping_at(ptr);
        bool whole = *at && (*at)->start == ptr && (*at)->size_bytes <= end - ptr;
        ptr += whole ? (*at)->size_bytes : 0;
        result = whole ? unmap_one(at) : CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- other processes' memory ---- */

struct shared {
    uint64_t mark, size_bytes;
};
#define SHARED_MARK UINT64_C(0x6970632d6d656d21)

CUresult gv_sim_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct gv_sim_range range;

    if (!pHandle || !gv_sim_memory_find((uintptr_t)dptr, &range) || range.memory != GV_SIM_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    *pHandle = (CUipcMemHandle){0};
    memcpy(pHandle, &(struct shared){SHARED_MARK, range.size_bytes}, sizeof(struct shared));
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    struct shared shared;

    memcpy(&shared, &handle, sizeof shared);
    if (!pdptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || shared.mark != SHARED_MARK)
        return CUDA_ERROR_INVALID_VALUE;
    void *made = mmap(NULL, shared.size_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct gv_sim_range range = {.start = (uintptr_t)made,
                                 .size_bytes = shared.size_bytes,
                                 .memory = GV_SIM_DEVICE,
                                 .context = gv_sim_current(),
                                 .elsewhere = true};
    *pdptr = (CUdeviceptr)made;
    return gv_sim_memory_add(&range);
}

CUresult gv_sim_cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    struct gv_sim_range range;

    if (!gv_sim_memory_find((uintptr_t)dptr, &range) || !range.elsewhere)
        return CUDA_ERROR_INVALID_VALUE;
    gv_sim_memory_free((uintptr_t)dptr, false);
    munmap((void *)dptr, range.size_bytes);
    return CUDA_SUCCESS;
}
