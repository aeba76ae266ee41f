/*
 * looked_at HOW: uses CUDA, prints "ready", and then does one thing for ever. `HERE HOW` marks the
 * line that gpuverify look has to name.
 */
#include "e2e.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define FOR_EVER_NS 1000000000000ull

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static struct e2e_gpu gpu;

static __attribute__((noinline)) void wait_for_stream(void)
{
    e2e_spin(&gpu, NULL, FOR_EVER_NS);
    OK(cuStreamSynchronize(NULL)); /* HERE sync */
    puts("over");
}

static __attribute__((noinline)) void nap(void)
{
    for (;;)
        usleep(100000000); /* HERE sleep */
}

static __attribute__((noinline)) void compute(void)
{
    volatile unsigned long work = 0;

    while (++work) /* HERE compute */
        continue;
}

static void *have_second(void *unused)
{
    pthread_mutex_lock(&second);
    usleep(50000);
    pthread_mutex_lock(&first); /* HERE deadlock */
    return unused;
}

static void *sleep_with_lock(void *unused)
{
    pthread_mutex_lock(&second);
    for (;;)
        usleep(100000000);
    return unused;
}

static __attribute__((noinline)) void want_second(void)
{
    pthread_mutex_lock(&second); /* HERE lock */
    puts("over");
}

/* Computes and waits by turns; no handler of a signal is there, so that nothing may end a wait. */
static void *wait_shortly(void *unused)
{
    int files = epoll_create1(0);
    struct epoll_event event;

    for (volatile unsigned work = 0;; work = 0) {
        while (work < 20000)
            work++;
        REQUIRE(epoll_wait(files, &event, 1, 1) == 0);
    }
    return unused;
}

static void *compute_alone(void *unused)
{
    compute();
    return unused;
}

static void *nap_alone(void *unused)
{
    nap();
    return unused;
}

static void *rest(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void start(void *(*thread)(void *))
{
    pthread_t started;

    REQUIRE(pthread_create(&started, NULL, thread, NULL) == 0);
}

int main(int count, char **words)
{
    const char *how = count == 2 ? words[1] : "";
    char byte;

    e2e_open(&gpu);
    if (strcmp(how, "deadlock") == 0)
        pthread_mutex_lock(&first);
    if (strcmp(how, "deadlock") == 0)
        start(have_second);
    if (strcmp(how, "lock") == 0)
        start(sleep_with_lock);
    for (int i = 0; i < 200 && strcmp(how, "threads") == 0; i++)
        start(rest);
    for (int i = 0; i < 1100 && strcmp(how, "crowd") == 0; i++)
        start(rest);
    for (int i = 0; i < 40 && strcmp(how, "waits") == 0; i++)
        start(wait_shortly);
    for (int i = 0; i < 20 && strcmp(how, "busy") == 0; i++)
        start(compute_alone);
    if (strcmp(how, "alone") == 0)
        start(nap_alone);
    usleep(20000);
    puts("ready");
    fflush(stdout);
    if (strcmp(how, "sync") == 0)
        wait_for_stream();
    else if (strcmp(how, "sleep") == 0 || strcmp(how, "threads") == 0 ||
             strcmp(how, "waits") == 0 || strcmp(how, "busy") == 0 || strcmp(how, "crowd") == 0)
        nap();
    else if (strcmp(how, "alone") == 0)
        pthread_exit(NULL);
    else if (strcmp(how, "compute") == 0)
        compute();
    else if (strcmp(how, "lock") == 0 || strcmp(how, "deadlock") == 0)
        want_second();
    else if (strcmp(how, "read") == 0)
        REQUIRE(read(0, &byte, 1) >= 0); /* HERE read */
    return 0;
}
