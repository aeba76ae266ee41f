/*
 * Runs CUPTI with the kinds of records of the default mode and nothing else, to compare the default
 * mode's cost with. The driver opens it by CUDA_INJECTION64_PATH.
 *
 *    BENCH_CUPTI         path of libcupti
 *    BENCH_CUPTI_KINDS   numbers of other kinds to enable instead, separated by commas
 *    BENCH_CUPTI_MORE    "", or a way to learn which call a record belongs to, to measure its cost:
 *                        callbacks (of the driver's launches, copies and sets), runtime (a record
 *                        for each of these calls)
 *
 * It knows libcupti only by name, so the few types that it needs are defined here.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (512u * 1024u)
#define BUFFERS      512u

typedef void request(uint8_t **data, size_t *bytes, size_t *records_most);
typedef void complete(void *context, uint32_t stream, uint8_t *data, size_t bytes, size_t used);
typedef void callback(void *context, int domain, uint32_t id, const void *data);

/* Concurrent kernel, memcpy, memcpy2, memset, overhead, JIT, graph trace. */
static const int kinds[] = {10, 1, 22, 2, 17, 52, 51};

#define DRIVER_API 1
#define CALLBACKS  2048u

static uint8_t *free_buffers[BUFFERS];
static uint32_t free_count;
static volatile int lock;
static __thread uint32_t correlation;

static void take_lock(void)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        ;
}

static void give_lock(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void requested(uint8_t **data, size_t *bytes, size_t *records_most)
{
    take_lock();
    *data = free_count ? free_buffers[--free_count] : NULL;
    give_lock();
    if (!*data)
        *data = calloc(1, BUFFER_BYTES);
    *bytes = BUFFER_BYTES;
    *records_most = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *data, size_t bytes, size_t used)
{
    (void)context;
    (void)stream;
    (void)bytes;
    memset(data, 0, used);
    take_lock();
    if (free_count < BUFFERS) {
        free_buffers[free_count++] = data;
        data = NULL;
    }
    give_lock();
    free(data);
}

static void called(void *context, int domain, uint32_t id, const void *data)
{
    (void)context;
    (void)id;
    /* CUpti_CallbackData: the site first, the correlation id at 64. */
    if (domain == DRIVER_API && *(const int *)data == 0)
        correlation = *(const uint32_t *)((const char *)data + 64);
}

static int is_started(const char *name)
{
    return strncmp(name, "cuLaunch", 8) == 0 || strncmp(name, "cuMemcpy", 8) == 0 ||
           strncmp(name, "cuMemset", 8) == 0 || strncmp(name, "cuGraphLaunch", 13) == 0;
}

static void watch(void *cupti, const char *more)
{
    int (*name_of)(int, uint32_t, const char **) = dlsym(cupti, "cuptiGetCallbackName");
    int (*enable_call)(uint32_t, void *, int, uint32_t) = dlsym(cupti, "cuptiEnableCallback");
    int (*enable_record)(uint32_t, uint8_t) = dlsym(cupti, "cuptiActivityEnableDriverApi");
    int (*subscribe)(void **, callback *, void *) = dlsym(cupti, "cuptiSubscribe");
    void *subscriber = NULL;
    int is_callbacks = strcmp(more, "callbacks") == 0;

    if (is_callbacks && subscribe(&subscriber, called, NULL) != 0)
        fprintf(stderr, "bare_cupti: cannot subscribe\n");
    for (uint32_t id = 1; id < CALLBACKS; id++) {
        const char *name = NULL;

        if (name_of(DRIVER_API, id, &name) != 0 || !name || !is_started(name))
            continue;
        if (is_callbacks)
            enable_call(1, subscriber, DRIVER_API, id);
        else if (enable_record)
            enable_record(id, 1);
    }
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *path = getenv("BENCH_CUPTI"), *more = getenv("BENCH_CUPTI_MORE");
    char *chosen = getenv("BENCH_CUPTI_KINDS");
    void *cupti = dlopen(path ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    int (*enable)(int), (*enlist)(request *, complete *), (*flush_every)(uint32_t);

    if (!cupti) {
        fprintf(stderr, "bare_cupti: %s\n", dlerror());
        return 0;
    }
    *(void **)&enable = dlsym(cupti, "cuptiActivityEnable");
    *(void **)&enlist = dlsym(cupti, "cuptiActivityRegisterCallbacks");
    *(void **)&flush_every = dlsym(cupti, "cuptiActivityFlushPeriod");
    for (uint32_t i = 0; i < 16; i++) {
        free_buffers[free_count] = malloc(BUFFER_BYTES);
        if (free_buffers[free_count])
            memset(free_buffers[free_count++], 0, BUFFER_BYTES);
    }
    enlist(requested, completed);
    flush_every(200);
    for (size_t i = 0; !chosen && i < sizeof kinds / sizeof kinds[0]; i++)
        if (enable(kinds[i]) != 0)
            fprintf(stderr, "bare_cupti: kind %d cannot be enabled\n", kinds[i]);
    for (char *at = chosen; at && *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
        if (enable(atoi(at)) != 0)
            fprintf(stderr, "bare_cupti: kind %d cannot be enabled\n", atoi(at));
    if (more && more[0])
        watch(cupti, more);
    return 1;
}
