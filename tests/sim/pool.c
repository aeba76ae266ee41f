/* Stream-ordered allocation and memory pools. A pool only counts here. */
#include "tests/sim/sim.h"

struct gv_sim_pool {
    struct gv_sim_object object;
    int device;
    uint64_t attributes[16];
};

static struct gv_sim_pool *defaults[GV_SIM_DEVICES_MAX], *chosen[GV_SIM_DEVICES_MAX];
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

CUresult gv_sim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    CUresult result = gv_sim_device_check(dev);
    if (result || !gv_sim_is(pool, GV_SIM_POOL))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    chosen[dev] = (struct gv_sim_pool *)pool;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    if (!pool || !poolProps)
        return CUDA_ERROR_INVALID_VALUE;
    *pool = (CUmemoryPool)pool_new(poolProps->location.id);
    return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gv_sim_cuMemPoolDestroy(CUmemoryPool pool)
{
    if (!gv_sim_is(pool, GV_SIM_POOL))
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < GV_SIM_DEVICES_MAX; i++) {
        if (pool == (CUmemoryPool)defaults[i])
            return CUDA_ERROR_INVALID_VALUE;
        if (pool == (CUmemoryPool)chosen[i])
            chosen[i] = NULL;
    }
    gv_sim_object_free(pool);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    (void)minBytesToKeep;
    return gv_sim_is(pool, GV_SIM_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult gv_sim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    return gv_sim_is(pool, GV_SIM_POOL) && (map || !count) ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_VALUE;
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

CUresult gv_sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    if (!gv_sim_is(pool, GV_SIM_POOL) || !value || (unsigned)attr >= 16)
        return CUDA_ERROR_INVALID_VALUE;
    const struct gv_sim_pool *p = (struct gv_sim_pool *)pool;
    if (attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
        *(unsigned int *)value = (unsigned int)p->attributes[attr];
    else
        *(cuuint64_t *)value = p->attributes[attr];
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

CUresult gv_sim_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    struct gv_sim_stream *s;
    CUresult result = in_order(hStream, &s);
    if (result || !dptr)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    void *address = NULL;
    /* Takes no time in the stream, and does not wait for another thread's load (measured). */
    result = gv_sim_memory_make(bytesize, GV_SIM_DEVICE, &address);
    *dptr = (CUdeviceptr)address;
    return result;
}

CUresult gv_sim_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                        CUstream hStream)
{
    if (!gv_sim_is(pool, GV_SIM_POOL))
        return CUDA_ERROR_INVALID_VALUE;
    return gv_sim_cuMemAllocAsync(dptr, bytesize, hStream);
}

CUresult gv_sim_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct gv_sim_stream *s;
    CUresult result = in_order(hStream, &s);
    if (result)
        return result;
    gv_sim_stream_lock(s);
    result = gv_sim_memory_free((uintptr_t)dptr, false);
    if (!result)
        gv_sim_stream_push(s, 0);
    pthread_mutex_unlock(&s->context->work);
    return result;
}
