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
static struct {
    uint32_t tid;
    uint64_t cpu_ns; /* so much by the last time */
} seen[TASKS_MOST];
static unsigned process_cpus;
static uint64_t asked_ns; /* 0: not yet */

void gv_cpus_start(void)
{
    online = get_nprocs();
    memset(seen, 0, sizeof seen);
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

static bool works(uint32_t tid, uint64_t span_ns)
{
    uint64_t cpu_ns = gv_time_ns(gv_cpus_clock(tid)), before_ns;
    unsigned i = tid % TASKS_MOST;

    before_ns = seen[i].tid == tid ? seen[i].cpu_ns : 0;
    seen[i].tid = tid;
    seen[i].cpu_ns = cpu_ns;
    return cpu_ns > before_ns && cpu_ns - before_ns >= span_ns / 100 * WORKS_OF_100;
}

static void ask(uint32_t pid, uint64_t now_ns)
{
    static uint32_t tids[TASKS_MOST];
    bool is_first = asked_ns == 0;
    unsigned count = gv_tasks_list(pid, tids, TASKS_MOST);
    uint64_t span_ns = now_ns - asked_ns;
    cpu_set_t allowed, together;

    asked_ns = now_ns;
    if (!read_affinity(pid, &together))
        CPU_ZERO(&together);
    for (unsigned i = 0; i < count; i++)
        if ((works(tids[i], span_ns) || is_first) && read_affinity(tids[i], &allowed))
            CPU_OR(&together, &together, &allowed);
    process_cpus = (unsigned)CPU_COUNT(&together);
}

unsigned gv_cpus_of_process(uint32_t pid, uint64_t now_ns)
{
    unsigned quota = gv_quota_cpus(), cpus;

    if (!asked_ns || now_ns - asked_ns >= AGAIN_NS)
        ask(pid, now_ns);
    cpus = process_cpus ? process_cpus : (unsigned)online;
    return quota && quota < cpus ? quota : cpus;
}
