/*
 * The locks of this process for which its threads wait. One thread uses it.
 *
 * Only those that say which thread has them: glibc's mutexes (pthread_mutex_t, std::mutex). Threads
 * also wait for work at conditions, semaphores and Python's locks, which have no owner.
 */
#ifndef GV_IDLE_LOCKS_H
#define GV_IDLE_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct gv_lock {
    uint64_t address;
    uint32_t owner;
    uint32_t waiting, waiter; /* how many threads, and one of them */
};

/* Forgets all: a forked child has none of its parent's threads. */
void gv_locks_start_over(void);

/* Asks the first 256 threads of this process for what they wait. False: that would take more than
 * 0.1 % of a CPU, and no lock is known. */
bool gv_locks_search(uint32_t pid);

/* The lock for which a thread waits; or else the one that it has, or the one for which most wait.
 * is_waiting: the thread waits for this lock. Then lock->waiting counts only other threads, and
 * lock->waiter is another thread, or 0. False: no thread waits for a lock. */
bool gv_locks_find(uint32_t tid, struct gv_lock *lock, bool *is_waiting);

#endif
