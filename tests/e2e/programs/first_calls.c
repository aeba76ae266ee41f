/*
 * first_calls [LAUNCHES]: several threads make the process's first CUDA call at once. With
 * LAUNCHES, one of them initialises CUDA, and the others launch as soon as the driver answers.
 */
#include "e2e.h"

#include <pthread.h>

#define THREADS 8

static pthread_barrier_t together;
static unsigned launches;

static void launch(void)
{
    struct e2e_gpu gpu;

    while (cuDeviceGet(&gpu.device, 0) == CUDA_ERROR_NOT_INITIALIZED)
        ;
    OK(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
    OK(cuCtxSetCurrent(gpu.context));
    OK(cuModuleLoadData(&gpu.module, e2e_ptx));
    OK(cuModuleGetFunction(&gpu.tick, gpu.module, "tick"));
    e2e_tick(&gpu, launches);
    OK(cuCtxSynchronize());
}

static void *first_call(void *initialises)
{
    pthread_barrier_wait(&together);
    if (initialises)
        OK(cuInit(0));
    if (launches)
        launch();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    launches = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    OK(pthread_barrier_init(&together, NULL, THREADS));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_create(&threads[i], NULL, first_call, i == 0 || !launches ? &threads : NULL));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(threads[i], NULL));
    puts("done");
    return 0;
}
