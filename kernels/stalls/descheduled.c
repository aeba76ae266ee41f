/*
 * The program is stopped from outside while it asks for an event, again and again: questions take
 * long for no reason that CUDA knows. `idle`: it is left alone.
 */
#include "kernels/stalls/stage.h"
#include "kernels/stalls/timed_calls.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS   60
#define STOPS     8
#define QUESTIONS 65536

static void stop_parent(void)
{
    for (int i = 0; i < STOPS; i++) {
        usleep(20000);
        kill(getppid(), SIGSTOP);
        usleep(STOP_MS * 1000);
        kill(getppid(), SIGCONT);
    }
}

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUevent event;
    unsigned slow = 0;
    pid_t child = fork();

    if (child == 0) {
        gv_stage_arguments(&stage, argc, argv);
        if (!stage.idle)
            stop_parent();
        _exit(0);
    }
    if (child < 0)
        return 1;
    gv_stage_open(&stage, argc, argv);
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CHECK(cuEventRecord(event, stage.other));
    CHECK(cuEventSynchronize(event));
    printf("timing begins after cuEventSynchronize\n");
    for (uint64_t i = 0;
         i % 4096 != 0 || waitpid(child, NULL, WNOHANG) == 0 || (stage.idle && i < QUESTIONS);
         i++) {
        uint64_t start_ns = gv_clock_ns();
        CHECK(cuEventQuery(event));
        slow = gv_slow_count(slow, "cuEventQuery", start_ns);
    }
    return slow <= GV_SLOW_MOST ? gv_stage_close(&stage) : GV_STAGE_SKIPPED;
}
