#include "report/collect/collector.h"

#include "report/collect/drain.h"
#include "report/collect/nvml.h"
#include "report/collect/running_stack.h"
#include "report/collect/sessions.h"
#include "report/collect/steer_clock.h"
#include "report/collect/waiters.h"
#include "report/collect/watchdog.h"
#include "trace/clock.h"
#include "trace/futex.h"
#include "trace/session_id.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GV_COLLECTOR_IDLE_MS    50
#define GV_COLLECTOR_EXITING_MS 5
#define GV_COLLECTOR_STOPS_MS   1 /* a thread of the program may have stopped for us */
/* After a pass with this many records, more have arrived. */
#define GV_COLLECTOR_BACKLOG 20000u
/* After a pass with more, the next one comes sooner: a program that gets its segments back soon
 * uses few, which stay in its caches. SQLite is as fast with this many as with more. */
#define GV_COLLECTOR_PASS 4096u
/* A root that has ended stays a zombie until its parent waits for it. `gpuverify run` looks at
 * the session in this time. A parent that never waits must not keep the session open. */
#define GV_COLLECTOR_ZOMBIE_MS   500
#define GV_COLLECTOR_RETRY_MS    100
#define GV_COLLECTOR_RETRY_MOST  2000
#define GV_COLLECTOR_GIVE_UP_MS  2000
#define GV_COLLECTOR_LARGE_BYTES (256 * 1024)
#define COLLECTOR_LEAVES         1 /* processes that only wait go on without us */

struct gv_collector {
    struct gv_drain drain;
    struct gv_session_file *session;
    struct gv_samples samples;
    struct gv_clock_steering steering;
    struct gv_watchdog watchdog;
    char directory[GV_SESSION_PATH_BYTES];
    char name[NAME_MAX + 1];
    int64_t zombie_since_ms;     /* 0: the root is not a zombie */
    int64_t unfinished_since_ms; /* only processes that make their spools are left */
    int64_t failing_since_ms;
    int64_t alone_since_ms; /* no process can still record */
    int64_t pause_ms;       /* until the next pass */
    uint32_t bell;          /* the doorbell before the last pass */
};

static int64_t collector_now_ms(void)
{
    return (int64_t)(gv_monotonic_ns() / 1000000) + 1;
}

