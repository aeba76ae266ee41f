/* Runs one function in each of several threads at once, for a given number of rounds. */
#ifndef GV_TESTS_THREADS_H
#define GV_TESTS_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GV_THREADS_MOST 8

static _Atomic unsigned gv_threads_wrong;

static inline void expect(int holds)
{
    if (!holds)
        atomic_fetch_add(&gv_threads_wrong, 1);
}

struct gv_threads {
    pthread_t threads[GV_THREADS_MOST];
    unsigned count;
};

static inline void gv_threads_add(struct gv_threads *all, void *(*run)(void *), uintptr_t number)
{
    if (all->count == GV_THREADS_MOST ||
        pthread_create(&all->threads[all->count], NULL, run, (void *)number) != 0)
        expect(0);
    else
        all->count++;
}

/* Returns the number of failed expectations. */
static inline unsigned gv_threads_join(struct gv_threads *all)
{
    while (all->count)
        pthread_join(all->threads[--all->count], NULL);
    return atomic_exchange(&gv_threads_wrong, 0);
}

#endif
