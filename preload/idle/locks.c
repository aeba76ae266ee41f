#include "preload/idle/locks.h"

#include "preload/base/clock.h"
#include "preload/base/own_memory.h"
#include "preload/idle/tasks.h"
#include "trace/futex.h"
#include "trace/proc_file.h"
#include "trace/thread_state.h"

#include <linux/futex.h>
#include <time.h>

#define TASKS_MOST    256u
#define CALL_BYTES    256
#define SEARCH_OF1000 1u /* of a CPU */

/* States of a mutex. If a thread takes it while one that has waited for it wakes up, it is LOCKED
 * until that one waits again; others wait all the time. */
#define LOCKED    1
#define CONTENDED 2 /* threads wait for it */

/* How glibc's pthread_mutex_t begins. */
struct mutex {
    int32_t state;
    uint32_t count;
    uint32_t owner; /* a thread's id; 0: nobody has it */
};

static struct gv_lock locks[TASKS_MOST];
static struct {
    uint32_t tid;
    unsigned lock;
} waiters[TASKS_MOST];
static unsigned lock_count, waiter_count;
static uint64_t again_ns;

void gv_locks_start_over(void)
{
    lock_count = waiter_count = 0;
    again_ns = 0;
}

/* The mutex for which a thread waits. */
static bool read_mutex(uint32_t pid, uint32_t tid, struct gv_lock *lock)
{
    struct gv_thread_state state;
    struct mutex mutex;
    char text[CALL_BYTES];
    uint64_t operation;

    if (gv_proc_read(text, sizeof text, "/proc/%u/task/%u/syscall", pid, tid) <= 0 ||
        !gv_thread_state_parse_call(text, &state) || state.call != SYS_futex)
        return false;
    operation = state.arguments[1] & (uint64_t)FUTEX_CMD_MASK & UINT32_MAX;
    if ((operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) ||
        (uint32_t)state.arguments[2] != CONTENDED ||
        !gv_own_memory_read(&mutex, state.arguments[0], sizeof mutex) ||
        (mutex.state != LOCKED && mutex.state != CONTENDED) || !mutex.owner || mutex.owner == tid)
        return false;
    *lock = (struct gv_lock){.address = state.arguments[0], .owner = mutex.owner};
    return true;
}

static void add_waiter(uint32_t tid, const struct gv_lock *lock)
{
    unsigned i = 0;

    while (i < lock_count && locks[i].address != lock->address)
        i++;
    if (i == lock_count)
        locks[lock_count++] = *lock;
    locks[i].waiting++;
    waiters[waiter_count].tid = tid;
    waiters[waiter_count++].lock = i;
}

bool gv_locks_search(uint32_t pid)
{
    static uint32_t tids[TASKS_MOST];
    uint64_t before_ns;
    struct gv_lock lock;
    unsigned count;

    lock_count = waiter_count = 0;
    if (gv_clock_now_ns() < again_ns)
        return false;
    before_ns = gv_time_ns(CLOCK_THREAD_CPUTIME_ID);
    count = gv_tasks_list(pid, tids, TASKS_MOST);
    for (unsigned i = 0; i < count; i++)
        if (read_mutex(pid, tids[i], &lock))
            add_waiter(tids[i], &lock);
    again_ns = gv_clock_now_ns() +
               (gv_time_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) * 1000 / SEARCH_OF1000;
    return true;
}

bool gv_locks_find(uint32_t tid, struct gv_lock *lock, bool *is_waiting)
{
    unsigned wanted = lock_count, found = 0, most = 0;

    for (unsigned i = 0; i < waiter_count; i++)
        if (waiters[i].tid == tid)
            wanted = waiters[i].lock;
    for (unsigned i = 0; i < lock_count; i++) {
        unsigned weight = locks[i].waiting + (i == wanted             ? 2 * TASKS_MOST
                                              : locks[i].owner == tid ? TASKS_MOST
                                                                      : 0);
        found = weight > most ? i : found;
        most = weight > most ? weight : most;
    }
    *lock = locks[found];
    *is_waiting = wanted < lock_count;
    lock->waiting -= *is_waiting;
    for (unsigned i = 0; i < waiter_count && !lock->waiter; i++)
        if (waiters[i].lock == found && waiters[i].tid != tid)
            lock->waiter = waiters[i].tid;
    return most > 0;
}
