/*
 * Stream-ordered allocation and memory pools.
 *
 * A pool maps memory when it has too little, and keeps what is freed until the next
 * synchronisation. That unmaps what is above the pool's threshold, which is 0 at first. As on an
 * H100, mapping a gigabyte takes 11.5 ms the first time and 1.4 ms again, and unmapping it 1.9 ms.
 */
#include "tests/sim/sim.h"

struct gv_sim_pool {
    struct gv_sim_object object;
    struct gv_sim_pool *next; /* of those that memory came from */
    int device;
    bool used;
    uint64_t used_bytes, kept_bytes, most_bytes;
    uint64_t free_ns; /* when the last of its memory is free */
    uint64_t attributes[16];
};

_Atomic bool gv_sim_pools_used;

static struct gv_sim_pool *pools, *defaults[GV_SIM_DEVICES_MAX], *chosen[GV_SIM_DEVICES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct gv_sim_pool *pool_new(int device)
{
    struct gv_sim_pool *pool = gv_sim_object_new(GV_SIM_POOL, sizeof *pool);
    if (pool)
        pool->device = device;
    return pool;
}

CUresult gv_sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    CUresult result = gv_sim_device_check(dev);
    if (result || !pool_out)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (!defaults[dev])
        defaults[dev] = pool_new(dev);
    *pool_out = (CUmemoryPool)defaults[dev];
    pthread_mutex_unlock(&lock);
    return *pool_out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gv_sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    CUresult result = gv_sim_cuDeviceGetDefaultMemPool(pool, dev);
    if (!result && chosen[dev])
        *pool = (CUmemoryPool)chosen[dev];
    return result;
}

/* The first three attributes are int, the others 64 bits wide. */
CUresult gv_sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    if (!gv_sim_is(pool, GV_SIM_POOL) || !value || (unsigned)attr >= 16)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_pool *p = (struct gv_sim_pool *)pool;
    p->attributes[attr] = attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
                              ? *(unsigned int *)value
                              : *(cuuint64_t *)value;
    return CUDA_SUCCESS;
}

/* How much faster than mapping memory for the first time. */
#define AGAIN 8u
#define UNMAP 6u

static void pool_pass(uint64_t size_bytes)
{
    gv_sim_pass(size_bytes * 1000 / gv_sim_settings.pool_bytes_per_us);
}

/* Makes room. Returns how many bytes to map, as if all were mapped for the first time. */
static uint64_t pool_take(struct gv_sim_pool *pool, size_t size_bytes)
{
    uint64_t mapped_bytes = 0;
    pthread_mutex_lock(&lock);
    if (!pool->used) {
        pool->used = true;
        pool->next = pools;
        pools = pool;
        atomic_store(&gv_sim_pools_used, true);
    }
    pool->used_bytes += size_bytes;
    if (pool->used_bytes > pool->most_bytes) {
        mapped_bytes = pool->used_bytes - pool->most_bytes;
        mapped_bytes += (pool->most_bytes - pool->kept_bytes) / AGAIN;
        pool->most_bytes = pool->kept_bytes = pool->used_bytes;
    } else if (pool->used_bytes > pool->kept_bytes) {
        mapped_bytes = (pool->used_bytes - pool->kept_bytes) / AGAIN;
        pool->kept_bytes = pool->used_bytes;
    }
    pthread_mutex_unlock(&lock);
    return mapped_bytes;
}

/* Takes its turn with those who change the memory of the context. */
static void pool_grow(uint64_t mapped_bytes)
{
    if (!mapped_bytes)
        return;
    gv_sim_memory_ask();
    pool_pass(mapped_bytes);
}

void gv_sim_pool_freed(struct gv_sim_pool *pool, size_t size_bytes)
{
    pthread_mutex_lock(&lock);
    if (gv_sim_is(pool, GV_SIM_POOL))
        pool->used_bytes -= size_bytes;
    pthread_mutex_unlock(&lock);
}

/* Returns how many bytes to unmap. */
static uint64_t pool_trim(struct gv_sim_pool *pool, uint64_t keep_bytes)
{
    uint64_t unmapped_bytes = 0;
    if (keep_bytes < pool->used_bytes)
        keep_bytes = pool->used_bytes;
    if (keep_bytes < pool->kept_bytes && gv_sim_now_ns() >= pool->free_ns) {
        unmapped_bytes = pool->kept_bytes - keep_bytes;
        pool->kept_bytes = keep_bytes;
    }
    return unmapped_bytes;
}

void gv_sim_pools_release(void)
{
    uint64_t unmapped_bytes = 0;
    pthread_mutex_lock(&lock);
    for (struct gv_sim_pool *pool = pools; pool; pool = pool->next)
        unmapped_bytes += pool_trim(pool, pool->attributes[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD]);
    pthread_mutex_unlock(&lock);
    pool_pass(unmapped_bytes / UNMAP);
}

CUresult gv_sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    if (!gv_sim_is(pool, GV_SIM_POOL))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    uint64_t unmapped_bytes = pool_trim((struct gv_sim_pool *)pool, minBytesToKeep);
    pthread_mutex_unlock(&lock);
    pool_pass(unmapped_bytes / UNMAP);
    return CUDA_SUCCESS;
}

/* Allocating and freeing in stream order waits for nothing. */
static CUresult in_order(CUstream hStream, struct gv_sim_stream **stream)
{
    CUresult result;
    *stream = gv_sim_stream_of(hStream, &result);
    if (*stream && gv_sim_captured(*stream, &result) && !result)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; /* allocation nodes are not simulated */
    return result;
}

CUresult gv_sim_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                        CUstream hStream)
{
    struct gv_sim_stream *s;
    CUresult result = in_order(hStream, &s);
    if (result || !dptr || !gv_sim_is(pool, GV_SIM_POOL))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_pool *from = (struct gv_sim_pool *)pool;
    void *address = NULL;
    /* Takes no time in the stream, and does not wait for another thread's load (measured). */
    result = gv_sim_memory_make(bytesize, GV_SIM_DEVICE, from, &address);
    if (!result)
        pool_grow(pool_take(from, bytesize));
    *dptr = (CUdeviceptr)address;
    return result;
}

CUresult gv_sim_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    CUmemoryPool pool;
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (s)
        result = gv_sim_cuDeviceGetMemPool(&pool, s->context->device);
    return result ? result : gv_sim_cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream);
}

CUresult gv_sim_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct gv_sim_stream *s;
    struct gv_sim_range range = {0};
    CUresult result = in_order(hStream, &s);
    if (result)
        return result;
    gv_sim_stream_lock(s);
    gv_sim_memory_find((uintptr_t)dptr, &range);
    result = gv_sim_memory_free((uintptr_t)dptr, false);
    if (!result) {
        uint64_t end_ns = gv_sim_stream_push(s, 0);
        pthread_mutex_lock(&lock);
        if (gv_sim_is(range.pool, GV_SIM_POOL) && range.pool->free_ns < end_ns)
            range.pool->free_ns = end_ns;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&s->context->work);
    return result;
}
