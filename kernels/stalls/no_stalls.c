/*
 * Many quick calls, none of which has to wait: NUMBER launches (default 20000), with a copy and a
 * question now and then. How long the longest took is what a report may go by.
 */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUdeviceptr memory;
    void *pinned;
    double longest_ms = 0;
    unsigned slow = 0;

    gv_stage_open(&stage, argc, argv);
    uint64_t launches = argc > 1 && !stage.idle ? stage.busy_ms : 20000;
    CHECK(cuMemAlloc(&memory, 4096));
    CHECK(cuMemAllocHost(&pinned, 4096));
    for (uint64_t i = 0; i < launches; i++) {
        uint64_t start_ns = gv_clock_ns();
        gv_stage_launch_empty(stage.empty, stage.other);
        if (i % 16 == 0)
            CHECK(cuMemcpyHtoDAsync(memory, pinned, 4096, stage.other));
        double ms = gv_clock_ms_since(start_ns);
        if (ms > longest_ms)
            longest_ms = ms;
        slow += ms >= 0.1;
        if (i % 256 == 0)
            CHECK(cuStreamSynchronize(stage.other)); /* the queue never fills */
    }
    printf("%llu launches, %u took 0.1 ms or longer\n", (unsigned long long)launches, slow);
    gv_stage_say("longest", "cuLaunchKernel", longest_ms);
    return gv_stage_close(&stage);
}