/* Raised as far as possible, because the limit was meant for the program. */
static void collector_lift_limit(int which)
{
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit limit;

    if (which != RLIMIT_NOFILE && setrlimit((__rlimit_resource_t)which, &none) == 0)
        return;

    if (getrlimit((__rlimit_resource_t)which, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit((__rlimit_resource_t)which, &limit);
}

/* Stays on the program's CPUs: the others may be somebody else's. But not with it on a single one.
 */
static void collector_choose_cpus(void)
{
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) != 1)
        return;
    memset(&cpus, 0xff, sizeof(cpus));
    sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* A program may run in real time, or at the lowest priority of all. */
static void collector_give_way(void)
{
    struct sched_param plain = {0};

    collector_choose_cpus();
    if (sched_getscheduler(0) != SCHED_IDLE)
        sched_setscheduler(0, SCHED_BATCH, &plain);
    setpriority(PRIO_PROCESS, 0, 19);
}

/* Detaches from the program: nothing of the program affects us, and we keep nothing of it. */
static void collector_detach(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ, SIGTSTP};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t none;
    static const int limits[] = {RLIMIT_CPU,  RLIMIT_FSIZE, RLIMIT_AS,
                                 RLIMIT_DATA, RLIMIT_STACK, RLIMIT_NOFILE};

    setsid();
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        sigaction(ignored[i], &ignore, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    collector_give_way();
    /* The program may have a CPU time limit, and we inherit that. */
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        collector_lift_limit(limits[i]);
    /* Large blocks are temporary, so they are returned at once. */
    mallopt(M_MMAP_THRESHOLD, GV_COLLECTOR_LARGE_BYTES);
    prctl(PR_SET_NAME, "gpuverify");
    umask(077);
    if (chdir("/") < 0)
        umask(077); /* failure does not matter: every path here is absolute */
}

static int collector_prepare(struct gv_collector *collector, const char *path, int lock_fd)
{
    const char *slash = strrchr(path, '/');
    char session[GV_SESSION_ID_BYTES];

    if (!slash || slash == path || strlen(slash + 1) >= sizeof(collector->name) ||
        (size_t)(slash - path) >= sizeof(collector->directory))
        return -EINVAL;
    strcpy(collector->name, slash + 1);
    memcpy(collector->directory, path, (size_t)(slash - path));
    if (!gv_session_place_id(collector->name, session))
        return -EINVAL;
    int error = gv_session_place_map(lock_fd, &collector->session);
    if (error)
        return error;
    collector->session->trace_path[GV_SESSION_PATH_BYTES - 1] = '\0';
    atomic_store(&collector->session->left, 0);
    atomic_store(&collector->session->collector_pid, (uint32_t)getpid());
    error = gv_drain_open(&collector->drain, collector->directory, session,
                          collector->session->trace_path);
    gv_drain_note_root(&collector->drain, collector->session);
    return error;
}

static bool collector_root_lives(struct gv_collector *collector)
{
    enum gv_session_life life =
        gv_session_process_life(collector->session->root_pid, collector->session->root_start_ticks);
    int64_t now = collector_now_ms();

    if (life != GV_SESSION_ZOMBIE)
        return life == GV_SESSION_ALIVE;
    if (collector->zombie_since_ms == 0)
        collector->zombie_since_ms = now;
    return now - collector->zombie_since_ms < GV_COLLECTOR_ZOMBIE_MS;
}

/* A process that makes its spool is about to finish it, or is killed and leaves it to us. The
 * name of the file tells only a pid, which may be a stranger's by now: so not for ever. */
static bool collector_awaits_spool(struct gv_collector *collector)
{
    int64_t now = collector_now_ms();

    if (collector->drain.unfinished == 0 || collector->unfinished_since_ms == 0)
        collector->unfinished_since_ms = now;
    return collector->drain.unfinished > 0 &&
           now - collector->unfinished_since_ms < GV_COLLECTOR_GIVE_UP_MS;
}

static bool collector_any_lives(const struct gv_collector *collector)
{
    for (size_t i = 0; i < collector->drain.count; i++)
        if (gv_spool_reader_process_lives(&collector->drain.spools[i]->reader))
            return true;
    return false;
}

/* Every process that could still record waits for a child, and one of them for us alone. Then we
 * leave; a process that goes on starts another collector when it ends. */
static bool collector_only_waiters_are_left(const struct gv_collector *collector)
{
    const struct gv_drain *drain = &collector->drain;
    bool is_parents = false;

    for (size_t i = 0; i < drain->count; i++)
        is_parents |= drain->spools[i]->pid == (uint32_t)getppid();
    if (!is_parents || !gv_waiters_parent_waits())
        return false;
    for (size_t i = 0; i < drain->count; i++)
        if (!gv_waiters_is_waiting(drain->spools[i]->pid))
            return false;
    return true;
}

/* Sleeps until a process rings, or the time is over. `bell` was read before the last look. */
static void collector_wait(struct gv_collector *collector, uint32_t bell, int64_t ms)
{
    struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    syscall(SYS_futex, &collector->session->doorbell, FUTEX_WAIT, bell, &timeout, NULL, 0);
}

/* Programs read this path only after the collector has set it. */
static void collector_tell_path(struct gv_collector *collector)
{
    const char *path = collector->drain.path;

    if (path[0] && strcmp(collector->session->trace_path, path) != 0)
        snprintf(collector->session->trace_path, sizeof(collector->session->trace_path), "%s",
                 path);
}

/* 0: try again after a while; otherwise give up. Never sleeps on the bell, which may ring all
 * the time. */
static int collector_after_error(struct gv_collector *collector, int error)
{
    int64_t now = collector_now_ms();

    if (gv_drain_is_unwanted(&collector->drain))
        return error;
    /* The next try may succeed, for example if only the journal was deleted. */
    if (collector->failing_since_ms == 0) {
        collector->failing_since_ms = now;
        if (error == -EIO)
            return 0;
    }
    /* An error ends the programs' waiting. A lock by a reader is temporary. */
    if (error != -EBUSY)
        atomic_store(&collector->session->trace_error, -error);
    if (error == -ESTALE)
        return error;
    if (collector_any_lives(collector))
        collector->alone_since_ms = 0;
    else if (collector->alone_since_ms == 0)
        collector->alone_since_ms = now;
    else if (now - collector->alone_since_ms >= GV_COLLECTOR_GIVE_UP_MS)
        return error;
    int64_t wait_ms = GV_COLLECTOR_RETRY_MS + (now - collector->failing_since_ms) / 4;
    if (wait_ms > GV_COLLECTOR_RETRY_MOST)
        wait_ms = GV_COLLECTOR_RETRY_MOST;
    while (wait_ms > 0) {
        int64_t step_ms = gv_running_stack_let_go() ? GV_COLLECTOR_STOPS_MS : wait_ms;

        usleep((useconds_t)(step_ms * 1000));
        wait_ms -= step_ms;
    }
    return 0;
}

static int64_t collector_pause_ms(struct gv_collector *collector, size_t stored, bool ending)
{
    int64_t pause_ms = collector->pause_ms;

    if (stored > GV_COLLECTOR_PASS)
        pause_ms /= 2;
    else if (stored < GV_COLLECTOR_PASS / 4)
        pause_ms *= 2;
    if (pause_ms < GV_COLLECTOR_EXITING_MS || ending)
        pause_ms = GV_COLLECTOR_EXITING_MS;
    if (pause_ms > GV_COLLECTOR_IDLE_MS)
        pause_ms = GV_COLLECTOR_IDLE_MS;
    return collector->pause_ms = pause_ms;
}

/* Drains until no process is left. 0, COLLECTOR_LEAVES or -errno. */
static int collector_drain(struct gv_collector *collector)
{
    struct gv_drain *drain = &collector->drain;

    for (;;) {
        uint32_t bell = atomic_load(&collector->session->doorbell);
        bool root_lives = collector_root_lives(collector);
        size_t stored = 0, exiting = 0;
        gv_clock_steer(&collector->steering, &collector->session->clock);
        uint64_t seen_ns = gv_clock_read(&collector->session->clock);
        int error = gv_drain_find(drain);

        drain->is_asked =
            bell != collector->bell || gv_snapshot_is_wanted(&drain->snapshot, collector->session);
        atomic_store(&collector->session->crowded, drain->unopened > 0);
        if (!error)
            error = gv_drain_pass(drain, &stored, &exiting);
        if (!error)
            error = gv_watchdog_look(&collector->watchdog, drain);
        if (!error)
            error = gv_drain_keep(
                drain, (int64_t)(gv_monotonic_ns() - collector->session->clock.epoch_ns));
        if (!error && !drain->complete)
            gv_drain_tell(drain, (int64_t)(seen_ns - collector->session->clock.epoch_ns));
        collector_tell_path(collector);
        if (error) {
            error = collector_after_error(collector, error);
            if (error)
                return error;
            continue;
        }
        atomic_store(&collector->session->trace_error, 0);
        collector->failing_since_ms = collector->alone_since_ms = 0;
        collector->bell = bell;
        /* A process of the session that collects orphans, or a tracer in it, may wait for us. */
        if (drain->count == 0 &&
            (!root_lives || gv_waiters_are_below(collector->session->root_pid)) &&
            !collector_awaits_spool(collector))
            return 0;
        if (exiting == 0 && collector_only_waiters_are_left(collector))
            return COLLECTOR_LEAVES;
        /* A zombie root still exists. */
        if (drain->driver_known && exiting == 0 && root_lives && !drain->complete &&
            !drain->put_off)
            gv_samples_take(&collector->samples, &drain->database,
                            collector->session->clock.epoch_ns);
        /* A process that ends waits for us. */
        bool copying = exiting == 0 && drain->writing &&
                       gv_snapshot_work(&drain->snapshot, collector->session,
                                        drain->database.handle, drain->path, seen_ns);
        int64_t pause_ms = collector_pause_ms(collector, stored,
                                              exiting || !root_lives || collector->zombie_since_ms);
        if (gv_running_stack_let_go())
            pause_ms = GV_COLLECTOR_STOPS_MS;
        if (stored < GV_COLLECTOR_BACKLOG && !copying)
            collector_wait(collector, bell, pause_ms);
    }
}

/*
 * Removes the session's file, so that a new process starts its own collector. A process that came
 * before saw the lock and relies on this collector; its spool exists by now. Then the file is put
 * back, unless a new collector has one, which then has all spools. 1: continue collecting. -errno:
 * unknown.
 */
static int collector_close_session(struct gv_collector *collector)
{
    char aside[NAME_MAX + 16];
    int directory = collector->drain.directory_fd, again = 0, error;

    snprintf(aside, sizeof(aside), "%s.closing", collector->name);
    if (renameat(directory, collector->name, directory, aside) < 0)
        return 0;
    error = gv_drain_find(&collector->drain);
    if (error || collector->drain.count > 0 || collector_awaits_spool(collector))
        again = linkat(directory, aside, directory, collector->name, 0) == 0;
    unlinkat(directory, aside, 0);
    if (!error && !again)
        gv_live_page_remove(collector->directory, collector->drain.session);
    return error ? error : again;
}

int gv_collector_run(const char *path, int lock_fd)
{
    struct gv_collector *collector = calloc(1, sizeof(*collector));
    int error, again = 1;

    if (!collector)
        return -ENOMEM;
    collector_detach();
    gv_drain_start(&collector->drain);
    gv_watchdog_start(&collector->watchdog);
    collector->pause_ms = GV_COLLECTOR_IDLE_MS;
    error = collector_prepare(collector, path, lock_fd);
    while (!error && again) {
        atomic_store(&collector->session->finishing, 0);
        error = collector_drain(collector);
        if (error == COLLECTOR_LEAVES || gv_drain_is_unwanted(&collector->drain))
            break;
        atomic_store(&collector->session->finishing, 1);
        gv_snapshot_stop(&collector->drain.snapshot);
        gv_drain_note_root(&collector->drain, collector->session);
        if (!error)
            error = gv_drain_finish(&collector->drain);
        if (!error)
            again = collector_close_session(collector);
        if (again < 0)
            error = again;
    }
    if (gv_drain_is_unwanted(&collector->drain)) {
        gv_snapshot_stop(&collector->drain.snapshot);
        atomic_store(&collector->session->trace_error, GV_SESSION_UNWANTED);
        gv_session_place_discard(collector->directory, collector->drain.session);
        error = 0;
    } else if (error == COLLECTOR_LEAVES) {
        gv_snapshot_stop(&collector->drain.snapshot);
        atomic_store(&collector->session->collector_pid, 0);
        atomic_store(&collector->session->left, 1);
        error = 0;
    }
    gv_trace_path_leave(collector->directory);
    gv_samples_close(&collector->samples);
    gv_drain_close(&collector->drain);
    gv_session_place_unmap(collector->session);
    free(collector);
    return error;
}
