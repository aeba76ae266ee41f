/*
 * Uses CUDA at random, as a seed says, and logs each call (log.h). tests/soak.py runs it with the
 * library and without, and compares the log with the trace.
 *
 *     soak SEED STEPS [FEATURES [die]]
 *
 * Several slots have one thread after the other, and each thread takes STEPS steps. The output
 * depends only on the arguments. FEATURES are letters:
 *
 *     h  signal handlers that make calls    j  jumps out of a call   t  exceptions through a call
 *     f  forked children that make calls    x  children that run this program
 *     c  contexts that come and go          p  first calls of several threads at once
 *     a  an end by _exit or SIGKILL while another thread makes calls
 *     s  calls in a callback of the driver, calls of an ending thread, and calls that wait for the
 *        context while another thread captures
 *
 * A real driver supports c, p, x and a; the others need the simulator.
 *
 * With `die` it ends as a letter from stdin says (deaths.c).
 */
#include "kernels/soak/soak.h"

#include "kernels/check.h"
#include "kernels/ptx.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PLACES_MAX 4
#define LIVES_MAX  3

struct soak_process soak = {.features = ""};

static pthread_key_t last_words;

static const struct {
    soak_step *step;
    unsigned weight;
    char feature; /* or 0 */
} steps[] = {
    {soak_step_launches, 20, 0}, {soak_step_copies, 10, 0},  {soak_step_sets, 5, 0},
    {soak_step_events, 15, 0},   {soak_step_polls, 4, 0},    {soak_step_streams, 8, 0},
    {soak_step_memory, 8, 0},    {soak_step_context, 6, 0},  {soak_step_host_function, 3, 0},
    {soak_step_failures, 5, 0},  {soak_step_name, 1, 0},     {soak_step_capture, 4, 0},
    {soak_step_module, 8, 0},    {soak_step_nested, 2, 's'}, {soak_step_second_context, 1, 'c'},
    {soak_step_fork, 1, 'f'},    {soak_step_child, 1, 'x'},  {soak_step_jump, 1, 'j'},
    {soak_step_throw, 2, 't'},
};

enum ending { RETURNS, EXITS_THREAD, IS_CANCELLED, ENDINGS };

struct life {
    unsigned place, number;
    pthread_t thread;
    uint64_t random, digest;
    bool speaks_late;
};
static struct life lives[PLACES_MAX][LIVES_MAX];
static unsigned places, lives_each;

/* ---- for throws.cpp, which cannot include log.h ---- */

void soak_before_throw(void);
void soak_after_throw(int result);

void soak_before_throw(void)
{
    soak_before(SOAK_cuOccupancyMaxPotentialBlockSize);
}

void soak_after_throw(int result)
{
    soak_after(SOAK_cuOccupancyMaxPotentialBlockSize, result);
}

#ifdef SOAK_NO_CPP
bool soak_throw(CUfunction function)
{
    (void)function;
    return false;
}
#endif

/* ---- threads ---- */

static void take_step(struct soak_thread *thread)
{
    unsigned total = 0, at;
    size_t i = 0;

    for (size_t j = 0; j < sizeof steps / sizeof steps[0]; j++)
        total += !steps[j].feature || soak_has(steps[j].feature) ? steps[j].weight : 0;
    at = soak_random(thread, total);
    for (;; i++) {
        if (steps[i].feature && !soak_has(steps[i].feature))
            continue;
        if (at < steps[i].weight)
            break;
        at -= steps[i].weight;
    }
    steps[i].step(thread);
}

static void set_up(struct soak_thread *thread)
{
    TOLD(thread, cuCtxSetCurrent, soak.context);
    TOLD(thread, cuStreamCreate, &thread->home, CU_STREAM_NON_BLOCKING);
    soak_note(SOAK_BYTES, SOAK_BYTES_MAX + SOAK_SCRATCH);
    TOLD(thread, cuMemAlloc_v2, &thread->device, SOAK_BYTES_MAX + SOAK_SCRATCH);
    thread->scratch = thread->device + SOAK_BYTES_MAX;
    soak_note(SOAK_BYTES, SOAK_BYTES_MAX);
    TOLD(thread, cuMemAllocHost_v2, (void **)&thread->pinned, SOAK_BYTES_MAX);
}

