/* Destroying a context, or resetting its device, waits until the context is idle. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage, second;

    gv_stage_open(&stage, argc, argv);
    gv_stage_second(&second, &stage);
    gv_stage_busy(&second);
    TIMED("destroy", cuCtxDestroy, (second.context));

    CHECK(cuCtxSetCurrent(stage.context));
    gv_stage_busy(&stage);
    TIMED("reset", cuDevicePrimaryCtxReset, (stage.device));
    return 0;
}
