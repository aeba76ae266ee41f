/*
 * Checks which calls wait for a busy GPU, and which wait for each other, as measured on an H100. A
 * kernel of BUSY_MS runs on a non-blocking stream. A call that waits takes most of that time; one
 * that does not returns while most of it is left.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"
#include "tests/sim/expect.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY_MS 100
#define LARGE   (16u << 20)

static const char local_ptx[] =
    GV_PTX_HEAD ".visible .entry deep()\n{\n .local .align 8 .b8 depot[65536];\n ret;\n}\n";

static CUcontext context;
static CUstream busy_stream, other_stream;
static CUfunction spin, empty;
static CUevent event;
static CUdeviceptr device, doomed;
static char *pageable, *pinned, *registered;
static CUmodule unloaded, deep_module;
static CUlibrary library, used_library;
static CUkernel kernel, second_kernel;
static CUfunction deep;

static void keep_busy(void)
{
    uint64_t ns = BUSY_MS * 1000000u;
    void *parameters[] = {&ns};
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, busy_stream, parameters, NULL));
}

static void load_module(void)
{
    CUmodule module;
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
}

static void unload_module(void)
{
    CHECK(cuModuleUnload(unloaded));
}

static void load_library(void)
{
    CHECK(cuLibraryLoadData(&library, gv_ptx_tour, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "empty"));
    CHECK(cuLibraryGetKernel(&second_kernel, library, "fill"));
}

static void launch_first(void)
{
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, other_stream, NULL, NULL));
}

static void launch_second(void)
{
    CHECK(cuLaunchKernel((CUfunction)second_kernel, 1, 1, 1, 1, 1, 1, 0, other_stream, NULL, NULL));
}

static void unload_library(void)
{
    CHECK(cuLibraryUnload(used_library));
}

static void unload_unused(void)
{
    CUlibrary unused;
    CHECK(cuLibraryLoadData(&unused, gv_ptx_second, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryUnload(unused));
}

static void launch_deep(void)
{
    CHECK(cuLaunchKernel(deep, 1, 1, 1, 1, 1, 1, 0, other_stream, NULL, NULL));
}

static void set_stack_limit(void)
{
    CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
}

static void free_device(void)
{
    CHECK(cuMemFree(doomed));
}

static void free_host(void)
{
    void *host;
    CHECK(cuMemAllocHost(&host, 4096));
    CHECK(cuMemFreeHost(host));
}

static void unregister(void)
{
    CHECK(cuMemHostUnregister(registered));
}

static void allocate(void)
{
    CUdeviceptr made;
    void *host;
    CHECK(cuMemAlloc(&made, 4096));
    CHECK(cuMemAllocManaged(&made, 4096, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocHost(&host, 4096));
    CHECK(cuMemAllocAsync(&made, 4096, other_stream));
    CHECK(cuMemFreeAsync(made, other_stream));
}

static void copy_to_pageable(void)
{
    CHECK(cuMemcpyDtoHAsync(pageable, device, 4096, busy_stream));
}

static void copy_small_pageable(void)
{
    CHECK(cuMemcpyHtoDAsync(device, pageable, 65536, busy_stream));
}

static void copy_large_pageable(void)
{
    CHECK(cuMemcpyHtoDAsync(device, pageable, LARGE, busy_stream));
}

static void copy_pinned(void)
{
    CHECK(cuMemcpyHtoDAsync(device, pinned, LARGE, busy_stream));
    CHECK(cuMemcpyDtoHAsync(pinned, device, LARGE, busy_stream));
}

static void copy_blocking_elsewhere(void)
{
    CHECK(cuMemcpyHtoD(device, pageable, 4096));
    CHECK(cuMemsetD8(device, 1, 4096));
}

static void fill_the_queue(void)
{
    for (int i = 0; i < 1100; i++)
        CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, busy_stream, NULL, NULL));
}

static void launch_some(void)
{
    for (int i = 0; i < 500; i++)
        CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, busy_stream, NULL, NULL));
}

static void make_context(void)
{
    CUdevice gpu;
    CUcontext made;
    CHECK(cuCtxGetDevice(&gpu));
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&made, NULL, 0, gpu));
#else
    CHECK(cuCtxCreate(&made, 0, gpu));
#endif
    CHECK(cuCtxDestroy(made));
    CHECK(cuCtxSetCurrent(context));
}

static void synchronize(void)
{
    CHECK(cuCtxSynchronize());
}

static void synchronize_idle(void)
{
    CHECK(cuStreamSynchronize(other_stream));
}

static void small_calls(void)
{
    CUstream made;
    CUevent made_event;
    size_t left, all;
    CHECK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamDestroy(made));
    CHECK(cuEventCreate(&made_event, 0));
    CHECK(cuEventRecord(made_event, busy_stream));
    EXPECT_RESULT(cuEventQuery(made_event), CUDA_ERROR_NOT_READY);
    EXPECT_RESULT(cuStreamQuery(busy_stream), CUDA_ERROR_NOT_READY);
    CHECK(cuEventDestroy(made_event));
    CHECK(cuMemGetInfo(&left, &all));
}

static const struct {
    const char *name;
    void (*call)(void);
    int waits;
} cases[] = {
    {"cuModuleLoadData", load_module, 1},
    {"cuModuleUnload", unload_module, 1},
    {"cuLibraryLoadData, lazy", load_library, 0},
    {"first launch of a library's kernel", launch_first, 1},
    {"first launch of its other kernel", launch_second, 0},
    {"cuLibraryUnload", unload_library, 1},
    {"cuLibraryUnload of one never used", unload_unused, 0},
    {"launch that needs more local memory", launch_deep, 1},
    {"the same again", launch_deep, 0},
    {"cuCtxSetLimit of the stack", set_stack_limit, 1},
    {"cuMemFree", free_device, 1},
    {"cuMemFreeHost", free_host, 1},
    {"cuMemHostUnregister", unregister, 1},
    {"allocations", allocate, 0},
    {"async copy to pageable memory", copy_to_pageable, 1},
    {"async copy of 64 KB of pageable memory", copy_small_pageable, 0},
    {"async copy of 16 MB of pageable memory", copy_large_pageable, 1},
    {"async copies of pinned memory", copy_pinned, 0},
    {"blocking copy, other stream busy", copy_blocking_elsewhere, 0},
    {"more launches than the queue holds", fill_the_queue, 1},
    {"fewer launches than that", launch_some, 0},
    {"cuCtxSynchronize", synchronize, 1},
    {"making and destroying a context", make_context, 0},
    {"cuStreamSynchronize of an idle stream", synchronize_idle, 0},
    {"streams, events, queries", small_calls, 0},
};

static void prepare(void)
{
    CUdevice gpu;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&gpu, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, gpu));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&busy_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleLoadData(&unloaded, gv_ptx_second));
    CHECK(cuModuleLoadData(&deep_module, local_ptx));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cuModuleGetFunction(&deep, deep_module, "deep"));
    CHECK(cuLibraryLoadData(&used_library, gv_ptx_second, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, used_library, "second_empty"));
    launch_first();
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuMemAlloc(&device, LARGE));
    CHECK(cuMemAlloc(&doomed, 4096));
    CHECK(cuMemAllocHost((void **)&pinned, LARGE));
    pageable = malloc(LARGE);
    registered = malloc(LARGE);
    if (!pageable || !registered)
        exit(1);
    memset(pageable, 1, LARGE);
    CHECK(cuMemHostRegister(registered, LARGE, 0));
    CHECK(cuCtxSynchronize());
}

/* ---- behind a host function of BUSY_MS, measured on an H100 too ---- */

