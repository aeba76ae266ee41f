/*
 * Another process stops the program while it queries an event repeatedly, so queries take long for
 * no reason that CUDA knows. `idle`: nobody stops it.
 */
#include "kernels/stalls/stage.h"
#include "kernels/stalls/timed_calls.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS   60
#define STOPS     16
#define QUESTIONS 65536

static void stop_parent(int ready)
{
    char byte;

    if (read(ready, &byte, 1) != 1)
        return;
    for (int i = 0; i < STOPS; i++) {
        usleep(10000);
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
    int ready[2];

    if (pipe(ready) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        close(ready[1]); /* ends with its parent */
        gv_stage_arguments(&stage, argc, argv);
        if (!stage.idle)
            stop_parent(ready[0]);
        _exit(0);
    }
    if (child < 0)
        return 1;
    gv_stage_open(&stage, argc, argv);
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CHECK(cuEventRecord(event, stage.other));
    CHECK(cuEventSynchronize(event));
    printf("timing begins after cuEventSynchronize\n");
    if (write(ready[1], "", 1) != 1)
        return 1;
    for (uint64_t i = 0;
         i % 4096 != 0 || waitpid(child, NULL, WNOHANG) == 0 || (stage.idle && i < QUESTIONS);
         i++) {
        uint64_t start_ns = gv_clock_ns();
        CHECK(cuEventQuery(event));
        slow = gv_slow_count(slow, "cuEventQuery", start_ns);
    }
    return slow <= GV_SLOW_MOST ? gv_stage_close(&stage) : GV_STAGE_SKIPPED;
}
