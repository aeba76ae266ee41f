/*
 * Blocks in the system between launches, as its argument says: in a sleep, for a lock that another
 * thread has, or for a socket. Twin: no other thread has the lock.
 *
 *     blocked sleep|lock|network [twin]
 */
#include "kernels/idle/rounds.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static void pause_ms(uint64_t ms)
{
    struct timespec left = {.tv_sec = 0, .tv_nsec = (long)ms * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR) /* idle: sleep */
        ;
}

/* Has the lock most of the time, and answers late. */
static void *holder(void *argument)
{
    (void)argument;
    for (;;) {
        pthread_mutex_lock(&lock);
        pause_ms(GV_ROUND_MS);
        pthread_mutex_unlock(&lock);
        pause_ms(1); /* so that another thread gets it */
    }
    return NULL;
}

static void *server(void *argument)
{
    char byte;

    (void)argument;
    while (read(ends[1], &byte, 1) == 1) {
        pause_ms(GV_ROUND_MS);
        if (write(ends[1], &byte, 1) != 1)
            break;
    }
    return NULL;
}

__attribute__((noinline)) static void wait_for_lock(void)
{
    pthread_mutex_lock(&lock); /* idle: thread-lock */
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void wait_for_server(void)
{
    char byte = 0;

    if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) /* idle: network */
        exit(1);
}

int main(int argc, char **argv)
{
    struct gv_stage stage;
    bool twin = gv_rounds_open(&stage, argc, argv, "twin");
    bool locks = gv_rounds_has(argc, argv, "lock");
    bool asks = gv_rounds_has(argc, argv, "network");
    pthread_t thread;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
        (!twin && locks && pthread_create(&thread, NULL, holder, NULL) != 0) ||
        (asks && pthread_create(&thread, NULL, server, NULL) != 0))
        return 1;
    for (int i = 0; i < GV_ROUNDS; i++) {
        if (locks)
            wait_for_lock();
        else if (asks)
            wait_for_server();
        if (twin || !(locks || asks))
            pause_ms(GV_ROUND_MS);
        gv_rounds_work(&stage);
    }
    return gv_rounds_close(&stage);
}
