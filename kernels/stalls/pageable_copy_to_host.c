/* An asynchronous copy to pageable memory, behind a kernel in its stream, blocks the caller; one
 * to pinned memory does not. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUdeviceptr memory;
    void *pageable = malloc(1 << 20), *pinned;

    if (!pageable)
        return 1;
    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAlloc(&memory, 1 << 20));
    CHECK(cuMemAllocHost(&pinned, 1 << 20));
    CHECK(cuMemcpyDtoH(pinned, memory, 1 << 20)); /* maps the pages */
    CHECK(cuMemcpyDtoH(pageable, memory, 1 << 20));
    gv_stage_busy(&stage);
    TIMED("pinned", cuMemcpyDtoHAsync, (pinned, memory, 1 << 20, stage.stream));
    TIMED("pageable", cuMemcpyDtoHAsync, (pageable, memory, 1 << 20, stage.stream));
    free(pageable);
    return gv_stage_close(&stage);
}
