/*
 * Threads that launch at the same time, each on a stream of its own.
 *
 *     threads [THREADS [LAUNCHES [MODE]]]      default 8 threads, 1000 launches each
 *
 * MODE "seconds": each thread launches for LAUNCHES seconds. MODE "serial": one thread after the
 * other, so that many threads come and go. MODE "first": all threads make the process's first call
 * at the same moment, each with its own context, module and kernel.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <pthread.h>
#include <string.h>

struct worker {
    pthread_t thread;
    CUcontext context;
    CUfunction empty;
    unsigned long launches; /* asked for, then done */
    uint64_t until_ns;      /* or 0 */
};

static void *work(void *data)
{
    struct worker *w = data;
    CUstream stream;
    unsigned long done = 0;
    CHECK(cuCtxSetCurrent(w->context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    while (w->until_ns ? gv_clock_ns() < w->until_ns : done < w->launches) {
        CHECK(cuLaunchKernel(w->empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        done++;
    }
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(stream));
    w->launches = done;
    return NULL;
}

static pthread_barrier_t together;

/* In each thread, what main() does for all in the other modes. */
static void *work_first(void *data)
{
    struct worker *w = data;
    CUmodule module;
    CUdevice device;

    pthread_barrier_wait(&together);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&w->context, device));
    CHECK(cuCtxSetCurrent(w->context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&w->empty, module, "empty"));
    work(w);
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return NULL;
}

static int launch_first(struct worker *workers, int count, unsigned long launches)
{
    unsigned long total = 0;

    if (pthread_barrier_init(&together, NULL, (unsigned)count))
        return 1;
    for (int i = 0; i < count; i++) {
        workers[i].launches = launches;
        if (pthread_create(&workers[i].thread, NULL, work_first, &workers[i]))
            return 1;
    }
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        total += workers[i].launches;
    }
    printf("%d threads launched %lu kernels\n", count, total);
    free(workers);
    return 0;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 8;
    unsigned long launches = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000, total = 0;
    const char *mode = argc > 3 ? argv[3] : "";
    struct worker *workers = calloc((size_t)(count > 0 ? count : 1), sizeof *workers);
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction empty;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!workers || count <= 0)
        return 2;
    if (!strcmp(mode, "first"))
        return launch_first(workers, count, launches);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    uint64_t start_ns = gv_clock_ns();
    for (int i = 0; i < count; i++) {
        workers[i].context = context;
        workers[i].empty = empty;
        workers[i].launches = launches;
        if (!strcmp(mode, "seconds"))
            workers[i].until_ns = start_ns + launches * 1000000000u;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 1;
        if (!strcmp(mode, "serial"))
            pthread_join(workers[i].thread, NULL);
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(mode, "serial"))
            pthread_join(workers[i].thread, NULL);
        total += workers[i].launches;
    }
    fprintf(stderr, "took %.1f ms\n", gv_clock_ms_since(start_ns));
    printf("%d threads launched %lu kernels\n", count, total);
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    free(workers);
    return 0;
}
