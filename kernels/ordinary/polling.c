/*
 * Polls whether the GPU is done: one stream, then two streams and an event in turn. These are
 * millions of calls, and they must not cause the loss of any other record.
 *
 *     polling [MILLISECONDS]      of each kernel, default 200
 */
#include "kernels/ordinary/workload.h"

#define KERNELS 10

static unsigned long stream_polls, event_polls;

static bool stream_is_busy(CUstream stream)
{
    CUresult result = cuStreamQuery(stream);

    stream_polls++;
    if (result != CUDA_ERROR_NOT_READY)
        CHECK(result);
    return result == CUDA_ERROR_NOT_READY;
}

static bool event_is_pending(CUevent event)
{
    CUresult result = cuEventQuery(event);

    event_polls++;
    if (result != CUDA_ERROR_NOT_READY)
        CHECK(result);
    return result == CUDA_ERROR_NOT_READY;
}

int main(int argc, char **argv)
{
    unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    struct gv_workload workload;
    CUstream stream, other;
    CUevent event;

    gv_workload_open(&workload, 0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < KERNELS; i++) {
        bool both = i % 2, busy = true;

        gv_workload_spin(&workload, stream, ms * 1000000u);
        CHECK(cuEventRecord(event, stream));
        if (both)
            gv_workload_spin(&workload, other, ms * 1000000u);
        while (busy) {
            busy = stream_is_busy(stream);
            if (both) {
                busy |= stream_is_busy(other);
                busy |= event_is_pending(event);
            }
        }
    }
    CHECK(cuCtxSynchronize());
    gv_claim("kernels", KERNELS + KERNELS / 2, "spin");
    gv_claim("polls", stream_polls, "cuStreamQuery");
    gv_claim("polls", event_polls, "cuEventQuery");
    gv_claim("losses", 0, "of any kind");
    CHECK(cuEventDestroy(event));
    CHECK(cuStreamDestroy(other));
    CHECK(cuStreamDestroy(stream));
    gv_workload_close(&workload);
    return 0;
}
