/*
 * Many quick calls without a wait: NUMBER launches (default 20000), with some copies and waits. The
 * program times every call. A call that was not slow by its own clock must be in no report.
 */
#include "kernels/stalls/stage.h"
#include "kernels/stalls/timed_calls.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUdeviceptr memory;
    void *pinned;
    unsigned slow = 0;

    gv_stage_open(&stage, argc, argv);
    uint64_t launches = argc > 1 && !stage.idle ? stage.busy_ms : 20000;
    CHECK(cuMemAlloc(&memory, 4096));
    CHECK(cuMemcpyHtoDAsync(memory, &launches, sizeof(launches), stage.other));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemAllocHost(&pinned, 4096));
    printf("timing begins after cuMemAllocHost\n");
    for (uint64_t i = 0; i < launches; i++) {
        uint64_t start_ns = gv_clock_ns();
        gv_stage_launch_empty(stage.empty, stage.other);
        slow = gv_slow_count(slow, "cuLaunchKernel", start_ns);
        if (i % 16 == 0) {
            start_ns = gv_clock_ns();
            CHECK(cuMemcpyHtoDAsync(memory, pinned, 4096, stage.other));
            slow = gv_slow_count(slow, "cuMemcpyHtoDAsync", start_ns);
        }
        if (i % 256 == 0)
            CHECK(cuStreamSynchronize(stage.other)); /* the queue never fills */
    }
    printf("%llu launches, %u calls took %.1f ms or longer\n", (unsigned long long)launches, slow,
           GV_SLOW_MS);
    return slow <= GV_SLOW_MOST ? gv_stage_close(&stage) : GV_STAGE_SKIPPED;
}
