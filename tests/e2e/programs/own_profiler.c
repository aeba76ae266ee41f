/*
 * own_profiler LIBCUPTI [WORD...]: profiles itself in sessions, as torch.profiler does, and
 * launches outside of them too. Prints its work, and on stderr what each session saw. A WORD is
 *
 *    sessions             makes three sessions, with pauses in between; otherwise one
 *    unsubscribes         at each session's end; otherwise it keeps its subscription (PyTorch)
 *    finalizes            unsubscribes and finalises (JAX, Proton)
 *    tears-down           asks for callbacks after a session, and finalises much later: PyTorch
 *                         with TEARDOWN_CUPTI=1
 *    own-clock            registers a clock before its buffers
 *    registers-once       registers its buffers once, not in each session
 *    callbacks            only counts its launches by callbacks
 *    threads              launches in eight threads all the time
 *    before-cuda          starts the first session before the first CUDA call
 *    signals-first        survives a signal before its first launches
 *    signals-just-before  survives a signal after its first launches
 */
#include "e2e.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUFFERS      256
#define BUFFER_BYTES 65536u
#define KERNELS      10 /* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL */
#define DRIVER_API   1
#define LAUNCHES     20 /* in each session, and before, and after */
#define BREAK_US     800000
#define CLOCK_AHEAD  5000000000000u /* of CLOCK_MONOTONIC */

#define CALLS(X)                                                                                   \
    X(cuptiSubscribe, (void **, void *, void *))                                                   \
    X(cuptiUnsubscribe, (void *))                                                                  \
    X(cuptiFinalize, (void))                                                                       \
    X(cuptiEnableDomain, (uint32_t, void *, int))                                                  \
    X(cuptiActivityRegisterCallbacks, (void *, void *))                                            \
    X(cuptiGetTimestamp, (uint64_t *))                                                             \
    X(cuptiActivityRegisterTimestampCallback, (void *))                                            \
    X(cuptiActivityEnable, (int))                                                                  \
    X(cuptiActivityDisable, (int))                                                                 \
    X(cuptiActivityFlushAll, (uint32_t))                                                           \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, void *))
#define POINTER(name, parameters) static int(*name) parameters;
CALLS(POINTER)

static uint8_t buffers[BUFFERS][BUFFER_BYTES] __attribute__((aligned(8)));
static atomic_uint given, seen, untimely, foreign, called;
static atomic_bool is_over;
static uint64_t began_ns;
static bool own_clock;
static void *subscriber;
static struct e2e_gpu gpu;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t own_now(void)
{
    return read_clock(CLOCK_MONOTONIC) + CLOCK_AHEAD;
}

/* What records' times are in. */
static uint64_t records_now(void)
{
    return own_clock ? own_now() : read_clock(CLOCK_REALTIME);
}

/* Also between sessions: CUPTI's time is the one of records. */
static void check_time(void)
{
    uint64_t before_ns = records_now(), now_ns;

    OK(cuptiGetTimestamp(&now_ns));
    REQUIRE(now_ns >= before_ns && now_ns <= records_now());
}

static void give(uint8_t **buffer, size_t *bytes, size_t *records)
{
    unsigned number = atomic_fetch_add(&given, 1);

    REQUIRE(number < BUFFERS);
    *buffer = buffers[number];
    *bytes = BUFFER_BYTES;
    *records = 0;
}

static void take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    void *record = NULL;
    uint64_t times[2], now_ns = records_now();

    (void)context, (void)stream, (void)bytes;
    if (buffer < buffers[0] || buffer >= buffers[0] + sizeof buffers) {
        foreign++;
        return;
    }
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
        seen++;
        memcpy(times, (uint8_t *)record + 16, sizeof times);
        if (times[1] && (times[0] < began_ns || times[1] > now_ns))
            untimely++;
    }
}

static void called_back(void *user, int domain, uint32_t id, const void *data)
{
    (void)user, (void)id;
    if (domain == DRIVER_API && *(const int *)data == 0)
        called++;
}

