/* Makes the first CUDA call on the smallest possible stack. */
#include "e2e.h"

#include <limits.h>
#include <pthread.h>

static void *work(void *unused)
{
    (void)unused;
    OK(cuInit(0));
    return NULL;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    OK(pthread_attr_init(&attributes));
    OK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN));
    OK(pthread_create(&thread, &attributes, work, NULL));
    OK(pthread_join(thread, NULL));
    puts("done");
    return 0;
}
