/* A large asynchronous copy from pageable memory, behind a kernel in its stream, blocks the
 * caller; a small one does not. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUdeviceptr memory;
    const size_t large = 16u << 20;
    void *pageable = malloc(large);

    if (!pageable)
        return 1;
    memset(pageable, 1, large); /* so that the copy does not wait for the pages */
    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAlloc(&memory, large));
    gv_stage_busy(&stage);
    TIMED("small", cuMemcpyHtoDAsync, (memory, pageable, 4096, stage.stream));
    TIMED("large", cuMemcpyHtoDAsync, (memory, pageable, large, stage.stream));
    free(pageable);
    return gv_stage_close(&stage);
}
