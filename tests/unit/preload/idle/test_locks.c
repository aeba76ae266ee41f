/* The locks for which threads of this process wait. */
#include "preload/idle/locks.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define WAITERS 100

static const struct timespec a_while = {.tv_nsec = 20000000};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t work;
static _Atomic uint32_t last_waiter;

static void *wait_for_lock(void *unused)
{
    (void)unused;
    last_waiter = (uint32_t)syscall(SYS_gettid);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *wait_for_work(void *unused)
{
    (void)unused;
    sem_wait(&work);
    return NULL;
}

static bool search(uint32_t tid, uint32_t waiting, struct gv_lock *lock, bool *is_waiting)
{
    for (int i = 0; i < 200; i++) {
        gv_locks_start_over(); /* what it costs does not count */
        if (gv_locks_search((uint32_t)getpid()) && gv_locks_find(tid, lock, is_waiting) &&
            lock->waiting == waiting)
            return true;
        nanosleep(&a_while, NULL);
    }
    return false;
}

static void threads_wait_for_a_mutex(void **unused)
{
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    pthread_t threads[WAITERS], idle[WAITERS];
    struct gv_lock lock;
    bool is_waiting;

    (void)unused;
    assert_int_equal(sem_init(&work, 0, 0), 0);
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(pthread_create(&idle[i], NULL, wait_for_work, NULL), 0);
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_lock, NULL), 0);
    }
    assert_true(search(self, WAITERS, &lock, &is_waiting));
    assert_int_equal(lock.owner, self);
    assert_int_equal(lock.address, (uintptr_t)&mutex);
    assert_true(lock.waiter && lock.waiter != self);
    assert_false(is_waiting);
    assert_true(search(last_waiter, WAITERS - 1, &lock, &is_waiting));
    assert_true(is_waiting);
    assert_true(lock.waiter && lock.waiter != last_waiter);
    assert_true(
        search(1, WAITERS, &lock, &is_waiting)); /* of somebody else: the one that matters */
    assert_false(is_waiting);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < WAITERS; i++)
        sem_post(&work);
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(threads[i], NULL);
        pthread_join(idle[i], NULL);
    }
    gv_locks_start_over();
    assert_true(gv_locks_search((uint32_t)getpid()));
    assert_false(gv_locks_find(self, &lock, &is_waiting));
}

static void searching_takes_little_of_the_time(void **unused)
{
    struct gv_lock lock;
    bool is_waiting;

    (void)unused;
    gv_locks_start_over();
    assert_true(gv_locks_search((uint32_t)getpid()));
    assert_false(gv_locks_search((uint32_t)getpid()));
    assert_false(gv_locks_find(1, &lock, &is_waiting));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_wait_for_a_mutex),
        cmocka_unit_test(searching_takes_little_of_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
