/* Devices, the current one of each thread, errors. */
#include "tests/sim/cudart/cudart.h"

#include <stdio.h>
#include <string.h>

static _Thread_local int current_device;
static _Thread_local cudaError_t last_error;
static CUcontext retained[64];

cudaError_t gv_rt_failed(cudaError_t error)
{
    if (error != cudaErrorNotReady)
        last_error = error;
    return error;
}

GV_RT_EXPORT cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

GV_RT_EXPORT cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

GV_RT_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define GV_SIM_ERROR(name)                                                                         \
    case name:                                                                                     \
        return #name;
#include "tests/sim/runtime_errors.def"
    default:
        return "unrecognized error code";
    }
}

GV_RT_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    return cudaGetErrorName(error);
}

static cudaError_t bind(int device)
{
    CUcontext context;
    if (device < 0 || device >= 64)
        return cudaErrorInvalidDevice;
    GV_RT_TRY(gv_rt_result(DRIVER(cuDevicePrimaryCtxRetain)(&context, device)));
    retained[device] = context;
    return gv_rt_result(DRIVER(cuCtxSetCurrent)(context));
}

cudaError_t gv_rt_context(void)
{
    CUcontext context = NULL;
    GV_RT_TRY(gv_rt_start());
    GV_RT_TRY(gv_rt_result(DRIVER(cuCtxGetCurrent)(&context)));
    return context ? cudaSuccess : bind(current_device);
}

cudaError_t gv_rt_cudaGetDeviceCount(int *count)
{
    GV_RT_TRY(gv_rt_start());
    return gv_rt_result(DRIVER(cuDeviceGetCount)(count));
}

cudaError_t gv_rt_cudaSetDevice(int device)
{
    int count;
    GV_RT_TRY(gv_rt_cudaGetDeviceCount(&count));
    if (device < 0 || device >= count)
        return cudaErrorInvalidDevice;
    current_device = device;
    return bind(device);
}

GV_RT_EXPORT cudaError_t cudaGetDevice(int *device)
{
    if (!device)
        return gv_rt_failed(cudaErrorInvalidValue);
    *device = current_device;
    return cudaSuccess;
}

cudaError_t gv_rt_cudaSetDeviceFlags(unsigned int flags)
{
    GV_RT_TRY(gv_rt_start());
    return gv_rt_result(DRIVER(cuDevicePrimaryCtxSetFlags_v2)(current_device, flags));
}

GV_RT_EXPORT cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    int active;
    GV_RT_TRY(gv_rt_start());
    return gv_rt_result(DRIVER(cuDevicePrimaryCtxGetState)(current_device, flags, &active));
}

cudaError_t gv_rt_cudaDeviceSynchronize(void)
{
    GV_RT_FORWARD(DRIVER(cuCtxSynchronize)());
}

cudaError_t gv_rt_cudaDeviceReset(void)
{
    GV_RT_TRY(gv_rt_start());
    retained[current_device] = NULL;
    return gv_rt_result(DRIVER(cuDevicePrimaryCtxReset_v2)(current_device));
}

cudaError_t gv_rt_cudaThreadExit(void)
{
    return gv_rt_cudaDeviceReset();
}

cudaError_t gv_rt_cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    GV_RT_FORWARD(DRIVER(cuCtxGetLimit)(pValue, (CUlimit)limit));
}

cudaError_t gv_rt_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    GV_RT_FORWARD(DRIVER(cuCtxSetLimit)((CUlimit)limit, value));
}

GV_RT_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    GV_RT_FORWARD(DRIVER(cuCtxGetStreamPriorityRange)(least, greatest));
}

GV_RT_EXPORT cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    GV_RT_TRY(gv_rt_start());
    return gv_rt_result(DRIVER(cuDeviceCanAccessPeer)(can, device, peer));
}

GV_RT_EXPORT cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device)
{
    GV_RT_TRY(gv_rt_start());
    return gv_rt_result(DRIVER(cuDeviceGetPCIBusId)(id, length, device));
}

GV_RT_EXPORT cudaError_t cudaDriverGetVersion(int *version)
{
    GV_RT_TRY(gv_rt_start());
    return gv_rt_result(DRIVER(cuDriverGetVersion)(version));
}

GV_RT_EXPORT cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return gv_rt_failed(cudaErrorInvalidValue);
    *version = GV_RT_VERSION;
    return cudaSuccess;
}

GV_RT_EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    GV_RT_TRY(gv_rt_start());
    return gv_rt_failed(
        gv_rt_result(DRIVER(cuDeviceGetAttribute)(value, (CUdevice_attribute)attr, device)));
}

static int number(CUdevice_attribute attribute, int device)
{
    int value = 0;
    return DRIVER(cuDeviceGetAttribute)(&value, attribute, device) ? 0 : value;
}

GV_RT_EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    GV_RT_TRY(gv_rt_start());
    if (!prop)
        return gv_rt_failed(cudaErrorInvalidValue);
    memset(prop, 0, sizeof *prop);
    if (DRIVER(cuDeviceGetName)(prop->name, sizeof prop->name, device))
        return gv_rt_failed(cudaErrorInvalidDevice);
    DRIVER(cuDeviceGetUuid_v2)(&prop->uuid, device);
    DRIVER(cuDeviceTotalMem_v2)(&prop->totalGlobalMem, device);
    prop->major = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    prop->minor = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    prop->warpSize = number(CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
    prop->multiProcessorCount = number(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    prop->maxThreadsPerBlock = number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
    prop->maxThreadsPerMultiProcessor =
        number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device);
    prop->regsPerBlock = number(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, device);
    prop->sharedMemPerBlock =
        (size_t)number(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device);
    prop->l2CacheSize = number(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
    prop->unifiedAddressing = prop->managedMemory = prop->concurrentKernels = 1;
    prop->canMapHostMemory = prop->cooperativeLaunch = 1;
    prop->pciBusID = number(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
    for (int i = 0; i < 3; i++) {
        prop->maxThreadsDim[i] =
            number((CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i), device);
        prop->maxGridSize[i] =
            number((CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i), device);
    }
    return cudaSuccess;
}

static cudaError_t entry_point(const char *symbol, void **pointer, unsigned int version,
                               unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status)
{
    GV_RT_TRY(gv_rt_start());
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    if (gv_rt_per_thread && !flags)
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    CUresult result = gv_rt_ask(symbol, pointer, (int)version, flags, &found);
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    return gv_rt_failed(gv_rt_result(result));
}

GV_RT_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(
    const char *symbol, void **pointer, unsigned int version, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *status)
{
    return entry_point(symbol, pointer, version, flags, status);
}

/* Gone from the headers of CUDA 13, still exported. */
GV_RT_EXPORT cudaError_t gv_wide_cudaGetDriverEntryPoint(
    const char *symbol, void **pointer, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *status) __asm__("cudaGetDriverEntryPoint");
cudaError_t gv_wide_cudaGetDriverEntryPoint(const char *symbol, void **pointer,
                                            unsigned long long flags,
                                            enum cudaDriverEntryPointQueryResult *status)
{
    return entry_point(symbol, pointer, GV_RT_VERSION, flags, status);
}

GV_RT_EXPORT cudaError_t cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
    (void)id;
    if (table)
        *table = NULL;
    return cudaErrorNotSupported;
}

/* cuda_profiler_api.h declares them, which not every set of headers has. */
GV_RT_EXPORT cudaError_t cudaProfilerStart(void);
GV_RT_EXPORT cudaError_t cudaProfilerStop(void);

GV_RT_EXPORT cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

GV_RT_EXPORT cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}
