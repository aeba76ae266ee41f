/* A signal handler jumps out of calls again and again, also while their stacks are copied. After
 * a line on stdin, 400 calls follow. */
#include "tests/e2e/programs/e2e.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>

#define JUMPS 3000

static struct e2e_gpu gpu;
static sigjmp_buf back;
static pthread_t caller;
static volatile sig_atomic_t is_armed, is_over;

static void on_signal(int number)
{
    (void)number;
    if (is_armed) {
        is_armed = 0;
        siglongjmp(back, 1);
    }
}

static void *disturb(void *unused)
{
    (void)unused;
    for (long ns = 0; !is_over; ns = (ns + 7919) % 30000) {
        nanosleep(&(struct timespec){.tv_nsec = 20000 + ns}, NULL);
        OK(pthread_kill(caller, SIGUSR1));
    }
    return NULL;
}

int main(void)
{
    volatile int jumps = 0;
    pthread_t other;

    e2e_open(&gpu);
    caller = pthread_self();
    REQUIRE(signal(SIGUSR1, on_signal) != SIG_ERR);
    OK(pthread_create(&other, NULL, disturb, NULL));
    if (sigsetjmp(back, 1))
        jumps++;
    while (jumps < JUMPS) {
        is_armed = 1;
        cuCtxSynchronize();
    }
    is_armed = 0;
    is_over = 1;
    OK(pthread_join(other, NULL));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxSetCurrent(gpu.context));
    puts("jumped");
    fflush(stdout);
    getchar();
    for (int i = 0; i < 400; i++)
        OK(cuCtxSynchronize());
    puts("called");
    fflush(stdout);
    getchar();
    return 0;
}
