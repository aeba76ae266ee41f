/*
 * One behaviour for each class of the verdict (report/analyse/verdict/verdict.def):
 *
 *     verdict CLASS [MILLISECONDS]
 *
 * MILLISECONDS: about how long it takes; default 200. A real GPU needs more, so that starting CUDA
 * does not matter.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 1024 /* more than any GPU has multiprocessors */

static CUfunction spin, empty;
static uint64_t length_ms = 200;

static void start(void)
{
    CUdevice device;
    CUcontext context;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
}

static void load(void)
{
    CUmodule module;

    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
}

static void run_spin(unsigned int blocks, uint64_t ns)
{
    void *parameters[] = {&ns};

    CHECK(cuLaunchKernel(spin, blocks, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
}

static void work_for(uint64_t ns)
{
    for (uint64_t start_ns = gv_clock_ns(); gv_clock_ns() - start_ns < ns;)
        ;
}

/* CUDA without a kernel. */
static void no_kernel(void)
{
    CUdeviceptr memory;

    start();
    CHECK(cuMemAlloc(&memory, 4096));
    CHECK(cuMemsetD8(memory, 0, 4096));
    CHECK(cuMemFree(memory));
}

/* A kernel now and then; the host does the rest. */
static void idle(void)
{
    start();
    load();
    for (int i = 0; i < 10; i++) {
        run_spin(BLOCKS, 500000);
        CHECK(cuCtxSynchronize());
        usleep((useconds_t)(length_ms * 100));
    }
}

/* Copies there and back, for a kernel that does almost nothing. */
static void transfer(void)
{
    const size_t bytes = 8u << 20;
    CUdeviceptr memory;
    void *host;

    start();
    load();
    CHECK(cuMemAlloc(&memory, bytes));
    CHECK(cuMemAllocHost(&host, bytes));
    for (uint64_t start_ns = gv_clock_ns(); gv_clock_ms_since(start_ns) < (double)length_ms;) {
        CHECK(cuMemcpyHtoD(memory, host, bytes));
        run_spin(BLOCKS, 10000);
        CHECK(cuMemcpyDtoH(host, memory, bytes));
    }
    CHECK(cuMemFreeHost(host));
    CHECK(cuMemFree(memory));
}

/* Small pieces of pageable memory, and a short kernel for every three of them. The host copies
 * most of the time, and the GPU has little to do. */
static void copies(void)
{
    const size_t bytes = 1024;
    CUdeviceptr memory;
    void *host = malloc(bytes);

    start();
    load();
    CHECK(cuMemAlloc(&memory, bytes));
    if (!host)
        exit(1);
    memset(host, 1, bytes);
    for (uint64_t start_ns = gv_clock_ns(); gv_clock_ms_since(start_ns) < (double)length_ms;) {
        CHECK(cuMemcpyHtoD(memory, host, bytes));
        CHECK(cuMemcpyHtoD(memory, host, bytes));
        CHECK(cuMemcpyDtoH(host, memory, bytes));
        run_spin(BLOCKS, 7000);
    }
    CHECK(cuMemFree(memory));
    free(host);
}

/* Short kernels; launching each takes longer than running it. */
static void launch(void)
{
    start();
    load();
    for (uint64_t start_ns = gv_clock_ns(); gv_clock_ms_since(start_ns) < (double)length_ms;) {
        run_spin(BLOCKS, 2000);
        work_for(10000);
    }
    CHECK(cuCtxSynchronize());
}

/* One short kernel whose code must be compiled. */
static void load_once(void)
{
    start();
    load();
    run_spin(BLOCKS, 100000);
    CHECK(cuCtxSynchronize());
}

/* Loads code while the GPU works. */
static void stalled(void)
{
    start();
    load();
    run_spin(BLOCKS, 1000);
    CHECK(cuCtxSynchronize());
    run_spin(BLOCKS, length_ms * 1000000);
    load();
    CHECK(cuCtxSynchronize());
}

static void underfilled(void)
{
    start();
    load();
    run_spin(1, length_ms * 1000000);
    CHECK(cuCtxSynchronize());
}

/* Launches with more threads than a block can have. The program ignores the error. */
static void refused(void)
{
    start();
    load();
    for (int i = 0; i < 3; i++)
        if (cuLaunchKernel(empty, 1, 1, 1, 4096, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS)
            exit(1);
    CHECK(cuCtxSynchronize());
}

/* Captures a graph and never launches it. */
static void recorded(void)
{
    CUstream stream;
    CUgraph graph;

    start();
    load();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
}

static void accelerated(void)
{
    start();
    load();
    for (int i = 0; i < 10; i++)
        run_spin(BLOCKS, length_ms * 100000);
    CHECK(cuCtxSynchronize());
}

static const struct {
    const char *name;
    void (*run)(void);
} behaviours[] = {
    {"no-kernel", no_kernel},     {"idle", idle},
    {"transfer", transfer},       {"launch", launch},
    {"load", load_once},          {"stalled", stalled},
    {"underfilled", underfilled}, {"accelerated", accelerated},
    {"refused", refused},         {"recorded", recorded},
    {"copies", copies},
};

int main(int argc, char **argv)
{
    if (argc > 2)
        length_ms = strtoull(argv[2], NULL, 10);
    for (size_t i = 0; argc > 1 && i < sizeof(behaviours) / sizeof(behaviours[0]); i++)
        if (strcmp(argv[1], behaviours[i].name) == 0) {
            behaviours[i].run();
            return 0;
        }
    fprintf(stderr, "usage: verdict CLASS [MILLISECONDS]\n");
    return 2;
}
