/*
 * Queries an event repeatedly on a CPU that busy processes share, so queries take long. `idle`: it
 * has the CPU to itself.
 */
#include "kernels/stalls/stage.h"
#include "kernels/stalls/timed_calls.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RIVALS 8
#define NICE   8
#define LENGTH 10 /* times MILLISECONDS */

/* Applies to this thread and its future children. */
static bool stay_on_one_processor(void)
{
    cpu_set_t all, one;

    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        return false;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
}

static pid_t start_rival(void)
{
    pid_t parent = getpid(), child = fork();

    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        ;
    _exit(0);
}

int main(int argc, char **argv)
{
    struct gv_stage stage;
    pid_t rivals[RIVALS];
    CUevent event;
    unsigned slow = 0;
    int count = 0;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CHECK(cuEventRecord(event, stage.other));
    CHECK(cuEventSynchronize(event));
    if (!stay_on_one_processor())
        return GV_STAGE_SKIPPED;
    while (!stage.idle && count < RIVALS && (rivals[count] = start_rival()) > 0)
        count++;
    if (!stage.idle && (count < RIVALS || setpriority(PRIO_PROCESS, 0, NICE) != 0))
        slow = GV_SLOW_MOST + 1;
    printf("timing begins after cuEventSynchronize\n");
    for (uint64_t start_ns = gv_clock_ns();
         slow <= GV_SLOW_MOST && gv_clock_ms_since(start_ns) < (double)(LENGTH * stage.busy_ms);) {
        uint64_t call_ns = gv_clock_ns();
        CHECK(cuEventQuery(event));
        slow = gv_slow_count(slow, "cuEventQuery", call_ns);
    }
    while (count > 0) {
        kill(rivals[--count], SIGKILL);
        waitpid(rivals[count], NULL, 0);
    }
    return slow <= GV_SLOW_MOST ? gv_stage_close(&stage) : GV_STAGE_SKIPPED;
}
