/*
 * Starts the collector as nobody's child: no wait() of the program returns it, no SIGCHLD reports
 * it, and it has nothing of the program open. Only a program that collects orphans gets it as a
 * child.
 *
 * It is a grandchild by two vfork-like clones, because fork() would copy the page tables of a
 * process that may have mapped hundreds of gigabytes. The child in between has no termination
 * signal, which hides it from the program's wait() until we have waited for it. Between clone and
 * exec there are only system calls, on a stack of ours. Signals are unblocked when none of the
 * program's handlers is left.
 */
#include "preload/process/attach.h"

#include "preload/base/objects.h"
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

#define STACK_BYTES        32768u
#define HIGHEST_FD_BY_HAND 65536

extern char **environ;

typedef int clone_function(int (*run)(void *), void *stack, int flags, void *data, ...);

struct start {
    clone_function *clone;
    const char *helper;
    const char *session_path;
    char **environment;
    char *inner_stack;
    char *outer_stack;
    int lock_fd;
    int error; /* errno of a child's failure */
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
    size_t kept = 0;

    for (size_t i = 0; i < count && environ[i]; i++)
        if (is_kept(environ[i]))
            copy[kept++] = environ[i];
    copy[kept] = NULL;
}

/* ---- the two children ---- */

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    for (int fd = first; fd < HIGHEST_FD_BY_HAND; fd++)
        close(fd);
}

/* Closes everything: a pipe kept open here would never end for its reader. */
static int keep_only_lock(int lock_fd)
{
    int high = fcntl(lock_fd, F_DUPFD, GV_SESSION_LOCK_FD + 1);
    int null;

    if (high < 0)
        return -1;
    for (int fd = 0; fd < GV_SESSION_LOCK_FD; fd++)
        close(fd);
    null = open("/dev/null", O_RDWR);
    if (null != 0 || dup(0) != 1 || dup(0) != 2)
        return -1;
    if (dup2(high, GV_SESSION_LOCK_FD) < 0)
        return -1;
    close_from(GV_SESSION_LOCK_FD + 1);
    return 0;
}

/* The system call, because our own _exit() is for the program. */
__attribute__((noreturn)) static void leave_child(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
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
        syscall(SYS_rt_sigaction, number, &standard, NULL, sizeof standard.mask);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

static int become_collector(void *data)
{
    struct start *start = data;
    char *const arguments[] = {(char *)"gpuverify", (char *)"collect",
                               (char *)(uintptr_t)start->session_path, NULL};

    setsid();
    errno = EIO;
    reset_signals();
    if (keep_only_lock(start->lock_fd) == 0)
        execve(start->helper, arguments, start->environment);
    start->error = errno;
    leave_child(127);
}

static bool is_libc(const struct gv_object *object, void *context)
{
    *(clone_function **)context = NULL;
    if (strcmp(gv_object_name(object), "libc.so.6") == 0)
        *(void **)context = gv_object_symbol(object, "clone");
    return *(clone_function **)context != NULL;
}

/* A sanitizer's wrapper takes every clone() for a fork. */
static clone_function *find_clone(void)
{
    clone_function *found = NULL;

    return gv_objects_visit(is_libc, &found) ? found : clone;
}

static int start_and_leave(void *data)
{
    struct start *start = data;

    if (start->clone(become_collector, start->inner_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK,
                     start) < 0)
        start->error = errno;
    leave_child(0);
}

static int run_children(struct start *start)
{
    sigset_t all, before;
    int status;
    pid_t child;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    child = start->clone(start_and_leave, start->outer_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK,
                         start);
    if (child < 0)
        start->error = errno;
    else
        while (waitpid(child, &status, __WCLONE) < 0 && errno == EINTR)
            ;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return -start->error;
}

/* The children's stacks, arguments and environment, in one mapping that starts with a stack. */
static int make_start(struct start **made, size_t *bytes)
{
    size_t variables = 0;
    char *mapped;

    while (environ && environ[variables])
        variables++;
    *bytes = 2 * STACK_BYTES + sizeof(struct start) + (variables + 1) * sizeof(char *);
    mapped = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    *made = (struct start *)(void *)(mapped + 2 * STACK_BYTES);
    (*made)->clone = find_clone();
    (*made)->inner_stack = mapped;
    (*made)->outer_stack = mapped + STACK_BYTES;
    (*made)->environment = (char **)(void *)(*made + 1);
    copy_environment((*made)->environment, variables);
    return 0;
}

static int start_helper(const struct gv_process *process, int lock_fd)
{
    static char helper[GV_SESSION_PATH_BYTES]; /* by the one attaching thread */
    struct start *start = NULL;
    size_t bytes = 0;
    int error = find_helper(&process->settings, helper, sizeof helper);

    if (!error)
        error = make_start(&start, &bytes);
    if (error)
        return error;
    start->helper = helper;
    start->session_path = process->session_path;
    start->lock_fd = lock_fd;
    error = run_children(start);
    munmap(start->inner_stack, bytes);
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