static void CUDA_CB work(void *unused)
{
    (void)unused;
    usleep(BUSY_MS * 1000);
}

static const struct {
    const char *name;
    void (*call)(void);
    int waits;
} hosts[] = {
    {"cuModuleLoadData behind a host function", load_module, 1},
    {"cuMemFreeHost behind a host function", free_host, 1},
    {"cuCtxSetLimit behind a host function", set_stack_limit, 1},
    {"cuCtxSynchronize behind a host function", synchronize, 1},
    {"async copy to pageable memory behind a host function", copy_to_pageable, 1},
    {"allocations behind a host function", allocate, 0},
    {"launches behind a host function", launch_some, 0},
    {"async copies of pinned memory behind a host function", copy_pinned, 0},
    {"blocking copy behind another stream's host function", copy_blocking_elsewhere, 0},
    {"cuStreamSynchronize of an idle stream, other host function", synchronize_idle, 0},
    {"streams, events, queries behind a host function", small_calls, 0},
};

static void *in_other_thread(void *call)
{
    CHECK(cuCtxSetCurrent(context));
    ((void (*)(void))call)();
    return NULL;
}

/* The duration of `call` while another thread is inside `holder` for BUSY_MS. */
static double behind(void (*holder)(void), void (*call)(void))
{
    pthread_t thread;
    keep_busy();
    if (pthread_create(&thread, NULL, in_other_thread, (void *)holder))
        exit(1);
    usleep(BUSY_MS * 1000 / 5);
    uint64_t start_ns = gv_clock_ns();
    call();
    double ms = gv_clock_ms_since(start_ns);
    pthread_join(thread, NULL);
    CHECK(cuCtxSynchronize());
    return ms;
}