/* Everything in CUPTI is fetched, and recording continues. */
static void outlive_a_signal(void)
{
    sigset_t terms;
    int number;

    sigemptyset(&terms);
    sigaddset(&terms, SIGTERM);
    sigprocmask(SIG_BLOCK, &terms, NULL);
    kill(getpid(), SIGTERM);
    REQUIRE(!sigwait(&terms, &number));
}

static void *launch_on(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(gpu.context));
    while (!is_over) {
        e2e_tick(&gpu, 1);
        usleep(1000);
    }
    return NULL;
}

static void work(void)
{
    e2e_tick(&gpu, LAUNCHES);
    OK(cuCtxSynchronize());
}

static bool has(char **words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static void begin(char **words, bool is_first)
{
    if (!is_first || !own_clock)
        check_time();
    if (!subscriber)
        OK(cuptiSubscribe(&subscriber, (void *)called_back, NULL));
    if (has(words, "callbacks")) {
        OK(cuptiEnableDomain(1, subscriber, DRIVER_API));
        return;
    }
    if (own_clock)
        OK(cuptiActivityRegisterTimestampCallback((void *)own_now));
    if (is_first || !has(words, "registers-once"))
        OK(cuptiActivityRegisterCallbacks((void *)give, (void *)take));
    OK(cuptiActivityEnable(KERNELS));
    began_ns = records_now();
}

static void finalize(void)
{
    OK(cuptiUnsubscribe(subscriber));
    subscriber = NULL;
    OK(cuptiFinalize());
}

static void end(char **words, int session)
{
    bool is_exact = !has(words, "threads");

    if (has(words, "callbacks")) {
        OK(cuptiEnableDomain(0, subscriber, DRIVER_API));
        fprintf(stderr, "session %d: callbacks %u\n", session, called);
        return;
    }
    OK(cuptiActivityFlushAll(1));
    OK(cuptiActivityDisable(KERNELS));
    OK(cuptiActivityFlushAll(1));
    fprintf(stderr, "session %d: records %u, at another time %u, in buffers of others %u\n",
            session, is_exact ? seen : seen >= LAUNCHES, untimely, foreign);
    seen = untimely = 0;
    if (has(words, "unsubscribes")) {
        OK(cuptiUnsubscribe(subscriber));
        subscriber = NULL;
    } else if (has(words, "finalizes")) {
        finalize();
    } else if (has(words, "tears-down")) {
        OK(cuptiEnableDomain(1, subscriber, DRIVER_API));
    }
}

int main(int argc, char **argv)
{
    char **words = argv + 2;
    pthread_t threads[8];
    void *library;
    int sessions, launches = LAUNCHES;

    REQUIRE(argc >= 2);
    sessions = has(words, "sessions") ? 3 : 1;
    own_clock = has(words, "own-clock");
    library = dlopen(argv[1], RTLD_NOW);
    REQUIRE(library);
    if (has(words, "before-cuda")) {
#define LOOK_UP(name, parameters)                                                                  \
    *(void **)&name = dlsym(library, #name);                                                       \
    REQUIRE(name);
        CALLS(LOOK_UP)
        begin(words, true);
    }
    e2e_open(&gpu);
    if (has(words, "signals-first"))
        outlive_a_signal();
    work();
    if (has(words, "signals-just-before"))
        outlive_a_signal();
    for (int i = 0; has(words, "threads") && i < 8; i++)
        REQUIRE(!pthread_create(&threads[i], NULL, launch_on, NULL));
    CALLS(LOOK_UP)
    for (int session = 0; session < sessions; session++) {
        if (session > 0 || !has(words, "before-cuda"))
            begin(words, session == 0);
        work();
        end(words, session);
        usleep(BREAK_US);
        if (has(words, "tears-down"))
            finalize();
        work();
        launches += 2 * LAUNCHES;
    }
    is_over = true;
    for (int i = 0; has(words, "threads") && i < 8; i++)
        pthread_join(threads[i], NULL);
    printf("%d launches\n", launches);
    return 0;
}
