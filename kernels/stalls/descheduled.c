/*
 * The program is stopped from outside while it launches: a launch is long for no reason that CUDA
 * knows. The stop comes from a child, again and again until one hit a launch.
 */
#include "kernels/stalls/stage.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS 60
#define STOPS   5

static void stop_parent(void)
{
    for (int i = 0; i < STOPS; i++) {
        usleep(100000);
        kill(getppid(), SIGSTOP);
        usleep(STOP_MS * 1000);
        kill(getppid(), SIGCONT);
    }
}

int main(int argc, char **argv)
{
    struct gv_stage stage;
    double longest_ms = 0;
    pid_t child = fork();

    if (child == 0) {
        stop_parent();
        _exit(0);
    }
    if (child < 0)
        return 1;
    gv_stage_open(&stage, argc, argv);
    for (uint64_t i = 0; i % 4096 != 0 || waitpid(child, NULL, WNOHANG) == 0; i++) {
        uint64_t start_ns = gv_clock_ns();
        gv_stage_launch_empty(stage.empty, stage.other);
        double ms = gv_clock_ms_since(start_ns);
        if (ms > longest_ms)
            longest_ms = ms;
        if (i % 512 == 0)
            CHECK(cuStreamSynchronize(stage.other));
    }
    gv_stage_say("longest", "cuLaunchKernel", longest_ms);
    return gv_stage_close(&stage);
}
