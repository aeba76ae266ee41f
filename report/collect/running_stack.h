/*
 * Takes the stack of a running thread of another process, with ptrace: stops the thread, copies its
 * registers and the end of its stack, and lets it go at once; about 0.3 ms. A thread that is inside
 * a system call is not stopped. For GPUVERIFY_IDLE_STACKS=native, and for `gpuverify look`.
 *
 * The stop may come just as the thread begins to wait in a system call. Most go on after that.
 * Some, such as epoll_wait(), end with EINTR, which their program need not expect without a handler
 * of a signal: these begin again, as others do by themselves. A time limit then starts anew. On
 * arm64 that cannot be done, because the kernel does not say how they began.
 *
 * One thread of the collector uses all of this, because a thread that is stopped belongs to it. If
 * the collector dies, the Linux kernel lets the thread go.
 */
#ifndef GV_COLLECT_RUNNING_STACK_H
#define GV_COLLECT_RUNNING_STACK_H

#include "report/unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_RUNNING_STACK_BYTES 65536u

struct gv_running_stack {
    struct gv_unwind_stack stack;
    unsigned char bytes[GV_RUNNING_STACK_BYTES];
    void (*while_stopped)(void *context); /* called while the thread is stopped; may be NULL */
    void *context;
};

/* 0; -EPERM: this is not allowed; -EBUSY: a debugger has it; -EAGAIN: it is in a system call, gone,
 * or did not stop in time; or another -errno. */
int gv_running_stack_take(uint32_t pid, uint32_t tid, struct gv_running_stack *taken);

/* Of a thread that does not run: copies the end of the stack at `stack.sp`, which the caller has
 * set. 0 or -EAGAIN. */
int gv_running_stack_copy(uint32_t tid, struct gv_running_stack *taken);

/* Whether it is allowed here, tried on a process of ours by one that it does not descend from, as
 * the collector's is. 0 or -errno. */
int gv_running_stack_try(void);

/* Lets go a thread that stops only now. True: there is still one to come; call it again soon. */
bool gv_running_stack_let_go(void);

#endif
