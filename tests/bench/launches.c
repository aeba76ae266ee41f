/*
 * Launches an empty kernel many times, and prints measurements; scripts/bench runs it.
 *
 *    bench_launches [-n LAUNCHES] [-s SECONDS] [-t THREADS] [-b BURST] [-i IDLE_US] [-p PACE_NS]
 *                   [-d DEPTH] [-k STACK_BYTES] [-f FILE]
 *
 * Each of THREADS threads launches LAUNCHES times, or for SECONDS. -b prints the time per launch of
 * every burst of BURST launches, the mean of the threads; -i pauses after each burst. -p launches
 * once per PACE_NS; with -b, the time is that inside the launches, and of reading a clock. -d
 * launches from DEPTH nested functions, -k below STACK_BYTES of stack. -t 0 only initialises the
 * driver: one call. FILE is shared memory; its first 64-bit number is the count
 * of launches that have returned (one thread). Prints `name value` lines; the last is the clock
 * just before main returns.
 */
#include <cuda.h>

#include "kernels/clock.h"

#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BURSTS_MAX 4096

static const char empty_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry empty()\n{\n ret;\n}\n";

struct options {
    uint64_t launches;
    double seconds;
    int threads;
    uint64_t burst;
    uint64_t idle_us;
    uint64_t pace_ns;
    unsigned depth;
    size_t stack_bytes;
    const char *file;
};

struct driver {
    __typeof__(cuInit) *init;
    __typeof__(cuDeviceGet) *device_get;
    __typeof__(cuDevicePrimaryCtxRetain) *context_retain;
    __typeof__(cuCtxSetCurrent) *context_set;
    __typeof__(cuModuleLoadData) *load;
    __typeof__(cuModuleGetFunction) *function;
    __typeof__(cuLaunchKernel) *launch;
    CUcontext context;
    CUfunction empty;
};

struct worker {
    const struct options *options;
    const struct driver *driver;
    _Atomic uint64_t *progress;
    uint64_t done;
    pthread_t thread;
    double burst_ns[BURSTS_MAX];
};

static void fail(const char *what, int error)
{
    fprintf(stderr, "bench_launches: %s: error %d\n", what, error);
    exit(1);
}

static void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);
    if (!address) {
        fail(name, 0);
    }
    return address;
}

static void must(const char *what, CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fail(what, (int)result);
    }
}

static void driver_open(struct driver *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fail("no libcuda.so.1", 0);
    }
    driver->init = symbol(library, "cuInit");
    driver->device_get = symbol(library, "cuDeviceGet");
    driver->context_retain = symbol(library, "cuDevicePrimaryCtxRetain");
    driver->context_set = symbol(library, "cuCtxSetCurrent");
    driver->load = symbol(library, "cuModuleLoadData");
    driver->function = symbol(library, "cuModuleGetFunction");
    driver->launch = symbol(library, "cuLaunchKernel");
    must("cuInit", driver->init(0));
}

static void context_open(struct driver *driver)
{
    CUdevice device;
    CUmodule module;
    must("cuDeviceGet", driver->device_get(&device, 0));
    must("cuDevicePrimaryCtxRetain", driver->context_retain(&driver->context, device));
    must("cuCtxSetCurrent", driver->context_set(driver->context));
    must("cuModuleLoadData", driver->load(&module, empty_ptx));
    must("cuModuleGetFunction", driver->function(&driver->empty, module, "empty"));
}

