/* Steps of the probe about the order of work: streams, events, graphs, waits, contexts. */
#include "report/probe/steps.h"

/* "Not ready" is not an error. */
static int probe_answered(CUresult result)
{
    return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : (int)result;
}

int gv_probe_stream_create(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuStreamCreate(&stage->made.stream, CU_STREAM_NON_BLOCKING);
}

int gv_probe_stream_destroy(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuStreamDestroy(stage->made.stream);
}

int gv_probe_stream_query(struct gv_probe_stage *stage)
{
    return probe_answered(gv_probe_cuda.cuStreamQuery(stage->busy));
}

int gv_probe_stream_synchronize(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuStreamSynchronize(stage->other);
}

int gv_probe_stream_wait(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuStreamWaitEvent(stage->other, stage->early, 0);
}

int gv_probe_event_create(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuEventCreate(&stage->made.event, CU_EVENT_DISABLE_TIMING);
}

int gv_probe_event_destroy(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuEventDestroy(stage->made.event);
}

int gv_probe_event_record(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuEventRecord(stage->made.event, stage->other);
}

int gv_probe_event_query(struct gv_probe_stage *stage)
{
    return probe_answered(gv_probe_cuda.cuEventQuery(stage->early));
}

int gv_probe_graph(struct gv_probe_stage *stage)
{
    int error =
        (int)gv_probe_cuda.cuStreamBeginCapture(stage->other, CU_STREAM_CAPTURE_MODE_GLOBAL);
    int ended;

    if (error)
        return error;
    error = gv_probe_launch(stage);
    ended = (int)gv_probe_cuda.cuStreamEndCapture(stage->other, &stage->made.graph);
    return error ? error : ended;
}

int gv_probe_graph_instantiate(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuGraphInstantiateWithFlags(&stage->made.graph_exec,
                                                          stage->made.graph, 0);
}

/* Launched before, because the first launch uploads it. */
int gv_probe_graph_ready(struct gv_probe_stage *stage)
{
    int error = gv_probe_graph(stage);

    if (!error)
        error = gv_probe_graph_instantiate(stage);
    return error ? error : gv_probe_graph_launch(stage);
}

int gv_probe_graph_launch(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuGraphLaunch(stage->made.graph_exec, stage->other);
}

int gv_probe_graph_destroy(struct gv_probe_stage *stage)
{
    int error = (int)gv_probe_cuda.cuGraphExecDestroy(stage->made.graph_exec);

    return error ? error : (int)gv_probe_cuda.cuGraphDestroy(stage->made.graph);
}

int gv_probe_synchronize(struct gv_probe_stage *stage)
{
    (void)stage;
    return (int)gv_probe_cuda.cuCtxSynchronize();
}

int gv_probe_get_device(struct gv_probe_stage *stage)
{
    CUdevice device;

    (void)stage;
    return (int)gv_probe_cuda.cuCtxGetDevice(&device);
}

/* A new context becomes current; return to the stage's. */
int gv_probe_context_create(struct gv_probe_stage *stage)
{
    int error = (int)gv_probe_cuda.cuCtxCreate_v2(&stage->made.context, 0, stage->device);

    return error ? error : (int)gv_probe_cuda.cuCtxSetCurrent(stage->context);
}

int gv_probe_context_destroy(struct gv_probe_stage *stage)
{
    int error = (int)gv_probe_cuda.cuCtxDestroy(stage->made.context);

    return error ? error : (int)gv_probe_cuda.cuCtxSetCurrent(stage->context);
}
