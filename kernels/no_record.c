/*
 * Successful calls without a GPU record of their own. None of them may count as missing.
 *
 *     no_record captures|empty-graphs|host-work|cooperative
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/ptx.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define TIMES 10

static CUcontext context;
static CUfunction empty;
static CUstream stream, other;

static void launch(CUstream where)
{
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, where, NULL, NULL));
}

static void run(CUgraph graph)
{
    CUgraphExec executable;

    CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < TIMES; i++)
        CHECK(cuGraphLaunch(executable, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
}

/* ---- captures ---- */

static void *launch_elsewhere(void *unused)
{
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < TIMES; i++)
        launch(stream);
    return unused;
}

/* Another stream joins the capture, another thread adds to it, and one kernel is not part of it. */
static void capture(CUstreamCaptureMode mode)
{
    CUstream own;
    pthread_t thread;
    CUgraph graph;
    CUevent fork, join;

    CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&fork, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&join, CU_EVENT_DEFAULT));
    CHECK(cuStreamBeginCapture(stream, mode));
    launch(stream);
    CHECK(cuEventRecord(fork, stream));
    CHECK(cuStreamWaitEvent(other, fork, 0));
    launch(other);
    launch(own);
    CHECK(cuEventRecord(join, other));
    CHECK(cuStreamWaitEvent(stream, join, 0));
    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        if (pthread_create(&thread, NULL, launch_elsewhere, NULL))
            exit(1);
        pthread_join(thread, NULL);
    }
    CHECK(cuStreamEndCapture(stream, &graph));
    run(graph);
    CHECK(cuEventDestroy(fork));
    CHECK(cuEventDestroy(join));
    CHECK(cuStreamDestroy(own));
}

static void captures(void)
{
    capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    capture(CU_STREAM_CAPTURE_MODE_RELAXED);
}

/* ---- graphs ---- */

static void CUDA_CB on_host(void *unused)
{
    (void)unused;
}

static void empty_graphs(void)
{
    CUDA_HOST_NODE_PARAMS host = {.fn = on_host};
    CUgraph graph;
    CUgraphNode node;

    CHECK(cuGraphCreate(&graph, 0));
    run(graph);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    run(graph);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddHostNode(&node, graph, NULL, 0, &host));
    run(graph);
}

/* ---- the rest ---- */

static void host_work(void)
{
    CUdeviceptr memory;
    char *host;

    CHECK(cuMemAlloc(&memory, 64));
    CHECK(cuMemAllocHost((void **)&host, 128));
    for (int i = 0; i < TIMES; i++) {
        CHECK(cuLaunchHostFunc(stream, on_host, NULL));
        CHECK(cuMemcpyHtoDAsync(memory, host, 0, stream));
        CHECK(cuMemsetD8Async(memory, 0, 0, stream));
        CHECK(cuMemcpy((CUdeviceptr)(uintptr_t)(host + 64), (CUdeviceptr)(uintptr_t)host, 64));
    }
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemFree(memory));
    CHECK(cuMemFreeHost(host));
}

static void cooperative(void)
{
    for (int i = 0; i < TIMES; i++)
        CHECK(cuLaunchCooperativeKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL));
    CHECK(cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"captures", captures},
                 {"empty-graphs", empty_graphs},
                 {"host-work", host_work},
                 {"cooperative", cooperative}};
    CUdevice device;
    CUmodule module;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    for (size_t i = 0; argc == 2 && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].run();
            puts("done");
            return 0;
        }
    fprintf(stderr, "no_record: which kind?\n");
    return 2;
}
