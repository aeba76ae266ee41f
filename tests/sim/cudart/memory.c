/* Memory, copies and fills. */
#include "tests/sim/cudart/cudart.h"

cudaError_t gv_rt_cudaMalloc(void **devPtr, size_t size)
{
    GV_RT_FORWARD(DRIVER(cuMemAlloc_v2)((CUdeviceptr *)devPtr, size));
}

cudaError_t gv_rt_cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    GV_RT_FORWARD(DRIVER(cuMemAllocPitch_v2)((CUdeviceptr *)devPtr, pitch, width, height, 4));
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

cudaError_t gv_rt_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                          cudaStream_t stream)
{
    GV_RT_FORWARD(DRIVER(cuMemAllocFromPoolAsync)((CUdeviceptr *)ptr, size, memPool, stream));
}

cudaError_t gv_rt_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    GV_RT_FORWARD(DRIVER(cuMemFreeAsync)((CUdeviceptr)devPtr, hStream));
}

cudaError_t gv_rt_cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    GV_RT_FORWARD(DRIVER(cuDeviceGetDefaultMemPool)(memPool, device));
}

cudaError_t gv_rt_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    GV_RT_FORWARD(DRIVER(cuDeviceGetMemPool)(memPool, device));
}

cudaError_t gv_rt_cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    GV_RT_FORWARD(DRIVER(cuDeviceSetMemPool)(device, memPool));
}

cudaError_t gv_rt_cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    GV_RT_FORWARD(DRIVER(cuMemPoolTrimTo)(memPool, minBytesToKeep));
}

cudaError_t gv_rt_cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                          void *value)
{
    GV_RT_FORWARD(DRIVER(cuMemPoolSetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t gv_rt_cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                          void *value)
{
    GV_RT_FORWARD(DRIVER(cuMemPoolGetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t gv_rt_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    GV_RT_FORWARD(DRIVER(cuMemGetInfo_v2)(free_bytes, total));
}

cudaError_t gv_rt_cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    GV_RT_FORWARD(DRIVER(cuMemHostGetDevicePointer_v2)((CUdeviceptr *)device, host, flags));
}

cudaError_t gv_rt_cudaHostGetFlags(unsigned int *flags, void *host)
{
    GV_RT_FORWARD(DRIVER(cuMemHostGetFlags)(flags, host));
}

cudaError_t gv_rt_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                           const void *ptr)
{
    unsigned int type = 0, managed = 0;
    int device = -2;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *answers[] = {&type, &managed, &device};
    if (!attributes)
        return gv_rt_failed(cudaErrorInvalidValue);
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_result(DRIVER(cuPointerGetAttributes)(3, asked, answers, (CUdeviceptr)ptr)));
    *attributes = (struct cudaPointerAttributes){
        .type = managed                        ? cudaMemoryTypeManaged
                : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                               : cudaMemoryTypeUnregistered,
        .device = device,
        .devicePointer = type ? (void *)ptr : NULL,
        .hostPointer = type == CU_MEMORYTYPE_HOST || managed || !type ? (void *)ptr : NULL};
    return cudaSuccess;
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

cudaError_t gv_rt_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                     size_t offset, enum cudaMemcpyKind kind)
{
    CUdeviceptr address;
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_variable(symbol, &address, NULL));
    return gv_rt_result(copy(address + offset, (uintptr_t)src, count, kind));
}

cudaError_t gv_rt_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                       enum cudaMemcpyKind kind)
{
    CUdeviceptr address;
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_variable(symbol, &address, NULL));
    return gv_rt_result(copy((uintptr_t)dst, address + offset, count, kind));
}

cudaError_t gv_rt_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                          size_t offset, enum cudaMemcpyKind kind,
                                          cudaStream_t stream)
{
    CUdeviceptr address;
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_variable(symbol, &address, NULL));
    return gv_rt_result(copy_async(address + offset, (uintptr_t)src, count, kind, stream));
}

cudaError_t gv_rt_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                            size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream)
{
    CUdeviceptr address;
    GV_RT_TRY(gv_rt_context());
    GV_RT_TRY(gv_rt_variable(symbol, &address, NULL));
    return gv_rt_result(copy_async((uintptr_t)dst, address + offset, count, kind, stream));
}

cudaError_t gv_rt_cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    GV_RT_TRY(gv_rt_context());
    return gv_rt_variable(symbol, (CUdeviceptr *)devPtr, NULL);
}

cudaError_t gv_rt_cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr address;
    GV_RT_TRY(gv_rt_context());
    return gv_rt_variable(symbol, &address, size);
}

static CUDA_MEMCPY2D rectangle(void *dst, size_t dpitch, const void *src, size_t spitch,
                               size_t width, size_t height)
{
    /* The driver knows which side is the device. */
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (CUdeviceptr)src,
                           .srcPitch = spitch,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (CUdeviceptr)dst,
                           .dstPitch = dpitch,
                           .WidthInBytes = width,
                           .Height = height};
}

cudaError_t gv_rt_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                               size_t width, size_t height, enum cudaMemcpyKind kind)
{
    GV_RT_TRY(check_kind(kind));
    CUDA_MEMCPY2D whole = rectangle(dst, dpitch, src, spitch, width, height);
    GV_RT_FORWARD(DRIVER(cuMemcpy2DUnaligned_v2)(&whole));
}

cudaError_t gv_rt_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                    size_t width, size_t height, enum cudaMemcpyKind kind,
                                    cudaStream_t stream)
{
    GV_RT_TRY(check_kind(kind));
    CUDA_MEMCPY2D whole = rectangle(dst, dpitch, src, spitch, width, height);
    GV_RT_FORWARD(DRIVER(cuMemcpy2DAsync_v2)(&whole, stream));
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

cudaError_t gv_rt_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    GV_RT_FORWARD(
        DRIVER(cuMemsetD2D8_v2)((CUdeviceptr)devPtr, pitch, (unsigned char)value, width, height));
}

cudaError_t gv_rt_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                    size_t height, cudaStream_t stream)
{
    GV_RT_FORWARD(DRIVER(cuMemsetD2D8Async)((CUdeviceptr)devPtr, pitch, (unsigned char)value, width,
                                            height, stream));
}
