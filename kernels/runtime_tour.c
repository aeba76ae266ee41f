/*
 * Walks through the runtime API: the same calls in the same order with a shared libcudart, with a
 * static one, and with every name looked up by dlsym (-DRUNTIME_TOUR_DLSYM) or dlvsym
 * (-DRUNTIME_TOUR_DLVSYM). For the last two, GV_CUDART names the library and the version of its
 * symbols; default libcudart.so.13.
 *
 *     runtime_tour [REPETITIONS]      default 1, or RUNTIME_TOUR_REPEAT
 */
#include <cuda_runtime_api.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <string.h>

#define CALLS(ROW)                                                                                 \
    ROW(cudaGetDeviceCount)                                                                        \
    ROW(cudaSetDevice)                                                                             \
    ROW(cudaDeviceGetLimit)                                                                        \
    ROW(cudaDeviceSynchronize)                                                                     \
    ROW(cudaMalloc)                                                                                \
    ROW(cudaFree)                                                                                  \
    ROW(cudaMallocHost)                                                                            \
    ROW(cudaMemGetInfo)                                                                            \
    ROW(cudaFreeHost)                                                                              \
    ROW(cudaMallocAsync)                                                                           \
    ROW(cudaFreeAsync)                                                                             \
    ROW(cudaMemcpy)                                                                                \
    ROW(cudaMemcpyAsync)                                                                           \
    ROW(cudaMemset)                                                                                \
    ROW(cudaMemsetAsync)                                                                           \
    ROW(cudaStreamCreateWithFlags)                                                                 \
    ROW(cudaStreamDestroy)                                                                         \
    ROW(cudaStreamQuery)                                                                           \
    ROW(cudaStreamSynchronize)                                                                     \
    ROW(cudaStreamWaitEvent)                                                                       \
    ROW(cudaStreamBeginCapture)                                                                    \
    ROW(cudaStreamEndCapture)                                                                      \
    ROW(cudaEventCreateWithFlags)                                                                  \
    ROW(cudaEventRecord)                                                                           \
    ROW(cudaEventSynchronize)                                                                      \
    ROW(cudaEventElapsedTime)                                                                      \
    ROW(cudaEventDestroy)                                                                          \
    ROW(cudaLibraryLoadData)                                                                       \
    ROW(cudaLibraryGetKernel)                                                                      \
    ROW(cudaLibraryUnload)                                                                         \
    ROW(cudaLaunchKernel)                                                                          \
    ROW(cudaGraphInstantiateWithFlags)                                                             \
    ROW(cudaGraphLaunch)                                                                           \
    ROW(cudaGraphExecDestroy)                                                                      \
    ROW(cudaGraphDestroy)

#if defined(RUNTIME_TOUR_DLSYM) || defined(RUNTIME_TOUR_DLVSYM)

#include <dlfcn.h>

#ifdef RUNTIME_TOUR_DLVSYM
#define LOOK_UP(library, symbol, version) dlvsym(library, symbol, version)
#else
#define LOOK_UP(library, symbol, version) dlsym(library, symbol)
#endif

static struct {
#define ROW(symbol) __typeof__(symbol) *p_##symbol;
    CALLS(ROW)
#undef ROW
} reached;
#define RT(symbol) reached.p_##symbol