static void tear_down(struct soak_thread *thread)
{
    TOLD(thread, cuStreamSynchronize, thread->home);
    for (int i = 0; i < SOAK_OWN; i++) {
        if (thread->streams[i])
            TOLD(thread, cuStreamDestroy_v2, thread->streams[i]);
        if (thread->events[i])
            TOLD(thread, cuEventDestroy_v2, thread->events[i]);
    }
    for (int i = 0; i < SOAK_MODULES; i++)
        soak_drop_module(thread, &thread->modules[i]);
    TOLD(thread, cuMemFree_v2, thread->device);
    TOLD(thread, cuMemFreeHost, thread->pinned);
    TOLD(thread, cuStreamDestroy_v2, thread->home);
}

/* In a thread that is ending; after the library's destructor, or before it. */
static void speak_last(void *data)
{
    struct life *life = data;

    for (int i = 0; life->speaks_late && i < 3; i++) {
        DO(cuEventQuery, soak.always);
        soak_launch(soak.kernels[SOAK_EMPTY], SOAK_EMPTY, soak.shared[0], NULL);
    }
    soak_close();
}

static void *live(void *data)
{
    struct life *life = data;
    struct soak_thread *thread = calloc(1, sizeof *thread);
    enum ending ending;
    char name[16];

    if (!thread)
        abort();
    snprintf(name, sizeof name, "soak %u.%u", life->place, life->number);
    prctl(PR_SET_NAME, name);
    soak_open();
    pthread_setspecific(last_words, life);
    thread->random = life->random;
    set_up(thread);
    if (soak_has('h'))
        soak_interrupts_start(thread);
    for (long i = 0; i < soak.steps; i++) {
        take_step(thread);
        soak_slow_down();
    }
    soak_interrupts_stop();
    tear_down(thread);
    life->speaks_late = soak_has('s') && soak_random(thread, 3) == 0;
    ending = (enum ending)soak_random(thread, ENDINGS);
    life->digest = thread->digest;
    free(thread);
    if (life->number + 1 < lives_each && pthread_create(&life[1].thread, NULL, live, &life[1]))
        abort();
    if (ending == EXITS_THREAD)
        pthread_exit(NULL);
    if (ending == IS_CANCELLED) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    return NULL;
}

static void run_threads(struct soak_thread *self)
{
    for (unsigned i = 0; i < places; i++)
        for (unsigned j = 0; j < lives_each; j++)
            lives[i][j] = (struct life){
                .place = i, .number = j, .random = self->random + 977u * (i * LIVES_MAX + j + 1)};
    for (unsigned i = 0; i < places; i++)
        if (pthread_create(&lives[i][0].thread, NULL, live, &lives[i][0]))
            abort();
    for (unsigned i = 0; i < places; i++)
        for (unsigned j = 0; j < lives_each; j++)
            pthread_join(lives[i][j].thread, NULL); /* started before its predecessor ended */
    /* Not earlier: a forked child may write what is still in the buffer. */
    for (unsigned i = 0; i < places; i++)
        for (unsigned j = 0; j < lives_each; j++)
            printf("place %u, life %u: %016llx\n", i, j, (unsigned long long)lives[i][j].digest);
}

/* ---- the process ---- */

