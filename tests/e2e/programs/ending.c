/*
 * ending HOW: uses the GPU (three launches of `tick`), then ends in one of many ways.
 */
#include "e2e.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct e2e_gpu gpu;
/* Not NULL, which a sanitizer would detect first. */
static int *volatile nowhere = (int *)4096;

static void *exit_from_thread(void *unused)
{
    (void)unused;
    exit(9);
}

static void *outlive_main(void *unused)
{
    (void)unused;
    usleep(100 * 1000);
    OK(cuCtxSetCurrent(gpu.context));
    e2e_tick(&gpu, 2);
    exit(8);
}

static void *outlive_main_and_return(void *unused)
{
    usleep(100 * 1000);
    OK(cuCtxSetCurrent(gpu.context));
    e2e_tick(&gpu, 2);
    return unused;
}

static void *begin_after_main(void *unused)
{
    usleep(100 * 1000);
    e2e_open(&gpu);
    e2e_tick(&gpu, 3);
    return outlive_main(unused);
}

static void call_at_exit(void)
{
    e2e_tick(&gpu, 2);
    OK(cuCtxSynchronize());
}

static void call_at_quick_exit(void)
{
    e2e_tick(&gpu, 1);
}

__attribute__((destructor)) static void call_in_destructor(void)
{
    if (getenv("E2E_CALL_IN_DESTRUCTOR"))
        e2e_tick(&gpu, 1);
}

static void start_thread(void *(*body)(void *))
{
    pthread_t thread;

    REQUIRE(!pthread_create(&thread, NULL, body, NULL));
    pthread_detach(thread);
}

static void hand_on(int number)
{
    signal(number, SIG_DFL);
    raise(number); /* blocked until we return */
}

/* The signal does not end the process: it is waited for, then left to a thread that takes it. */
static void outlive(void)
{
    sigset_t terms;
    int number;

    sigemptyset(&terms);
    sigaddset(&terms, SIGTERM);
    sigprocmask(SIG_BLOCK, &terms, NULL);
    for (int i = 0; i < 3; i++) {
        kill(getpid(), SIGTERM);
        REQUIRE(!sigwait(&terms, &number));
        e2e_tick(&gpu, 1);
        OK(cuCtxSynchronize());
    }
}

static void log_it(int number)
{
    REQUIRE(number == SIGABRT && write(STDERR_FILENO, "aborted\n", 8) == 8);
}

static jmp_buf past_abort;

static void jump_away(int number)
{
    (void)number;
    longjmp(past_abort, 1);
}

/* A handler that does not return lets the program survive an abort. */
static void outlive_abort(void)
{
    signal(SIGABRT, jump_away);
    if (!setjmp(past_abort))
        abort();
    e2e_tick(&gpu, 3);
    OK(cuCtxSynchronize());
}

static void *go_on_launching(void *unused)
{
    (void)unused;
    usleep(500 * 1000);
    OK(cuCtxSetCurrent(gpu.context));
    e2e_tick(&gpu, 20);
    OK(cuCtxSynchronize());
    return NULL;
}

/* On request; another thread does not know about it. */
static void end_while_another_goes_on(void)
{
    REQUIRE(getchar() != EOF);
    start_thread(go_on_launching);
    raise(SIGTERM);
}

/* A signal that the program sends itself. */
static void signal_oneself(const char *how)
{
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "assert")) {
        REQUIRE(freopen("/dev/null", "w", stderr));
        assert(strcmp(how, "assert") != 0);
    }
    if (!strcmp(how, "segv"))
        raise(SIGSEGV);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "fault"))
        *nowhere = 0;
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "kill-pid"))
        kill(getpid(), SIGINT);
    if (!strcmp(how, "others-go-on"))
        end_while_another_goes_on();
    if (!strcmp(how, "abort-handler")) {
        signal(SIGABRT, log_it);
        abort();
    }
    if (!strcmp(how, "handler")) {
        signal(SIGTERM, hand_on);
        raise(SIGTERM);
    }
}

static void end(const char *how)
{
    signal_oneself(how);
    if (!strcmp(how, "outlived")) {
        outlive();
        exit(3);
    }
    if (!strcmp(how, "outlived-abort")) {
        outlive_abort();
        exit(3);
    }
    if (!strcmp(how, "return"))
        return;
    if (!strcmp(how, "exit"))
        exit(4);
    if (!strcmp(how, "_exit"))
        _exit(5);
    if (!strcmp(how, "quick_exit")) {
        at_quick_exit(call_at_quick_exit);
        quick_exit(6);
    }
    if (!strcmp(how, "atexit")) {
        atexit(call_at_exit);
        exit(7);
    }
    if (!strcmp(how, "thread")) {
        start_thread(exit_from_thread);
        for (;;)
            pause();
    }
    if (!strcmp(how, "pthread_exit")) {
        start_thread(outlive_main);
        pthread_exit(NULL);
    }
    if (!strcmp(how, "last-thread")) {
        start_thread(outlive_main_and_return);
        pthread_exit(NULL);
    }
    fprintf(stderr, "ending: no such way: %s\n", how);
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "before")) {
        start_thread(begin_after_main);
        pthread_exit(NULL);
    }
    e2e_open(&gpu);
    e2e_tick(&gpu, 3);
    OK(cuCtxSynchronize());
    printf("three launches\n");
    fflush(stdout);
    end(argc > 1 ? argv[1] : "return");
    return 0;
}
