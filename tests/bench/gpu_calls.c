/*
 * Measures what calls cost the host on a real GPU: launches, small asynchronous copies, launches of
 * graphs of empty kernels, waits for an idle stream, small synchronous copies. scripts/bench gpu
 * runs it.
 *
 *    bench_gpu_calls BURSTS [LOOP...]
 *    bench_gpu_calls -n LAUNCHES
 *
 * For each loop, or those named, it prints `name median p10` in ns per call, over BURSTS bursts.
 * The GPU is idle when a burst starts, and the launch queue never fills up. With -n it instead
 * launches an empty kernel that many times. It then prints the clock just before main returns.
 */
#include <cuda.h>

#include "kernels/clock.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BURSTS_MOST 10000

static const char empty_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry empty()\n{\n ret;\n}\n";

static CUstream stream;
static CUfunction empty;
static CUgraphExec graph; /* of the loop that runs */
static CUdeviceptr memory;
static void *pinned;
static char pageable[64];

static void must(const char *what, CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "bench_gpu_calls: %s: error %d\n", what, (int)result);
        exit(1);
    }
}

static void launch(void)
{
    must("cuLaunchKernel", cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

static void copy(void)
{
    must("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync(memory, pinned, 64, stream));
}

static void launch_graph(void)
{
    must("cuGraphLaunch", cuGraphLaunch(graph, stream));
}

static void synchronize(void)
{
    must("cuStreamSynchronize", cuStreamSynchronize(stream));
}

static void copy_and_wait(void)
{
    must("cuMemcpyHtoD", cuMemcpyHtoD(memory, pageable, 64));
}

/* nodes: of the graph that is launched. Bursts of large graphs are short, because the GPU needs 1
 * us for each node. */
static const struct {
    const char *name;
    void (*call)(void);
    int burst, nodes;
} loops[] = {
    {"launch", launch, 500, 0},           {"copy", copy, 500, 0},
    {"graph_1", launch_graph, 40, 1},     {"graph_20", launch_graph, 40, 20},
    {"graph_100", launch_graph, 20, 100}, {"graph_1000", launch_graph, 4, 1000},
    {"sync", synchronize, 1000, 0},       {"memcpy", copy_and_wait, 200, 0},
};

static void make_graph(int nodes)
{
    CUgraph captured;

    must("cuStreamBeginCapture", cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < nodes; i++)
        launch();
    must("cuStreamEndCapture", cuStreamEndCapture(stream, &captured));
    must("cuGraphInstantiate", cuGraphInstantiateWithFlags(&graph, captured, 0));
    must("cuGraphDestroy", cuGraphDestroy(captured));
}

static void prepare(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;

    must("cuInit", cuInit(0));
    must("cuDeviceGet", cuDeviceGet(&device, 0));
    must("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, device));
    must("cuCtxSetCurrent", cuCtxSetCurrent(context));
    must("cuModuleLoadData", cuModuleLoadData(&module, empty_ptx));
    must("cuModuleGetFunction", cuModuleGetFunction(&empty, module, "empty"));
    must("cuStreamCreate", cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must("cuMemAlloc", cuMemAlloc(&memory, 4096));
    must("cuMemHostAlloc", cuMemHostAlloc(&pinned, 4096, 0));
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void measure(int loop, int bursts)
{
    static double each_ns[BURSTS_MOST];

    if (loops[loop].nodes)
        make_graph(loops[loop].nodes);
    for (int i = -2; i < bursts; i++) {
        uint64_t start;

        must("cuStreamSynchronize", cuStreamSynchronize(stream));
        start = gv_clock_ns();
        for (int n = 0; n < loops[loop].burst; n++)
            loops[loop].call();
        if (i >= 0)
            each_ns[i] = (double)(gv_clock_ns() - start) / loops[loop].burst;
    }
    qsort(each_ns, (size_t)bursts, sizeof each_ns[0], by_size);
    if (loops[loop].nodes)
        must("cuGraphExecDestroy", cuGraphExecDestroy(graph));
    printf("%s %.1f %.1f\n", loops[loop].name, each_ns[bursts / 2], each_ns[bursts / 10]);
}

static int is_chosen(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return count == 0;
}

int main(int argc, char **argv)
{
    int counts = argc == 3 && strcmp(argv[1], "-n") == 0;
    long launches = counts ? atol(argv[2]) : 0;
    int bursts = argc > 1 ? atoi(argv[1]) : 0;

    if (counts ? launches < 1 : bursts < 1 || bursts > BURSTS_MOST) {
        fprintf(stderr, "usage: bench_gpu_calls BURSTS [LOOP...] | -n LAUNCHES\n");
        return 2;
    }
    prepare();
    for (size_t i = 0; !counts && i < sizeof loops / sizeof loops[0]; i++)
        if (is_chosen(loops[i].name, argc - 2, argv + 2))
            measure((int)i, bursts);
    for (long i = 0; i < launches; i++)
        launch();
    must("cuStreamSynchronize", cuStreamSynchronize(stream));
    printf("end_ns %llu 0\n", (unsigned long long)gv_clock_ns());
    return 0;
}
