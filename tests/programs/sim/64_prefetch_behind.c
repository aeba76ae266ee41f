// clang-format off
// Trains on batches that a prefetcher copies to the GPU in a stream of its own, into the buffer that the step before does not read.
//
// mechanism: the copy is queued after the step, and its stream waits for all that is queued: copies and kernels take turns
// FIX=1: it waits for the step that used the same buffer
// env: GV_SIM_COPY_MB_PER_S=200
// truth: {"cause": "the copies' stream waits for all kernels that are queued, so that copies and kernels take turns", "line_function": "fetch", "line": 26, "also_ok": ["the copies are not beside kernels"], "half_ok": [], "lost_share": 0.4, "what": ["copy-exposed"], "lines": [26, "fetch"], "says": ["their stream first waits for other streams, at", "64_prefetch_behind.c:26"]}
// clang-format on
#include "tests/programs/sim/program.h"

#define STEPS 80
#define BYTES ((size_t)1 << 20)

static struct program program;
static CUstream copies;
static CUdeviceptr buffers[2];
static CUevent queued, filled[2], used[2];

__attribute__((noinline)) static void fetch(int step)
{
    int slot = step % 2;

    if (program.fix)
        CHECK(cuStreamWaitEvent(copies, used[slot], 0));
    else
        CHECK(cuStreamWaitEvent(copies, queued, 0)); // <-- here
    CHECK(cuMemcpyHtoDAsync(buffers[slot], program.pinned, BYTES, copies));
    CHECK(cuEventRecord(filled[slot], copies));
}

__attribute__((noinline)) static void train(int step)
{
    int slot = step % 2;

    CHECK(cuStreamWaitEvent(program.stream, filled[slot], 0));
    for (int layer = 0; layer < 16; layer++)
        program_launch(&program, 500);
    CHECK(cuEventRecord(used[slot], program.stream));
    CHECK(cuEventRecord(queued, program.stream));
}

int main(void)
{
    program_open(&program);
    CHECK(cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&queued, CU_EVENT_DISABLE_TIMING));
    for (int slot = 0; slot < 2; slot++) {
        CHECK(cuMemAlloc(&buffers[slot], BYTES));
        CHECK(cuEventCreate(&filled[slot], CU_EVENT_DISABLE_TIMING));
        CHECK(cuEventCreate(&used[slot], CU_EVENT_DISABLE_TIMING));
    }
    uint64_t start_ns = gv_clock_ns();
    fetch(0);
    for (int step = 0; step < STEPS; step++) {
        CHECK(cuEventSynchronize(used[step % 2])); /* at most two steps are queued */
        train(step);
        fetch(step + 1);
    }
    CHECK(cuCtxSynchronize());
    return program_close(&program, STEPS, start_ns, 0);
}
