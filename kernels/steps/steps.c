/*
 * Programs whose steps are known. The last line says how many steps there are, and how many kinds
 * of them: "steps N kinds N".
 *
 *     steps CASE [STEPS [US]]      default 40 steps, kernels of 100 us
 *
 *   turns      two kinds of steps take turns; both end with a copy back and a wait
 *   nested     each step has an inner loop, which runs a different number of times
 *   jittered   launches are left out or added at random, and take different times
 *   epochs     after each tenth of the steps, a phase of validation
 *   graph      a step is one captured graph
 *   threads    another thread does half of each step, and never waits, as PyTorch's backward pass
 *   spoken     as threads, but that thread does most, and both say ranges: "step" is the step
 *   random     no steps: launches in random order
 *   pipeline   no steps: differing launches, one after the other
 *   words      as nested, with ranges and marks that say otherwise: the range "step" is the step
 *   slow       equal steps; number 3/4 of all waits on the host, and step 1 loads a module
 */
#include "kernels/random.h"
#include "kernels/stalls/stage.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define KERNELS 12u
#define BYTES   ((size_t)64 << 10)
#define SLOW_US 30000u

/* They are there if gpuverify is. */
extern __attribute__((weak)) void gv_range_push(const char *message);
extern __attribute__((weak)) void gv_range_pop(void);

static struct gv_stage stage;
static CUfunction kernels[KERNELS];
static CUdeviceptr device;
static void *host;
static unsigned steps = 40, us = 100, done, kinds = 1;

static const char ptx[] =
    GV_PTX_HEAD GV_PTX_SPIN_AS("spin_0") GV_PTX_SPIN_AS("spin_1") GV_PTX_SPIN_AS("spin_2")
        GV_PTX_SPIN_AS("spin_3") GV_PTX_SPIN_AS("spin_4") GV_PTX_SPIN_AS("spin_5")
            GV_PTX_SPIN_AS("spin_6") GV_PTX_SPIN_AS("spin_7") GV_PTX_SPIN_AS("spin_8")
                GV_PTX_SPIN_AS("spin_9") GV_PTX_SPIN_AS("spin_10") GV_PTX_SPIN_AS("spin_11");

static unsigned random_below(unsigned limit)
{
    static uint64_t state = GV_RANDOM_START;

    return gv_random_below(&state, limit);
}

static void launch(unsigned kernel)
{
    uint64_t ns = (uint64_t)us * 1000 / 2 + random_below(us * 1000 + 1);
    void *parameters[] = {&ns};

    CHECK(cuLaunchKernel(kernels[kernel % KERNELS], 1, 1, 1, 1, 1, 1, 0, stage.stream, parameters,
                         NULL));
}

static void launch_from(unsigned from, unsigned to)
{
    while (from < to)
        launch(from++);
}

static void input(void)
{
    CHECK(cuMemcpyHtoDAsync(device, host, BYTES, stage.stream));
}

static void result(void)
{
    CHECK(cuMemcpyDtoHAsync(host, device, 4, stage.stream));
    CHECK(cuStreamSynchronize(stage.stream));
}

static void turns(void)
{
    for (kinds = 2; done < steps; done++) {
        if (done % 2)
            launch_from(0, 5);
        else
            launch_from(4, 11);
        result();
    }
}

static void one_nested(void)
{
    input();
    launch_from(0, 2);
    for (unsigned i = 0, inner = 2 + random_below(6); i < inner; i++)
        launch_from(2, 4);
    launch_from(5, 7);
    CHECK(cuStreamSynchronize(stage.stream));
}

static void nested(void)
{
    for (; done < steps; done++)
        one_nested();
}

static void jittered(void)
{
    for (; done < steps; done++) {
        input();
        for (unsigned i = 0; i < 10; i++) {
            if (random_below(30))
                launch(i);
            if (random_below(30) == 0)
                launch(random_below(KERNELS));
        }
        result();
    }
}

static void epochs(void)
{
    unsigned epoch = steps / 10 < 5 ? 5 : steps / 10, validation = 3;

    for (kinds = 2; done < steps;) {
        for (unsigned i = 0; i < epoch && done < steps; i++, done++) {
            input();
            launch_from(0, 9);
            result();
        }
        for (unsigned i = 0; i < validation && done < steps; i++, done++) {
            input();
            launch_from(0, 3);
            launch(11);
            result();
        }
    }
}

