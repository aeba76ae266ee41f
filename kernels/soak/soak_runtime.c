/*
 * As soak.c, with the runtime: several threads that come and go, and a log of their calls. It does
 * not log driver calls inside them.
 *
 *     soak_runtime SEED STEPS [FEATURES]
 *
 * The only feature is l: libraries that each thread loads and unloads.
 */
#include <cuda_runtime_api.h>

#define SOAK_CALLS(ROW)                                                                            \
    ROW(cudaSetDevice)                                                                             \
    ROW(cudaDeviceGetLimit)                                                                        \
    ROW(cudaDeviceSynchronize)                                                                     \
    ROW(cudaMalloc)                                                                                \
    ROW(cudaFree)                                                                                  \
    ROW(cudaMallocHost)                                                                            \
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
    ROW(cudaEventDestroy)                                                                          \
    ROW(cudaLibraryLoadData)                                                                       \
    ROW(cudaLibraryGetKernel)                                                                      \
    ROW(cudaLibraryUnload)                                                                         \
    ROW(cudaLaunchKernel)                                                                          \
    ROW(cudaGraphInstantiateWithFlags)                                                             \
    ROW(cudaGraphLaunch)                                                                           \
    ROW(cudaGraphExecDestroy)                                                                      \
    ROW(cudaGraphDestroy)

#include "kernels/soak/log.h"

#include "kernels/ptx.h"
#include "kernels/random.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES    4
#define LIVES     2
#define BYTES_MAX (32u << 10)
#define SCRATCH   256
#define POLLS_MAX 400

/* As in soak.h: larger numbers are kernel_<number>. */
enum { EMPTY, SPIN, FILL, FIRST_LOADED };

struct worker {
    uint64_t random, digest;
    cudaStream_t home, other;
    cudaEvent_t event;
    cudaLibrary_t library;
    cudaKernel_t loaded;
    uint32_t number;
    unsigned char *device, *pinned; /* behind BYTES_MAX kernels may write anything */
    unsigned char pageable[BYTES_MAX];
};

static long steps;
static bool has_libraries;
static cudaKernel_t kernels[FIRST_LOADED];

static uint32_t dice(struct worker *w, uint32_t below)
{
    return gv_random_below(&w->random, below);
}

static void digest(struct worker *w, uint64_t value)
{
    w->digest = (w->digest ^ value) * 0x9e3779b97f4a7c15u;
}

#define TOLD(w, symbol, ...) digest(w, (uint64_t)(unsigned)DO(symbol, __VA_ARGS__))

static void launch(struct worker *w, cudaKernel_t kernel, uint32_t number, unsigned flags,
                   cudaStream_t stream, void **parameters)
{
    dim3 one = {1, 1, 1};

    soak_note(flags | SOAK_KERNEL, number);
    TOLD(w, cudaLaunchKernel, (const void *)kernel, one, one, parameters, 0, stream);
}

static void step_launches(struct worker *w)
{
    uint32_t count = 1 + dice(w, 16);
    cudaStream_t stream = dice(w, 3) ? w->home : dice(w, 2) ? w->other : NULL;

    for (uint32_t i = 0; i < count; i++)
        if (w->loaded && i % 2)
            launch(w, w->loaded, w->number, SOAK_RUNS, stream, NULL);
        else
            launch(w, kernels[EMPTY], EMPTY, SOAK_RUNS, stream, NULL);
}

static void step_copies(struct worker *w)
{
    size_t bytes = 16 + dice(w, BYTES_MAX / 2 - 16);
    unsigned char *host = dice(w, 2) ? w->pinned : w->pageable, *back = host + BYTES_MAX / 2;

    memset(host, (int)dice(w, 256), bytes);
    memset(back, 0, bytes);
    soak_note(SOAK_RUNS | SOAK_BYTES, bytes);
    if (dice(w, 2)) {
        TOLD(w, cudaMemcpy, w->device, host, bytes, cudaMemcpyHostToDevice);
        soak_note(SOAK_RUNS | SOAK_BYTES, bytes);
        TOLD(w, cudaMemcpy, back, w->device, bytes, cudaMemcpyDeviceToHost);
    } else {
        TOLD(w, cudaMemcpyAsync, w->device, host, bytes, cudaMemcpyHostToDevice, w->home);
        soak_note(SOAK_RUNS | SOAK_BYTES, bytes);
        TOLD(w, cudaMemcpyAsync, back, w->device, bytes, cudaMemcpyDeviceToHost, w->home);
        TOLD(w, cudaStreamSynchronize, w->home);
    }
    digest(w, !memcmp(host, back, bytes));
}

