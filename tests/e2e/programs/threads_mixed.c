/*
 * threads_mixed COUNT LAUNCHES [late]: COUNT threads that come and go, a few at a time, each with
 * LAUNCHES launches on a small stack. "late": each makes one more launch in the destructor of a
 * thread-specific value, when the thread is ending.
 */
#include "e2e.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#define AT_A_TIME 20

static struct e2e_gpu gpu;
static unsigned launches;
static int late;
static pthread_key_t key;

static void last_words(void *value)
{
    (void)value;
    e2e_tick(&gpu, 1);
}

static void *body(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(gpu.context));
    e2e_tick(&gpu, launches);
    if (late)
        pthread_setspecific(key, &gpu);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned count;
    pthread_t threads[AT_A_TIME];
    pthread_attr_t attributes;

    REQUIRE(argc >= 3);
    count = (unsigned)atoi(argv[1]);
    launches = (unsigned)atoi(argv[2]);
    late = argc > 3 && !strcmp(argv[3], "late");
    e2e_open(&gpu);
    REQUIRE(!pthread_key_create(&key, last_words));
    pthread_attr_init(&attributes);
    /* libc's own thread data is a part of it. */
    pthread_attr_setstacksize(&attributes, 4 * (size_t)PTHREAD_STACK_MIN);
    for (unsigned done = 0; done < count;) {
        unsigned now = count - done < AT_A_TIME ? count - done : AT_A_TIME;

        for (unsigned i = 0; i < now; i++)
            REQUIRE(!pthread_create(&threads[i], &attributes, body, NULL));
        for (unsigned i = 0; i < now; i++)
            pthread_join(threads[i], NULL);
        done += now;
    }
    OK(cuCtxSynchronize());
    printf("%u threads, %u launches\n", count, count * (launches + (unsigned)late));
    return 0;
}
