/* A copy that waits for a kernel and then takes its own time. Only the wait is lost. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUdeviceptr memory;
    const size_t bytes = 256u << 20;
    char *pageable = calloc(1, bytes);

    if (!pageable)
        return 1;
    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAlloc(&memory, bytes));
    /* The first copy maps its pages; the others show how long a copy takes. */
    for (int i = 0; i < 4; i++)
        CHECK(cuMemcpyDtoH(pageable, memory, bytes));
    CHECK(cuStreamDestroy(stage.stream));
    CHECK(cuStreamCreate(&stage.stream, CU_STREAM_DEFAULT));
    gv_stage_busy(&stage);
    TIMED("copy", cuMemcpyDtoH, (pageable, memory, bytes));
    free(pageable);
    return gv_stage_close(&stage);
}
