/*
 * gpu_work HOW [COUNT]: makes GPU work of one of many kinds, to compare the GPU side with. Prints
 * the number of operations.
 */
#include "e2e.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define STREAMS 4
#define BYTES   (256u << 10)

static struct e2e_gpu gpu;
static unsigned count = 10;

static void streams(void)
{
    CUstream stream[STREAMS];
    CUdeviceptr memory;
    void *pinned;

    e2e_open(&gpu);
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemAllocHost(&pinned, BYTES));
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < count; i++) {
        CUstream here = stream[i % STREAMS];

        e2e_spin(&gpu, here, 20000);
        OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, here));
        OK(cuMemsetD8Async(memory, 1, BYTES, here));
    }
    OK(cuCtxSynchronize());
    printf("%u kernels, %u copies, %u sets\n", count, count, count);
}

static void *launch_on_own_stream(void *unused)
{
    OK(cuCtxSetCurrent(gpu.context));
    for (unsigned i = 0; i < count; i++)
        e2e_spin(&gpu, CU_STREAM_PER_THREAD, 1000);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return unused;
}

static void own_streams(void)
{
    pthread_t threads[STREAMS];

    e2e_open(&gpu);
    for (int i = 0; i < STREAMS; i++)
        REQUIRE(!pthread_create(&threads[i], NULL, launch_on_own_stream, NULL));
    for (int i = 0; i < STREAMS; i++)
        pthread_join(threads[i], NULL);
    printf("%u kernels\n", STREAMS * count);
}

static void blocking_copies(void)
{
    static char host[BYTES];
    CUdeviceptr memory;

    e2e_open(&gpu);
    OK(cuMemAlloc(&memory, BYTES));
    for (unsigned i = 0; i < count; i++) {
        OK(cuMemcpyHtoD(memory, host, BYTES));
        OK(cuMemcpyDtoH(host, memory, BYTES));
    }
    printf("%u copies\n", 2 * count);
}

static CUgraphExec make_graph(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;

    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < 3; i++)
        e2e_spin(&gpu, stream, 10000);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void graphs(void)
{
    CUstream stream;
    CUgraphExec exec;

    e2e_open(&gpu);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    exec = make_graph(stream);
    for (unsigned i = 0; i < count; i++)
        OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    printf("%u graphs of 3 kernels\n", count);
}

static void *work_for_some_time(void *pinned)
{
    CUdeviceptr memory;
    CUstream stream;
    CUgraphExec exec;

    OK(cuCtxSetCurrent(gpu.context));
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    exec = make_graph(stream);
    for (unsigned i = 0; i < count; i++) {
        e2e_spin(&gpu, stream, 10000);
        OK(cuMemcpyHtoDAsync(memory, pinned, 16, stream));
        OK(cuGraphLaunch(exec, stream));
        usleep(1000);
    }
    OK(cuStreamSynchronize(stream));
    return pinned;
}

/* Several threads, for COUNT ms or a little longer. */
static void busy(void)
{
    pthread_t threads[STREAMS];
    void *pinned;

    e2e_open(&gpu);
    OK(cuMemAllocHost(&pinned, BYTES));
    for (int i = 0; i < STREAMS; i++)
        REQUIRE(!pthread_create(&threads[i], NULL, work_for_some_time, pinned));
    for (int i = 0; i < STREAMS; i++)
        pthread_join(threads[i], NULL);
    printf("%u kernels, copies and graphs\n", STREAMS * count);
}

/* Each waits 15 ms for a kernel. */
static void frees(void)
{
    CUdeviceptr memory;

    e2e_open(&gpu);
    usleep(200000);
    for (unsigned i = 0; i < count; i++) {
        OK(cuMemAlloc(&memory, BYTES));
        e2e_spin(&gpu, NULL, 15000000);
        OK(cuMemFree(memory));
    }
    printf("%u kernels\n", count);
}

static void contexts(void)
{
    e2e_open(&gpu);
    e2e_tick(&gpu, 1);
    for (unsigned i = 0; i < count; i++) {
        struct e2e_gpu other;

        OK(cuCtxCreate(&other.context, NULL, 0, 0));
        OK(cuModuleLoadData(&other.module, e2e_ptx));
        OK(cuModuleGetFunction(&other.tick, other.module, "tick"));
        e2e_tick(&other, 2);
        OK(cuCtxDestroy(other.context));
    }
    OK(cuCtxSetCurrent(gpu.context));
    e2e_tick(&gpu, 1);
    OK(cuCtxSynchronize());
    printf("%u kernels\n", 2 * count + 2);
}

static void reset(void)
{
    for (unsigned i = 0; i < count; i++) {
        e2e_open(&gpu);
        e2e_tick(&gpu, 3);
        OK(cuDevicePrimaryCtxReset(gpu.device));
    }
    printf("%u kernels\n", 3 * count);
}

static void devices(void)
{
    CUcontext both[2];
    CUdeviceptr memory[2];

    OK(cuInit(0));
    for (int i = 0; i < 2; i++) {
        OK(cuDevicePrimaryCtxRetain(&both[i], i));
        OK(cuCtxSetCurrent(both[i]));
        OK(cuMemAlloc(&memory[i], BYTES));
        OK(cuModuleLoadData(&gpu.module, e2e_ptx));
        OK(cuModuleGetFunction(&gpu.tick, gpu.module, "tick"));
        e2e_tick(&gpu, count);
    }
    OK(cuMemcpyPeer(memory[1], both[1], memory[0], both[0], BYTES));
    for (int i = 0; i < 2; i++) {
        OK(cuCtxSetCurrent(both[i]));
        OK(cuCtxSynchronize());
    }
    printf("%u kernels on 2 devices, 1 copy between them\n", 2 * count);
}

