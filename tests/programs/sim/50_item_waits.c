// clang-format off
// Trains, and reads the loss after each step.
//
// mechanism: each step waits for the loss; then the host plans the next step for 8 ms, while the GPU has nothing to do
// FIX=1: the loss is read at the end
// truth: {"cause": "waiting for the loss in each step, so that planning does not overlap with the GPU", "line_function": "read_loss", "line": 30, "also_ok": [], "half_ok": ["host code in plan"], "lost_share": 0.44, "what": ["waits"], "lines": [30, "read_loss"]}
// clang-format on
#include "tests/programs/sim/program.h"

#define STEPS 60

static struct program program;

/* Computes for 8 ms of the thread's time. */
__attribute__((noinline)) static double plan(double state)
{
    uint64_t start_ns = program_cpu_ns();

    while (program_cpu_ns() - start_ns < 8000000u)
        for (int i = 1; i < 1000; i++)
            state += 1.0 / (i + state * state);
    return state;
}

__attribute__((noinline)) static float read_loss(void)
{
    float loss;

    CHECK(cuMemcpyDtoHAsync(&loss, program.memory, sizeof(loss), program.stream));
    CHECK(cuStreamSynchronize(program.stream)); // <-- here
    return loss;
}

__attribute__((noinline)) static void forward_and_backward(void)
{
    for (int layer = 0; layer < 20; layer++)
        program_launch(&program, 500);
}

int main(void)
{
    double state = 1, losses = 0;
    bool fix = program_open(&program);
    uint64_t start_ns = gv_clock_ns();

    for (int step = 0; step < STEPS; step++) {
        state = plan(state);
        CHECK(cuMemcpyHtoDAsync(program.memory, program.pinned, 4096, program.stream));
        forward_and_backward();
        if (!fix)
            losses += read_loss();
    }
    losses += read_loss();
    return program_close(&program, STEPS, start_ns, state + losses);
}
