/*
 * ending HOW: uses the GPU (three launches of `tick`), then ends in one of the ways that a program
 * can end.
 */
#include "e2e.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct e2e_gpu gpu;

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

static void end(const char *how)
{
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
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        raise(SIGSEGV);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
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
    fprintf(stderr, "ending: no such way: %s\n", how);
    exit(2);
}

int main(int argc, char **argv)
{
    e2e_open(&gpu);
    e2e_tick(&gpu, 3);
    OK(cuCtxSynchronize());
    printf("three launches\n");
    fflush(stdout);
    end(argc > 1 ? argv[1] : "return");
    return 0;
}
