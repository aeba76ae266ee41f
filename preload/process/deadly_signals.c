/*
 * A program ends itself by a signal: kill(), raise(), abort() and assert(). Python does so after
 * Ctrl-C, and so do many signal handlers after cleaning up. No exit handler runs, and what CUPTI
 * still has would be lost.
 *
 * Whether the program ends is known only afterwards: the signal may be blocked to be waited for, we
 * may be in its handler, and a debugger may stop it. So nothing is ended: everything is stored, and
 * recording continues if the program does.
 *
 * It may run in a signal handler, so it does not allocate or lock.
 */
#include "preload/process/attach.h"

#include "preload/bind/libc_calls.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

static bool ends_by_default(int number)
{
    switch (number) {
    case SIGCHLD:
    case SIGCONT:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGURG:
    case SIGWINCH:
        return false;
    default:
        return number > 0 && number < NSIG;
    }
}

/*
 * After a program has survived one, blocked signals no longer count: its threads may wake each
 * other with them, all the time.
 */
static _Atomic bool has_outlived;

static bool is_let_through(int number)
{
    sigset_t blocked;

    if (!atomic_load(&has_outlived))
        return true;
    return pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, number) == 0;
}

static bool would_end_us(int number)
{
    struct sigaction action;

    /* The Linux kernel does not deliver them to the first process of a container. */
    if (!ends_by_default(number) || syscall(SYS_getpid) == 1)
        return false;
    if (number == SIGKILL)
        return true;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
           is_let_through(number);
}

/* Before the signal is sent. True: call outlived() after it. */
static bool expect(int number)
{
    int saved_errno = errno;
    bool expected = would_end_us(number) && gv_process_expect_death(number);

    errno = saved_errno;
    return expected;
}

static void outlived(void)
{
    atomic_store(&has_outlived, true);
    gv_process_outlived();
}

static bool is_us(pid_t pid)
{
    return pid == (pid_t)syscall(SYS_getpid);
}

static bool reaches_us(pid_t pid)
{
    if (pid > 0)
        return is_us(pid);
    return pid == 0 || (pid != -1 && pid == -getpgrp()); /* -1: everybody but the sender */
}

VISIBLE int kill(pid_t pid, int number)
{
    int (*next)(pid_t, int) = (int (*)(pid_t, int))gv_libc_call(GV_LIBC_kill);
    bool expected = reaches_us(pid) && expect(number);
    int result = next ? next(pid, number) : (int)syscall(SYS_kill, pid, number);

    if (expected)
        outlived();
    return result;
}

VISIBLE int raise(int number)
{
    int (*next)(int) = (int (*)(int))gv_libc_call(GV_LIBC_raise);
    bool expected = expect(number);
    int result = next ? next(number)
                      : (int)syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), number);

    if (expected)
        outlived();
    return result;
}

/* abort() unblocks the signal, and ends the program even if the signal is ignored. */
static bool abort_calls_no_handler(void)
{
    struct sigaction action;

    return sigaction(SIGABRT, NULL, &action) != 0 || action.sa_handler == SIG_DFL ||
           action.sa_handler == SIG_IGN;
}

/* After a handler, abort() ends the program too, unless the handler jumps away. We would not
 * notice. */
static void expect_abort(void)
{
    int saved_errno = errno;

    if (abort_calls_no_handler())
        gv_process_expect_death(SIGABRT);
    else
        gv_process_fetch();
    errno = saved_errno;
}

typedef void (*assert_fail)(const char *what, const char *file, unsigned line, const char *function)
    __attribute__((noreturn));

/* Of assert(). libc's calls its own abort(), not ours. */
VISIBLE __attribute__((noreturn)) void __assert_fail(const char *what, const char *file,
                                                     unsigned line, const char *function)
{
    assert_fail next = (assert_fail)gv_libc_call(GV_LIBC___assert_fail);

    if (!next)
        abort();
    expect_abort();
    next(what, file, line, function);
}

VISIBLE __attribute__((noreturn)) void abort(void)
{
    void (*next)(void) = (void (*)(void))gv_libc_call(GV_LIBC_abort);

    expect_abort();
    if (next)
        next();
    for (;;) {
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGABRT);
        syscall(SYS_exit_group, 127);
    }
}
