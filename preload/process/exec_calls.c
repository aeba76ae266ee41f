/*
 * A process becomes another program: the exec family. No exit handler runs, and what CUPTI still
 * held would be lost; so it is brought in first, and the spool is told how the program ends. That
 * is taken back when the call returns: then there is no such program, and this one goes on.
 *
 * libc's own posix_spawn(), system() and popen() do not come here, nor does a child by fork() or
 * vfork() wait for anything: it is not the process that records. May be called in a signal handler.
 */
#include "preload/process/exec_calls.h"

#include "preload/base/objects.h"
#include "preload/bind/entry_points.h"
#include "preload/process/attach.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

#define GV_EXECS(EXEC)                                                                             \
    EXEC(execve)                                                                                   \
    EXEC(execv)                                                                                    \
    EXEC(execvp)                                                                                   \
    EXEC(execvpe)                                                                                  \
    EXEC(fexecve)                                                                                  \
    EXEC(execveat)

#define GV_EXEC_NUMBER(name) EXEC_##name,
enum exec { GV_EXECS(GV_EXEC_NUMBER) EXEC_COUNT };

extern char **environ;

static void *real_execs[EXEC_COUNT];

void gv_exec_calls_find_real(void)
{
#define GV_EXEC_NAME(name) #name,
    static const char *const names[] = {GV_EXECS(GV_EXEC_NAME)};

    for (int i = 0; i < EXEC_COUNT; i++)
        real_execs[i] = gv_objects_next((uintptr_t)gv_plt_slots, names[i], NULL);
}

/* Not there: before our constructor, or in a library that was opened later. */
static void *real(enum exec which)
{
    if (!real_execs[which])
        gv_exec_calls_find_real();
    return real_execs[which];
}

static int unknown(void)
{
    errno = ENOSYS;
    return -1;
}

/* After the call returned, which it does only when it failed. */
static int failed(bool expected, int result)
{
    int why = errno;

    if (expected)
        gv_process_exec_failed();
    errno = why;
    return result;
}

VISIBLE int execve(const char *path, char *const argv[], char *const envp[])
{
    int (*next)(const char *, char *const[], char *const[]) =
        (int (*)(const char *, char *const[], char *const[]))real(EXEC_execve);
    bool expected = gv_process_expect_exec();

    return failed(expected,
                  next ? next(path, argv, envp) : (int)syscall(SYS_execve, path, argv, envp));
}

VISIBLE int execv(const char *path, char *const argv[])
{
    int (*next)(const char *, char *const[]) =
        (int (*)(const char *, char *const[]))real(EXEC_execv);
    bool expected = gv_process_expect_exec();

    return failed(expected,
                  next ? next(path, argv) : (int)syscall(SYS_execve, path, argv, environ));
}

VISIBLE int execvp(const char *file, char *const argv[])
{
    int (*next)(const char *, char *const[]) =
        (int (*)(const char *, char *const[]))real(EXEC_execvp);
    bool expected = gv_process_expect_exec();

    return failed(expected, next ? next(file, argv) : unknown());
}

VISIBLE int execvpe(const char *file, char *const argv[], char *const envp[])
{
    int (*next)(const char *, char *const[], char *const[]) =
        (int (*)(const char *, char *const[], char *const[]))real(EXEC_execvpe);
    bool expected = gv_process_expect_exec();

    return failed(expected, next ? next(file, argv, envp) : unknown());
}

VISIBLE int fexecve(int fd, char *const argv[], char *const envp[])
{
    int (*next)(int, char *const[], char *const[]) =
        (int (*)(int, char *const[], char *const[]))real(EXEC_fexecve);
    bool expected = gv_process_expect_exec();

    return failed(expected, next ? next(fd, argv, envp) : unknown());
}

/* Older C libraries do not have it. */
VISIBLE int execveat(int folder, const char *path, char *const argv[], char *const envp[],
                     int flags)
{
    int (*next)(int, const char *, char *const[], char *const[], int) =
        (int (*)(int, const char *, char *const[], char *const[], int))real(EXEC_execveat);
    bool expected = gv_process_expect_exec();

    return failed(expected, next ? next(folder, path, argv, envp, flags)
                                 : (int)syscall(SYS_execveat, folder, path, argv, envp, flags));
}

/* ---- those that take the arguments one by one ---- */

/* How many come after the first, up to the NULL. */
static size_t count(const char *first, va_list arguments)
{
    size_t found = 0;

    while (first && found < INT_MAX && va_arg(arguments, char *))
        found++;
    return found;
}

/* With the NULL; returns what stands behind it. */
static char *const *fill(char **argv, const char *first, va_list arguments, bool has_environment)
{
    *argv = (char *)(uintptr_t)first;
    if (first)
        while ((*++argv = va_arg(arguments, char *)))
            ;
    return has_environment ? va_arg(arguments, char *const *) : environ;
}

/* On the stack, as libc has them too: memory must not be asked for in a child of vfork(). */
#define GV_EXEC_LISTED(first, has_environment, call)                                               \
    va_list arguments;                                                                             \
    va_start(arguments, first);                                                                    \
    size_t more = count(first, arguments);                                                         \
    va_end(arguments);                                                                             \
    if (more >= INT_MAX) {                                                                         \
        errno = E2BIG;                                                                             \
        return -1;                                                                                 \
    }                                                                                              \
    char *argv[more + 2];                                                                          \
    va_start(arguments, first);                                                                    \
    char *const *envp = fill(argv, first, arguments, has_environment);                             \
    va_end(arguments);                                                                             \
    return call

VISIBLE int execl(const char *path, const char *first, ...)
{
    GV_EXEC_LISTED(first, false, execve(path, argv, envp));
}

VISIBLE int execle(const char *path, const char *first, ...)
{
    GV_EXEC_LISTED(first, true, execve(path, argv, envp));
}

VISIBLE int execlp(const char *file, const char *first, ...)
{
    GV_EXEC_LISTED(first, false, execvpe(file, argv, envp));
}
