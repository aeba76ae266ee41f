/* cuMemHostUnregister waits until the context is idle. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    void *memory = aligned_alloc(4096, 1 << 20);

    if (!memory)
        return 1;
    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemHostRegister(memory, 1 << 20, 0));
    gv_stage_busy(&stage);
    TIMED("unregister", cuMemHostUnregister, (memory));
    free(memory);
    return gv_stage_close(&stage);
}