static void launch_once(struct worker *worker)
{
    const struct driver *driver = worker->driver;
    must("cuLaunchKernel", driver->launch(driver->empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    worker->done++;
    if (worker->progress) {
        atomic_store_explicit(worker->progress, worker->done, memory_order_release);
    }
}

static void launch_bursts(struct worker *worker)
{
    const struct options *options = worker->options;
    for (uint64_t at = 0; worker->done + options->burst <= options->launches; at++) {
        uint64_t start_ns = gv_clock_ns();
        for (uint64_t i = 0; i < options->burst; i++) {
            launch_once(worker);
        }
        if (at < BURSTS_MAX) {
            worker->burst_ns[at] = (double)(gv_clock_ns() - start_ns) / (double)options->burst;
        }
        if (options->idle_us) {
            usleep((useconds_t)options->idle_us);
        }
    }
}

static void launch_paced(struct worker *worker)
{
    const struct options *options = worker->options;
    uint64_t start_ns = gv_clock_ns();
    uint64_t end_ns = start_ns + (uint64_t)(options->seconds * 1e9);
    uint64_t next_ns = start_ns;
    while (options->seconds > 0 || worker->done < options->launches) {
        uint64_t time_ns = gv_clock_ns();
        if (options->seconds > 0 && time_ns >= end_ns) {
            break;
        }
        if (time_ns >= next_ns) {
            next_ns += options->pace_ns;
            launch_once(worker);
            if (options->burst && (worker->done - 1) / options->burst < BURSTS_MAX) {
                worker->burst_ns[(worker->done - 1) / options->burst] +=
                    (double)(gv_clock_ns() - time_ns) / (double)options->burst;
            }
        }
    }
}

static void launch_all(struct worker *worker)
{
    if (worker->options->pace_ns || worker->options->seconds > 0) {
        launch_paced(worker);
    } else if (worker->options->burst) {
        launch_bursts(worker);
    } else {
        while (worker->done < worker->options->launches) {
            launch_once(worker);
        }
    }
}

/* Nested frames for the stack. The code after the call keeps the compiler from making a loop. */
__attribute__((noinline)) static unsigned descend(struct worker *worker, unsigned depth)
{
    if (depth == 0) {
        launch_all(worker);
        return 0;
    }
    unsigned below = descend(worker, depth - 1);
    __asm__ volatile("" ::: "memory");
    return below + 1;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    void *space = alloca(worker->options->stack_bytes);
    memset(space, 0, worker->options->stack_bytes);
    __asm__ volatile("" ::"r"(space) : "memory");
    must("cuCtxSetCurrent", worker->driver->context_set(worker->driver->context));
    descend(worker, worker->options->depth);
    return NULL;
}

static _Atomic uint64_t *progress_open(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0) {
        fail(path, 0);
    }
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) {
        fail(path, 0);
    }
    return memory;
}

static void print_memory(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof(line), status)) {
        if (strncmp(line, "Vm", 2) == 0 || strncmp(line, "Rss", 3) == 0) {
            char *colon = strchr(line, ':');
            if (colon) {
                *colon = ' ';
                fputs(line, stdout);
            }
        }
    }
    if (status) {
        fclose(status);
    }
}

static struct options parse(int argc, char **argv)
{
    struct options options = {.launches = 1000, .threads = 1};
    int option;
    while ((option = getopt(argc, argv, "n:s:t:b:i:p:d:k:f:")) != -1) {
        switch (option) {
        case 'n':
            options.launches = strtoull(optarg, NULL, 10);
            break;
        case 's':
            options.seconds = strtod(optarg, NULL);
            break;
        case 't':
            options.threads = atoi(optarg);
            break;
        case 'b':
            options.burst = strtoull(optarg, NULL, 10);
            break;
        case 'i':
            options.idle_us = strtoull(optarg, NULL, 10);
            break;
        case 'p':
            options.pace_ns = strtoull(optarg, NULL, 10);
            break;
        case 'd':
            options.depth = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'k':
            options.stack_bytes = strtoul(optarg, NULL, 10);
            break;
        case 'f':
            options.file = optarg;
            break;
        default:
            exit(2);
        }
    }
    return options;
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    struct driver driver = {0};
    driver_open(&driver);
    if (options.threads > 0) {
        context_open(&driver);
    }

    struct worker *workers = calloc((size_t)options.threads + 1, sizeof(*workers));
    if (!workers) {
        fail("out of memory", 0);
    }
    uint64_t start_ns = gv_clock_ns();
    uint64_t total = 0;
    for (int i = 0; i < options.threads; i++) {
        workers[i].options = &options;
        workers[i].driver = &driver;
        workers[i].progress = options.file ? progress_open(options.file) : NULL;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fail("pthread_create", 0);
        }
    }
    for (int i = 0; i < options.threads; i++) {
        pthread_join(workers[i].thread, NULL);
        total += workers[i].done;
    }
    printf("elapsed_ns %llu\n", (unsigned long long)(gv_clock_ns() - start_ns));
    printf("launches %llu\n", (unsigned long long)total);
    for (uint64_t i = 0; options.burst && i < workers[0].done / options.burst && i < BURSTS_MAX;
         i++) {
        double sum_ns = 0;
        for (int j = 0; j < options.threads; j++) {
            sum_ns += workers[j].burst_ns[i];
        }
        printf("burst_ns %.2f\n", sum_ns / options.threads);
    }
    print_memory();
    free(workers);
    printf("end_ns %llu\n", (unsigned long long)gv_clock_ns());
    fflush(stdout);
    return 0;
}
