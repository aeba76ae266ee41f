/* Stops and starts its recording with gpuverify.h. */
#include "e2e.h"

#include "nvtx/gpuverify.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct e2e_gpu gpu;

/* So many launches, and so many milliseconds of GPU time. */
static void work(unsigned launches)
{
    for (unsigned i = 0; i < launches; i++)
        e2e_spin(&gpu, NULL, 1000000);
    OK(cuCtxSynchronize());
}

static void sleep_us(unsigned us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL);
}

/* 5 launches, 40 that are not recorded, 7 launches. What is made in between is known. */
static void parts(void)
{
    CUdeviceptr memory;
    CUmodule module;
    CUfunction late;

    e2e_open(&gpu);
    work(5);
    gv_stop();
    OK(cuMemAlloc(&memory, 4 << 20));
    OK(cuModuleLoadData(&module, e2e_ptx));
    OK(cuModuleGetFunction(&late, module, "tick"));
    work(40);
    OK(cuMemcpyHtoD(memory, e2e_ptx, sizeof e2e_ptx));
    gv_start();
    gv_start(); /* as it is */
    OK(cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    work(6);
}

/* 30 equal steps, of which 10 are not recorded. */
static void loop(void)
{
    e2e_open(&gpu);
    for (int i = 0; i < 30; i++) {
        if (i == 10)
            gv_stop();
        if (i == 20)
            gv_start();
        e2e_tick(&gpu, 3);
        e2e_spin(&gpu, NULL, 100000);
        OK(cuCtxSynchronize());
    }
}

/* Nothing, until somebody says so; then to the end. */
static void wait_for_somebody(void)
{
    char line[16];

    e2e_open(&gpu);
    work(20);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        work(3);
        puts("done");
        fflush(stdout);
    }
}

/* Ten kernels that are not recorded, most of which run when recording is on again; as does one that
 * was launched before the stop. */
static void queued(bool is_seen)
{
    e2e_open(&gpu);
    work(2);
    e2e_spin(&gpu, NULL, 500000000);
    e2e_spin(&gpu, NULL, 1000000);
    gv_stop();
    if (is_seen) /* by CUPTI's thread */
        sleep_us(300000);
    for (unsigned i = 0; i < 10; i++)
        e2e_spin(&gpu, NULL, 5000000);
    gv_start();
    work(3);
}

static void early(void)
{
    gv_start(); /* before the first call */
    e2e_open(&gpu);
    work(4);
    gv_stop();
    work(4);
}

/* Ten steps, of which 3 to 9 are recorded. In number 7 the reading takes long. */
static void steps(void)
{
    e2e_open(&gpu);
    for (int i = 1; i <= 10; i++) {
        if (i == 3)
            gv_start();
        if (i == 10)
            gv_stop();
        gv_range_push("step");
        gv_range_push("read");
        sleep_us(i == 7 ? 150000 : 1000);
        gv_range_pop();
        work(1);
        gv_range_pop();
    }
}

static void *launch(void *until)
{
    OK(cuCtxSetCurrent(gpu.context));
    while (!__atomic_load_n((int *)until, __ATOMIC_RELAXED)) {
        e2e_tick(&gpu, 1);
        OK(cuStreamSynchronize(NULL));
        sleep_us(100);
    }
    return NULL;
}

static void often(void)
{
    pthread_t threads[4];
    int until = 0;

    e2e_open(&gpu);
    for (int i = 0; i < 4; i++)
        OK(pthread_create(&threads[i], NULL, launch, &until));
    for (int i = 0; i < 1000; i++) {
        gv_stop();
        gv_start();
    }
    __atomic_store_n(&until, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        OK(pthread_join(threads[i], NULL));
    work(1);
}

static void fork_stopped(void)
{
    pid_t child;
    int status;

    gv_stop();
    child = fork();
    if (child == 0) {
        e2e_open(&gpu);
        work(2);
        gv_start();
        work(3);
        exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    e2e_open(&gpu);
    work(1);
}

static jmp_buf back;

static size_t CUDA_CB stop_and_jump(int block_size)
{
    (void)block_size;
    gv_stop();
    longjmp(back, 1);
}

/* A call is left by a jump, after the stop. The next one, which is not recorded, is the last. */
static void left(void)
{
    int grid, block;

    e2e_open(&gpu);
    if (!setjmp(back))
        OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, gpu.tick, stop_and_jump, 0, 0));
    e2e_tick(&gpu, 1);
    raise(SIGKILL);
}

