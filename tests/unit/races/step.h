/*
 * A signal handler before every instruction of a stretch of code: the processor's trap flag has the
 * kernel send a SIGTRAP after each one, and is off while the handler runs. x86-64.
 *
 * Only instructions of the test program itself count, with what is linked into it: libc and the
 * loader have locks of their own.
 */
#ifndef GV_TESTS_STEP_H
#define GV_TESTS_STEP_H

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

extern char __executable_start, etext;

static unsigned long gv_steps; /* instructions that were interrupted, so far */

#if defined(__x86_64__)
#include <ucontext.h>

#define GV_STEP_SECONDS 60 /* a handler that waits for its own thread ends the program then */

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
