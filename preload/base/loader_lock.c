#include "preload/base/loader_lock.h"

#include "preload/base/loader.h"
#include "preload/base/objects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_TID   (1 << 22)
#define MOST_COUNT 1000 /* nested dlopen() */

/* This is a forked child, and a thread that does not exist here was loading or unloading a
 * library. */
static _Atomic bool broken;
static _Atomic bool busy_at_fork;

/* A recursive mutex of glibc, the same on all 64-bit machines except for the last words. */
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

/* The lock of dl_iterate_phdr(), if it was found: glibc's locks look as expected. */
static const volatile struct mutex *visiting;
static struct data all; /* once gv_loader_find_lock() has found it */

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

/* A lock there that this thread has, other than `besides`. */
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

bool gv_loader_lock_is_known(void)
{
    return visiting != NULL;
}

bool gv_loader_is_held_here(void)
{
    struct data data = find_data();

    return held_here(&data, NULL) != NULL;
}

/* Whether another thread has it. Every word must look like a lock, because the data may be
 * anything. */
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

bool gv_loader_is_busy(void)
{
    return visiting && visiting->lock != 0 && visiting->owner != (pid_t)syscall(SYS_gettid);
}

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
    gv_loader_hold_visits();
    /* In the child, glibc resets some of its locks, but not what they guard. */
    atomic_store(&busy_at_fork, any_held_elsewhere());
}

void gv_loader_release(bool in_child)
{
    bool is_orphaned;

    if (!in_child) {
        gv_loader_release_visits();
        return;
    }
    /* Nobody here can release it. */
    is_orphaned = visiting && visiting->lock != 0;
    gv_loader_start_over(is_orphaned);
    atomic_store(&broken, atomic_load(&broken) || is_orphaned || atomic_load(&busy_at_fork) ||
                              _r_debug.r_state != RT_CONSISTENT);
}
