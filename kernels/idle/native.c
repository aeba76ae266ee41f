/* Computes between launches. Twin: while the GPU works. */
#include "kernels/idle/rounds.h"

__attribute__((noinline)) static double compute(uint64_t ms)
{
    double value = 0;

    for (uint64_t start_ns = gv_clock_ns(); gv_clock_ms_since(start_ns) < (double)ms;)
        for (int i = 1; i < 1000; i++)
            value += 1.0 / i; /* idle: native */
    return value;
}

int main(int argc, char **argv)
{
    struct gv_stage stage;
    bool twin = gv_rounds_open(&stage, argc, argv, "twin");
    double value = 0;

    for (int i = 0; i < GV_ROUNDS; i++) {
        if (twin)
            gv_stage_spin(stage.spin, stage.stream, 80);
        value += compute(GV_ROUND_MS);
        gv_rounds_work(&stage);
    }
    printf("computed %d\n", value > 0);
    return gv_rounds_close(&stage);
}
