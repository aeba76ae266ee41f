#include "preload/idle/cpus.h"

#include "preload/idle/quota.h"
#include "preload/idle/tasks.h"
#include "trace/futex.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define TASKS_MOST   256u
#define AGAIN_NS     1000000000u
#define WORKS_OF_100 2u /* of the time; our own threads take less */

static int online;
static struct task {
    uint32_t tid;
    uint64_t cpu_ns; /* so much by the last time */
} seen[TASKS_MOST];
static unsigned seen_count;
static unsigned process_cpus;
static uint64_t asked_ns; /* 0: not yet */

void gv_cpus_start(void)
{
    online = get_nprocs();
    seen_count = 0;
    asked_ns = 0;
    gv_quota_start();
}

int gv_cpus_online(void)
{
    return online;
}

/* As pthread_getcpuclockid() makes it. */
clockid_t gv_cpus_clock(uint32_t tid)
{
    return (clockid_t)(~tid << 3 | 6);
}

/* The Linux kernel writes only the bytes that it needs. */
static bool read_affinity(uint32_t tid, cpu_set_t *allowed)
{
    CPU_ZERO(allowed);
    return syscall(SYS_sched_getaffinity, tid, sizeof *allowed, allowed) > 0;
}

int gv_cpus_of_thread(uint32_t tid)
{
    cpu_set_t allowed;
    int count;

    if (!online || !read_affinity(tid, &allowed))
        return 0;
    count = CPU_COUNT(&allowed);
    return count < online ? count : 0;
}

/* A new thread has no time before. Threads come in the order of the last time, so that it is found
 * at once. */
static bool works(const struct task *task, uint64_t span_ns, unsigned *at)
{
    for (unsigned i = 0; i < seen_count; i++, ++*at) {
        const struct task *before = &seen[*at % seen_count];

        if (before->tid == task->tid)
            return task->cpu_ns >= before->cpu_ns + span_ns / 100 * WORKS_OF_100;
    }
    return false;
}

static void ask(uint32_t pid, uint64_t now_ns)
{
    static uint32_t tids[TASKS_MOST];
    static struct task tasks[TASKS_MOST];
    bool is_first = asked_ns == 0;
    unsigned count = gv_tasks_list(pid, tids, TASKS_MOST);
    uint64_t span_ns = now_ns - asked_ns;
    cpu_set_t allowed, together;
    unsigned at = 0;

    asked_ns = now_ns;
    if (!read_affinity(pid, &together))
        CPU_ZERO(&together);
    for (unsigned i = 0; i < count; i++) {
        tasks[i] = (struct task){tids[i], gv_time_ns(gv_cpus_clock(tids[i]))};
        if ((is_first || works(&tasks[i], span_ns, &at)) && read_affinity(tids[i], &allowed))
            CPU_OR(&together, &together, &allowed);
    }
    memcpy(seen, tasks, count * sizeof seen[0]);
    seen_count = count;
    process_cpus = (unsigned)CPU_COUNT(&together);
}

unsigned gv_cpus_of_process(uint32_t pid, uint64_t now_ns)
{
    unsigned quota = gv_quota_cpus(), cpus;

    /* A look may have begun before another one, for which it was asked. */
    if (!asked_ns || (now_ns > asked_ns && now_ns - asked_ns >= AGAIN_NS))
        ask(pid, now_ns);
    cpus = process_cpus ? process_cpus : (unsigned)online;
    return quota && quota < cpus ? quota : cpus;
}
