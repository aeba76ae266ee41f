/*
 * A library whose constructor uses CUDA: itself, or (CONSTRUCTOR=thread) on a thread that it waits
 * for, while the dynamic loader's lock is taken.
 */
#include "e2e.h"

#include <pthread.h>
#include <string.h>

static void *work(void *unused)
{
    struct e2e_gpu gpu;

    e2e_open(&gpu);
    e2e_tick(&gpu, 10);
    OK(cuCtxSynchronize());
    for (int i = 0; i < 4; i++)
        e2e_fail();
    return unused;
}

__attribute__((constructor)) static void constructed(void)
{
    const char *how = getenv("CONSTRUCTOR");
    pthread_t thread;

    if (how && strcmp(how, "thread") == 0) {
        REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    } else {
        work(NULL);
    }
}
