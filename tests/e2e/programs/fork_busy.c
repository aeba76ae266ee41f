/*
 * fork_busy register|look-up: a process forks while another thread registers the kernels of a large
 * library, or looks up CUDA calls. Each child does the same once.
 */
#include "fork_often.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define CHILDREN 100

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name,
                            int threads, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                            int *warp);

static char host_functions[1000];
static void *binary_of_its_own[2];
static void *driver;
static atomic_bool over;

static void register_some(void)
{
    static char name[] = "kernel";

    for (unsigned i = 0; i < sizeof host_functions; i++)
        __cudaRegisterFunction(binary_of_its_own, &host_functions[i], name, name, -1, NULL, NULL,
                               NULL, NULL, NULL);
}

static void look_up_some(void)
{
    for (int i = 0; i < 20; i++)
        if (!dlsym(driver, "cuInit") || !dlsym(driver, "cuMemAlloc_v2"))
            _exit(92);
}

static void (*work)(void) = register_some;

static void *work_all_the_time(void *unused)
{
    (void)unused;
    while (!atomic_load(&over))
        work();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc > 1 && !strcmp(argv[1], "look-up"))
        work = look_up_some;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 91;
    work(); /* so that no child must bind the call, which takes the loader's lock */
    if (pthread_create(&thread, NULL, work_all_the_time, NULL))
        return 90;
    e2e_fork_often(CHILDREN, work);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    return 0;
}