/* Between two contexts of one device. */
static void peer_copies(void)
{
    CUcontext other;
    CUdeviceptr memory[2];

    e2e_open(&gpu);
    OK(cuMemAlloc(&memory[0], BYTES));
    OK(cuCtxCreate(&other, NULL, 0, gpu.device));
    OK(cuMemAlloc(&memory[1], BYTES));
    for (unsigned i = 0; i < count; i++)
        OK(cuMemcpyPeer(memory[1], other, memory[0], gpu.context, BYTES));
    printf("%u copies between contexts\n", count);
}

static void peer_access(void)
{
    CUcontext other;

    e2e_open(&gpu);
    OK(cuCtxCreate(&other, NULL, 0, gpu.device));
    OK(cuCtxEnablePeerAccess(gpu.context, 0));
}

static void second_device(void)
{
    CUcontext other;

    e2e_open(&gpu);
    OK(cuCtxCreate(&other, NULL, 0, gpu.device + 1));
}

static void lazy(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUstream stream;

    e2e_open(&gpu);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLibraryLoadData(&library, e2e_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "tick"));
    e2e_spin(&gpu, stream, 50000000);
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    printf("2 kernels\n");
}

static void measured(void)
{
    CUevent before, after;
    CUstream stream;
    float ms;

    e2e_open(&gpu);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&before, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&after, CU_EVENT_DEFAULT));
    OK(cuEventRecord(before, stream));
    for (unsigned i = 0; i < count; i++)
        e2e_spin(&gpu, stream, 5000000);
    OK(cuEventRecord(after, stream));
    OK(cuEventSynchronize(after));
    OK(cuEventElapsedTime(&ms, before, after));
    printf("%.0f ns\n", (double)ms * 1e6);
}

static void stuck(void)
{
    e2e_open(&gpu);
    e2e_tick(&gpu, count);
    OK(cuCtxSynchronize());
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}

/* Waits for a kernel for ever, after others that CUPTI has reported. */
static void waiting(void)
{
    e2e_open(&gpu);
    e2e_tick(&gpu, count);
    OK(cuCtxSynchronize());
    usleep(200000);
    e2e_spin(&gpu, NULL, 600000000000);
    printf("ready\n");
    fflush(stdout);
    OK(cuCtxSynchronize());
}

/* The program ends itself while a kernel runs. */
static void killed(void)
{
    e2e_open(&gpu);
    e2e_tick(&gpu, count);
    OK(cuCtxSynchronize());
    e2e_spin(&gpu, NULL, 600000000000);
    kill(getpid(), SIGKILL);
}

/* A running kernel delays CUPTI's records of those that have ended beside it. */
static void held(void)
{
    CUstream busy, other;

    e2e_open(&gpu);
    OK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    e2e_spin(&gpu, busy, 600000000000);
    for (unsigned i = 0; i < count; i++)
        OK(cuLaunchKernel(gpu.tick, 1, 1, 1, 1, 1, 1, 0, other, NULL, NULL));
    OK(cuStreamSynchronize(other));
    OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuLaunchKernel(gpu.tick, 1, 1, 1, 1, 1, 1, 0, other, NULL, NULL));
    OK(cuStreamEndCapture(other, &(CUgraph){NULL}));
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}

/* The GPU always gets the next kernel before the last one ends. */
static void never_idle(void)
{
    CUevent ends[3];
    CUstream stream;

    e2e_open(&gpu);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 3; i++)
        OK(cuEventCreate(&ends[i], CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < count; i++) {
        e2e_spin(&gpu, stream, 1000000);
        OK(cuEventRecord(ends[i % 3], stream));
        if (i >= 2)
            OK(cuEventSynchronize(ends[(i + 1) % 3]));
    }
    e2e_spin(&gpu, stream, 600000000000);
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}

static void work_at_exit(void)
{
    e2e_tick(&gpu, count);
    OK(cuCtxSynchronize());
}

static void at_exit(void)
{
    REQUIRE(!atexit(work_at_exit));
    e2e_open(&gpu);
    e2e_tick(&gpu, 10);
    OK(cuCtxSynchronize());
}

static void *launch_for_ever(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(gpu.context));
    for (unsigned i = 0;; i++) {
        if (cuLaunchKernel(gpu.tick, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
            return NULL; /* the driver has shut down */
        if (i % 64 == 0)
            cuCtxSynchronize();
    }
}

/* main returns while another thread works. */
static void racing(void)
{
    pthread_t thread;

    e2e_open(&gpu);
    REQUIRE(!pthread_create(&thread, NULL, launch_for_ever, NULL));
    usleep(100000);
    printf("done\n");
}

int main(int argc, char **argv)
{
    static const struct e2e_way ways[] = {{"streams", streams},
                                          {"own-streams", own_streams},
                                          {"copies", blocking_copies},
                                          {"graphs", graphs},
                                          {"busy", busy},
                                          {"frees", frees},
                                          {"contexts", contexts},
                                          {"reset", reset},
                                          {"devices", devices},
                                          {"peer-copies", peer_copies},
                                          {"peer-access", peer_access},
                                          {"second-device", second_device},
                                          {"lazy", lazy},
                                          {"measured", measured},
                                          {"stuck", stuck},
                                          {"waiting", waiting},
                                          {"killed", killed},
                                          {"held", held},
                                          {"never-idle", never_idle},
                                          {"racing", racing},
                                          {"at-exit", at_exit},
                                          {NULL, NULL}};

    REQUIRE(argc >= 2);
    if (argc > 2)
        count = (unsigned)atoi(argv[2]);
    return e2e_run(ways, argv[1]);
}
