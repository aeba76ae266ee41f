/* A signal handler jumps out of a call that waits. Later calls come from deeper on the stack. */
#include "e2e.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static struct e2e_gpu gpu;

static void on_alarm(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

__attribute__((noinline)) static void deeper(void)
{
    volatile char unused[4096];

    unused[0] = 1;
    e2e_tick(&gpu, 1000);
    unused[1] = unused[0];
}

int main(void)
{
    struct itimerval soon = {.it_value = {.tv_usec = 100000}};

    e2e_open(&gpu);
    signal(SIGALRM, on_alarm);
    e2e_spin(&gpu, NULL, 400000000u);
    if (!sigsetjmp(back, 1)) {
        setitimer(ITIMER_REAL, &soon, NULL);
        cuCtxSynchronize();
    }
    deeper();
    puts("done");
    return 0;
}
