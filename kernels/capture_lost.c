/*
 * Captures a graph, and meanwhile makes a call that most captures do not allow.
 *
 *     capture_lost [MODE [CALL [OTHER]]]      default: global allocate
 *
 * MODE: global, thread or relaxed. CALL: load, allocate, wait, or none. OTHER: "other" makes the
 * call in another thread, "exit" ends the program before the capture ends. A capture that the call
 * loses ends with 901. Waiting loses a capture in every mode; a load loses none with driver 580.
 * Prints both results.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/ptx.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static CUcontext context;
static const char *call = "allocate";
static CUresult called;

static CUresult load_filter(void)
{
    CUmodule module;
    return cuModuleLoadData(&module, gv_ptx_second);
}

static void *make_call(void *data)
{
    CUdeviceptr memory;
    CHECK(cuCtxSetCurrent(context));
    if (strcmp(call, "load") == 0)
        called = load_filter();
    else if (strcmp(call, "allocate") == 0)
        called = cuMemAlloc(&memory, 4096);
    else if (strcmp(call, "wait") == 0)
        called = cuCtxSynchronize();
    return data;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "global";
    const char *other = argc > 3 ? argv[3] : "";
    CUstreamCaptureMode mode = strcmp(name, "relaxed") == 0  ? CU_STREAM_CAPTURE_MODE_RELAXED
                               : strcmp(name, "thread") == 0 ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                                             : CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUdevice device;
    CUstream stream;
    CUmodule module;
    CUfunction empty;
    CUgraph graph = NULL;
    CUresult ended;
    pthread_t thread;
    if (argc > 2)
        call = argv[2];
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    CHECK(cuStreamSynchronize(stream));

    CHECK(cuStreamBeginCapture(stream, mode));
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    if (strcmp(other, "other") == 0) {
        CHECK(pthread_create(&thread, NULL, make_call, NULL));
        CHECK(pthread_join(thread, NULL));
    } else {
        make_call(NULL);
    }
    if (strcmp(other, "exit") == 0)
        return 0;
    ended = cuStreamEndCapture(stream, &graph);
    printf("%s returned %d, the capture's end %d\n", call, (int)called, (int)ended);
    if (graph)
        CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
