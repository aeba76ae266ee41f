/* cuMemFreeHost waits until the context is idle. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    void *memory;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAllocHost(&memory, 1 << 20));
    gv_stage_busy(&stage);
    TIMED("free", cuMemFreeHost, (memory));
    return gv_stage_close(&stage);
}
