#include "preload/loader.h"

#include "preload/objects.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A look-up takes some microseconds, a fork some milliseconds: more if the machine is busy. */
#define YIELDS      100
#define MOST_PAUSES 2000
#define PAUSE_NS    100000
#define MOST_TRIES  10 /* of a look-up, while fork follows on fork */

static _Atomic int visitors; /* threads */
static _Atomic int forks;    /* that are going on */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

/* Until `*count` is at most `most`. */
static void await(const _Atomic int *count, int most)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};

    for (int i = 0; atomic_load(count) > most && i < YIELDS + MOST_PAUSES; i++)
        if (i < YIELDS)
            sched_yield();
        else
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void enter_first(void)
{
    for (int tries = 0;; tries++) {
        atomic_fetch_add(&visitors, 1);
        /* A fork that begins after this sees the visitor. */
        if (!atomic_load(&forks) || tries == MOST_TRIES)
            return;
        atomic_fetch_sub(&visitors, 1);
        await(&forks, 0);
    }
}

void gv_loader_enter(void)
{
    if (depth++ == 0)
        enter_first();
}

void gv_loader_leave(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&visitors, 1);
}

int gv_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
                    void *context)
{
    int result;

    gv_loader_enter();
    result = dl_iterate_phdr(visit, context);
    gv_loader_leave();
    return result;
}

/* A recursive mutex of glibc's: the first words of it, the same on all 64-bit machines. */
struct mutex {
    int lock;
    unsigned count;
    int owner;
    unsigned users;
    int kind;
};

bool gv_loader_is_held_here(void)
{
    struct gv_object object;
    uintptr_t at = (uintptr_t)gv_objects_next(0, "_rtld_global", &object);
    pid_t self = (pid_t)syscall(SYS_gettid);

    if (!at)
        return false;
    for (; at % sizeof(int) == 0 && at + sizeof(struct mutex) <= object.high; at += sizeof(int)) {
        const volatile struct mutex *mutex = (const volatile struct mutex *)at;

        if (mutex->owner == self && mutex->kind == PTHREAD_MUTEX_RECURSIVE_NP && mutex->lock != 0 &&
            mutex->count > 0)
            return true;
    }
    return false;
}

void gv_loader_hold(void)
{
    atomic_fetch_add(&forks, 1);
    await(&visitors, depth > 0); /* a handler may have interrupted a visit to fork */
}

void gv_loader_release(bool in_child)
{
    if (in_child) {
        atomic_store(&visitors, depth > 0);
        atomic_store(&forks, 0);
    } else {
        atomic_fetch_sub(&forks, 1);
    }
}
