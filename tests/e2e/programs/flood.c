/*
 * flood LAUNCHES REST: prepares, prints "ready", waits for a line on stdin, makes LAUNCHES launches
 * and then REST rounds of load, unload and synchronise; prints how many calls it made of each.
 *
 * flood --progress FILE [PAUSE_US]: launches until it is killed, and keeps in FILE, in a 64-bit
 * number, how many launches have returned.
 *
 * flood --blocked: prints "blocked" and waits in cuStreamSynchronize behind a kernel of 100 s.
 */
#include "e2e.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct e2e_gpu gpu;

static void pause_for(long us)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000L + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static int count_progress(const char *path, long pause_us)
{
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    _Atomic uint64_t *returned;

    REQUIRE(fd >= 0 && !ftruncate(fd, 4096));
    returned = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(returned != MAP_FAILED);
    e2e_open(&gpu);
    for (;;) {
        e2e_tick(&gpu, 1);
        atomic_fetch_add(returned, 1);
        pause_for(pause_us);
    }
}

static int block(void)
{
    CUstream stream;

    e2e_open(&gpu);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    e2e_spin(&gpu, stream, 100000000000ull);
    printf("blocked\n");
    fflush(stdout);
    OK(cuStreamSynchronize(stream));
    return 0;
}

int main(int argc, char **argv)
{
    unsigned launches, rest;
    char line[16];

    if (argc > 2 && !strcmp(argv[1], "--progress"))
        return count_progress(argv[2], argc > 3 ? atol(argv[3]) : 5);
    if (argc > 1 && !strcmp(argv[1], "--blocked"))
        return block();
    REQUIRE(argc == 3);
    launches = (unsigned)atol(argv[1]);
    rest = (unsigned)atol(argv[2]);
    e2e_open(&gpu);
    printf("ready\n");
    fflush(stdout);
    REQUIRE(fgets(line, sizeof(line), stdin));
    e2e_tick(&gpu, launches);
    for (unsigned i = 0; i < rest; i++) {
        CUmodule module;

        OK(cuModuleLoadData(&module, e2e_ptx));
        OK(cuModuleUnload(module));
        OK(cuCtxSynchronize());
    }
    printf("cuLaunchKernel %u\ncuModuleLoadData %u\ncuModuleUnload %u\ncuCtxSynchronize %u\n",
           launches, rest + 1, rest, rest);
    return 0;
}
