/*
 * Memory: what each address is. Device memory is host memory that the program should not touch, so
 * that copies really copy.
 *
 * Freeing waits until the context is idle, and blocks other threads that queue work meanwhile.
 * Allocating waits only for the locks. Seen on an H100: while a thread allocates, pins, frees or
 * unpins, no other thread may queue work in the context or ask
 * what an address is; and one thread of the whole process does so at a time. Pinned memory takes
 * long.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE      4096u
#define ALIGNMENT 512u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gv_sim_range *ranges; /* by address */
static size_t range_count, range_room;
static size_t used_bytes;
static uint64_t next_id = 1;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The context's `work` is locked. */
static void change_begin(struct gv_sim_context *c, size_t size_bytes, enum gv_sim_memory memory,
                         bool frees)
{
    static const uint64_t part[][2] = {[GV_SIM_PINNED] = {1, 3}, [GV_SIM_REGISTERED] = {8, 28}};
    pthread_mutex_lock(&one_at_a_time);
    pthread_mutex_lock(&c->addresses);
    if (memory == GV_SIM_PINNED || memory == GV_SIM_REGISTERED)
        gv_sim_pass((size_bytes >> 20) * gv_sim_settings.pin_ns_per_mb / part[memory][frees]);
    gv_sim_machine_enter();
    if (frees)
        gv_sim_pass((size_bytes >> 20) * gv_sim_settings.free_ns_per_mb);
}

static void change_end(struct gv_sim_context *c)
{
    gv_sim_machine_leave();
    pthread_mutex_unlock(&c->addresses);
    pthread_mutex_unlock(&one_at_a_time);
}

void gv_sim_memory_ask(void)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return;
    pthread_mutex_lock(&c->addresses);
    pthread_mutex_unlock(&c->addresses);
}

/* The first range that ends after the address; called with the lock held. */
static size_t place_of(uintptr_t address)
{
    size_t low = 0, high = range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].start + ranges[middle].size_bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

