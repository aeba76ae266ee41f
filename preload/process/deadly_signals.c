/*
 * A signal by which a program ends itself: kill(), killpg(), tgkill(), raise(), gsignal(),
 * pthread_kill(), abort(), and a failed assert(), whose abort() is called inside libc.
 * Python does so after an unhandled KeyboardInterrupt, and many a signal handler when it has tidied
 * up: no exit handler runs, and what CUPTI still held would be lost.
 *
 * Whether the program does end is known only afterwards: a signal may be blocked because it is
 * waited for, or because we are in its own handler, and a debugger may keep it. So nothing is
 * ended; what there is, is brought in, and recording goes on if the program does.
 *
 * May be called in a signal handler: nothing is allocated or locked.
 */
#include "preload/process/deadly_signals.h"

#include "preload/base/objects.h"
#include "preload/bind/entry_points.h"
#include "preload/process/attach.h"

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

#define GV_SENDERS(SENDER)                                                                         \
    SENDER(kill)                                                                                   \
    SENDER(killpg)                                                                                 \
    SENDER(tgkill)                                                                                 \
    SENDER(raise)                                                                                  \
    SENDER(gsignal)                                                                                \
    SENDER(pthread_kill)                                                                           \
    SENDER(abort)                                                                                  \
    SENDER(__assert_fail)

#define GV_SENDER_NUMBER(name) SENDER_##name,
enum sender { GV_SENDERS(GV_SENDER_NUMBER) SENDER_COUNT };

static void *real_senders[SENDER_COUNT];

void gv_deadly_signals_find_real(void)
{
#define GV_SENDER_NAME(name) #name,
    static const char *const names[] = {GV_SENDERS(GV_SENDER_NAME)};

    for (int i = 0; i < SENDER_COUNT; i++)
        real_senders[i] = gv_objects_next((uintptr_t)gv_plt_slots, names[i], NULL);
}

/* Not there: before our constructor, or in a library that was opened later. */
static void *real(enum sender which)
{
    if (!real_senders[which])
        gv_deadly_signals_find_real();
    return real_senders[which];
}

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
 * A program that has outlived one is believed no more when the signal is blocked: it may be how its
 * threads wake each other, all the time.
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

    /* The kernel keeps them from the first process of a container. */
    if (!ends_by_default(number) || syscall(SYS_getpid) == 1)
        return false;
    if (number == SIGKILL)
        return true;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
           is_let_through(number);
}

/* Before the signal is sent; true: and outlived() after it. */
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

/* Another thread's mask cannot be known: once the program has outlived a signal, it is not asked
 * for any more. */
static bool may_let_through(bool is_self)
{
    return is_self || !atomic_load(&has_outlived);
}

VISIBLE int kill(pid_t pid, int number)
{
    int (*next)(pid_t, int) = (int (*)(pid_t, int))real(SENDER_kill);
    bool expected = reaches_us(pid) && expect(number);
    int result = next ? next(pid, number) : (int)syscall(SYS_kill, pid, number);

    if (expected)
        outlived();
    return result;
}

VISIBLE int killpg(pid_t group, int number)
{
    int (*next)(pid_t, int) = (int (*)(pid_t, int))real(SENDER_killpg);
    bool expected = group >= 0 && reaches_us(-group) && expect(number);
    int result = next         ? next(group, number)
                 : group >= 0 ? (int)syscall(SYS_kill, -group, number)
                              : (int)syscall(SYS_kill, 0, -1); /* EINVAL */

    if (expected)
        outlived();
    return result;
}

VISIBLE int tgkill(pid_t pid, pid_t thread, int number)
{
    int (*next)(pid_t, pid_t, int) = (int (*)(pid_t, pid_t, int))real(SENDER_tgkill);
    bool is_self = thread == (pid_t)syscall(SYS_gettid);
    bool expected = is_us(pid) && may_let_through(is_self) && expect(number);
    int result = next ? next(pid, thread, number) : (int)syscall(SYS_tgkill, pid, thread, number);

    if (expected)
        outlived();
    return result;
}

static int raise_by(enum sender which, int number)
{
    int (*next)(int) = (int (*)(int))real(which);
    bool expected = expect(number);
    int result = next ? next(number)
                      : (int)syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), number);

    if (expected)
        outlived();
    return result;
}

VISIBLE int raise(int number)
{
    return raise_by(SENDER_raise, number);
}

VISIBLE int gsignal(int number)
{
    return raise_by(SENDER_gsignal, number);
}

VISIBLE int pthread_kill(pthread_t thread, int number)
{
    int (*next)(pthread_t, int) = (int (*)(pthread_t, int))real(SENDER_pthread_kill);
    bool is_self = pthread_equal(thread, pthread_self());
    bool expected = may_let_through(is_self) && expect(number);
    int result = next ? next(thread, number) : ENOSYS;

    if (expected)
        outlived();
    return result;
}

/* It unblocks the signal, and ends the program also when that is ignored. */
static bool abort_calls_no_handler(void)
{
    struct sigaction action;

    return sigaction(SIGABRT, NULL, &action) != 0 || action.sa_handler == SIG_DFL ||
           action.sa_handler == SIG_IGN;
}

/* After a handler it ends the program too, unless that jumps away: nobody would tell us. */
static void expect_abort(void)
{
    int saved_errno = errno;

    if (abort_calls_no_handler())
        gv_process_expect_death(SIGABRT);
    else
        gv_process_fetch();
    errno = saved_errno;
}

VISIBLE __attribute__((noreturn)) void __assert_fail(const char *condition, const char *file,
                                                     unsigned line, const char *function)
{
    void (*next)(const char *, const char *, unsigned, const char *) =
        (void (*)(const char *, const char *, unsigned, const char *))real(SENDER___assert_fail);

    expect_abort();
    if (next)
        next(condition, file, line, function);
    abort();
}

VISIBLE __attribute__((noreturn)) void abort(void)
{
    void (*next)(void) = (void (*)(void))real(SENDER_abort);

    expect_abort();
    if (next)
        next();
    for (;;) {
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGABRT);
        syscall(SYS_exit_group, 127);
    }
}
