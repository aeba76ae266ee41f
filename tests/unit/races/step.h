/*
 * Runs a signal handler before every instruction of some code: with the CPU's trap flag the Linux
 * kernel sends a SIGTRAP after each one. The flag is off in the handler. x86-64.
 *
 * Only instructions of the test program count, because libc and the loader have their own locks.
 */
#ifndef GV_TESTS_STEP_H
#define GV_TESTS_STEP_H

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

extern char __executable_start, etext;

static unsigned long gv_steps; /* instructions interrupted so far */

#if defined(__x86_64__)
#include <ucontext.h>

#define GV_STEP_SECONDS 60 /* ends the program if a handler waits for its own thread */

static void (*gv_step_handler)(void);

static void gv_step(int signal, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    (void)signal;
    (void)info;
    if (at < (uintptr_t)&__executable_start || at >= (uintptr_t)&etext)
        return;
    gv_steps++;
    gv_step_handler();
}

/* Returns how many instructions were interrupted. */
static unsigned long gv_step_through(void (*code)(void), void (*handler)(void))
{
    struct sigaction action = {.sa_sigaction = gv_step, .sa_flags = SA_SIGINFO}, before;

    gv_step_handler = handler;
    gv_steps = 0;
    sigaction(SIGTRAP, &action, &before);
    alarm(GV_STEP_SECONDS);
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    code();
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    alarm(0);
    sigaction(SIGTRAP, &before, NULL);
    return gv_steps;
}

#define GV_STEP_NEEDS_X86
#else
#define GV_STEP_NEEDS_X86 skip()

static unsigned long gv_step_through(void (*code)(void), void (*handler)(void))
{
    (void)code;
    (void)handler;
    return 0;
}
#endif

#endif
