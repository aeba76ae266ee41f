/* The program asks to wait for the GPU, in three ways. None is a finding. */
#include "kernels/stalls/stage.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUevent event;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    gv_stage_busy(&stage);
    TIMED("stream", cuStreamSynchronize, (stage.stream));
    gv_stage_busy(&stage);
    CHECK(cuEventRecord(event, stage.stream));
    TIMED("event", cuEventSynchronize, (event));
    gv_stage_busy(&stage);
    TIMED("context", cuCtxSynchronize, ());
    return gv_stage_close(&stage);
}