static void step_memory(struct worker *w)
{
    size_t bytes = 1 + dice(w, 1u << 20);
    void *memory = NULL;

    soak_note(SOAK_BYTES, bytes);
    if (dice(w, 2)) {
        TOLD(w, cudaMalloc, &memory, bytes);
        TOLD(w, cudaFree, memory);
    } else {
        TOLD(w, cudaMallocAsync, &memory, bytes, w->home);
        TOLD(w, cudaFreeAsync, memory, w->home);
    }
    soak_note(SOAK_RUNS | SOAK_BYTES, SCRATCH);
    TOLD(w, cudaMemset, w->device + BYTES_MAX, 1, SCRATCH);
    soak_note(SOAK_RUNS | SOAK_BYTES, 64);
    TOLD(w, cudaMemsetAsync, w->device + BYTES_MAX, 2, 64, w->home);
}

static void step_polls(struct worker *w)
{
    uint64_t ns = 20000 + dice(w, 300000);
    void *parameters[] = {&ns};
    int busy = cudaErrorNotReady;

    launch(w, kernels[SPIN], SPIN, SOAK_RUNS, w->home, parameters);
    for (int i = 0; busy == cudaErrorNotReady && i < POLLS_MAX; i++)
        busy = DO(cudaStreamQuery, w->home);
}

/* Waiting for the device while any thread captures is an error, and breaks the capture. */
static pthread_mutex_t capturing = PTHREAD_MUTEX_INITIALIZER;

static void step_order(struct worker *w)
{
    size_t bytes;

    TOLD(w, cudaEventRecord, w->event, w->home);
    TOLD(w, cudaStreamWaitEvent, w->other, w->event, 0);
    if (dice(w, 2))
        TOLD(w, cudaEventSynchronize, w->event);
    else
        TOLD(w, cudaDeviceGetLimit, &bytes, cudaLimitStackSize);
    if (dice(w, 4) == 0) {
        pthread_mutex_lock(&capturing);
        TOLD(w, cudaDeviceSynchronize);
        pthread_mutex_unlock(&capturing);
    }
}

static void step_streams(struct worker *w)
{
    TOLD(w, cudaStreamDestroy, w->other);
    TOLD(w, cudaStreamCreateWithFlags, &w->other, dice(w, 2) ? cudaStreamNonBlocking : 0);
    TOLD(w, cudaEventDestroy, w->event);
    TOLD(w, cudaEventCreateWithFlags, &w->event, cudaEventDisableTiming);
}

static void step_library(struct worker *w)
{
    char ptx[256], name[32];

    if (!has_libraries)
        return;
    if (w->loaded) {
        TOLD(w, cudaLibraryUnload, w->library);
        w->loaded = NULL;
        return;
    }
    w->number = FIRST_LOADED + dice(w, 1u << 23);
    snprintf(name, sizeof name, "kernel_%u", w->number);
    snprintf(ptx, sizeof ptx, GV_PTX_HEAD ".visible .entry %s()\n{\n    ret;\n}\n", name);
    soak_note(SOAK_LOADS, 0);
    TOLD(w, cudaLibraryLoadData, &w->library, ptx, NULL, NULL, 0, NULL, NULL, 0);
    TOLD(w, cudaLibraryGetKernel, &w->loaded, w->library, name);
    launch(w, w->loaded, w->number, SOAK_RUNS, w->home, NULL);
}