static void graph(void)
{
    CUgraphExec executable;
    CUgraph captured;

    CHECK(cuStreamBeginCapture(stage.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_from(0, 6);
    CHECK(cuStreamEndCapture(stage.stream, &captured));
    CHECK(cuGraphInstantiate(&executable, captured, 0));
    for (; done < steps; done++) {
        input();
        CHECK(cuGraphLaunch(executable, stage.stream));
        if (done % 8 == 7)
            CHECK(cuStreamSynchronize(stage.stream));
    }
}

static void in_random_order(void)
{
    for (kinds = 0; done < steps; done++) {
        launch(random_below(8));
        if (random_below(8) == 0)
            CHECK(cuStreamSynchronize(stage.stream));
    }
    done = 0;
}

static void pipeline(void)
{
    kinds = 0;
    for (unsigned i = 0; i < steps; i++) {
        size_t bytes = (size_t)64 << random_below(8);
        CHECK(cuMemcpyHtoDAsync(device, host, bytes, stage.stream));
        launch_from(i * 5 % 7, i * 5 % 7 + 1 + random_below(4));
        CHECK(cuMemsetD8Async(device, 0, (size_t)64 << random_below(8), stage.stream));
        if (random_below(4) == 0)
            CHECK(cuStreamSynchronize(stage.stream));
    }
}

static void push(const char *name)
{
    if (gv_range_push)
        gv_range_push(name);
}

static void pop(void)
{
    if (gv_range_pop)
        gv_range_pop();
}

static void words(void)
{
    char name[32];

    for (; done < steps; done++) {
        if (done % 10 == 0) {
            snprintf(name, sizeof(name), "epoch %u", done / 10);
            push(name);
        }
        snprintf(name, sizeof(name), "step %u", done);
        push(name);
        push("forward");
        one_nested();
        pop();
        one_nested();
        pop();
        if (done % 10 == 9)
            pop();
    }
}

static sem_t asked, launched;
static unsigned parts = 1;

static void *backward(void *unused)
{
    CHECK(cuCtxSetCurrent(stage.context));
    for (unsigned i = 0; i < steps; i++) {
        sem_wait(&asked);
        CHECK(cuMemcpyDtoDAsync(device, device + BYTES / 2, 64, stage.stream));
        for (unsigned part = 0; part < parts; part++) {
            if (parts > 1)
                push("part of backward");
            launch_from(6, 10);
            if (parts > 1)
                pop();
        }
        sem_post(&launched);
    }
    return unused;
}

static void threads(void)
{
    pthread_t thread;

    CHECK(sem_init(&asked, 0, 0) || sem_init(&launched, 0, 0) ||
          pthread_create(&thread, NULL, backward, NULL));
    for (; done < steps; done++) {
        if (parts > 1)
            push("step");
        input();
        launch_from(0, 5);
        sem_post(&asked);
        sem_wait(&launched);
        CHECK(cuStreamSynchronize(stage.stream));
        if (parts > 1)
            pop();
    }
    pthread_join(thread, NULL);
}

static void spoken(void)
{
    parts = 4;
    threads();
}

static void slow(void)
{
    CUmodule module;

    for (; done < steps; done++) {
        input();
        launch_from(0, 3);
        if (done == 0)
            CHECK(cuModuleLoadData(&module, ptx));
        if (done == steps * 3 / 4)
            usleep(SLOW_US);
        launch_from(3, 6);
        result();
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"turns", turns},       {"nested", nested},
             {"jittered", jittered}, {"epochs", epochs},
             {"graph", graph},       {"threads", threads},
             {"spoken", spoken},     {"random", in_random_order},
             {"pipeline", pipeline}, {"words", words},
             {"slow", slow}};

int main(int argc, char **argv)
{
    size_t chosen = 0, count = sizeof(cases) / sizeof(cases[0]);
    CUmodule module;

    while (chosen < count && (argc < 2 || strcmp(argv[1], cases[chosen].name) != 0))
        chosen++;
    if (chosen == count) {
        fprintf(stderr, "usage: steps CASE [STEPS [US]]\n");
        return 2;
    }
    if (argc > 2)
        steps = (unsigned)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        us = (unsigned)strtoul(argv[3], NULL, 10);
    gv_stage_open(&stage, 1, argv);
    CHECK(cuMemAlloc(&device, BYTES));
    CHECK(cuMemHostAlloc(&host, BYTES, 0));
    CHECK(cuModuleLoadData(&module, ptx));
    for (unsigned i = 0; i < KERNELS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "spin_%u", i);
        CHECK(cuModuleGetFunction(&kernels[i], module, name));
    }
    launch_from(7, 12);
    CHECK(cuStreamSynchronize(stage.stream));
    cases[chosen].run();
    CHECK(cuStreamSynchronize(stage.stream));
    printf("steps %u kinds %u\n", done, kinds);
    return gv_stage_close(&stage);
}
