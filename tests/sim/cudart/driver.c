/*
 * Finds the driver as NVIDIA's runtime does: dlopen, dlsym of cuGetProcAddress_v2, a probe with an
 * empty name, then cuGetProcAddress through itself, continuing with the returned pointer. It asks
 * for each call twice: for the legacy and for the per-thread default stream.
 */
#include "tests/sim/cudart/cudart.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

struct gv_rt_driver gv_rt_drivers[2];
__typeof__(cuGetProcAddress_v2) *gv_rt_ask;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t start_error;

static CUresult missing(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static void *ask(const char *name, int version, int per_thread)
{
    void *found = NULL;
    CUdriverProcAddressQueryResult status;
    cuuint64_t flags = per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0;
    if (gv_rt_ask(name, &found, version, flags, &status) || !found)
        return (void *)missing;
    return found;
}

static cudaError_t find_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return cudaErrorInsufficientDriver;
    gv_rt_ask = (__typeof__(gv_rt_ask))dlsym(driver, "cuGetProcAddress_v2");
    if (!gv_rt_ask)
        return cudaErrorInsufficientDriver;
    void *found = NULL;
    CUdriverProcAddressQueryResult status;
    if (gv_rt_ask("", &found, CUDA_VERSION, 0, &status) == CUDA_ERROR_STUB_LIBRARY)
        return cudaErrorStubLibrary;
    gv_rt_ask("cuGetProcAddress", &found, 11030, 0, &status);
    found = NULL;
    if (gv_rt_ask("cuGetProcAddress", &found, 12000, 0, &status) || !found)
        return cudaErrorInsufficientDriver;
    gv_rt_ask = (__typeof__(gv_rt_ask))found;
#define GV_RT_CALL(symbol, name, version)                                                          \
    for (int i = 0; i < 2; i++)                                                                    \
        gv_rt_drivers[i].p_##symbol = (__typeof__(symbol) *)ask(#name, version, i);
#include "tests/sim/cudart/driver_calls.def"
    return cudaSuccess;
}

static void start(void)
{
    start_error = find_driver();
}

/* Calls cuInit each time: it is cheap, and in a forked child it reports the error. */
cudaError_t gv_rt_start(void)
{
    static _Thread_local bool ready;
    if (ready)
        return cudaSuccess;
    pthread_once(&once, start);
    if (start_error)
        return start_error;
    cudaError_t error = gv_rt_result(DRIVER(cuInit)(0));
    ready = !error;
    return error;
}