static int reach(void)
{
    const char *name = getenv("GV_CUDART");
    if (!name)
        name = "libcudart.so.13";
    void *runtime = dlopen(name, RTLD_NOW);
    if (!runtime) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
#define ROW(symbol)                                                                                \
    if (!(reached.p_##symbol = (__typeof__(symbol) *)LOOK_UP(runtime, #symbol, name))) {           \
        fprintf(stderr, "no %s in this runtime\n", #symbol);                                       \
        return -1;                                                                                 \
    }
    CALLS(ROW)
#undef ROW
    return 0;
}

#else

#define RT(symbol) symbol

static int reach(void)
{
    return 0;
}

#endif

#define BYTES (1u << 20)

static void tour_copies(cudaStream_t stream, cudaKernel_t fill)
{
    unsigned int *device, *pooled, *pinned, pageable[4] = {1, 2, 3, 4}, value = 42;
    void *parameters[] = {&device, &value};
    dim3 one = {1, 1, 1};
    size_t free_bytes, all_bytes;
    CHECK(RT(cudaMemGetInfo)(&free_bytes, &all_bytes));
    CHECK(RT(cudaMalloc)((void **)&device, BYTES));
    CHECK(RT(cudaMallocHost)((void **)&pinned, BYTES));
    memset(pinned, 0, BYTES);
    CHECK(RT(cudaMemcpy)(device, pageable, sizeof pageable, cudaMemcpyHostToDevice));
    CHECK(RT(cudaMemcpy)(pageable, device, sizeof pageable, cudaMemcpyDeviceToHost));
    printf("copied back: %u %u %u %u\n", pageable[0], pageable[1], pageable[2], pageable[3]);
    CHECK(RT(cudaMemset)(device, 7, 64));
    CHECK(RT(cudaMemsetAsync)(device + 16, 9, 64, stream));
    CHECK(RT(cudaLaunchKernel)((const void *)fill, one, one, parameters, 0, stream));
    CHECK(RT(cudaMemcpyAsync)(pinned, device, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(RT(cudaStreamSynchronize)(stream));
    printf("set: %#x %#x\n", pinned[1], pinned[16]);
    CHECK(RT(cudaMallocAsync)((void **)&pooled, BYTES, stream));
    CHECK(RT(cudaFreeAsync)(pooled, stream));
    CHECK(RT(cudaFreeHost)(pinned));
    CHECK(RT(cudaFree)(device));
}

static void tour_events(cudaStream_t stream, cudaKernel_t spin)
{
    cudaEvent_t start, end;
    uint64_t ns = 2000000;
    void *parameters[] = {&ns};
    dim3 one = {1, 1, 1};
    float ms = 0;
    CHECK(RT(cudaEventCreateWithFlags)(&start, cudaEventDefault));
    CHECK(RT(cudaEventCreateWithFlags)(&end, cudaEventDefault));
    CHECK(RT(cudaEventRecord)(start, stream));
    CHECK(RT(cudaLaunchKernel)((const void *)spin, one, one, parameters, 0, stream));
    CHECK(RT(cudaEventRecord)(end, stream));
    CHECK(RT(cudaStreamWaitEvent)(stream, end, 0));
    CHECK(RT(cudaEventSynchronize)(end));
    CHECK(RT(cudaEventElapsedTime)(&ms, start, end));
    printf("a kernel of 2 ms took %s\n", ms >= 1.9f ? "2 ms or more" : "less");
    CHECK(RT(cudaEventDestroy)(start));
    CHECK(RT(cudaEventDestroy)(end));
    CHECK(RT(cudaStreamQuery)(stream));
}

static void tour_graph(cudaStream_t stream, cudaKernel_t empty)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    dim3 one = {1, 1, 1};
    CHECK(RT(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 4; i++)
        CHECK(RT(cudaLaunchKernel)((const void *)empty, one, one, NULL, 0, stream));
    CHECK(RT(cudaStreamEndCapture)(stream, &graph));
    CHECK(RT(cudaGraphInstantiateWithFlags)(&exec, graph, 0));
    CHECK(RT(cudaGraphLaunch)(exec, stream));
    CHECK(RT(cudaStreamSynchronize)(stream));
    CHECK(RT(cudaGraphExecDestroy)(exec));
    CHECK(RT(cudaGraphDestroy)(graph));
    puts("launched a graph of 4 kernels");
}

static void tour_library(cudaStream_t stream)
{
    cudaLibrary_t library;
    cudaKernel_t empty, spin, fill;
    dim3 one = {1, 1, 1};
    CHECK(RT(cudaLibraryLoadData)(&library, gv_ptx_tour, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(RT(cudaLibraryGetKernel)(&empty, library, "empty"));
    CHECK(RT(cudaLibraryGetKernel)(&spin, library, "spin"));
    CHECK(RT(cudaLibraryGetKernel)(&fill, library, "fill"));
    CHECK(RT(cudaLaunchKernel)((const void *)empty, one, one, NULL, 0, NULL));
    CHECK(RT(cudaDeviceSynchronize)());
    tour_copies(stream, fill);
    tour_events(stream, spin);
    tour_graph(stream, empty);
    CHECK(RT(cudaLibraryUnload)(library));
}

int main(int argc, char **argv)
{
    const char *repeat = argc > 1 ? argv[1] : getenv("RUNTIME_TOUR_REPEAT");
    int repetitions = repeat ? atoi(repeat) : 1, devices = 0;
    cudaStream_t stream;
    size_t stack_bytes;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (reach())
        return 1;
    uint64_t start_ns = gv_clock_ns();
    CHECK(RT(cudaGetDeviceCount)(&devices));
    CHECK(RT(cudaSetDevice)(0));
    CHECK(RT(cudaDeviceGetLimit)(&stack_bytes, cudaLimitStackSize));
    printf("stack limit %zu bytes\n", stack_bytes);
    CHECK(RT(cudaStreamCreateWithFlags)(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < repetitions; i++)
        tour_library(stream);
    CHECK(RT(cudaStreamDestroy)(stream));
    printf("done: %d time(s)\n", repetitions);
    fprintf(stderr, "took %.1f ms\n", gv_clock_ms_since(start_ns));
    return 0;
}
