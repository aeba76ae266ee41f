/*
 * Switches CUPTI on and off, often, while threads launch kernels, copies and graphs: which sequence
 * of calls is safe, what does it lose, and what does a launch cost in between? scripts/bench
 * gpu-windows runs each sequence in a process of its own.
 *
 *    bench_windows SEQUENCE WINDOWS [WINDOW_US [EVERY_US [THREADS]]]
 *    bench_windows --list
 *
 *    BENCH_CUPTI       path of libcupti
 *    BENCH_NO_GRAPHS   set: only kernels and copies
 *
 * Prints `name value` lines. A sequence that the table below does not have can be given as its
 * steps, such as B/SCK/ksf. Without CUPTI (`plain`) it only launches, for as long as the windows
 * would take.
 */
#include <cuda.h>

#include "kernels/clock.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Steps at the start, when a window opens, and when it closes. `!`: the following ones, in a
 * callback at the end of a call on a launching thread, up to `.`
 *
 *    S s   subscribe, unsubscribe
 *    C c   callbacks for calls that start work: on, off
 *    K k   records of kernels, copies, sets and graphs: on, off
 *    0-3   records of one of these: on
 *    B b   buffers and clock are ours; the clock is CUPTI's own
 *    F f   fetch everything; fetch what is complete
 *    w     wait for a ms
 *    Z     finalize
 *    G     the launching threads begin, and make their graphs; else after the start
 *    q Q   no thread begins to launch: from here on, until here
 */
static const struct {
    const char *name, *steps;
} sequences[] = {
    {"plain", ""},
    {"always on", "BSCKG//f"},
    {"attached, off", "BSCKksG//"},
    {"gpuverify: no whole graphs", "BSC012G/012/kf"},
    {"no whole graphs, subscribe", "B/SC012/ksf"},
    {"gpuverify: leave for others", "B/SC012/kcwsf"},
    {"whole graphs that are known", "BSCKGk/K/kf"},
    {"whole graphs that are unknown", "BSCG/K/kf"},
    {"attach to graphs", "/SBC012/ksf"},
    {"finalize", "/SBC012/ksFZ"},
    {"finalize while nothing is launched", "/qSBC012Q/qksFZQ"},
    {"finalize, in a callback", "/SBC012/F!kZ."},
};

#define DRIVER_API   1
#define SITE_END     1
#define CALLBACKS    2048u
#define KINDS_COUNT  4
#define BUFFER_BYTES (256u * 1024u)
#define THREADS_MOST 64
#define NODES        20
#define LAUNCHES     20
#define COPIES       4
#define GRAPHS       5
#define BATCH        (LAUNCHES + COPIES + GRAPHS)
#define IDS          (1u << 26)
#define COSTS_MOST   100000u
#define PAUSE_US     2000 /* between two batches of a thread */

static const int kinds[KINDS_COUNT] = {10, 1, 2, 51};

static const char empty_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry empty()\n{\n ret;\n}\n";

#define CUPTI(X)                                                                                   \
    X(cuptiSubscribe, (void **, void *, void *))                                                   \
    X(cuptiUnsubscribe, (void *))                                                                  \
    X(cuptiEnableCallback, (uint32_t, void *, int, uint32_t))                                      \
    X(cuptiGetCallbackName, (int, uint32_t, const char **))                                        \
    X(cuptiActivityRegisterCallbacks, (void *, void *))                                            \
    X(cuptiActivityRegisterTimestampCallback, (void *))                                            \
    X(cuptiActivityEnable, (int))                                                                  \
    X(cuptiActivityDisable, (int))                                                                 \
    X(cuptiActivityFlushAll, (uint32_t))                                                           \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, void **))                                    \
    X(cuptiFinalize, (void))
#define POINTER(name, parameters) static int(*name) parameters;
CUPTI(POINTER)

static bool has_cupti;
static void *subscriber;
static uint32_t watched[CALLBACKS], watched_count;

/* Four turns for each window. */
enum phase { BETWEEN, OPENING, OPEN, CLOSING, PHASES };
static _Atomic uint32_t turn;
static _Atomic bool is_over;
static _Atomic(const char *) steps_in_callback;

/* The numbers of calls that began and ended in one window, and those of records. A finalised CUPTI
 * may begin to count again. */
static _Atomic uint8_t launched[IDS / 8], recorded[IDS / 8];
static _Atomic uint32_t epoch;
static _Atomic uint64_t records;
static __thread uint32_t correlation;

static int thread_count, graphs = GRAPHS;
static _Atomic int ready;
static CUcontext context;
static CUfunction empty;

