/*
 * Runs CUPTI alone, with as little as records of GPU work need: a lean client, to compare the
 * default mode's cost with. The driver opens it by CUDA_INJECTION64_PATH.
 *
 *    BENCH_CUPTI        path of libcupti
 *    BENCH_CUPTI_ASKS   what it asks for, separated by commas; without it: 10,1,2,51
 *                       (kernels, copies, sets, graphs as a whole)
 *       NUMBER          records of this kind (CUpti_ActivityKind)
 *       callbacks       a callback at the start and end of each driver call that starts GPU work
 *       modules         a callback for each module that is loaded
 *       timestamps      the times of records come from a callback
 *       zeroed          buffers are given zeroed
 *
 * It knows libcupti only by name, so the few types that it needs are defined here.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUFFER_BYTES  (512u * 1024u)
#define BUFFERS       512u
#define BUFFERS_READY 16u

typedef void request(uint8_t **data, size_t *bytes, size_t *records_most);
typedef void complete(void *context, uint32_t stream, uint8_t *data, size_t bytes, size_t used);
typedef void callback(void *context, int domain, uint32_t id, const void *data);

/* CUPTI's numbers. */
#define DRIVER_API       1
#define RESOURCE         3
#define MODULE_LOADED    6
#define ZEROED_ATTRIBUTE 5
#define CALLBACKS        2048u

static uint8_t *free_buffers[BUFFERS];
static uint32_t free_count;
static volatile int lock;
static int gives_zeroed;
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
    if (gives_zeroed)
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

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int watch_calls(void *cupti, void *subscriber)
{
    int (*name_of)(int, uint32_t, const char **) = dlsym(cupti, "cuptiGetCallbackName");
    int (*enable)(uint32_t, void *, int, uint32_t) = dlsym(cupti, "cuptiEnableCallback");
    int result = 0;

    for (uint32_t id = 1; id < CALLBACKS; id++) {
        const char *name = NULL;

        if (name_of(DRIVER_API, id, &name) == 0 && name && is_started(name))
            result |= enable(1, subscriber, DRIVER_API, id);
    }
    return result;
}

/* Returns CUPTI's result. */
static int ask(void *cupti, const char *word)
{
    static void *subscriber;
    int (*enable_kind)(int) = dlsym(cupti, "cuptiActivityEnable");
    int (*subscribe)(void **, callback *, void *) = dlsym(cupti, "cuptiSubscribe");
    int (*enable)(uint32_t, void *, int, uint32_t) = dlsym(cupti, "cuptiEnableCallback");
    int (*set_clock)(uint64_t(*)(void)) = dlsym(cupti, "cuptiActivityRegisterTimestampCallback");
    int (*set)(int, size_t *, void *) = dlsym(cupti, "cuptiActivitySetAttribute");
    size_t bytes = 1;
    uint8_t yes = 1;

    if (strcmp(word, "timestamps") == 0)
        return set_clock(now);
    if (strcmp(word, "zeroed") == 0) {
        gives_zeroed = 1;
        return set(ZEROED_ATTRIBUTE, &bytes, &yes);
    }
    if (strcmp(word, "callbacks") != 0 && strcmp(word, "modules") != 0)
        return enable_kind(atoi(word));
    if (!subscriber && subscribe(&subscriber, called, NULL) != 0)
        return -1;
    return word[0] == 'c' ? watch_calls(cupti, subscriber)
                          : enable(1, subscriber, RESOURCE, MODULE_LOADED);
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *path = getenv("BENCH_CUPTI"), *asks = getenv("BENCH_CUPTI_ASKS");
    void *cupti = dlopen(path ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    int (*enlist)(request *, complete *), (*flush_every)(uint32_t);
    char words[256], *rest;

    if (!cupti) {
        fprintf(stderr, "bare_cupti: %s\n", dlerror());
        return 0;
    }
    *(void **)&enlist = dlsym(cupti, "cuptiActivityRegisterCallbacks");
    *(void **)&flush_every = dlsym(cupti, "cuptiActivityFlushPeriod");
    while (free_count < BUFFERS_READY && (free_buffers[free_count] = malloc(BUFFER_BYTES)))
        memset(free_buffers[free_count++], 0, BUFFER_BYTES);
    enlist(requested, completed);
    flush_every(200);
    snprintf(words, sizeof words, "%s", asks ? asks : "10,1,2,51");
    for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (ask(cupti, word) != 0)
            fprintf(stderr, "bare_cupti: CUPTI refuses %s\n", word);
    return 1;
}
