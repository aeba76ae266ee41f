/*
 * Sets errno before calls of every kind, successful or not, and prints it after them.
 */
#include "e2e.h"

#include <errno.h>
#include <string.h>

#define SEEN(call)                                                                                 \
    do {                                                                                           \
        int seen_result;                                                                           \
        errno = 1234;                                                                              \
        seen_result = (int)(call);                                                                 \
        printf("%s: result %d, errno %d\n", #call, seen_result, errno);                            \
    } while (0)

static void one_round(void)
{
    static char host[4096];
    CUgraphExec executable = NULL;
    CUfunction tick = NULL;
    CUcontext context = NULL;
    CUmodule module = NULL, broken = NULL;
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUstream stream = NULL;
    CUdeviceptr memory = 0;
    CUgraph graph = NULL;
    CUevent event = NULL;
    size_t limit = 0;
    void *entry = NULL;

    SEEN(cuInit(0));
    SEEN(cuInit(77));
    SEEN(cuGetProcAddress("cuMemAlloc", &entry, 12000, 0, NULL));
    SEEN(cuGetProcAddress("cuNothing", &entry, 12000, 0, NULL));
    SEEN(cuDevicePrimaryCtxRetain(&context, 0));
    SEEN(cuCtxSetCurrent(context));
    SEEN(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    SEEN(cuModuleLoadData(&module, e2e_ptx));
    SEEN(cuModuleLoadData(&broken, "no image"));
    SEEN(cuModuleLoad(&broken, "/nowhere/no.cubin"));
    SEEN(cuModuleGetFunction(&tick, module, "tick"));
    SEEN(cuModuleGetFunction(&tick, module, "tock"));
    SEEN(cuLibraryLoadData(&library, e2e_ptx, NULL, NULL, 0, NULL, NULL, 0));
    SEEN(cuLibraryGetKernel(&kernel, library, "tick"));
    SEEN(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    SEEN(cuEventCreate(&event, 0));
    SEEN(cuMemAlloc(&memory, sizeof(host)));
    SEEN(cuMemcpyHtoD(memory, host, sizeof(host)));
    SEEN(cuMemcpyDtoHAsync(host, memory, sizeof(host), stream));
    SEEN(cuMemsetD8(memory, 0, sizeof(host)));
    SEEN(cuLaunchKernel(tick, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    SEEN(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    SEEN(cuEventRecord(event, stream));
    SEEN(cuEventSynchronize(event));
    SEEN(cuStreamSynchronize(stream));
    SEEN(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    SEEN(cuStreamEndCapture(stream, &graph));
    SEEN(cuGraphInstantiate(&executable, graph, 0));
    SEEN(cuGraphLaunch(executable, stream));
    SEEN(cuCtxSynchronize());
    SEEN(cuGraphExecDestroy(executable));
    SEEN(cuGraphDestroy(graph));
    SEEN(cuMemFree(memory));
    SEEN(cuMemFree(12345));
    SEEN(cuEventDestroy(event));
    SEEN(cuStreamDestroy(stream));
    SEEN(cuLibraryUnload(library));
    SEEN(cuModuleUnload(module));
    SEEN(cuDevicePrimaryCtxRelease(0));
}

int main(void)
{
    one_round();
    one_round();
    return 0;
}
