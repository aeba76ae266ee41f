/* A synchronous copy waits for a kernel in the legacy default stream. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUdeviceptr memory;
    char bytes[4096];

    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAlloc(&memory, sizeof(bytes)));
    CHECK(cuStreamDestroy(stage.stream));
    CHECK(cuStreamCreate(&stage.stream, CU_STREAM_DEFAULT)); /* the legacy stream waits for it */
    gv_stage_busy(&stage);
    TIMED("copy", cuMemcpyDtoH, (bytes, memory, sizeof(bytes)));
    return gv_stage_close(&stage);
}