struct launcher {
    pthread_t thread;
    uint64_t batches, sure;
    uint32_t costs_ns[2][COSTS_MOST]; /* of a graph launch: between windows, in them */
    unsigned costs[2];
};

static void fail(const char *what, int result)
{
    fprintf(stderr, "bench_windows: %s: error %d\n", what, result);
    exit(1);
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        int must_result = (int)(call);                                                             \
        if (must_result != 0)                                                                      \
            fail(#call, must_result);                                                              \
    } while (0)

/* ---- records ---- */

static void note(_Atomic uint8_t *set, uint32_t number, uint32_t of_epoch)
{
    uint32_t id = (number + of_epoch * 0x1000003u) % IDS;

    atomic_fetch_or_explicit(&set[id / 8], (uint8_t)(1u << id % 8), memory_order_relaxed);
}

static void requested(uint8_t **data, size_t *bytes, size_t *records_most)
{
    *data = aligned_alloc(64, BUFFER_BYTES);
    if (!*data)
        fail("no memory", 0);
    *bytes = BUFFER_BYTES;
    *records_most = 0;
}

/* Where a record has its correlation id (docs of CUPTI 11 to 13: the same in all). */
static uint32_t correlation_of(const char *record)
{
    int kind;
    uint32_t number;

    memcpy(&kind, record, sizeof kind);
    memcpy(&number, record + (kind == kinds[0] ? 92 : kind == kinds[3] ? 4 : 44), sizeof number);
    return number;
}

static void completed(void *unused, uint32_t stream, uint8_t *data, size_t bytes, size_t used)
{
    void *record = NULL;

    (void)unused;
    (void)stream;
    (void)bytes;
    while (used && cuptiActivityGetNextRecord(data, used, &record) == 0) {
        note(recorded, correlation_of(record), atomic_load(&epoch));
        atomic_fetch_add_explicit(&records, 1, memory_order_relaxed);
    }
    free(data);
}

/* ---- steps ---- */

static void watch(bool on)
{
    for (uint32_t i = 0; i < watched_count; i++)
        MUST(cuptiEnableCallback(on, subscriber, DRIVER_API, watched[i]));
}

static void called(void *unused, int domain, uint32_t id, const void *data);

static uint64_t realtime(void)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void start_launching(void);
static pthread_rwlock_t launching = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void do_step(char step)
{
    switch (step) {
    case 'G':
        start_launching();
        break;
    case 'q':
        pthread_rwlock_wrlock(&launching);
        break;
    case 'Q':
        pthread_rwlock_unlock(&launching);
        break;
    case 'S':
        MUST(cuptiSubscribe(&subscriber, (void *)called, NULL));
        break;
    case 's':
        MUST(cuptiUnsubscribe(subscriber));
        break;
    case 'C':
    case 'c':
        watch(step == 'C');
        break;
    case 'K':
    case 'k':
        for (int i = 0; i < KINDS_COUNT; i++)
            MUST((step == 'K' ? cuptiActivityEnable : cuptiActivityDisable)(kinds[i]));
        break;
    case '0':
    case '1':
    case '2':
    case '3':
        MUST(cuptiActivityEnable(kinds[step - '0']));
        break;
    case 'B':
        MUST(cuptiActivityRegisterCallbacks((void *)requested, (void *)completed));
        MUST(cuptiActivityRegisterTimestampCallback((void *)gv_clock_ns));
        break;
    case 'b':
        MUST(cuptiActivityRegisterTimestampCallback((void *)realtime));
        break;
    case 'F':
    case 'f':
        MUST(cuptiActivityFlushAll(step == 'F'));
        break;
    case 'w':
        usleep(1000);
        break;
    case 'Z':
        MUST(cuptiFinalize());
        atomic_fetch_add(&epoch, 1);
        break;
    default:
        fail("no such step", step);
    }
}

/* Up to the next '.' or '/'. */
static const char *do_steps(const char *steps)
{
    while (*steps && *steps != '/' && *steps != '.') {
        if (*steps != '!') {
            do_step(*steps++);
            continue;
        }
        atomic_store(&steps_in_callback, steps + 1);
        while (atomic_load(&steps_in_callback))
            usleep(20);
        steps += strcspn(steps, ".") + 1;
    }
    return steps;
}

/* CUpti_CallbackData: the site first, the correlation id at 64. */
static void called(void *unused, int domain, uint32_t id, const void *data)
{
    static _Atomic(const char *) taken;
    const char *steps = atomic_load_explicit(&steps_in_callback, memory_order_relaxed);
    const char *none = NULL;
    int site;

    (void)unused;
    (void)domain;
    (void)id;
    memcpy(&site, data, sizeof site);
    if (site != SITE_END)
        memcpy(&correlation, (const char *)data + 64, sizeof correlation);
    if (site != SITE_END || !steps || !atomic_compare_exchange_strong(&taken, &none, steps))
        return;
    if (atomic_load(&steps_in_callback) == steps) {
        do_steps(steps);
        atomic_store(&steps_in_callback, NULL);
    }
    atomic_store(&taken, NULL);
}

static bool starts_work(const char *name)
{
    return strncmp(name, "cuLaunch", 8) == 0 || strncmp(name, "cuMemcpy", 8) == 0 ||
           strncmp(name, "cuGraphLaunch", 13) == 0;
}

static void open_cupti(void)
{
    const char *path = getenv("BENCH_CUPTI");
    void *library = dlopen(path ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        fail(dlerror(), 0);
#define LOOK_UP(name, parameters)                                                                  \
    *(void **)&name = dlsym(library, #name);                                                       \
    if (!name)                                                                                     \
        fail("no " #name, 0);
    CUPTI(LOOK_UP)
    for (uint32_t id = 1; id < CALLBACKS; id++) {
        const char *name = NULL;

        if (cuptiGetCallbackName(DRIVER_API, id, &name) == 0 && name && starts_work(name))
            watched[watched_count++] = id;
    }
    has_cupti = true;
}

/* ---- the load ---- */

static CUgraphExec make_graph(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;

    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < NODES; i++)
        MUST(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphDestroy(graph));
    return exec;
}

static void keep_cost(struct launcher *own, enum phase phase, uint64_t duration_ns)
{
    unsigned which = phase == OPEN;

    if (phase % 2 == 0 && own->costs[which] < COSTS_MOST)
        own->costs_ns[which][own->costs[which]++] = (uint32_t)duration_ns;
}

static void *launch(void *argument)
{
    struct launcher *own = argument;
    CUdeviceptr memory;
    CUstream stream;
    CUgraphExec graph;
    void *pinned;

    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc(&memory, 4096));
    MUST(cuMemHostAlloc(&pinned, 4096, 0));
    graph = graphs ? make_graph(stream) : NULL;
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&is_over)) {
        uint32_t begun = atomic_load(&turn), begun_epoch = atomic_load(&epoch);
        uint32_t ids[BATCH], count = 0;
        uint64_t begun_ns, launch_ns;

        pthread_rwlock_rdlock(&launching);
        begun = atomic_load(&turn), begun_epoch = atomic_load(&epoch);
        launch_ns = gv_clock_ns();
        for (int i = 0; i < LAUNCHES; i++, ids[count++] = correlation)
            MUST(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        launch_ns = gv_clock_ns() - launch_ns;
        for (int i = 0; i < COPIES; i++, ids[count++] = correlation)
            MUST(cuMemcpyHtoDAsync(memory, pinned, 64, stream));
        begun_ns = gv_clock_ns();
        for (int i = 0; i < graphs; i++, ids[count++] = correlation)
            MUST(cuGraphLaunch(graph, stream));
        begun_ns = gv_clock_ns() - begun_ns;
        pthread_rwlock_unlock(&launching);
        if (atomic_load(&turn) == begun) {
            keep_cost(own, begun % PHASES, graphs ? begun_ns / GRAPHS : launch_ns / LAUNCHES);
            own->sure += begun % PHASES == OPEN ? count : 0;
            for (uint32_t i = 0; has_cupti && begun % PHASES == OPEN && i < count; i++)
                if (ids[i])
                    note(launched, ids[i], begun_epoch);
        }
        own->batches++;
        MUST(cuStreamSynchronize(stream));
        usleep(PAUSE_US);
    }
    return NULL;
}

static struct launcher launchers[THREADS_MOST];

static void start_launching(void)
{
    for (int i = 0; i < thread_count; i++)
        MUST(pthread_create(&launchers[i].thread, NULL, launch, &launchers[i]));
    while (atomic_load(&ready) < thread_count)
        usleep(100);
}

static void prepare(void)
{
    CUdevice device;
    CUmodule module;

    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuModuleLoadData(&module, empty_ptx));
    MUST(cuModuleGetFunction(&empty, module, "empty"));
}

