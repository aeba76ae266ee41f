/*
 * Coroutines, by ucontext and by a switch in assembly as Boost's: on stacks from mmap with guard
 * pages, from malloc, in the program's data, and in a frame of another stack. They call CUDA, wait
 * in the middle of callbacks, and are left unfinished.
 */
#include "strange.h"

#include <ucontext.h>

#define COROUTINES 12
#define ROUNDS     60

struct coroutine {
    unsigned char *stack;
    size_t bytes;
    void *sp; /* of the assembly's, while it waits */
    ucontext_t context;
    int is_plain; /* by ucontext */
    int is_started;
};

static struct coroutine coroutines[COROUTINES];
static struct coroutine *current;
static ucontext_t main_context;
static void *main_sp;
static int leaves_callbacks;
static unsigned char in_data[64 * 1024] __attribute__((aligned(4096)));

/* Saves the registers on the stack, and goes on with another stack. */
void strange_switch(void **from, void *to);
#if defined(__x86_64__)
__asm__(".text\n.globl strange_switch\n.type strange_switch, @function\nstrange_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size strange_switch, .-strange_switch\n");
#define SAVED 6
#elif defined(__aarch64__)
__asm__(".text\n.globl strange_switch\n.type strange_switch, @function\nstrange_switch:\n"
        "sub sp, sp, 96\n"
        "stp x19, x20, [sp]\nstp x21, x22, [sp, 16]\nstp x23, x24, [sp, 32]\n"
        "stp x25, x26, [sp, 48]\nstp x27, x28, [sp, 64]\nstp x29, x30, [sp, 80]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, 16]\nldp x23, x24, [sp, 32]\n"
        "ldp x25, x26, [sp, 48]\nldp x27, x28, [sp, 64]\nldp x29, x30, [sp, 80]\n"
        "add sp, sp, 96\nret\n"
        ".size strange_switch, .-strange_switch\n");
#endif

static void leave(void)
{
    struct coroutine *self = current;

    if (self->is_plain)
        OK(swapcontext(&self->context, &main_context));
    else
        strange_switch(&self->sp, main_sp);
}

static size_t CUDA_CB ask_back(int block_size)
{
    (void)block_size;
    strange_call();
    if (current && leaves_callbacks)
        leave();
    return 0;
}

__attribute__((noinline)) static void in_callback(void)
{
    int grid, block;

    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, strange_gpu.tick, ask_back, 0, 64));
}

static void run(void)
{
    for (;;) {
        if (strange_below(4) == 0)
            in_callback();
        else
            strange_deeper(strange_below(12));
        leave();
    }
}

static void start(struct coroutine *self)
{
    unsigned char *end = self->stack + self->bytes;

    if (self->is_plain) {
        OK(getcontext(&self->context));
        self->context.uc_stack.ss_sp = self->stack;
        self->context.uc_stack.ss_size = self->bytes;
        makecontext(&self->context, run, 0);
        return;
    }
    void **top = (void **)(void *)(end - 16);
#if defined(__x86_64__)
    *--top = NULL; /* no caller */
    *--top = (void *)run;
    top -= SAVED;
    memset(top, 0, SAVED * sizeof(void *));
#else
    top -= 12;
    memset(top, 0, 96);
    top[11] = (void *)run;
#endif
    self->sp = top;
}

static void resume(struct coroutine *self)
{
    current = self;
    if (self->is_plain)
        OK(swapcontext(&main_context, &self->context));
    else
        strange_switch(&main_sp, self->sp);
    current = NULL;
}

static void rounds(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct coroutine *self = &coroutines[strange_below(COROUTINES)];

        if (!self->is_started)
            start(self);
        self->is_started = 1;
        resume(self);
        if (strange_below(8) == 0)
            strange_call();
    }
}

/* The stacks inside this frame have a page that cannot be touched above them. */
static void strange_run(void)
{
    unsigned char in_frame[16 * 4096] __attribute__((aligned(4096)));
    unsigned char *guard = in_frame + 15 * PAGE;

    memset(coroutines, 0, sizeof coroutines);
    leaves_callbacks = strange_seed % 20 == 0;
    for (int i = 0; i < COROUTINES; i++) {
        struct coroutine *self = &coroutines[i];

        self->is_plain = (int)strange_below(2);
        self->bytes = (8 + strange_below(9)) * PAGE;
        self->stack = strange_below(2) ? strange_pages(self->bytes / PAGE, 0) : malloc(self->bytes);
        REQUIRE(self->stack);
    }
    coroutines[0].stack = in_data;
    coroutines[0].bytes = sizeof in_data;
    coroutines[1].stack = in_frame;
    coroutines[1].bytes = (size_t)(guard - in_frame);
    OK(mprotect(guard, PAGE, PROT_NONE));
    rounds();
    OK(mprotect(guard, PAGE, PROT_READ | PROT_WRITE));
}
