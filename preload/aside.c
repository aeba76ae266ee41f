#include "preload/aside.h"

#include "preload/loader.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Mapped, and used as far as a dlopen() goes. */
#define GV_ASIDE_STACK_BYTES (1024u * 1024u)

static void *run(void *context)
{
    struct gv_aside *aside = context;

    gv_loader_enter();
    aside->work();
    gv_loader_leave();
    atomic_store_explicit(&aside->done, 1, memory_order_release);
    syscall(SYS_futex, &aside->done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    return NULL;
}

int gv_aside_start(struct gv_aside *aside)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    int error = -pthread_attr_init(&attributes);

    if (error)
        return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, GV_ASIDE_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = -pthread_create(&thread, &attributes, run, aside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool gv_aside_await(struct gv_aside *aside, int64_t patience_ms)
{
    int64_t end_ms = now_ms() + patience_ms, left_ms;

    while (!gv_aside_is_done(aside) && (left_ms = end_ms - now_ms()) > 0) {
        struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};

        syscall(SYS_futex, &aside->done, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
    }
    return gv_aside_is_done(aside);
}