/* ---- windows ---- */

static void sleep_until(uint64_t at_ns)
{
    struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000u),
                          .tv_nsec = (long)(at_ns % 1000000000u)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static const char *next_part(const char *steps)
{
    steps += strcspn(steps, "/");
    return *steps ? steps + 1 : steps;
}

struct spent {
    uint64_t open_ns, close_ns, open_most_ns, close_most_ns;
};

static uint64_t done_in(const char *steps, uint64_t *most_ns)
{
    uint64_t begun_ns = gv_clock_ns(), took_ns;

    do_steps(steps);
    took_ns = gv_clock_ns() - begun_ns;
    if (took_ns > *most_ns)
        *most_ns = took_ns;
    return took_ns;
}

static void make_windows(const char *steps, int windows, uint64_t window_ns, uint64_t every_ns,
                         struct spent *spent)
{
    const char *opens = next_part(steps), *closes = next_part(opens);
    uint64_t at_ns = gv_clock_ns();

    for (int i = 0; i < windows; i++) {
        atomic_fetch_add(&turn, 1);
        spent->open_ns += done_in(opens, &spent->open_most_ns);
        atomic_fetch_add(&turn, 1);
        sleep_until(gv_clock_ns() + window_ns);
        atomic_fetch_add(&turn, 1);
        spent->close_ns += done_in(closes, &spent->close_most_ns);
        atomic_fetch_add(&turn, 1);
        at_ns += every_ns;
        sleep_until(at_ns);
        printf("done %d\n", i + 1); /* the last line of a process that dies */
    }
}

