/*
 * Signals that make CUDA calls, and one that jumps out of a call.
 *
 * A handler that interrupts a call makes only calls that the simulated driver serves without a
 * lock, with results that soak's own calls never have. tests/soak.py recognises them by their
 * results, because they may be a part of the interrupted call, calls of their own, or lost.
 */
#include "kernels/soak/soak.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

_Thread_local volatile bool soak_quiet;

static _Thread_local struct {
    timer_t timer;
    bool has_timer;
    CUstream home;
    sigjmp_buf back;
    volatile bool may_jump;
} mine;

#define NESTED(symbol, ...)                                                                        \
    soak_enter(SOAK_##symbol, (int)symbol(__VA_ARGS__), (struct soak_entry){.flags = SOAK_NESTED})

/* In a call of this thread, or in ours. */
static void call_in_between(void)
{
    float ms;

    NESTED(cuEventElapsedTime, &ms, soak.first, soak.always);
    NESTED(cuEventQuery, NULL);
    NESTED(cuLaunchKernel, NULL, 1, 1, 1, 1, 1, 1, 0, mine.home, NULL, NULL);
}

static void call_as_ever(void)
{
    struct soak_entry note = soak_writer.note;

    soak_note(0, 0);
    DO(cuEventQuery, soak.always);
    soak_launch(soak.kernels[SOAK_EMPTY], SOAK_EMPTY, mine.home, NULL);
    soak_writer.note = note;
}

static void interrupt(int number)
{
    int error = errno;

    (void)number;
    if (soak_quiet || !soak_writer.log || !mine.home)
        return;
    if (soak_writer.inside)
        call_in_between();
    else
        call_as_ever();
    errno = error;
}

/* Only a sleeping system call is interrupted this way: nothing there has a lock. */
static bool sleeps(const ucontext_t *context)
{
#ifdef __x86_64__
    const unsigned char *at = (const unsigned char *)context->uc_mcontext.gregs[REG_RIP];

    return context->uc_mcontext.gregs[REG_RAX] == -EINTR && at[-2] == 0x0f && at[-1] == 0x05;
#else
    (void)context;
    return false;
#endif
}

static void jump(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    if (mine.may_jump && soak_writer.inside && sleeps(context)) {
        mine.may_jump = false;
        siglongjmp(mine.back, 1);
    }
}

void soak_interrupts_prepare(void)
{
    struct sigaction often = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    struct sigaction once = {.sa_sigaction = jump, .sa_flags = SA_SIGINFO};

    sigfillset(&often.sa_mask);
    sigfillset(&once.sa_mask);
    sigaction(SIGUSR1, &often, NULL);
    sigaction(SIGUSR2, &once, NULL);
}

static int make_timer(int number, timer_t *timer)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    return timer_create(CLOCK_MONOTONIC, &event, timer);
}

void soak_interrupts_start(struct soak_thread *thread)
{
    long ns = 150000 + (long)soak_random(thread, 1500000);
    struct itimerspec often = {{0, ns}, {0, ns}};

    mine.home = thread->home;
    mine.has_timer = !make_timer(SIGUSR1, &mine.timer);
    if (mine.has_timer)
        timer_settime(mine.timer, 0, &often, NULL);
}

void soak_interrupts_stop(void)
{
    sigset_t both;

    if (mine.has_timer)
        timer_delete(mine.timer);
    mine.has_timer = false;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    mine.home = NULL;
}

/* Leaves a wait by a jump. Whether that happens depends on time; only the log shows it. */
void soak_step_jump(struct soak_thread *thread)
{
    struct itimerspec soon = {{0, 0}, {0, 700000}};
    timer_t timer;

    if (make_timer(SIGUSR2, &timer))
        return;
    soak_quiet = true;
    soak_digest(thread, soak_spin(thread->home, 2000000));
    if (!sigsetjmp(mine.back, 1)) {
        mine.may_jump = true;
        timer_settime(timer, 0, &soon, NULL);
        DO(cuStreamSynchronize, thread->home);
    } else {
        soak_after(SOAK_cuStreamSynchronize, SOAK_LEFT);
    }
    mine.may_jump = false;
    timer_delete(timer);
    soak_quiet = false;
    TOLD(thread, cuStreamSynchronize, thread->home);
}

void soak_step_throw(struct soak_thread *thread)
{
    soak_digest(thread, soak_throw(soak.kernels[SOAK_EMPTY]));
}
