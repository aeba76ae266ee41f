/*
 * idles HOW: uses the GPU, then does something else for a second on the same thread: `sleep`,
 * `burn`, `file` (reads a pipe), `child` (waits for a child that burns), `futex`.
 */
#include "e2e.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void burn(void)
{
    time_t end = time(NULL) + 2;

    while (time(NULL) < end)
        ;
}

static void read_pipe(void)
{
    int ends[2];
    char byte;

    REQUIRE(pipe(ends) == 0);
    if (fork() == 0) {
        sleep(1);
        _exit(0);
    }
    close(ends[1]);
    REQUIRE(read(ends[0], &byte, 1) == 0);
    wait(NULL);
}

static void wait_for_child(void)
{
    pid_t child = fork();

    if (child == 0) {
        burn();
        _exit(0);
    }
    REQUIRE(waitpid(child, NULL, 0) == child);
}

static void *sleep_a_second(void *unused)
{
    sleep(1);
    return unused;
}

static void join(void)
{
    pthread_t thread;

    REQUIRE(!pthread_create(&thread, NULL, sleep_a_second, NULL));
    pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    struct e2e_gpu gpu;

    e2e_open(&gpu);
    e2e_tick(&gpu, 3);
    if (strcmp(how, "sleep") == 0)
        sleep(1);
    else if (strcmp(how, "burn") == 0)
        burn();
    else if (strcmp(how, "pipe") == 0)
        read_pipe();
    else if (strcmp(how, "child") == 0)
        wait_for_child();
    else if (strcmp(how, "futex") == 0)
        join();
    e2e_tick(&gpu, 1);
    return 0;
}