/* A graph of two kernels. Recording stops before the capture, and starts in it or when the graph is
 * made; or it stops and starts after that. */
static void captured(bool starts_in_it, bool starts_after)
{
    CUgraphExec ready;
    CUgraph graph;
    CUstream stream;

    e2e_open(&gpu);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (starts_in_it || starts_after)
        gv_stop();
    if (starts_after)
        sleep_us(300000); /* until CUPTI's thread has seen it */
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    if (starts_in_it)
        gv_start();
    e2e_spin(&gpu, stream, 1000);
    e2e_spin(&gpu, stream, 1000);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&ready, graph, 0));
    if (!starts_in_it && !starts_after)
        gv_stop();
    gv_start();
    OK(cuGraphLaunch(ready, stream));
    OK(cuStreamSynchronize(stream));
}

/* 20 times recorded for half as long as from one look to the next. */
static void slices(void)
{
    e2e_open(&gpu);
    for (int i = 0; i < 20; i++) {
        gv_start();
        work(1);
        sleep_us(10000);
        gv_stop();
        sleep_us(30000);
    }
}

/* What setting the context says that is current already. */
static void sets(void)
{
    e2e_open(&gpu);
    for (int i = 0; i < 8; i++)
        printf("%d\n", cuCtxSetCurrent(gpu.context));
}

static CUcontext to_end;

static void *end_it(void *unused)
{
    OK(cuCtxDestroy(to_end));
    return unused;
}

/* Two contexts, and one that is no context. One is set while recording is stopped; at last, one
 * that another thread has ended. */
static void contexts(void)
{
    CUcontext other;
    pthread_t thread;

    e2e_open(&gpu);
    OK(cuCtxCreate(&other, NULL, 0, gpu.device));
    for (int i = 0; i < 3; i++) {
        OK(cuCtxSetCurrent(gpu.context));
        e2e_tick(&gpu, 1);
    }
    for (int i = 0; i < 3; i++)
        REQUIRE(cuCtxSetCurrent((CUcontext)8) != 0);
    for (int i = 0; i < 3; i++)
        OK(cuCtxSetCurrent(other));
    OK(cuCtxSetCurrent(gpu.context));
    gv_stop();
    OK(cuCtxSetCurrent(other));
    gv_start();
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(gpu.context));
    e2e_tick(&gpu, 1);
    OK(cuCtxSetCurrent(other));
    to_end = other;
    OK(pthread_create(&thread, NULL, end_it, NULL));
    OK(pthread_join(thread, NULL));
    REQUIRE(cuCtxSetCurrent(other) != 0);
}

static void killed(void)
{
    e2e_open(&gpu);
    work(3);
    gv_stop();
    work(3);
    sleep_us(300000);
    raise(SIGKILL);
}

static void queued_seen(void)
{
    queued(true);
}

static void queued_unseen(void)
{
    queued(false);
}

static void captured_before(void)
{
    captured(true, false);
}

static void made_before(void)
{
    captured(false, false);
}

static void made_while_stopped(void)
{
    captured(false, true);
}

int main(int count, char **arguments)
{
    static const struct e2e_way ways[] = {{"parts", parts},
                                          {"loop", loop},
                                          {"wait", wait_for_somebody},
                                          {"queued", queued_seen},
                                          {"queued-unseen", queued_unseen},
                                          {"early", early},
                                          {"steps", steps},
                                          {"often", often},
                                          {"fork", fork_stopped},
                                          {"captured", captured_before},
                                          {"made-before", made_before},
                                          {"made-while-stopped", made_while_stopped},
                                          {"left", left},
                                          {"contexts", contexts},
                                          {"sets", sets},
                                          {"slices", slices},
                                          {"killed", killed},
                                          {NULL, NULL}};

    return e2e_run(ways, count > 1 ? arguments[1] : "");
}