static void step_graph(struct worker *w)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL;

    pthread_mutex_lock(&capturing);
    cudaError_t begun = DO(cudaStreamBeginCapture, w->home, cudaStreamCaptureModeThreadLocal);
    digest(w, begun);
    launch(w, kernels[EMPTY], EMPTY, begun == cudaSuccess ? 0 : SOAK_RUNS, w->home, NULL);
    TOLD(w, cudaStreamEndCapture, w->home, &graph);
    pthread_mutex_unlock(&capturing);
    TOLD(w, cudaGraphInstantiateWithFlags, &exec, graph, 0);
    for (uint32_t i = dice(w, 4); i; i--) {
        soak_note(SOAK_RUNS, 0);
        TOLD(w, cudaGraphLaunch, exec, w->home);
    }
    TOLD(w, cudaStreamSynchronize, w->home);
    TOLD(w, cudaGraphExecDestroy, exec);
    TOLD(w, cudaGraphDestroy, graph);
}

static void *live(void *data)
{
    static void (*const all[])(struct worker *) = {
        step_launches, step_launches, step_launches, step_copies,  step_copies, step_memory,
        step_order,    step_order,    step_streams,  step_library, step_graph,  step_polls};
    struct worker *w = data;

    soak_open();
    TOLD(w, cudaSetDevice, 0);
    TOLD(w, cudaStreamCreateWithFlags, &w->home, cudaStreamNonBlocking);
    TOLD(w, cudaStreamCreateWithFlags, &w->other, cudaStreamNonBlocking);
    TOLD(w, cudaEventCreateWithFlags, &w->event, cudaEventDefault);
    soak_note(SOAK_BYTES, BYTES_MAX + SCRATCH);
    TOLD(w, cudaMalloc, (void **)&w->device, BYTES_MAX + SCRATCH);
    soak_note(SOAK_BYTES, BYTES_MAX);
    TOLD(w, cudaMallocHost, (void **)&w->pinned, BYTES_MAX);
    for (long i = 0; i < steps; i++)
        all[dice(w, sizeof all / sizeof all[0])](w);
    if (w->loaded)
        TOLD(w, cudaLibraryUnload, w->library);
    TOLD(w, cudaStreamSynchronize, w->home);
    TOLD(w, cudaFree, w->device);
    TOLD(w, cudaFreeHost, w->pinned);
    TOLD(w, cudaEventDestroy, w->event);
    TOLD(w, cudaStreamDestroy, w->home);
    TOLD(w, cudaStreamDestroy, w->other);
    soak_close();
    return NULL;
}

int main(int argc, char **argv)
{
#define SOAK_NAME(symbol) #symbol,
    static const char *const names[] = {SOAK_CALLS(SOAK_NAME)};
    static const char *const tour[] = {"empty", "spin", "fill"};
    static struct worker self, workers[PLACES];
    cudaLibrary_t library = NULL;
    pthread_t threads[PLACES];

    if (argc < 3) {
        fprintf(stderr, "usage: %s SEED STEPS [FEATURES]\n", argv[0]);
        return 2;
    }
    self.random = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    steps = strtol(argv[2], NULL, 10);
    has_libraries = argc > 3 && strchr(argv[3], 'l');
    soak_names(names, SOAK_CALL_COUNT);
    soak_open();
    TOLD(&self, cudaSetDevice, 0);
    soak_note(SOAK_LOADS, 0);
    TOLD(&self, cudaLibraryLoadData, &library, gv_ptx_tour, NULL, NULL, 0, NULL, NULL, 0);
    for (int i = 0; i < FIRST_LOADED; i++)
        TOLD(&self, cudaLibraryGetKernel, &kernels[i], library, tour[i]);
    for (int life = 0; life < LIVES; life++) {
        for (unsigned i = 0; i < PLACES; i++) {
            workers[i] = (struct worker){.random = self.random + 977u * (i + PLACES * life + 1)};
            if (pthread_create(&threads[i], NULL, live, &workers[i]))
                abort();
        }
        for (unsigned i = 0; i < PLACES; i++) {
            pthread_join(threads[i], NULL);
            printf("life %d, place %u: %016llx\n", life, i, (unsigned long long)workers[i].digest);
        }
    }
    TOLD(&self, cudaDeviceSynchronize);
    TOLD(&self, cudaLibraryUnload, library);
    printf("main: %016llx\n", (unsigned long long)self.digest);
    soak_close();
    return 0;
}
