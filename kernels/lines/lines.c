/*
 * Lines whose share of the GPU's time is known; the program prints it at its end (truth.h).
 *
 *     lines CASE [SECONDS]      default 2
 *
 *   two      two lines, the same kernel for 100 and for 300 us
 *   equal    five lines with the same share: none stands out
 *   single   one line
 *   layers   steps of a network: lines that launch their kernel for each of twelve layers
 *   ten      one kernel of one duration, from ten lines in runs: 1 to 30 %
 *   random   six lines in random order, of random durations
 *   epoch    four epochs, each with a phase of validation at its end
 *   rare     200 000 short kernels, and one long one
 *   copies   a kernel, copies and sets
 *   graphs   two graphs, captured at two lines and launched from three
 *   threads  two threads with lines of their own; the second one's kernels take four times as long
 *   fast     over 100 000 launches a second
 */
#include "kernels/lines/truth.h"
#include "kernels/random.h"

#include <pthread.h>
#include <stdatomic.h>

#define COPY_BYTES ((size_t)4 << 20)

static struct gv_stage stage;
static CUfunction spin, matmul, add, relu; /* the same code */
static CUstream stream;
static uint64_t start_ns;
static double seconds = 2;

/* Several kernels that all take as long as their argument says. */
static const char kernels[] = GV_PTX_HEAD GV_PTX_SPIN_AS("spin_matmul") GV_PTX_SPIN_AS("spin_add")
    GV_PTX_SPIN_AS("spin_relu");

static double part_of_run(void)
{
    return gv_clock_ms_since(start_ns) / (seconds * 1000);
}

static void finish_step(void)
{
    CHECK(cuStreamSynchronize(stream));
}

static unsigned random_below(unsigned limit)
{
    static uint64_t state = GV_RANDOM_START;

    return gv_random_below(&state, limit);
}

static void two(void)
{
    for (int i = 0; i < 10; i++) {
        SPIN(spin, stream, 100);
        SPIN(spin, stream, 300);
    }
}

static void equal(void)
{
    for (int i = 0; i < 4; i++) {
        SPIN(spin, stream, 100);
        SPIN(spin, stream, 100);
        SPIN(spin, stream, 100);
        SPIN(spin, stream, 100);
        SPIN(spin, stream, 100);
    }
}

static void single(void)
{
    for (int i = 0; i < 20; i++)
        SPIN(spin, stream, 100);
}

static void layers(void)
{
    for (int layer = 0; layer < 12; layer++) {
        SPIN(matmul, stream, 60u + 5u * (unsigned)layer);
        SPIN(add, stream, 8);
        SPIN(relu, stream, 8);
    }
    for (int layer = 0; layer < 12; layer++)
        SPIN(matmul, stream, 130);
    for (int parameter = 0; parameter < 48; parameter++)
        SPIN(add, stream, 4);
}

#define TIMES(count) for (int again = 0; again < (count); again++)

static void ten(void)
{
    TIMES(1) SPIN(spin, stream, 20);
    TIMES(2) SPIN(spin, stream, 20);
    TIMES(3) SPIN(spin, stream, 20);
    TIMES(5) SPIN(spin, stream, 20);
    TIMES(7) SPIN(spin, stream, 20);
    TIMES(9) SPIN(spin, stream, 20);
    TIMES(11) SPIN(spin, stream, 20);
    TIMES(14) SPIN(spin, stream, 20);
    TIMES(18) SPIN(spin, stream, 20);
    TIMES(30) SPIN(spin, stream, 20);
}

static void in_random_order(void)
{
    for (int i = 0; i < 50; i++)
        switch (random_below(12)) {
        case 0:
            SPIN(spin, stream, 5 + random_below(100));
            break;
        case 1:
            SPIN(matmul, stream, 5 + random_below(300));
            break;
        case 2:
        case 3:
            SPIN(matmul, stream, 5 + random_below(100));
            break;
        case 4:
            SPIN(add, stream, 5 + random_below(10));
            break;
        case 5:
        case 6:
        case 7:
            SPIN(add, stream, 5 + random_below(30));
            break;
        default:
            SPIN(spin, stream, 5 + random_below(20));
            break;
        }
}

static void epoch(void)
{
    double epochs = part_of_run() * 4;

    if (epochs - (int)epochs < 0.8)
        for (int layer = 0; layer < 6; layer++) {
            SPIN(matmul, stream, 50);
            SPIN(relu, stream, 10);
            SPIN(matmul, stream, 100);
        }
    else
        for (int layer = 0; layer < 6; layer++) {
            SPIN(matmul, stream, 50);
            SPIN(relu, stream, 10);
        }
}

static void rare(void)
{
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < 500; i++)
            SPIN(spin, stream, 5);
        if (round == 200)
            SPIN(spin, stream, 300000);
        finish_step();
    }
}

