/*
 * The end of a process: exit() and a return from main (our destructor), _exit(), _Exit(),
 * quick_exit(), or a signal to itself (preload/process/deadly_signals.c). It waits until the
 * collector has everything in the trace, for GPUVERIFY_EXIT_WAIT at most. A process killed by
 * others does not wait; the collector notices.
 */
#include "preload/process/attach.h"

#include "preload/base/clock.h"
#include "preload/base/loader_lock.h"
#include "preload/base/own_work.h"
#include "preload/bind/libc_calls.h"
#include "preload/idle/watch.h"
#include "preload/process/gpu_start.h"
#include "preload/process/run_note.h"
#include "preload/process/warnings.h"
#include "trace/futex.h"
#include "trace/session_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 50000000 /* how often a waiting process checks whether its collector lives */
/* A flush takes milliseconds, but it waits for the GPU while another thread loads code (driver
 * 580). A program that ends itself because it is stuck there must not be stuck here. */
#define FETCH_MOST_MS 1000

/* Nobody will drain the spool: the collector cannot write the trace, it died, or there never was
 * one, so nobody has the lock. The lock is tried only if the pid is not of a living process: while
 * we try it, another process could think that a collector has it. The pid of a collector that has
 * just been started may still be that of the one before, which was killed. */
static bool collector_is_no_use(const struct gv_process *process)
{
    uint32_t pid = atomic_load(&process->session->collector_pid);
    bool gone;
    int fd;

    if (atomic_load(&process->session->trace_error))
        return true;
    if (pid && !gv_session_has_ended(pid))
        return false;
    fd = open(process->session_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return pid || errno == ENOENT;
    gone = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return gone;
}

/* The collector has left because a process waited for it, as process 1 may. False: it has not. */
static bool replace_collector(const struct gv_process *process)
{
    int fd;

    if (!atomic_exchange(&process->session->left, 0))
        return false;
    fd = open(process->session_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        gv_collector_start(process, fd);
    else if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The collector reads the spool when another process has ended, perhaps one that waits for us. */
static bool collector_comes_later(const struct gv_process *process)
{
    return atomic_load(&process->session->crowded) && !atomic_load(&process->spool.header->opened);
}

/* Waits for what was recorded before this end. False: waiting longer is useless. */
static bool wait_until_drained(struct gv_process *process, uint32_t end)
{
    struct gv_spool_header *header = process->spool.header;
    uint32_t drained;
    uint64_t end_ns = gv_monotonic_ns() + (uint64_t)process->settings.exit_wait_ms * 1000000u;

    while ((drained = atomic_load(&header->drained)) < end && gv_monotonic_ns() < end_ns) {
        if (collector_comes_later(process))
            return true;
        if (collector_is_no_use(process) && !replace_collector(process))
            return false;
        gv_futex_wait(&header->drained, drained, LOOK_NS);
    }
    return true;
}

/* Once: true if it was running until now. */
static bool end_as(enum gv_process_state state)
{
    struct gv_spool_header *header = gv_process.spool.header;
    uint32_t running = GV_PROCESS_RUNNING;
    uint64_t begun_ns;
    uint32_t end;

    gv_idle_pause();
    end = atomic_fetch_add(&header->ends, 1) + 1; /* before the state that announces it */

    if (!atomic_compare_exchange_strong(&header->state, &running, state))
        return false;
    begun_ns = gv_clock_now_ns();
    atomic_store(&header->ended_ns, begun_ns);
    gv_futex_ring(&gv_process.session->doorbell);
    if (!wait_until_drained(&gv_process, end))
        gv_warn_of_collector(&gv_process);
    gv_own_cost_add(header->own_cost, GV_OWN_COST_END, gv_clock_now_ns() - begun_ns);
    gv_warn_of_trace(&gv_process);
    return true;
}

static void finish(void)
{
    if (!gv_process_is_attached_here())
        return;
    int saved_errno = gv_own_work_begin();
    gv_gpu_finish(gv_process.settings.exit_wait_ms);
    end_as(GV_PROCESS_EXITING);
    gv_own_work_end(saved_errno);
}

/* CUPTI has once not answered in time. Otherwise, a program that tries several ways to end would
 * wait for it each time. */
static _Atomic bool fetch_hangs;

static void fetch_unless_it_hangs(void)
{
    int64_t most_ms = gv_process.settings.exit_wait_ms;

    if (most_ms > FETCH_MOST_MS)
        most_ms = FETCH_MOST_MS;
    if (!atomic_load(&fetch_hangs) && !gv_gpu_fetch(most_ms))
        atomic_store(&fetch_hangs, true);
}

/* The token of the process that a thread is ending by a signal. In the handler of another signal,
 * or on another thread, nobody waits again. A forked child is another process. */
static _Atomic uint64_t dying;

bool gv_process_expect_death(int number)
{
    uint64_t token = gv_process_token_now(), others;

    if (!gv_process_is_attached_here())
        return false;
    others = atomic_load(&dying);
    if (others == token || !atomic_compare_exchange_strong(&dying, &others, token))
        return false;
    int saved_errno = gv_own_work_begin();
    if (atomic_load(&gv_process.spool.header->state) == GV_PROCESS_RUNNING) {
        fetch_unless_it_hangs();
        atomic_store(&gv_process.spool.header->exit_signal, number);
        /* The collector reads what other threads did meanwhile when we are gone. */
        if (end_as(GV_PROCESS_DYING))
            fetch_unless_it_hangs();
    }
    gv_own_work_end(saved_errno);
    return true;
}

void gv_process_outlived(void)
{
    struct gv_spool_header *header = gv_process.spool.header;
    uint32_t outlived = GV_PROCESS_DYING;

    if (atomic_load(&header->state) == GV_PROCESS_DYING) {
        gv_gpu_go_on();
        atomic_store(&header->ended_ns, 0);
        atomic_compare_exchange_strong(&header->state, &outlived, GV_PROCESS_RUNNING);
        gv_idle_go_on();
    }
    atomic_store(&dying, 0);
}

void gv_process_fetch(void)
{
    if (!gv_process_is_attached_here() ||
        atomic_load(&gv_process.spool.header->state) != GV_PROCESS_RUNNING)
        return;
    int saved_errno = gv_own_work_begin();
    fetch_unless_it_hangs();
    gv_gpu_go_on();
    gv_own_work_end(saved_errno);
}

/* Runs early among the exit handlers, only to learn the exit code, which a destructor does not
 * get. */
static void note_code(int code, void *context)
{
    (void)context;
    if (!gv_process_is_attached_here())
        return;
    atomic_store(&gv_process.spool.header->exit_code, code & 0xff);
    atomic_store(&gv_process.spool.header->exit_code_known, 1);
}

__attribute__((destructor)) static void unloaded(void)
{
    if (gv_process_is_ours() && !gv_process_is_attached_here())
        gv_run_note_driver();
    finish();
}

int gv_process_watch_exit(void)
{
    static bool watched; /* a forked child inherits the handlers */

    /* dlclose() takes the lock of these handlers. A child may find it taken for ever, and can
     * then end only by _exit(). */
    if (watched || gv_loader_is_broken())
        return 0;
    if (on_exit(note_code, NULL) != 0 || at_quick_exit(finish) != 0)
        return -ENOMEM;
    watched = true;
    return 0;
}

typedef void (*end_process)(int code) __attribute__((noreturn));

/* The next definition may be another preloaded library's; libc's makes the system call below. */
__attribute__((noreturn)) static void end_by(void *next, int code)
{
    note_code(code, NULL);
    finish();
    if (next)
        ((end_process)next)(code);
    for (;;)
        syscall(SYS_exit_group, code);
}

__attribute__((visibility("default"), noreturn)) void _exit(int code)
{
    end_by(gv_libc_call(GV_LIBC__exit), code);
}

__attribute__((visibility("default"), noreturn)) void _Exit(int code)
{
    end_by(gv_libc_call(GV_LIBC__Exit), code);
}
