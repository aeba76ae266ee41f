/* A memory pool gives its free memory back at each synchronisation, unless its release threshold
 * says otherwise, and the next allocation maps it again. An allocation of more than ever before
 * maps memory too, as does one after the program trimmed the pool: these are no stalls. */
#include "kernels/stalls/stage.h"

#define BYTES (UINT64_C(2) << 30)

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUdeviceptr memory, more;
    CUmemoryPool pool;
    cuuint64_t threshold = UINT64_MAX;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuDeviceGetDefaultMemPool(&pool, stage.device));
    TIMED("first", cuMemAllocAsync, (&memory, BYTES, stage.other));
    CHECK(cuMemFreeAsync(memory, stage.other));
    TIMED("kept", cuMemAllocAsync, (&memory, BYTES, stage.other));
    CHECK(cuMemFreeAsync(memory, stage.other));
    CHECK(cuStreamSynchronize(stage.other));
    TIMED("again", cuMemAllocAsync, (&memory, BYTES, stage.other));
    TIMED("more", cuMemAllocAsync, (&more, BYTES / 2, stage.other));
    CHECK(cuMemFreeAsync(memory, stage.other));
    CHECK(cuMemFreeAsync(more, stage.other));
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    CHECK(cuStreamSynchronize(stage.other));
    TIMED("threshold", cuMemAllocAsync, (&memory, BYTES, stage.other));
    CHECK(cuMemFreeAsync(memory, stage.other));
    CHECK(cuStreamSynchronize(stage.other));
    CHECK(cuMemPoolTrimTo(pool, 0));
    TIMED("trimmed", cuMemAllocAsync, (&memory, BYTES, stage.other));
    CHECK(cuMemFreeAsync(memory, stage.other));
    return gv_stage_close(&stage);
}
