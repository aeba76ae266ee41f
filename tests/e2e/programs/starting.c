/*
 * starting HOW [LIBRARY]: while one thread starts CUDA, which takes long, makes a CUDA call that
 * must not wait for it: in a forked child (fork), in a signal handler on that thread (signal), or
 * in the constructor of LIBRARY (constructor). A handler may also jump out of the start (jump), end
 * its thread (end), or jump out of a call that waits for the start (jump-wait).
 */
#include "e2e.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int started, handled;

static sigjmp_buf back;

static void require_cancellable(void)
{
    int state = -1;

    REQUIRE(!pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
    REQUIRE(state == PTHREAD_CANCEL_ENABLE);
}

static _Atomic int jumped;

static void *start(void *unused)
{
    if (sigsetjmp(back, 1) == 0) {
        OK(cuInit(0));
        atomic_store(&started, 1);
    } else {
        require_cancellable();
        atomic_store(&jumped, 1);
    }
    return unused;
}

static void on_signal(int number)
{
    CUcontext context;

    (void)number;
    if (cuDevicePrimaryCtxRetain(&context, 0) == 0)
        atomic_store(&handled, 1);
}

static void on_jump(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void on_end(int number)
{
    (void)number;
    pthread_exit(NULL);
}

static void *interrupt(void *thread)
{
    usleep(300000);
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

static void jump_out_of_a_wait(void)
{
    pthread_t self = pthread_self(), other;
    CUcontext context;

    REQUIRE(signal(SIGUSR1, on_jump) != SIG_ERR);
    if (sigsetjmp(back, 1) == 0) {
        REQUIRE(!pthread_create(&other, NULL, interrupt, &self));
        cuDevicePrimaryCtxRetain(&context, 0);
        _exit(1); /* nobody interrupted it */
    }
    require_cancellable();
}

static void fork_now(void)
{
    pid_t child = fork();
    CUcontext context;
    int status;

    if (child == 0) {
        cuInit(0); /* both fail: CUDA was initialised before the fork */
        cuDevicePrimaryCtxRetain(&context, 0);
        _exit(0);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    CUcontext context;

    REQUIRE(signal(SIGUSR1, on_signal) != SIG_ERR);
    if (strcmp(how, "jump") == 0 || strcmp(how, "end") == 0)
        REQUIRE(signal(SIGUSR1, strcmp(how, "jump") == 0 ? on_jump : on_end) != SIG_ERR);
    REQUIRE(!pthread_create(&thread, NULL, start, NULL));
    usleep(300000); /* a CUDA call would wait */
    if (strcmp(how, "fork") == 0) {
        fork_now();
    } else if (strcmp(how, "signal") == 0) {
        pthread_kill(thread, SIGUSR1);
        for (int i = 0; i < 1000 && !atomic_load(&handled); i++)
            usleep(10000);
        REQUIRE(atomic_load(&handled));
    } else if (strcmp(how, "jump") == 0 || strcmp(how, "end") == 0) {
        pthread_kill(thread, SIGUSR1);
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        for (int i = 0; i < 1000 && !atomic_load(&jumped) && how[0] == 'j'; i++)
            usleep(10000);
        REQUIRE(atomic_load(&jumped) == (how[0] == 'j'));
    } else if (strcmp(how, "jump-wait") == 0) {
        jump_out_of_a_wait();
    } else if (strcmp(how, "constructor") == 0) {
        REQUIRE(argc > 2 && dlopen(argv[2], RTLD_NOW));
    } else {
        OK(cuDevicePrimaryCtxRetain(&context,
                                    0)); /* waits until the other thread reaches its flag */
        usleep(200000);
    }
    puts(atomic_load(&started) ? "after the start" : "during the start");
    fflush(stdout);
    _exit(0);
}
