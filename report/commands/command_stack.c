#include "report/commands/command_stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#define GV_COMMAND_STACK_BYTES (8u << 20)

struct gv_command_stack_work {
    int (*run)(void *data);
    void *data;
    sigset_t signals;
    int result;
};

static bool gv_command_stack_is_enough(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= GV_COMMAND_STACK_BYTES;
}

static void *gv_command_stack_work(void *data)
{
    struct gv_command_stack_work *work = data;

    pthread_sigmask(SIG_SETMASK, &work->signals, NULL);
    work->result = work->run(work->data);
    return NULL;
}

int gv_command_stack_run(int (*run)(void *data), void *data)
{
    struct gv_command_stack_work work = {.run = run, .data = data};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;

    if (gv_command_stack_is_enough() || pthread_attr_init(&attributes))
        return run(data);
    /* The waiting thread takes no signal: what the command blocks or handles is the other's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &work.signals);
    int error = pthread_attr_setstacksize(&attributes, GV_COMMAND_STACK_BYTES);
    if (!error)
        error = pthread_create(&thread, &attributes, gv_command_stack_work, &work);
    pthread_attr_destroy(&attributes);
    if (error) {
        pthread_sigmask(SIG_SETMASK, &work.signals, NULL);
        return run(data);
    }
    pthread_join(thread, NULL);
    return work.result;
}
