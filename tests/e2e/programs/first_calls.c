/* Several threads make the process's first CUDA call at once. */
#include "e2e.h"

#include <pthread.h>

#define THREADS 8

static pthread_barrier_t together;

static void *first_call(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&together);
    OK(cuInit(0));
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    OK(pthread_barrier_init(&together, NULL, THREADS));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_create(&threads[i], NULL, first_call, NULL));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(threads[i], NULL));
    puts("done");
    return 0;
}