static void open_driver(struct soak_thread *self)
{
    TOLD(self, cuInit, 0);
    TOLD(self, cuDevicePrimaryCtxRetain, &soak.context, soak.device);
    TOLD(self, cuCtxSetCurrent, soak.context);
    soak_note(SOAK_LOADS, 0);
    TOLD(self, cuModuleLoadData, &soak.module, gv_ptx_tour);
    TOLD(self, cuModuleGetFunction, &soak.kernels[SOAK_EMPTY], soak.module, "empty");
    TOLD(self, cuModuleGetFunction, &soak.kernels[SOAK_SPIN], soak.module, "spin");
    TOLD(self, cuModuleGetFunction, &soak.kernels[SOAK_FILL], soak.module, "fill");
    for (unsigned i = 0; i < SOAK_SHARED; i++)
        TOLD(self, cuStreamCreate, &soak.shared[i], i ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    TOLD(self, cuEventCreate, &soak.first, 0);
    TOLD(self, cuEventCreate, &soak.always, 0);
    TOLD(self, cuEventRecord, soak.first, soak.shared[0]);
    TOLD(self, cuEventRecord, soak.always, soak.shared[0]);
    TOLD(self, cuEventSynchronize, soak.always);
}

static void close_driver(struct soak_thread *self)
{
    TOLD(self, cuCtxSynchronize);
    TOLD(self, cuModuleUnload, soak.module);
    TOLD(self, cuDevicePrimaryCtxRelease_v2, soak.device);
}

/* One of several threads that start using CUDA at the same moment. */
static void *begin(void *barrier)
{
    CUfunction empty = NULL;
    CUcontext context = NULL;
    CUmodule module = NULL;

    soak_open();
    pthread_barrier_wait(barrier);
    DO(cuInit, 0);
    DO(cuDevicePrimaryCtxRetain, &context, soak.device);
    DO(cuCtxSetCurrent, context);
    soak_note(SOAK_LOADS, 0);
    DO(cuModuleLoadData, &module, gv_ptx_tour);
    DO(cuModuleGetFunction, &empty, module, "empty");
    for (int i = 0; i < 50; i++)
        soak_launch(empty, SOAK_EMPTY, NULL, NULL);
    DO(cuCtxSynchronize);
    DO(cuModuleUnload, module);
    soak_close();
    return NULL;
}

static void begin_at_once(unsigned count)
{
    pthread_t threads[PLACES_MAX];
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, count);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, begin, &barrier))
            abort();
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

/* Waits until the process ends. */
static void *stay_busy(void *unused)
{
    CUstream stream = NULL;

    (void)unused;
    soak_open();
    DO(cuCtxSetCurrent, soak.context);
    DO(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0;; i++) {
        if (i % 4)
            DO(cuEventQuery, soak.always);
        else
            soak_launch(soak.kernels[SOAK_EMPTY], SOAK_EMPTY, stream, NULL);
        usleep(20);
    }
    return NULL;
}

static void end_abruptly(struct soak_thread *self)
{
    uint32_t how = soak_random(self, 2);
    pthread_t busy;

    if (pthread_create(&busy, NULL, stay_busy, NULL))
        abort();
    usleep(3000);
    fflush(stdout);
    if (how)
        raise(SIGKILL);
    _exit(5);
}

int main(int argc, char **argv)
{
#define SOAK_NAME(symbol) #symbol,
    static const char *const names[] = {SOAK_CALLS(SOAK_NAME)};
    static struct soak_thread self;

    if (argc < 3) {
        fprintf(stderr, "usage: %s SEED STEPS [FEATURES]\n", argv[0]);
        return 2;
    }
    soak.seed = strtoull(argv[1], NULL, 10);
    soak.steps = strtol(argv[2], NULL, 10);
    soak.features = argc > 3 ? argv[3] : "";
    soak.program = argv[0];
    self.random = soak.seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++)
        soak_random(&self, 2);
    soak_names(names, SOAK_CALL_COUNT);
    soak_interrupts_prepare();
    soak_open();
    places = 1 + soak_random(&self, PLACES_MAX);
    lives_each = 1 + soak_random(&self, LIVES_MAX);
    if (pthread_key_create(&last_words, speak_last))
        return 1;
    if (soak_has('p'))
        begin_at_once(places);
    soak.dies = argc > 4;
    if (soak.dies)
        soak_die_when_told();
    open_driver(&self);
    run_threads(&self);
    if (soak_has('a'))
        end_abruptly(&self);
    close_driver(&self);
    printf("main: %016llx\n", (unsigned long long)self.digest);
    soak_close();
    return (int)soak_random(&self, 3);
}
