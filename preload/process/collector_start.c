/*
 * Starts the collector as nobody's child: no wait() of the program returns it, no SIGCHLD reports
 * it, and it has nothing of the program open. Only a program that collects orphans gets it as a
 * child.
 *
 * It is a grandchild by two vfork-like clones, because fork() would copy the page tables of a
 * process that may have mapped hundreds of gigabytes. The child in between has no termination
 * signal, which hides it from the program's wait() until we have waited for it.
 *
 * A tracer, such as strace -f, does not get the children: it would wait for the collector, and the
 * collector for the traced program. So they must not meet its breakpoints, which are in the memory
 * that they share: between clone and exec there are only system calls, without libc. Signals are
 * unblocked when none of the program's handlers is left.
 */
#include "preload/process/attach.h"

#include "preload/base/objects.h"
#include "preload/base/own_environ.h"
#include "preload/base/raw_syscall.h"
#include "preload/process/warnings.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef GV_BINDIR
#error "the build says where the gpuverify program is installed"
#endif

#define HIGHEST_FD_BY_HAND 65536

struct start {
    const char *helper;
    const char *session_path;
    char **environment;
    int lock_fd;
    int error; /* -errno of a child's failure */
};

/* ---- finding the program ---- */

static int find_helper(const struct gv_settings *settings, char *path, size_t size)
{
    /* In the build tree; in a bundle or under any prefix; Debian's lib/x86_64-linux-gnu. */
    static const char *const beside[] = {"/../report/gpuverify", "/../bin/gpuverify",
                                         "/../../bin/gpuverify"};
    const char *given = settings->collector[0] ? settings->collector : GV_BINDIR "/gpuverify";
    int error;

    for (size_t i = 0; !settings->collector[0] && i < sizeof beside / sizeof beside[0]; i++)
        if (gv_objects_beside_us(path, size, beside[i]) && access(path, X_OK) == 0)
            return 0;
    error = gv_trace_path_format(path, size, "%s", given);
    return error || access(path, X_OK) == 0 ? error : -ENOENT;
}

/* ---- the environment without our library ---- */

static bool is_kept(const char *variable)
{
    return strncmp(variable, "LD_PRELOAD=", 11) != 0 && strncmp(variable, "LD_AUDIT=", 9) != 0;
}

static void copy_environment(char **copy, size_t count)
{
    char name[sizeof "LD_PRELOAD=" + 1];
    size_t kept = 0;

    for (size_t i = 0; i < count && gv_own_environ_read(i, name, sizeof name); i++)
        if (is_kept(name) && (copy[kept] = gv_own_environ_at(i)))
            kept++;
    copy[kept] = NULL;
}

/* ---- the two children ---- */

static void close_from(int first)
{
#ifdef SYS_close_range
    if (gv_raw_syscall(SYS_close_range, first, UINT32_MAX, 0, 0, 0) == 0)
        return;
#endif
    for (int fd = first; fd < HIGHEST_FD_BY_HAND; fd++)
        gv_raw_syscall(SYS_close, fd, 0, 0, 0, 0);
}

/* Closes everything: a pipe kept open here would never end for its reader. 0 or -errno. */
static long keep_only_lock(int lock_fd)
{
    static const char null[] = "/dev/null";
    long high = gv_raw_syscall(SYS_fcntl, lock_fd, F_DUPFD, GV_SESSION_LOCK_FD + 1, 0, 0);

    if (high < 0)
        return high;
    for (int fd = 0; fd < GV_SESSION_LOCK_FD; fd++)
        gv_raw_syscall(SYS_close, fd, 0, 0, 0, 0);
    if (gv_raw_syscall(SYS_openat, AT_FDCWD, (long)null, O_RDWR, 0, 0) != 0 ||
        gv_raw_syscall(SYS_dup, 0, 0, 0, 0, 0) != 1 || gv_raw_syscall(SYS_dup, 0, 0, 0, 0, 0) != 2)
        return -EIO;
    high = gv_raw_syscall(SYS_dup3, high, GV_SESSION_LOCK_FD, 0, 0, 0);
    if (high < 0)
        return high;
    close_from(GV_SESSION_LOCK_FD + 1);
    return 0;
}

__attribute__((noreturn)) static void leave_child(int code)
{
    for (;;)
        gv_raw_syscall(SYS_exit_group, code, 0, 0, 0, 0);
}

/* The Linux kernel's struct. A handler of 0 is the default. */
struct kernel_action {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    uint64_t mask;
};

/* Resets all signals: the program's handlers would run here, in its memory, and blocked or
 * ignored signals would stay so in the helper, which may be any program and must be killable. */
static void reset_signals(void)
{
    static const struct kernel_action standard;
    static const uint64_t none;

    for (int number = 1; number < NSIG; number++)
        gv_raw_syscall(SYS_rt_sigaction, number, (long)&standard, 0, sizeof standard.mask, 0);
    gv_raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof none, 0);
}

__attribute__((noreturn)) static void become_collector(struct start *start)
{
    const char *const arguments[] = {"gpuverify", "collect", start->session_path, NULL};
    long error;

    gv_raw_syscall(SYS_setsid, 0, 0, 0, 0, 0);
    reset_signals();
    error = keep_only_lock(start->lock_fd);
    if (!error)
        error = gv_raw_syscall(SYS_execve, (long)start->helper, (long)arguments,
                               (long)start->environment, 0, 0);
    start->error = (int)error;
    leave_child(127);
}

/* Like vfork(), so the parent sleeps until the child is gone or another program. Returns the child,
 * or -errno. */
__attribute__((noinline)) static long run_child(void (*run)(struct start *), struct start *start)
{
    long child = gv_raw_syscall(SYS_clone, CLONE_VM | CLONE_VFORK | CLONE_UNTRACED, 0, 0, 0, 0);

    if (child == 0)
        run(start);
    return child;
}

__attribute__((noreturn)) static void start_and_leave(struct start *start)
{
    long child = run_child(become_collector, start);

    if (child < 0)
        start->error = (int)child;
    leave_child(0);
}

static int run_children(struct start *start)
{
    sigset_t all, before;
    int status;
    long child;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    child = run_child(start_and_leave, start);
    if (child < 0)
        start->error = (int)child;
    else
        while (waitpid((pid_t)child, &status, __WCLONE) < 0 && errno == EINTR)
            ;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return start->error;
}

static size_t count_variables(void)
{
    size_t count = 0;

    while (gv_own_environ_at(count))
        count++;
    return count;
}

static int start_helper(const struct gv_process *process, int lock_fd)
{
    static char helper[GV_SESSION_PATH_BYTES]; /* by the one attaching thread */
    struct start start = {
        .helper = helper, .session_path = process->session_path, .lock_fd = lock_fd};
    int error = find_helper(&process->settings, helper, sizeof helper);
    size_t variables = count_variables(), bytes = (variables + 1) * sizeof(char *);
    void *mapped;

    if (error)
        return error;
    mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    start.environment = mapped;
    copy_environment(start.environment, variables);
    error = run_children(&start);
    munmap(mapped, bytes);
    return error;
}

void gv_collector_start(const struct gv_process *process, int lock_fd)
{
    int error = 0;

    if (strcmp(process->settings.collector, "off") != 0)
        error = start_helper(process, lock_fd);
    close(lock_fd);
    if (error)
        gv_warn_of_no_collector(process, error);
}
