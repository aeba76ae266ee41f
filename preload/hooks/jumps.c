/*
 * Notes a longjmp(), because a jump out of a CUDA call, from a callback or a signal handler, skips
 * the end of our hook. The thread's next hooked call ends the one that was left
 * (preload/hooks/calls.c). A jump inside a callback leaves nothing.
 *
 * The address of the next call's frame does not show it: after the jump, a program continues in
 * functions that are deeper on the stack than the call that it left.
 */
#include "preload/base/clock.h"
#include "preload/base/own_work.h"
#include "preload/base/thread.h"
#include "preload/bind/libc_calls.h"

#include <stdlib.h>

typedef void (*jump)(void *environment, int value) __attribute__((noreturn));

__attribute__((noreturn)) static void jump_on(enum gv_libc_call which, void *environment, int value)
{
    jump next = (jump)gv_libc_call(which);

    if (gv_thread.depth || gv_thread.writing)
        gv_thread.jumped_ns = gv_clock_now_ns();
    gv_process_steps.leave_gpu_start(&gv_thread);
    gv_own_work_leave();
    if (next)
        next(environment, value);
    abort(); /* impossible: libc lacks a function that it was linked with */
}

#define GV_JUMP(name)                                                                              \
    __attribute__((visibility("default"), noreturn)) void gv_##name(void *environment,             \
                                                                    int value) __asm__(#name);     \
    void gv_##name(void *environment, int value)                                                   \
    {                                                                                              \
        jump_on(GV_LIBC_##name, environment, value);                                               \
    }
GV_JUMP(longjmp)
GV_JUMP(_longjmp)
GV_JUMP(siglongjmp)
GV_JUMP(__longjmp_chk)
