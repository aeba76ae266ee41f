// clang-format off
// Filters pictures, with buffers that are allocated for each of them.
//
// mechanism: freeing the buffers waits for the GPU, and takes 8 ms more
// FIX=1: the buffers are kept
// env: GV_SIM_FREE_NS_PER_MB=125000
// truth: {"cause": "the buffers are allocated and freed for each picture", "line_function": "filter_picture", "line": 28, "also_ok": [], "half_ok": ["allocating at the same function"], "lost_share": 0.55, "what": ["freeing", "allocating", "waits", "free"], "lines": [28, "filter_picture"]}
// clang-format on
#include "tests/programs/sim/program.h"

#define PICTURES 70
#define BYTES    ((size_t)64 << 20)

static struct program program;

__attribute__((noinline)) static void filter_picture(CUdeviceptr *kept)
{
    CUdeviceptr buffer = *kept;

    if (!buffer)
        CHECK(cuMemAlloc(&buffer, BYTES));
    CHECK(cuMemcpyHtoDAsync(program.memory, program.pinned, 4096, program.stream));
    for (int pass = 0; pass < 6; pass++)
        program_launch(&program, 1000);
    if (program.fix)
        *kept = buffer;
    else
        CHECK(cuMemFree(buffer)); // <-- here
}

int main(void)
{
    CUdeviceptr kept = 0;

    program_open(&program);
    uint64_t start_ns = gv_clock_ns();
    for (int picture = 0; picture < PICTURES; picture++)
        filter_picture(&kept);
    CHECK(cuStreamSynchronize(program.stream));
    return program_close(&program, PICTURES, start_ns, 0);
}