static void launch_elsewhere(void)
{
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, other_stream, NULL, NULL));
}

static void record_elsewhere(void)
{
    CHECK(cuEventRecord(event, other_stream));
}

static void allocate_device(void)
{
    CUdeviceptr made;
    CHECK(cuMemAlloc(&made, 4096));
}

static void allocate_in_order(void)
{
    CUdeviceptr made;
    CHECK(cuMemAllocAsync(&made, 4096, other_stream));
}

static void create_stream(void)
{
    CUstream made;
    CHECK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
}

static void query(void)
{
    EXPECT_RESULT(cuStreamQuery(other_stream), CUDA_SUCCESS);
    EXPECT_RESULT(cuEventQuery(event), CUDA_SUCCESS);
}

static void wait_event(void)
{
    CHECK(cuStreamWaitEvent(other_stream, event, 0));
}

static void load_again(void)
{
    CHECK(cuModuleLoadData(&unloaded, gv_ptx_second));
    CHECK(cuMemAlloc(&doomed, 4096));
}

static const struct {
    const char *name;
    void (*holder)(void), (*call)(void);
    int waits;
} locks[] = {
    {"a launch behind a load", load_module, launch_elsewhere, 1},
    {"an event behind a load", load_module, record_elsewhere, 1},
    {"an allocation behind a load", load_module, allocate_device, 1},
    {"an allocation in stream order behind a load", load_module, allocate_in_order, 0},
    {"a new stream behind a load", load_module, create_stream, 1},
    {"a load behind a load", load_module, load_module, 1},
    {"queries behind a load", load_module, query, 0},
    {"cuStreamSynchronize of an idle stream behind a load", load_module, synchronize_idle, 0},
    {"cuStreamWaitEvent behind a load", load_module, wait_event, 0},
    {"a launch behind cuModuleUnload", unload_module, launch_elsewhere, 0},
    {"a launch behind cuMemFree", free_device, launch_elsewhere, 1},
    {"a launch behind cuCtxSynchronize", synchronize, launch_elsewhere, 0},
    {"a launch behind a full queue of another stream", fill_the_queue, launch_elsewhere, 0},
    {"an allocation behind a full queue", fill_the_queue, allocate_device, 1},
    {"an allocation behind a pageable copy", copy_to_pageable, allocate_device, 1},
};

/* On a busy machine, a thread without a CPU seems to have waited, and a late one finds the lock
 * free. So a call passes if it is right in one of several tries. */
#define TRIES 5

static void judge(const char *name, double (*time_call)(size_t number), size_t number, int waits,
                  double most_ms)
{
    int waited = !waits;

    for (int i = 0; i < TRIES && waited != waits; i++) {
        double ms = time_call(number);
        waited = ms > most_ms * 0.6;
        printf("%-55s %7.2f ms, %s\n", name, ms, waits ? "waits" : "does not wait");
    }
    EXPECT(waited == waits);
}

static double time_case(size_t number)
{
    uint64_t start_ns =
        gv_clock_ns(); /* before it: a call that waits then takes at least BUSY_MS */
    keep_busy();
    cases[number].call();
    double ms = gv_clock_ms_since(start_ns);
    CHECK(cuCtxSynchronize());
    return ms;
}

static double time_host(size_t number)
{
    uint64_t start_ns = gv_clock_ns();
    CHECK(cuLaunchHostFunc(busy_stream, work, NULL));
    hosts[number].call();
    double ms = gv_clock_ms_since(start_ns);
    CHECK(cuCtxSynchronize());
    return ms;
}

static double time_lock(size_t number)
{
    load_again();
    return behind(locks[number].holder, locks[number].call);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    prepare();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        judge(cases[i].name, time_case, i, cases[i].waits, BUSY_MS);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        judge(hosts[i].name, time_host, i, hosts[i].waits, BUSY_MS);
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
        judge(locks[i].name, time_lock, i, locks[i].waits, BUSY_MS * 0.8);
    return gv_expect_failed();
}
