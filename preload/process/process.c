/* Attaching this process to a session: see preload/base/own_process.h. */
#include "preload/process/attach.h"

#include "preload/base/clock.h"
#include "preload/base/log.h"
#include "preload/base/objects.h"
#include "preload/base/thread.h"
#include "preload/bind/dlsym_filter.h"
#include "preload/bind/libc_calls.h"
#include "preload/hooks/names.h"
#include "preload/hooks/run_delay.h"
#include "preload/idle/watch.h"
#include "preload/process/gpu_start.h"
#include "preload/process/run_note.h"
#include "preload/process/start_place.h"
#include "preload/process/warnings.h"
#include "preload/ranges/nvtx.h"
#include "preload/ranges/ranges.h"
#include "preload/stacks/stacks.h"
#include "trace/futex.h"
#include "trace/session_id.h"
#include "trace/spool_hold.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum stage {
    STAGE_NEW,
    STAGE_ATTACHING,
    STAGE_ATTACHED,
    STAGE_REFUSED, /* failed; not tried again */
};

static uint32_t pid_now(void)
{
    return (uint32_t)syscall(SYS_getpid);
}

/* A child that calls exec shares the session by this variable, with or without CUDA. */
static void name_session(void)
{
    char id[GV_SESSION_ID_BYTES];
    const char *given = getenv(GV_SETTING_SESSION);
    uint64_t start_ticks;
    uint32_t pid;

    if (given && gv_session_id_parse(given, &pid, &start_ticks) == 0) {
        strncpy(gv_process.session_id, given, sizeof gv_process.session_id - 1);
        return;
    }
    if (gv_session_id_make(id) == 0) {
        memcpy(gv_process.session_id, id, sizeof id);
        if (setenv(GV_SETTING_SESSION, id, 1) < 0)
            gv_log_info("out of memory: children are recorded into traces of their own");
    }
}

__attribute__((constructor)) static void loaded(void)
{
    int saved_errno = errno, error;

    if (!gv_process_is_ours())
        return;
    error = gv_start_place_note();
    gv_process_read_settings();
    gv_log_look_at_stderr();
    if (error)
        gv_log_info("children that change their folder may look for the trace there: %s",
                    strerror(-error));
    gv_dlsym_find_real();
    gv_objects_note_startup();
    gv_clock_note_load();
    gv_libc_calls_find();
    if (gv_fork_watch_start())
        gv_log_info("forked children are not recorded");
    name_session();
    gv_nvtx_offer();
    gv_run_note_here();
    errno = saved_errno;
}

/* Until here, the child has its parent's spool and session mapped; it gets its own. */
static void drop_parent(struct gv_process *process)
{
    gv_clock_use(NULL);
    if (process->spool.header)
        gv_spool_writer_close(&process->spool, false);
    if (process->session)
        munmap(process->session, sizeof *process->session);
    process->session = NULL;
    process->hold = NULL; /* the parent's; it is not mapped here */
    process->session_path[0] = '\0';
    if (process->forked)
        gv_names_start_over();
}

static int attach(struct gv_process *process)
{
    static struct gv_settings settings;
    int lock_fd = -1;
    int error;

    if (!process->session_id[0])
        return -EINVAL;
    process->forked = process->pid != 0;
    drop_parent(process);
    process->pid = pid_now();
    gv_settings_read(&settings, NULL, NULL);
    process->settings = settings;
    gv_run_delay_prepare(&settings);
    error = gv_thread_prepare();
    if (!error)
        error = gv_session_join(process, &lock_fd);
    gv_warn_of_settings(process);
    if (error)
        return error;
    gv_clock_use(&process->session->clock);
    gv_warn_of_folder(process);
    gv_process_describe(process->spool.header);
    error = gv_process_watch_exit();
    if (error) {
        if (lock_fd >= 0)
            close(lock_fd);
        gv_spool_writer_close(&process->spool, true);
        gv_spool_let_go(&process->hold);
        return error;
    }
    gv_fork_watch_set_token(process->spool.header->identity);
    gv_stacks_start(&settings, process->forked);
    gv_control_begin();
    if (lock_fd >= 0)
        gv_collector_start(process, lock_fd);
    gv_idle_start();
    return 0;
}

/* If it takes for ever, the call continues without it; later calls may still be recorded. */
static void wait_for_attacher(void)
{
    uint32_t attaching = STAGE_ATTACHING;

    for (int i = 0; i < 20000; i++) {
        if (atomic_load(&gv_process_own.stage) != attaching)
            return;
        gv_pause_ns(100000);
    }
    atomic_compare_exchange_strong(&gv_process_own.stage, &attaching, STAGE_REFUSED);
}

/* True if this thread must attach the process. A forked child is new, whatever its pid. */
static bool claim_attachment(void)
{
    uint32_t stage = STAGE_NEW;

    if (atomic_compare_exchange_strong(&gv_process_own.stage, &stage, STAGE_ATTACHING))
        return true;
    if (stage == STAGE_ATTACHING)
        wait_for_attacher();
    return false;
}

/* A vfork()ed child shares our memory, and must not change its parent's. */
static bool is_vforked(uint32_t pid)
{
    return gv_process_is_recording() && gv_process.pid != pid;
}

/* Most calls of a process that cannot be recorded go straight to the real ones. */
static void let_calls_pass(void)
{
    static _Atomic uint32_t always_stopped = 1;

    atomic_store(&gv_process_own.changes, &always_stopped);
}

static bool attach_process(void)
{
    int error;

    if (!gv_process_is_ours() || is_vforked(pid_now()))
        return false;
    if (claim_attachment()) {
        error = attach(&gv_process);
        if (error && error != -ECANCELED) {
            gv_warn_of_refusal(&gv_process, error);
            gv_run_note_failed();
        }
        if (error)
            let_calls_pass();
        atomic_store(&gv_process_own.stage, error ? STAGE_REFUSED : STAGE_ATTACHED);
    }
    return atomic_load(&gv_process_own.stage) == STAGE_ATTACHED && gv_process_is_recording();
}

const struct gv_process_steps gv_process_steps = {
    .attach = attach_process,
    .note_driver = gv_gpu_note_driver,
    .note_environment = gv_process_note_environment,
    .start_gpu = gv_gpu_start,
    .await_gpu_start = gv_gpu_await_start,
    .leave_gpu_start = gv_gpu_leave_start,
    .write_open_ranges = gv_ranges_write_open,
    .expect_peers = gv_gpu_expect_peers,
};
