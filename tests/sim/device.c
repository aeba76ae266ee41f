/* Devices and their attributes, initialisation, names of errors. */
#include "tests/sim/sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUresult gv_sim_device_check(CUdevice device)
{
    return device >= 0 && device < gv_sim_settings.devices ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_DEVICE;
}

/* As the real driver does for NVIDIA's tools. */
static void inject(const char *path)
{
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*initialise)(void) = NULL;
    if (library)
        *(void **)&initialise = dlsym(library, "InitializeInjection");
    if (initialise)
        initialise();
}

CUresult gv_sim_cuInit(unsigned int Flags)
{
    if (Flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&gv_sim_gate) & GV_SIM_GATE_INIT)
        gv_sim_settings_read_cuda();
    if (gv_sim_settings.no_device || gv_sim_settings.all_hidden)
        return CUDA_ERROR_NO_DEVICE;
    if (atomic_fetch_and(&gv_sim_gate, ~(unsigned)GV_SIM_GATE_INIT) & GV_SIM_GATE_INIT)
        inject(getenv("CUDA_INJECTION64_PATH"));
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = gv_sim_settings.driver_version;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuDeviceGetCount(int *count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = gv_sim_settings.devices;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuDeviceGet(CUdevice *device, int ordinal)
{
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return gv_sim_device_check(ordinal);
}

CUresult gv_sim_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    if (!name || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "GV_SIM simulated GPU %d", dev);
    return gv_sim_device_check(dev);
}

CUresult gv_sim_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(uuid->bytes, "gv-sim-device-#", 16);
    uuid->bytes[15] = (char)dev;
    return gv_sim_device_check(dev);
}

CUresult gv_sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return gv_sim_cuDeviceGetUuid_v2(uuid, dev);
}

CUresult gv_sim_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = gv_sim_settings.memory_bytes;
    return gv_sim_device_check(dev);
}

CUresult gv_sim_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    if (!pciBusId || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(pciBusId, (size_t)len, "0000:%02x:00.0", dev + 1);
    return gv_sim_device_check(dev);
}

CUresult gv_sim_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    if (!canAccessPeer)
        return CUDA_ERROR_INVALID_VALUE;
    *canAccessPeer = dev != peerDev;
    CUresult result = gv_sim_device_check(dev);
    return result ? result : gv_sim_device_check(peerDev);
}

CUresult gv_sim_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    if (!gv_sim_is(peerContext, GV_SIM_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    return Flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Roughly an H100; other attributes are 0. */
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
    [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 0x7fffffff,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 233472,
    [CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1024,
    [CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 65536,
    [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
    [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536,
    [CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 32,
    [CU_DEVICE_ATTRIBUTE_MAX_PITCH] = 0x7fffffff,
    [CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1980000,
    [CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 2619000,
    [CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 5120,
    [CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 50 << 20,
    [CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132,
    [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048,
    [CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
    [CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 3,
    [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9,
    [CU_DEVICE_ATTRIBUTE_GPU_OVERLAP] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
    [CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS] = 1,
    [CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
    [CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
    [CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
    [CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
    [CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
};

CUresult gv_sim_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    if (!pi || (int)attrib <= 0 || attrib >= CU_DEVICE_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *pi = attrib == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? dev + 1 : attributes[attrib];
    return gv_sim_device_check(dev);
}

static const char *error_name(CUresult error)
{
    switch (error) {
#define GV_SIM_ERROR(name)                                                                         \
    case name:                                                                                     \
        return #name;
#include "tests/sim/errors.def"
    default:
        return NULL;
    }
}

CUresult gv_sim_cuGetErrorName(CUresult error, const char **pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = error_name(error);
    return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult gv_sim_cuGetErrorString(CUresult error, const char **pStr)
{
    return gv_sim_cuGetErrorName(error, pStr);
}

CUresult gv_sim_cuProfilerStart(void)
{
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuProfilerStop(void)
{
    return CUDA_SUCCESS;
}
