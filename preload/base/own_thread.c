#include "preload/base/own_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static int start(void *(*run)(void *), void *context, size_t stack_bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int error = -pthread_attr_init(&attributes);

    if (error)
        return error;
    error = -pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (!error && stack_bytes)
        error = -pthread_attr_setstacksize(&attributes, stack_bytes);
    if (!error)
        error = -pthread_create(&thread, &attributes, run, context);
    pthread_attr_destroy(&attributes);
    return error;
}

int gv_own_thread_start(void *(*run)(void *), void *context, size_t stack_bytes)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    error = -pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error)
        return error;
    error = start(run, context, stack_bytes);
    if (error == -EINVAL)
        error = start(run, context, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
