#include "preload/base/loader.h"

#include "preload/base/loader_list.h"
#include "preload/base/objects.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

#define MOST_TID   (1 << 22)
#define MOST_COUNT 1000 /* dlopen() in dlopen() in dlopen() */

static _Atomic int visitors; /* threads */
static _Atomic int forks;    /* that are going on */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

/* This is a forked child, and a thread that is not here has the lock of dl_iterate_phdr(), or was
 * loading or unloading a library. */
static _Atomic bool orphaned, broken;
static _Atomic bool busy_at_fork;

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

/*
 * A handler that comes here too would wait for a lock that its own thread is about to have: a
 * recursive mutex knows its owner only some instructions after it has been taken. Signals that an
 * instruction raises do not come from there, and blocked they would end the program.
 */
static void block_signals(sigset_t *before)
{
    static const int raised[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    sigset_t others;

    sigfillset(&others);
    for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
        sigdelset(&others, raised[i]);
    pthread_sigmask(SIG_BLOCK, &others, before);
}

int gv_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
                    void *context)
{
    sigset_t before;
    int result;

    if (atomic_load_explicit(&orphaned, memory_order_relaxed))
        return gv_loader_list_visit(visit, context);
    block_signals(&before);
    gv_loader_enter();
    result = dl_iterate_phdr(visit, context);
    gv_loader_leave();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* A recursive mutex of glibc's, the same on all 64-bit machines but for the last words. */
struct mutex {
    int lock;
    unsigned count;
    int owner;
    unsigned users;
    int kind;
    int elision;
    const void *list[2];
};

/* glibc's data, with its locks. */
struct data {
    uintptr_t at, end;
};

static struct data all; /* once it was found by gv_loader_find_lock() */

static struct data find_data(void)
{
    struct gv_object object;
    struct data data = {(uintptr_t)gv_objects_next(0, "_rtld_global", &object), 0};

    if (data.at) {
        data.at += -data.at % _Alignof(struct mutex);
        data.end = object.high;
    }
    return data;
}

/* A lock in there that this thread has, other than `besides`. */
static const volatile struct mutex *held_here(const struct data *data,
                                              const volatile struct mutex *besides)
{
    pid_t self = (pid_t)syscall(SYS_gettid);

    for (uintptr_t at = data->at; at + sizeof(struct mutex) <= data->end;
         at += _Alignof(struct mutex)) {
        const volatile struct mutex *mutex = (const volatile struct mutex *)at;

        if (mutex->owner == self && mutex->kind == PTHREAD_MUTEX_RECURSIVE_NP && mutex->lock != 0 &&
            mutex->count > 0 && mutex != besides)
            return mutex;
    }
    return NULL;
}

bool gv_loader_is_held_here(void)
{
    struct data data = find_data();

    return held_here(&data, NULL) != NULL;
}

/* By whomever else. It has to look like one in every word, as anything may lie there. */
static bool is_held(const volatile struct mutex *mutex, pid_t self)
{
    return mutex->owner != self && (mutex->lock == 1 || mutex->lock == 2) && mutex->count > 0 &&
           mutex->count <= MOST_COUNT && mutex->owner > 1 && mutex->owner <= MOST_TID &&
           mutex->users == 1 && mutex->kind == PTHREAD_MUTEX_RECURSIVE_NP && mutex->elision == 0 &&
           !mutex->list[0] && !mutex->list[1];
}

static bool any_held_elsewhere(void)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    struct data data = all;

    for (; data.at + sizeof(struct mutex) <= data.end; data.at += _Alignof(struct mutex))
        if (is_held((const volatile struct mutex *)data.at, self))
            return true;
    return false;
}

bool gv_loader_is_broken(void)
{
    return atomic_load(&broken);
}

struct inside {
    struct data data;
    const volatile struct mutex *outside, *inside;
};

static int look_inside(struct dl_phdr_info *info, size_t size, void *context)
{
    struct inside *found = context;

    (void)info;
    (void)size;
    found->inside = held_here(&found->data, found->outside);
    return 1;
}

/* The lock of dl_iterate_phdr(), if it was found. */
static const volatile struct mutex *visiting;

void gv_loader_find_lock(void)
{
    struct inside found = {.data = find_data()};

    found.outside = held_here(&found.data, NULL);
    gv_loader_visit(look_inside, &found);
    visiting = found.inside;
    all = found.data;
}

void gv_loader_hold(void)
{
    atomic_fetch_add(&forks, 1);
    await(&visitors, depth > 0); /* a handler may have interrupted a visit to fork */
    /* glibc makes some of its locks new in the child, but not what they guard. */
    atomic_store(&busy_at_fork, any_held_elsewhere());
}

void gv_loader_release(bool in_child)
{
    if (in_child) {
        atomic_store(&visitors, depth > 0);
        atomic_store(&forks, 0);
        /* Nobody is here who could give it back. */
        atomic_store(&orphaned, visiting && visiting->lock != 0);
        atomic_store(&broken, atomic_load(&broken) || atomic_load(&orphaned) ||
                                  atomic_load(&busy_at_fork) || _r_debug.r_state != RT_CONSISTENT);
    } else {
        atomic_fetch_sub(&forks, 1);
    }
}
