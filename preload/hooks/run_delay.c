#include "preload/hooks/run_delay.h"

#include "preload/base/budget.h"
#include "preload/base/hot.h"
#include "preload/base/own_work.h"
#include "preload/base/raw_syscall.h"
#include "trace/schedstat.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

GV_HOT uint64_t gv_run_delay_least_ns = UINT64_MAX;
/* The Linux kernel lacks it, or /proc is missing or unreadable. */
static atomic_bool is_missing;

void gv_run_delay_prepare(const struct gv_settings *settings)
{
    gv_run_delay_least_ns = (uint64_t)settings->stall_us * 1000u;
}

static bool read_own(uint64_t *delay_ns)
{
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

    /* There may be no free descriptor now, but later. */
    if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == EPERM || errno == ENOSYS))
        atomic_store_explicit(&is_missing, true, memory_order_relaxed);
    return fd >= 0 && gv_schedstat_read((int)fd, delay_ns);
}

/* A thread that has not left its CPU since has not waited for one either. Asking for that takes a
 * tenth of the time of reading the delay, and most waits for the GPU are busy ones: in a loop that
 * decodes through a graph, reading it after each wait cost 0.5 %. */
static bool has_left_cpu(struct gv_thread *thread)
{
    struct rusage used;
    uint64_t times;

    if (gv_raw_syscall(SYS_getrusage, RUSAGE_THREAD, (long)&used, 0, 0, 0) != 0)
        return true;
    times = (uint64_t)used.ru_nvcsw + (uint64_t)used.ru_nivcsw + 1; /* 0: it was never asked */
    if (times == thread->left_cpu)
        return false;
    thread->left_cpu = times;
    return true;
}

static bool find(struct gv_thread *thread)
{
    bool known;

    if (!has_left_cpu(thread))
        return true;
    int saved_errno = gv_own_work_begin();
    known = read_own(&thread->run_delay_ns);
    gv_own_work_end(saved_errno);
    if (!known)
        thread->left_cpu = 0;
    return known;
}

void gv_run_delay_write(struct gv_thread *thread, enum gv_spool_room room, uint64_t end_ns)
{
    union gv_record record = {
        .run_delay = {.head = {.kind = GV_RECORD_RUN_DELAY, .flags = GV_RECORD_MORE},
                      .call_start_ns = thread->outer_start_ns,
                      .after_ns = end_ns}};
    uint64_t start_ns = gv_clock_now_ns();
    bool known;

    if (atomic_load_explicit(&is_missing, memory_order_relaxed))
        return;
    known = find(thread);
    record.run_delay.before_ns = gv_clock_now_ns();
    record.run_delay.delay_ns = thread->run_delay_ns;
    if (known)
        gv_thread_write(thread, room, &record);
    gv_budget_pay(thread, GV_OWN_COST_CPU_WAITS, start_ns);
}
