/*
 * Walks through the driver API: at least one call of every class, always in the same order.
 *
 *     driver_tour [REPETITIONS]      default 1, or DRIVER_TOUR_REPEAT
 *
 * Prints one line per step. The output does not depend on how the program reaches the driver
 * (-DGV_REACH=..., see entry_points.h).
 */
#define GV_CALLS(ROW)                                                                              \
    ROW(cuInit, cuInit, 2000)                                                                      \
    ROW(cuDriverGetVersion, cuDriverGetVersion, 2020)                                              \
    ROW(cuDeviceGet, cuDeviceGet, 2000)                                                            \
    ROW(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000)                                  \
    ROW(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000)                            \
    ROW(cuCtxSetCurrent, cuCtxSetCurrent, 4000)                                                    \
    ROW(cuCtxGetLimit, cuCtxGetLimit, 3010)                                                        \
    ROW(cuCtxSynchronize, cuCtxSynchronize, 2000)                                                  \
    ROW(cuModuleLoadData, cuModuleLoadData, 2000)                                                  \
    ROW(cuModuleGetFunction, cuModuleGetFunction, 2000)                                            \
    ROW(cuModuleGetGlobal_v2, cuModuleGetGlobal, 3020)                                             \
    ROW(cuModuleUnload, cuModuleUnload, 2000)                                                      \
    ROW(cuLibraryLoadData, cuLibraryLoadData, 12000)                                               \
    ROW(cuLibraryGetKernel, cuLibraryGetKernel, 12000)                                             \
    ROW(cuLibraryUnload, cuLibraryUnload, 12000)                                                   \
    ROW(cuFuncGetAttribute, cuFuncGetAttribute, 2020)                                              \
    ROW(cuMemAlloc_v2, cuMemAlloc, 3020)                                                           \
    ROW(cuMemFree_v2, cuMemFree, 3020)                                                             \
    ROW(cuMemAllocHost_v2, cuMemAllocHost, 3020)                                                   \
    ROW(cuMemGetInfo_v2, cuMemGetInfo, 3020)                                                       \
    ROW(cuMemFreeHost, cuMemFreeHost, 2000)                                                        \
    ROW(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020)                                                       \
    ROW(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020)                                                       \
    ROW(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 3020)                                             \
    ROW(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 3020)                                             \
    ROW(cuMemsetD32_v2, cuMemsetD32, 3020)                                                         \
    ROW(cuMemsetD8Async, cuMemsetD8Async, 3020)                                                    \
    ROW(cuStreamCreate, cuStreamCreate, 2000)                                                      \
    ROW(cuStreamDestroy_v2, cuStreamDestroy, 4000)                                                 \
    ROW(cuStreamQuery, cuStreamQuery, 2000)                                                        \
    ROW(cuStreamSynchronize, cuStreamSynchronize, 2000)                                            \
    ROW(cuStreamWaitEvent, cuStreamWaitEvent, 3020)                                                \
    ROW(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010)                                      \
    ROW(cuStreamEndCapture, cuStreamEndCapture, 10000)                                             \
    ROW(cuEventCreate, cuEventCreate, 2000)                                                        \
    ROW(cuEventRecord, cuEventRecord, 2000)                                                        \
    ROW(cuEventSynchronize, cuEventSynchronize, 2000)                                              \
    ROW(cuEventElapsedTime, cuEventElapsedTime, 2000)                                              \
    ROW(cuEventDestroy_v2, cuEventDestroy, 4000)                                                   \
    ROW(cuLaunchKernel, cuLaunchKernel, 4000)                                                      \
    ROW(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040)                           \
    ROW(cuGraphLaunch, cuGraphLaunch, 10000)                                                       \
    ROW(cuGraphExecDestroy, cuGraphExecDestroy, 10000)                                             \
    ROW(cuGraphDestroy, cuGraphDestroy, 10000)

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/entry_points.h"
#include "kernels/ptx.h"

#include <stdint.h>
#include <string.h>

#define BYTES (1u << 20)

