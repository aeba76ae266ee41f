/* Three streams are busy for different times. The load waits for the last of them. */
#include "kernels/stalls/stage.h"

static const char three_ptx[] = GV_PTX_HEAD GV_PTX_SPIN_AS("spin_short") GV_PTX_SPIN_AS("spin_long")
    GV_PTX_SPIN_AS("spin_middle");

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module, three;
    CUfunction kernels[3];
    CUstream streams[3];
    static const char *const names[] = {"spin_short", "spin_long", "spin_middle"};
    static const uint64_t parts[] = {4, 1, 2};

    gv_stage_open(&stage, argc, argv);
    CHECK(cuModuleLoadData(&three, three_ptx));
    CHECK(cuModuleLoadData(&module, gv_ptx_second));
    CHECK(cuModuleUnload(module));
    for (int i = 0; i < 3; i++) {
        CHECK(cuModuleGetFunction(&kernels[i], three, names[i]));
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    }
    for (int i = 0; i < 3 && !stage.idle; i++)
        gv_stage_spin(kernels[i], streams[i], stage.busy_ms / parts[i]);
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    return gv_stage_close(&stage);
}
