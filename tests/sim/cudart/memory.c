/* Memory, copies and fills. */
#include "tests/sim/cudart/cudart.h"

cudaError_t gv_rt_cudaMalloc(void **devPtr, size_t size)
{
    GV_RT_FORWARD(DRIVER(cuMemAlloc_v2)((CUdeviceptr *)devPtr, size));
}

cudaError_t gv_rt_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    GV_RT_FORWARD(DRIVER(cuMemAllocManaged)((CUdeviceptr *)devPtr, size, flags));
}

cudaError_t gv_rt_cudaMallocHost(void **ptr, size_t size)
{
    GV_RT_FORWARD(DRIVER(cuMemAllocHost_v2)(ptr, size));
}

cudaError_t gv_rt_cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    GV_RT_FORWARD(DRIVER(cuMemHostAlloc)(pHost, size, flags));
}

cudaError_t gv_rt_cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    GV_RT_FORWARD(DRIVER(cuMemHostRegister_v2)(ptr, size, flags));
}

cudaError_t gv_rt_cudaHostUnregister(void *ptr)
{
    GV_RT_FORWARD(DRIVER(cuMemHostUnregister)(ptr));
}

cudaError_t gv_rt_cudaFree(void *devPtr)
{
    GV_RT_FORWARD(DRIVER(cuMemFree_v2)((CUdeviceptr)devPtr));
}

cudaError_t gv_rt_cudaFreeHost(void *ptr)
{
    GV_RT_FORWARD(DRIVER(cuMemFreeHost)(ptr));
}

cudaError_t gv_rt_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    GV_RT_FORWARD(DRIVER(cuMemAllocAsync)((CUdeviceptr *)devPtr, size, hStream));
}

cudaError_t gv_rt_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    GV_RT_FORWARD(DRIVER(cuMemFreeAsync)((CUdeviceptr)devPtr, hStream));
}

cudaError_t gv_rt_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    GV_RT_FORWARD(DRIVER(cuDeviceGetMemPool)(memPool, device));
}

cudaError_t gv_rt_cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                          void *value)
{
    GV_RT_FORWARD(DRIVER(cuMemPoolSetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t gv_rt_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    GV_RT_FORWARD(DRIVER(cuMemGetInfo_v2)(free_bytes, total));
}

static CUresult copy(uintptr_t dst, uintptr_t src, size_t count, enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return DRIVER(cuMemcpyHtoD_v2)(dst, (const void *)src, count);
    case cudaMemcpyDeviceToHost:
        return DRIVER(cuMemcpyDtoH_v2)((void *)dst, src, count);
    case cudaMemcpyDeviceToDevice:
        return DRIVER(cuMemcpyDtoD_v2)(dst, src, count);
    default:
        return DRIVER(cuMemcpy)(dst, src, count);
    }
}

static CUresult copy_async(uintptr_t dst, uintptr_t src, size_t count, enum cudaMemcpyKind kind,
                           cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return DRIVER(cuMemcpyHtoDAsync_v2)(dst, (const void *)src, count, stream);
    case cudaMemcpyDeviceToHost:
        return DRIVER(cuMemcpyDtoHAsync_v2)((void *)dst, src, count, stream);
    case cudaMemcpyDeviceToDevice:
        return DRIVER(cuMemcpyDtoDAsync_v2)(dst, src, count, stream);
    default:
        return DRIVER(cuMemcpyAsync)(dst, src, count, stream);
    }
}

static cudaError_t check_kind(enum cudaMemcpyKind kind)
{
    return (unsigned)kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection : cudaSuccess;
}

cudaError_t gv_rt_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    GV_RT_TRY(check_kind(kind));
    GV_RT_FORWARD(copy((uintptr_t)dst, (uintptr_t)src, count, kind));
}

cudaError_t gv_rt_cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                  enum cudaMemcpyKind kind, cudaStream_t stream)
{
    GV_RT_TRY(check_kind(kind));
    GV_RT_FORWARD(copy_async((uintptr_t)dst, (uintptr_t)src, count, kind, stream));
}

cudaError_t gv_rt_cudaMemset(void *devPtr, int value, size_t count)
{
    GV_RT_FORWARD(DRIVER(cuMemsetD8_v2)((CUdeviceptr)devPtr, (unsigned char)value, count));
}

cudaError_t gv_rt_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    GV_RT_FORWARD(
        DRIVER(cuMemsetD8Async)((CUdeviceptr)devPtr, (unsigned char)value, count, stream));
}