static void tour_copies(CUstream stream, CUfunction fill)
{
    CUdeviceptr device;
    unsigned int *pinned, pageable[4] = {1, 2, 3, 4}, value = 42;
    size_t free_bytes, all_bytes;
    CHECK(GV_CALL(cuMemGetInfo_v2)(&free_bytes, &all_bytes));
    CHECK(GV_CALL(cuMemAlloc_v2)(&device, BYTES));
    CHECK(GV_CALL(cuMemAllocHost_v2)((void **)&pinned, BYTES));
    memset(pinned, 0, BYTES);
    CHECK(GV_CALL(cuMemcpyHtoD_v2)(device, pageable, sizeof pageable));
    CHECK(GV_CALL(cuMemcpyDtoH_v2)(pageable, device, sizeof pageable));
    printf("copied back: %u %u %u %u\n", pageable[0], pageable[1], pageable[2], pageable[3]);
    CHECK(GV_CALL(cuMemsetD32_v2)(device, 7, 16));
    CHECK(GV_CALL(cuMemsetD8Async)(device + 64, 9, 64, stream));
    void *parameters[] = {&device, &value};
    CHECK(GV_CALL(cuLaunchKernel)(fill, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    CHECK(GV_CALL(cuMemcpyHtoDAsync_v2)(device + 128, pinned, BYTES - 128, stream));
    CHECK(GV_CALL(cuMemcpyDtoHAsync_v2)(pinned, device, BYTES, stream));
    CHECK(GV_CALL(cuStreamSynchronize)(stream));
    printf("filled: %u, set: %u\n", pinned[1], ((unsigned char *)pinned)[64]);
    CHECK(GV_CALL(cuMemFreeHost)(pinned));
    CHECK(GV_CALL(cuMemFree_v2)(device));
}

static void tour_events(CUstream stream, CUfunction spin)
{
    CUevent start, end;
    uint64_t ns = 2000000;
    void *parameters[] = {&ns};
    float ms = 0;
    CHECK(GV_CALL(cuEventCreate)(&start, CU_EVENT_DEFAULT));
    CHECK(GV_CALL(cuEventCreate)(&end, CU_EVENT_DEFAULT));
    CHECK(GV_CALL(cuEventRecord)(start, stream));
    CHECK(GV_CALL(cuLaunchKernel)(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    CHECK(GV_CALL(cuEventRecord)(end, stream));
    CHECK(GV_CALL(cuStreamWaitEvent)(stream, end, 0));
    CHECK(GV_CALL(cuEventSynchronize)(end));
    CHECK(GV_CALL(cuEventElapsedTime)(&ms, start, end));
    printf("a kernel of 2 ms took %s\n", ms >= 1.9f ? "2 ms or more" : "less");
    CHECK(GV_CALL(cuEventDestroy_v2)(start));
    CHECK(GV_CALL(cuEventDestroy_v2)(end));
    CHECK(GV_CALL(cuStreamQuery)(stream));
}

static void tour_graph(CUstream stream, CUfunction empty)
{
    CUgraph graph;
    CUgraphExec exec;
    CHECK(GV_CALL(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 4; i++)
        CHECK(GV_CALL(cuLaunchKernel)(empty, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    CHECK(GV_CALL(cuStreamEndCapture)(stream, &graph));
    CHECK(GV_CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    CHECK(GV_CALL(cuGraphLaunch)(exec, stream));
    CHECK(GV_CALL(cuStreamSynchronize)(stream));
    CHECK(GV_CALL(cuGraphExecDestroy)(exec));
    CHECK(GV_CALL(cuGraphDestroy)(graph));
    puts("launched a graph of 4 kernels");
}

static void tour_module(CUstream stream)
{
    CUmodule module;
    CUfunction empty, spin, fill;
    CUdeviceptr table;
    size_t table_bytes;
    int threads;
    CHECK(GV_CALL(cuModuleLoadData)(&module, gv_ptx_tour));
    CHECK(GV_CALL(cuModuleGetFunction)(&empty, module, "empty"));
    CHECK(GV_CALL(cuModuleGetFunction)(&spin, module, "spin"));
    CHECK(GV_CALL(cuModuleGetFunction)(&fill, module, "fill"));
    CHECK(GV_CALL(cuModuleGetGlobal_v2)(&table, &table_bytes, module, "tour_table"));
    CHECK(GV_CALL(cuFuncGetAttribute)(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fill));
    printf("loaded a module: table of %zu bytes, up to %d threads\n", table_bytes, threads);
    CHECK(GV_CALL(cuLaunchKernel)(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(GV_CALL(cuCtxSynchronize)());
    tour_copies(stream, fill);
    tour_events(stream, spin);
    tour_graph(stream, empty);
    CHECK(GV_CALL(cuModuleUnload)(module));
}

static void tour_library(CUstream stream)
{
    CUlibrary library;
    CUkernel kernel;
    CHECK(GV_CALL(cuLibraryLoadData)(&library, gv_ptx_second, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(GV_CALL(cuLibraryGetKernel)(&kernel, library, "second_empty"));
    for (int i = 0; i < 2; i++)
        CHECK(GV_CALL(cuLaunchKernel)((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    CHECK(GV_CALL(cuStreamSynchronize)(stream));
    CHECK(GV_CALL(cuLibraryUnload)(library));
    puts("launched a library's kernel twice");
}

int main(int argc, char **argv)
{
    const char *repeat = argc > 1 ? argv[1] : getenv("DRIVER_TOUR_REPEAT");
    int repetitions = repeat ? atoi(repeat) : 1, version = 0;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    size_t stack_bytes;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (gv_reach_driver())
        return 1;
    uint64_t start_ns = gv_clock_ns();
    CHECK(GV_CALL(cuInit)(0));
    CHECK(GV_CALL(cuDriverGetVersion)(&version));
    CHECK(GV_CALL(cuDeviceGet)(&device, 0));
    CHECK(GV_CALL(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK(GV_CALL(cuCtxSetCurrent)(context));
    CHECK(GV_CALL(cuCtxGetLimit)(&stack_bytes, CU_LIMIT_STACK_SIZE));
    printf("driver %d, stack limit %zu bytes\n", version, stack_bytes);
    CHECK(GV_CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < repetitions; i++) {
        tour_module(stream);
        tour_library(stream);
    }
    CHECK(GV_CALL(cuStreamDestroy_v2)(stream));
    CHECK(GV_CALL(cuDevicePrimaryCtxRelease_v2)(device));
    printf("done: %d time(s)\n", repetitions);
    fprintf(stderr, "took %.1f ms\n", gv_clock_ms_since(start_ns));
    return 0;
}
