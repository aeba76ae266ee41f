/*
 * sampled HOW [COUNT]: what GPUVERIFY_GPU=sampled must measure, or leave alone. Prints nothing that
 * varies.
 */
#include "e2e.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (1u << 20)

static struct e2e_gpu gpu;
static unsigned count = 200;
static _Atomic int done;

static CUstream new_stream(void)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static CUgraphExec make_graph(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;

    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 4; i++)
        e2e_spin(&gpu, stream, 10000);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

/* Kernels of 30 and 90 us in turn, graphs of 40 us, copies; some in an idle stream. */
static void sums(void)
{
    CUstream stream;
    CUgraphExec exec;
    CUdeviceptr memory;
    void *pinned;

    e2e_open(&gpu);
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemAllocHost(&pinned, BYTES));
    stream = new_stream();
    exec = make_graph(stream);
    for (unsigned i = 0; i < count; i++) {
        e2e_spin(&gpu, stream, i % 2 ? 30000 : 90000);
        OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, stream));
        OK(cuGraphLaunch(exec, stream));
        if (i % 8 == 0)
            OK(cuStreamSynchronize(stream));
    }
    OK(cuStreamSynchronize(stream));
    printf("%u kernels, copies and graphs\n", count);
}

static void *launch_beside(void *unused)
{
    CUstream stream;

    OK(cuCtxSetCurrent(gpu.context));
    stream = new_stream();
    while (!atomic_load(&done)) {
        e2e_spin(&gpu, stream, 5000);
        usleep(200);
    }
    return unused;
}

/* Another thread launches, and has its samples read, while a stream is captured for long; in
 * global mode, most calls of other threads would break that. */
static void captures(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    pthread_t thread;
    size_t nodes = 0;

    e2e_open(&gpu);
    stream = new_stream();
    REQUIRE(!pthread_create(&thread, NULL, launch_beside, NULL));
    usleep(100000);
    for (int round = 0; round < 3; round++) {
        OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        for (unsigned i = 0; i < count; i++) {
            e2e_spin(&gpu, stream, 1000);
            usleep(500);
        }
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphGetNodes(graph, NULL, &nodes));
        REQUIRE(nodes == count);
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cuGraphLaunch(exec, stream));
    }
    atomic_store(&done, 1);
    REQUIRE(!pthread_join(thread, NULL));
    OK(cuStreamSynchronize(stream));
    printf("%zu nodes\n", nodes);
}

/* `tick` with an attribute that an event beside it would change, `spin` with one that it does not.
 */
static void attributes(void)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmaticStreamSerializationAllowed = 1};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    unsigned long long ns = 20000;
    void *arguments[] = {&ns};

    e2e_open(&gpu);
    config.hStream = new_stream();
    for (unsigned i = 0; i < count; i++) {
        attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        OK(cuLaunchKernelEx(&config, gpu.tick, NULL, NULL));
        attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        OK(cuLaunchKernelEx(&config, gpu.spin, arguments, NULL));
    }
    OK(cuStreamSynchronize(config.hStream));
    printf("%u kernels\n", 2 * count);
}

/* From 160 places, behind a kernel that runs for longer: more than there are events for. */
#define LAUNCH                                                                                     \
    OK(cuLaunchKernel(gpu.tick, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));                         \
    usleep(3000);
#define FOUR    LAUNCH LAUNCH LAUNCH LAUNCH
#define SIXTEEN FOUR FOUR FOUR FOUR

/* Each time from another place, so that it is chosen. */
#define RETAIN                                                                                     \
    OK(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));                                        \
    LAUNCH                                                                                         \
    OK(cuDevicePrimaryCtxRelease(gpu.device));
#define FOUR_RETAIN RETAIN RETAIN RETAIN RETAIN

static void retained(void)
{
    CUstream stream;

    e2e_open(&gpu);
    stream = new_stream();
    FOUR_RETAIN
    FOUR_RETAIN
    OK(cuStreamSynchronize(stream));
}

static void full(void)
{
    CUstream stream;

    e2e_open(&gpu);
    stream = new_stream();
    e2e_spin(&gpu, stream, 800000000);
    SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN EXPECT(
        CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    OK(cuStreamSynchronize(stream));
    printf("161 kernels\n");
}

/* Each child ends at once; the parent goes on. */
static void forks(void)
{
    CUstream stream;

    e2e_open(&gpu);
    stream = new_stream();
    for (unsigned i = 0; i < count; i++) {
        pid_t child;

        e2e_spin(&gpu, stream, 20000);
        if (i % 20)
            continue;
        child = fork();
        if (child == 0) {
            CUcontext none;
            cuCtxGetCurrent(&none);
            cuLaunchKernel(gpu.tick, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
            _exit(0);
        }
        REQUIRE(child > 0 && waitpid(child, NULL, 0) == child);
    }
    OK(cuStreamSynchronize(stream));
    printf("%u kernels\n", count);
}

/* Refused launches; streams of another context; contexts that end while samples are under way. */
static void contexts(void)
{
    e2e_open(&gpu);
    for (unsigned i = 0; i < count; i++) {
        struct e2e_gpu other;
        CUstream stream;

        OK(cuCtxCreate(&other.context, NULL, 0, gpu.device));
        OK(cuModuleLoadData(&other.module, e2e_ptx));
        OK(cuModuleGetFunction(&other.spin, other.module, "spin"));
        stream = new_stream();
        for (int j = 0; j < 8; j++)
            e2e_spin(&other, stream, 100000);
        REQUIRE(cuLaunchKernel(other.spin, 0, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) != 0);
        OK(cuCtxSetCurrent(gpu.context));
        e2e_tick(&gpu, 4);
        OK(cuCtxDestroy(other.context));
    }
    OK(cuCtxSynchronize());
    printf("%u contexts\n", count);
}

int main(int argc, char **argv)
{
    static const struct e2e_way ways[] = {
        {"sums", sums},         {"captures", captures}, {"attributes", attributes}, {"full", full},
        {"retained", retained}, {"forks", forks},       {"contexts", contexts},     {NULL, NULL}};

    REQUIRE(argc > 1);
    if (argc > 2)
        count = (unsigned)atoi(argv[2]);
    return e2e_run(ways, argv[1]);
}
