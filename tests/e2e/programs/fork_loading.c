/*
 * fork_loading [later]: a process forks while another thread opens and closes a library without
 * CUDA, and each child makes CUDA calls that were never bound. later: the parent has made a call
 * before. More threads than CPUs keep the machine busy, so that a fork finds the opening thread
 * anywhere in the loader.
 */
#include "fork_often.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define CHILDREN      150
#define MOST_SPINNERS 64

static atomic_bool over;

static void *open_and_close(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        void *library = dlopen("libm.so.6", RTLD_NOW);

        if (!library)
            _exit(93);
        dlclose(library);
    }
    return NULL;
}

static void *spin(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        ;
    return NULL;
}

/* How many threads spin. */
static int keep_busy(pthread_t *spinners)
{
    long wanted = sysconf(_SC_NPROCESSORS_ONLN) + 1;
    int count = 0;

    while (count < wanted && count < MOST_SPINNERS &&
           pthread_create(&spinners[count], NULL, spin, NULL) == 0)
        count++;
    return count;
}

/* A real driver refuses to work in a child of a process that has called it. */
static void call_some(void)
{
    CUcontext context;
    int count;

    cuDeviceGetCount(&count);
    cuDriverGetVersion(&count);
    cuCtxGetCurrent(&context);
    cuMemFree(0);
}

int main(int argc, char **argv)
{
    int spinning;
    pthread_t thread, spinners[MOST_SPINNERS];

    if (argc > 1 && !strcmp(argv[1], "later"))
        cuInit(0);
    if (pthread_create(&thread, NULL, open_and_close, NULL))
        return 90;
    spinning = keep_busy(spinners);
    e2e_fork_often(CHILDREN, call_some);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    while (spinning > 0)
        pthread_join(spinners[--spinning], NULL);
    return 0;
}