CUresult gv_sim_memory_add(const struct gv_sim_range *range)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    size_t at = place_of(range->start);
    bool device = range->memory >= GV_SIM_DEVICE && !range->elsewhere;
    if (at < range_count && ranges[at].start < range->start + range->size_bytes)
        result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    else if (device && used_bytes + range->size_bytes > gv_sim_settings.memory_bytes)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result && range_count == range_room) {
        size_t room = range_room ? 2 * range_room : 64;
        struct gv_sim_range *more = realloc(ranges, room * sizeof *more);
        if (more) {
            ranges = more;
            range_room = room;
        } else {
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    if (!result) {
        memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof *ranges);
        ranges[at] = *range;
        ranges[at].id = next_id++;
        range_count++;
        used_bytes += device ? range->size_bytes : 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult gv_sim_memory_make(size_t size_bytes, enum gv_sim_memory memory, struct gv_sim_pool *pool,
                            void **address)
{
    if (!size_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    size_t whole = (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (whole < size_bytes || (memory >= GV_SIM_DEVICE && whole > gv_sim_settings.memory_bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool mapped = whole >= 64 * PAGE;
    void *made = mapped ? mmap(NULL, whole, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                        : aligned_alloc(ALIGNMENT, whole);
    if (!made || made == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!mapped)
        memset(made, 0, whole);
    struct gv_sim_range range = {.start = (uintptr_t)made,
                                 .size_bytes = size_bytes,
                                 .memory = memory,
                                 .context = gv_sim_current(),
                                 .pool = pool,
                                 .mapped = mapped,
                                 .own = true};
    CUresult result = gv_sim_memory_add(&range);
    if (!result)
        *address = made;
    else if (mapped)
        munmap(made, whole);
    else
        free(made);
    return result;
}

CUresult gv_sim_memory_free(uintptr_t address, bool host)
{
    struct gv_sim_range range = {0};
    pthread_mutex_lock(&lock);
    size_t at = place_of(address);
    bool found = at < range_count && ranges[at].start == address &&
                 (ranges[at].memory < GV_SIM_DEVICE) == host;
    if (found) {
        range = ranges[at];
        range_count--;
        memmove(&ranges[at], &ranges[at + 1], (range_count - at) * sizeof *ranges);
        used_bytes -= host || range.elsewhere ? 0 : range.size_bytes;
    }
    pthread_mutex_unlock(&lock);
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    if (range.pool)
        gv_sim_pool_freed(range.pool, range.size_bytes);
    size_t whole = (range.size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (range.own && range.mapped)
        munmap((void *)address, whole);
    else if (range.own)
        free((void *)address);
    return CUDA_SUCCESS;
}

bool gv_sim_memory_find(uintptr_t address, struct gv_sim_range *found)
{
    pthread_mutex_lock(&lock);
    size_t at = place_of(address);
    bool inside = at < range_count && ranges[at].start <= address;
    if (inside)
        *found = ranges[at];
    pthread_mutex_unlock(&lock);
    return inside;
}

enum gv_sim_memory gv_sim_memory_kind(const void *address)
{
    struct gv_sim_range range;
    return gv_sim_memory_find((uintptr_t)address, &range) ? range.memory : GV_SIM_PAGEABLE;
}

void gv_sim_memory_used(size_t *used)
{
    pthread_mutex_lock(&lock);
    *used = used_bytes;
    pthread_mutex_unlock(&lock);
}

bool gv_sim_memory_take(size_t size_bytes)
{
    pthread_mutex_lock(&lock);
    bool fits = used_bytes + size_bytes <= gv_sim_settings.memory_bytes;
    used_bytes += fits ? size_bytes : 0;
    pthread_mutex_unlock(&lock);
    return fits;
}

void gv_sim_memory_give_back(size_t size_bytes)
{
    pthread_mutex_lock(&lock);
    used_bytes -= size_bytes;
    pthread_mutex_unlock(&lock);
}

static CUresult make(size_t size_bytes, enum gv_sim_memory memory, void **address)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = gv_sim_unsafe();
    if (result)
        return result;
    pthread_mutex_lock(&c->memory);
    pthread_mutex_lock(&c->work);
    change_begin(c, size_bytes, memory, false);
    result = gv_sim_memory_make(size_bytes, memory, NULL, address);
    change_end(c);
    pthread_mutex_unlock(&c->work);
    pthread_mutex_unlock(&c->memory);
    return result;
}

static CUresult drain_and_free(uintptr_t address, bool host)
{
    struct gv_sim_range range;
    if (!address)
        return CUDA_SUCCESS;
    CUresult result = gv_sim_unsafe();
    if (result)
        return result;
    if (!gv_sim_memory_find(address, &range) || range.start != address)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_context *c = range.context;
    if (!gv_sim_is(c, GV_SIM_CONTEXT))
        return gv_sim_memory_free(address, host);
    pthread_mutex_lock(&c->work);
    gv_sim_context_drain_holding(c);
    change_begin(c, range.size_bytes, range.memory, true);
    result = gv_sim_memory_free(address, host);
    change_end(c);
    pthread_mutex_unlock(&c->work);
    return result;
}

CUresult gv_sim_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return make(bytesize, GV_SIM_DEVICE, (void **)dptr);
}

CUresult gv_sim_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                   size_t Height, unsigned int ElementSizeBytes)
{
    (void)ElementSizeBytes;
    if (!pPitch || !WidthInBytes || !Height)
        return CUDA_ERROR_INVALID_VALUE;
    *pPitch = (WidthInBytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return make(*pPitch * Height, GV_SIM_DEVICE, (void **)dptr);
}

CUresult gv_sim_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    return make(bytesize, GV_SIM_MANAGED, (void **)dptr);
}

CUresult gv_sim_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    return Flags > 7 ? CUDA_ERROR_INVALID_VALUE : make(bytesize, GV_SIM_PINNED, pp);
}

CUresult gv_sim_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return make(bytesize, GV_SIM_PINNED, pp);
}

CUresult gv_sim_cuMemAllocHost(void **pp, unsigned int bytesize)
{
    return make(bytesize, GV_SIM_PINNED, pp);
}

CUresult gv_sim_cuMemFree_v2(CUdeviceptr dptr)
{
    return drain_and_free((uintptr_t)dptr, false);
}

CUresult gv_sim_cuMemFreeHost(void *p)
{
    return drain_and_free((uintptr_t)p, true);
}

CUresult gv_sim_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!p || !bytesize || Flags > 15)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_range range = {
        .start = (uintptr_t)p, .size_bytes = bytesize, .memory = GV_SIM_REGISTERED, .context = c};
    pthread_mutex_lock(&c->work);
    change_begin(c, bytesize, GV_SIM_REGISTERED, false);
    CUresult result = gv_sim_memory_add(&range);
    change_end(c);
    pthread_mutex_unlock(&c->work);
    return result;
}

CUresult gv_sim_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return gv_sim_cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult gv_sim_cuMemHostUnregister(void *p)
{
    struct gv_sim_range range;
    if (!gv_sim_memory_find((uintptr_t)p, &range) || range.memory != GV_SIM_REGISTERED)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return drain_and_free(range.start, true);
}

CUresult gv_sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    gv_sim_memory_ask();
    if (!pdptr || Flags || gv_sim_memory_kind(p) == GV_SIM_PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;
    *pdptr = (CUdeviceptr)p;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    if (!gv_sim_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    gv_sim_memory_ask();
    size_t used;
    gv_sim_machine_enter();
    gv_sim_memory_used(&used);
    gv_sim_machine_leave();
    if (free_bytes)
        *free_bytes = gv_sim_settings.memory_bytes - used;
    if (total)
        *total = gv_sim_settings.memory_bytes;
    return CUDA_SUCCESS;
}
