/* A stream's queue takes about a thousand launches. The next one waits. */
#include "kernels/stalls/stage.h"

#define LAUNCHES 2000

int main(int argc, char **argv)
{
    struct gv_stage stage;
    double longest_ms = 0;

    gv_stage_open(&stage, argc, argv);
    gv_stage_busy(&stage);
    for (int i = 0; i < LAUNCHES; i++) {
        uint64_t start_ns = gv_clock_ns();
        gv_stage_launch_empty(stage.empty, stage.stream);
        double ms = gv_clock_ms_since(start_ns);
        if (ms > longest_ms)
            longest_ms = ms;
    }
    gv_stage_say("longest", "cuLaunchKernel", longest_ms);
    return gv_stage_close(&stage);
}
