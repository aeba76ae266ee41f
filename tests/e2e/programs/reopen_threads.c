/*
 * reopen_threads LIBRARY CALL THREADS ROUNDS: each thread repeatedly opens the library, looks up
 * the call, makes it with NULL and closes the library. So it comes and goes, at changing addresses,
 * while other threads look theirs up.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MOST_THREADS 16

static const char *library, *name;
static int rounds;

static void *reopen(void *argument)
{
    unsigned chance = (unsigned)(long)argument + 1;
    long failed = 0;

    for (int i = 0; i < rounds; i++) {
        size_t pages = (chance = chance * 1103515245 + 12345) >> 16 & 15;
        void *between =
            mmap(NULL, 4096 * (pages + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct timespec pause = {.tv_nsec = (long)(chance >> 20 & 127) * 1000};
        void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        int (*call)(void *);

        *(void **)&call = opened ? dlsym(opened, name) : NULL;
        if (call)
            call(NULL);
        failed += !call;
        if (opened)
            dlclose(opened);
        munmap(between, 4096 * (pages + 1));
        nanosleep(&pause, NULL);
    }
    return (void *)failed;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    int count = argc == 5 ? atoi(argv[3]) : 0;
    long failed = 0;

    if (count < 1 || count > MOST_THREADS)
        return 2;
    library = argv[1];
    name = argv[2];
    rounds = atoi(argv[4]);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, reopen, (void *)(long)i))
            return 3;
    for (int i = 0; i < count; i++) {
        void *result;

        if (pthread_join(threads[i], &result))
            return 3;
        failed += (long)result;
    }
    printf("%ld calls could not be made\n", failed);
    return 0;
}
