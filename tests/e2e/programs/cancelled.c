/* A thread with a pending cancellation makes calls. None of them is a cancellation point. */
#include "e2e.h"

#include <pthread.h>
#include <string.h>

static struct e2e_gpu gpu;
static int reached_the_end;

static void *launches(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(gpu.context));
    OK(pthread_cancel(pthread_self()));
    e2e_tick(&gpu, 50000);
    reached_the_end = 1;
    return NULL;
}

static void *first_call(void *unused)
{
    (void)unused;
    OK(pthread_cancel(pthread_self()));
    cuMemFree(0);
    reached_the_end = 1;
    return NULL;
}

int main(int argc, char **argv)
{
    int first = argc > 1 && strcmp(argv[1], "first") == 0;
    pthread_t thread;

    if (!first)
        e2e_open(&gpu);
    OK(pthread_create(&thread, NULL, first ? first_call : launches, NULL));
    OK(pthread_join(thread, NULL));
    printf("reached the end: %d\n", reached_the_end);
    cuMemFree(0);
    return 0;
}
