/*
 * Graphs whose kernels come from several lines: captured, added one by one, and within a child of
 * another graph, which another thread instantiates. The program prints what each line asked for
 * (truth.h).
 *
 *     graph_nodes [SECONDS]      default 1
 */
#include "kernels/lines/truth.h"

#include <pthread.h>

/* The call is made at the macro's line, which must be one line; it runs `times` with each round. */
#define ADD(times, spin_ns, call)                                                                  \
    do {                                                                                           \
        ns = (spin_ns);                                                                            \
        gv_truth[__LINE__][0].calls += (times);                                                    \
        gv_truth[__LINE__][0].ns += (times)*ns;                                                    \
        CHECK(call);                                                                               \
    } while (0)
#define SPIN_KERNEL stage.spin, 1, 1, 1, 1, 1, 1, 0, stage.stream, parameters, NULL

static struct gv_stage stage;

/* It is launched by itself and as a child. */
static CUgraph capture(void)
{
    uint64_t ns;
    void *parameters[] = {&ns};
    CUgraph graph;

    CHECK(cuStreamBeginCapture(stage.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 3; i++)
        ADD(2, 40000, cuLaunchKernel(SPIN_KERNEL));
    ADD(2, 280000, cuLaunchKernel(SPIN_KERNEL));
    CHECK(cuStreamEndCapture(stage.stream, &graph));
    return graph;
}

static CUgraph add_by_hand(CUgraph child)
{
    uint64_t ns;
    void *parameters[] = {&ns};
    const CUDA_KERNEL_NODE_PARAMS kernel = {.func = stage.spin,
                                            .gridDimX = 1,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 1,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = parameters};
    CUgraphNode first, second, last;
    CUgraph graph;

    CHECK(cuGraphCreate(&graph, 0));
    ADD(1, 150000, cuGraphAddKernelNode(&first, graph, NULL, 0, &kernel));
    CHECK(cuGraphAddChildGraphNode(&second, graph, &first, 1, child));
    ADD(1, 90000, cuGraphAddKernelNode(&last, graph, &second, 1, &kernel));
    return graph;
}

struct instantiating {
    CUgraph graph;
    CUgraphExec executable;
};

static void *instantiate(void *argument)
{
    struct instantiating *instantiating = argument;

    CHECK(cuCtxSetCurrent(stage.context));
    CHECK(cuGraphInstantiate(&instantiating->executable, instantiating->graph, 0));
    return NULL;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    struct instantiating by_hand;
    CUgraphExec captured;
    uint64_t start_ns, rounds = 0;
    pthread_t thread;

    gv_stage_open(&stage, 1, argv);
    CUgraph graph = capture();
    CHECK(cuGraphInstantiate(&captured, graph, 0));
    by_hand.graph = add_by_hand(graph);
    if (pthread_create(&thread, NULL, instantiate, &by_hand) || pthread_join(thread, NULL))
        return 1;
    CHECK(cuGraphDestroy(by_hand.graph));
    CHECK(cuGraphDestroy(graph));
    start_ns = gv_clock_ns();
    for (; gv_clock_ms_since(start_ns) < seconds * 1000; rounds++) {
        CHECK(cuGraphLaunch(captured, stage.stream));
        CHECK(cuGraphLaunch(by_hand.executable, stage.stream));
        CHECK(cuStreamSynchronize(stage.stream));
    }
    for (unsigned line = 0; line < GV_TRUTH_LINES; line++) {
        gv_truth[line][0].calls *= rounds;
        gv_truth[line][0].ns *= rounds;
    }
    gv_truth_print(__FILE__);
    return gv_stage_close(&stage);
}
