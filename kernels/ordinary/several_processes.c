/*
 * Several processes use one GPU at the same time. The first one executes this program again for
 * each of them, and does not use the GPU itself.
 *
 *     several_processes [PROCESSES]      default 4
 */
#include "kernels/ordinary/workload.h"

#include <sys/wait.h>
#include <unistd.h>

#define LAUNCHES 100
#define MOST     64

static int work(void)
{
    struct gv_workload workload;

    gv_workload_open(&workload, 0);
    for (int i = 0; i < LAUNCHES; i++)
        gv_workload_spin(&workload, NULL, 100000);
    gv_workload_close(&workload);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "work") == 0)
        return work();
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
    if (count > MOST)
        count = MOST;
    uint64_t start_ns = gv_clock_ns();
    for (unsigned long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], "work", (char *)NULL);
            _exit(127);
        }
        if (child < 0)
            return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) {
            printf("a process ended with status %d\n", status);
            return 1;
        }
    }
    printf("%lu processes launched %d kernels each, in %.3f ms\n", count, LAUNCHES,
           gv_clock_ms_since(start_ns));
    gv_claim("processes", count, "that use CUDA");
    gv_claim("kernels", count * LAUNCHES, "spin");
    return 0;
}
