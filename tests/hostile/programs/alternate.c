/*
 * Signal handlers that call CUDA on alternate stacks, which are small, have guard pages, or lie in
 * a frame; one interrupts another, or a copy that is just taken.
 */
#include "strange.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t depth, most, ticks;

/* Only calls that allow it: what the driver does in a handler is its own. */
__attribute__((noinline)) static void on_signal(int number)
{
    int version;

    if (++depth < most)
        raise(number == SIGUSR1 ? SIGUSR2 : SIGUSR1);
    OK(cuDriverGetVersion(&version));
    REQUIRE(cuCtxSetLimit((CUlimit)77, 1) != CUDA_SUCCESS);
    depth--;
}

static void on_tick(int number)
{
    int version;

    (void)number;
    ticks++;
    OK(cuDriverGetVersion(&version));
}

static void use_stack(void *start, size_t bytes)
{
    stack_t stack = {.ss_sp = start, .ss_size = bytes};

    OK(sigaltstack(&stack, NULL));
}

static void raise_some(void)
{
    for (int i = 0; i < 10; i++) {
        most = (int)(1 + strange_below(3));
        raise(strange_below(2) ? SIGUSR1 : SIGUSR2);
        strange_deeper(strange_below(5));
    }
}

__attribute__((noinline)) static void in_frame(size_t bytes)
{
    unsigned char here[128 * 1024] __attribute__((aligned(4096)));
    unsigned char *guard = here + sizeof here - PAGE;

    OK(mprotect(guard, PAGE, PROT_NONE));
    use_stack(guard - bytes, bytes);
    raise_some();
    use_stack(strange_pages(32, 0), 32 * PAGE);
    OK(mprotect(guard, PAGE, PROT_READ | PROT_WRITE));
}

static void strange_run(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    struct itimerval often = {.it_value = {.tv_usec = 1}, .it_interval = {.tv_usec = 300}};
    size_t small = (size_t)sysconf(_SC_MINSIGSTKSZ), bytes;

    ticks = 0;
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(sigaction(SIGUSR2, &action, NULL));
    for (int i = 0; i < 4; i++) {
        bytes = (4 * small + (8 + strange_below(24)) * 1024 + PAGE - 1) / PAGE * PAGE;
        use_stack(strange_below(2) ? strange_pages(bytes / PAGE, 0) : malloc(bytes), bytes);
        raise_some();
        in_frame(bytes);
    }
    action.sa_handler = on_tick;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    OK(sigaction(SIGALRM, &action, NULL));
    OK(setitimer(ITIMER_REAL, &often, NULL));
    while (ticks < 4)
        OK(cuCtxSynchronize());
    OK(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 0}}, NULL));
}
