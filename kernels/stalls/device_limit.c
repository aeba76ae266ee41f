/* A new stack limit waits until the context is idle. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    size_t limit;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    gv_stage_busy(&stage);
    TIMED("limit", cuCtxSetLimit, (CU_LIMIT_STACK_SIZE, limit + 4096));
    return gv_stage_close(&stage);
}