static void copies(void)
{
    static CUdeviceptr device, other;
    static void *host;

    if (!host) {
        CHECK(cuMemAlloc(&device, COPY_BYTES));
        CHECK(cuMemAlloc(&other, COPY_BYTES));
        CHECK(cuMemHostAlloc(&host, COPY_BYTES, 0));
    }
    for (int i = 0; i < 4; i++) {
        MOVE(COPY_BYTES, cuMemcpyHtoDAsync(device, host, COPY_BYTES, stream));
        MOVE(COPY_BYTES / 8, cuMemcpyHtoDAsync(device, host, COPY_BYTES / 8, stream));
        MOVE(COPY_BYTES / 2, cuMemsetD8Async(other, 0, COPY_BYTES / 2, stream));
        SPIN(spin, stream, 200);
        MOVE(COPY_BYTES / 4, cuMemcpyDtoDAsync(other, device, COPY_BYTES / 4, stream));
        MOVE(COPY_BYTES / 2, cuMemcpyDtoHAsync(host, device, COPY_BYTES / 2, stream));
    }
}

/* Captures as many kernels as that. What is captured is no work yet. */
static CUgraphExec end_capture(CUfunction kernel, int count, uint64_t us)
{
    uint64_t ns = us * 1000;
    void *parameters[] = {&ns};
    CUgraphExec executable;
    CUgraph graph;

    for (int i = 0; i < count; i++)
        CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return executable;
}

#define CAPTURE(graph)                                                                             \
    (gv_truth_captured[graph] = __LINE__,                                                          \
     CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL)))

static void graphs(void)
{
    static CUgraphExec large, small;

    if (!large) {
        CAPTURE(1);
        large = end_capture(matmul, 10, 60);
        CAPTURE(2);
        small = end_capture(add, 4, 25);
    }
    REPLAY(1, 600000, large, stream);
    REPLAY(2, 100000, small, stream);
    for (int i = 0; i < 4; i++)
        if (i % 2)
            REPLAY(2, 100000, small, stream);
        else
            SPIN(spin, stream, 50);
}

static void *second_thread(void *argument)
{
    const atomic_bool *done = argument;

    CHECK(cuCtxSetCurrent(stage.context));
    while (!*done) {
        for (int i = 0; i < 10; i++) {
            SPIN(matmul, stage.other, 40);
            SPIN(matmul, stage.other, 120);
        }
        CHECK(cuStreamSynchronize(stage.other));
    }
    return NULL;
}

static void threads(void)
{
    for (int i = 0; i < 20; i++) {
        SPIN(matmul, stream, 10);
        SPIN(matmul, stream, 30);
    }
}

static void fast(void)
{
    for (int i = 0; i < 50; i++) {
        SPIN(spin, stream, 4);
        SPIN(spin, stream, 4);
        SPIN(spin, stream, 4);
        SPIN(spin, stream, 6);
        for (int layer = 0; layer < 3; layer++)
            SPIN(add, stream, 4);
    }
}

static const struct {
    const char *name;
    void (*step)(void);
} cases[] = {{"two", two},       {"equal", equal},     {"single", single},
             {"layers", layers}, {"ten", ten},         {"random", in_random_order},
             {"epoch", epoch},   {"rare", rare},       {"copies", copies},
             {"graphs", graphs}, {"threads", threads}, {"fast", fast}};

static void run(void (*step)(void))
{
    pthread_t thread;
    atomic_bool done = false;
    bool two_threads = step == threads;

    if (two_threads && pthread_create(&thread, NULL, second_thread, &done) != 0)
        exit(1);
    start_ns = gv_clock_ns();
    do {
        step();
        finish_step();
    } while (step != rare && part_of_run() < 1);
    done = true;
    if (two_threads)
        pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    size_t chosen = 0, count = sizeof(cases) / sizeof(cases[0]);
    CUmodule module;

    while (chosen < count && (argc < 2 || strcmp(argv[1], cases[chosen].name) != 0))
        chosen++;
    if (chosen == count) {
        fprintf(stderr, "usage: lines CASE [SECONDS]\n");
        return 2;
    }
    if (argc > 2)
        seconds = strtod(argv[2], NULL);
    gv_stage_open(&stage, 1, argv);
    stream = stage.stream;
    spin = stage.spin;
    CHECK(cuModuleLoadData(&module, kernels));
    CHECK(cuModuleGetFunction(&matmul, module, "spin_matmul"));
    CHECK(cuModuleGetFunction(&add, module, "spin_add"));
    CHECK(cuModuleGetFunction(&relu, module, "spin_relu"));
    run(cases[chosen].step);
    gv_truth_print(__FILE__);
    return gv_stage_close(&stage);
}