static int by_size(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static void print_costs(const char *name, int threads, int which)
{
    static uint32_t all_ns[THREADS_MOST * (size_t)COSTS_MOST];
    size_t count = 0;

    for (int i = 0; i < threads; i++) {
        memcpy(all_ns + count, launchers[i].costs_ns[which],
               launchers[i].costs[which] * sizeof *all_ns);
        count += launchers[i].costs[which];
    }
    qsort(all_ns, count, sizeof *all_ns, by_size);
    if (count)
        printf("%s_p10_ns %u\n%s_p50_ns %u\n", name, all_ns[count / 10], name, all_ns[count / 2]);
}

static void print_found(int threads, int windows, const struct spent *spent)
{
    uint64_t batches = 0, sure = 0, lost = 0;

    for (int i = 0; i < threads; i++) {
        batches += launchers[i].batches;
        sure += launchers[i].sure;
    }
    for (uint32_t i = 0; has_cupti && i < IDS / 8; i++)
        lost += (unsigned)__builtin_popcount(launched[i] & ~recorded[i] & 0xffu);
    print_costs("between", threads, 0);
    print_costs("inside", threads, 1);
    printf("calls %llu\nsure %llu\nrecords %llu\nlost %llu\n", (unsigned long long)batches * BATCH,
           (unsigned long long)sure, (unsigned long long)atomic_load(&records),
           (unsigned long long)lost);
    printf("open_us %.1f\nopen_most_us %.1f\nclose_us %.1f\nclose_most_us %.1f\n",
           (double)spent->open_ns / windows / 1e3, (double)spent->open_most_ns / 1e3,
           (double)spent->close_ns / windows / 1e3, (double)spent->close_most_ns / 1e3);
}

static const char *steps_of(const char *name)
{
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++)
        if (strcmp(sequences[i].name, name) == 0)
            return sequences[i].steps;
    return name;
}

/* Where it dies, which no one else says. */
static void died(int number)
{
    void *frames[32];

    backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
    signal(number, SIG_DFL);
    raise(number);
}

int main(int argc, char **argv)
{
    int windows = argc > 2 ? atoi(argv[2]) : 0, threads = argc > 5 ? atoi(argv[5]) : 8;
    uint64_t window_us = argc > 3 ? strtoull(argv[3], NULL, 10) : 5000;
    uint64_t every_us = argc > 4 ? strtoull(argv[4], NULL, 10) : 15000;
    struct spent spent = {0};
    const char *steps;

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++)
            printf("%s\n", sequences[i].name);
        return 0;
    }
    if (windows < 1 || threads < 1 || threads > THREADS_MOST) {
        fprintf(stderr, "usage: bench_windows SEQUENCE WINDOWS [WINDOW_US [EVERY_US [THREADS]]]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGSEGV, died);
    steps = steps_of(argv[1]);
    thread_count = threads;
    graphs = getenv("BENCH_NO_GRAPHS") ? 0 : GRAPHS;
    prepare();
    if (*steps)
        open_cupti();
    do_steps(steps);
    if (!strchr(steps, 'G'))
        start_launching();
    make_windows(steps, windows, window_us * 1000u, every_us * 1000u, &spent);
    atomic_store(&is_over, true);
    for (int i = 0; i < threads; i++)
        pthread_join(launchers[i].thread, NULL);
    MUST(cuCtxSynchronize());
    if (*steps && !strchr(steps, 'Z'))
        MUST(cuptiActivityFlushAll(1));
    print_found(threads, windows, &spent);
    return 0;
}
