/*
 * Eight threads that launch kernels, copies and graphs, for so many milliseconds: the load beside
 * which samples are taken. Prints what a launch of a graph took: `graph_p10_ns NUMBER`.
 *
 *    bench_eight_threads MS
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS    8
#define NODES      20
#define LAUNCHES   20
#define COPIES     4
#define GRAPHS     5
#define COSTS_MOST 100000u
#define PAUSE_US   2000 /* between two batches of a thread */

static const char empty_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry empty()\n{\n ret;\n}\n";

static uint32_t costs_ns[THREADS][COSTS_MOST], all_ns[THREADS * COSTS_MOST];
static unsigned costs[THREADS];
static _Atomic bool is_over;
static CUcontext context;
static CUfunction empty;

static CUgraphExec make_graph(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;

    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < NODES; i++)
        CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return exec;
}

static void *launch(void *number)
{
    size_t own = (size_t)number;
    CUdeviceptr memory;
    CUstream stream;
    CUgraphExec graph;
    void *pinned;

    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&memory, 4096));
    CHECK(cuMemHostAlloc(&pinned, 4096, 0));
    graph = make_graph(stream);
    while (!atomic_load(&is_over)) {
        uint64_t start_ns;

        for (int i = 0; i < LAUNCHES; i++)
            CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        for (int i = 0; i < COPIES; i++)
            CHECK(cuMemcpyHtoDAsync(memory, pinned, 64, stream));
        start_ns = gv_clock_ns();
        for (int i = 0; i < GRAPHS; i++)
            CHECK(cuGraphLaunch(graph, stream));
        if (costs[own] < COSTS_MOST)
            costs_ns[own][costs[own]++] = (uint32_t)((gv_clock_ns() - start_ns) / GRAPHS);
        CHECK(cuStreamSynchronize(stream));
        usleep(PAUSE_US);
    }
    return NULL;
}

static int by_size(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    unsigned ms = argc == 2 ? (unsigned)atoi(argv[1]) : 0, count = 0;
    pthread_t threads[THREADS];
    CUdevice device;
    CUmodule module;

    if (!ms) {
        fprintf(stderr, "usage: bench_eight_threads MS\n");
        return 2;
    }
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, empty_ptx));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, launch, (void *)i))
            return 1;
    usleep(ms * 1000);
    atomic_store(&is_over, true);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        memcpy(all_ns + count, costs_ns[i], costs[i] * sizeof *all_ns);
        count += costs[i];
    }
    CHECK(cuCtxSynchronize());
    qsort(all_ns, count, sizeof *all_ns, by_size);
    if (count)
        printf("graph_p10_ns %u\n", all_ns[count / 10]);
    return 0;
}
