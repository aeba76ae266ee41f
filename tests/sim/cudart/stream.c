/* Streams, events, graphs. */
#include "tests/sim/cudart/cudart.h"

cudaError_t gv_rt_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    GV_RT_FORWARD(DRIVER(cuStreamCreate)(pStream, flags));
}

cudaError_t gv_rt_cudaStreamCreate(cudaStream_t *pStream)
{
    return gv_rt_cudaStreamCreateWithFlags(pStream, cudaStreamDefault);
}

cudaError_t gv_rt_cudaStreamDestroy(cudaStream_t stream)
{
    GV_RT_FORWARD(DRIVER(cuStreamDestroy_v2)(stream));
}

cudaError_t gv_rt_cudaStreamQuery(cudaStream_t stream)
{
    GV_RT_FORWARD(DRIVER(cuStreamQuery)(stream));
}

cudaError_t gv_rt_cudaStreamSynchronize(cudaStream_t stream)
{
    GV_RT_FORWARD(DRIVER(cuStreamSynchronize)(stream));
}

cudaError_t gv_rt_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    GV_RT_FORWARD(DRIVER(cuStreamWaitEvent)(stream, event, flags));
}

cudaError_t gv_rt_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                        void *userData, unsigned int flags)
{
    /* The two callback types differ only in the name of the error's type. */
    GV_RT_FORWARD(
        DRIVER(cuStreamAddCallback)(stream, (CUstreamCallback)(void *)callback, userData, flags));
}

GV_RT_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    GV_RT_FORWARD(DRIVER(cuStreamGetPriority)(stream, priority));
}

GV_RT_EXPORT cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
    GV_RT_FORWARD(DRIVER(cuStreamGetFlags)(stream, flags));
}

GV_RT_EXPORT cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    GV_RT_FORWARD(DRIVER(cuStreamGetId)(stream, id));
}

GV_RT_EXPORT cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    GV_RT_FORWARD(DRIVER(cuStreamGetDevice)(stream, device));
}

cudaError_t gv_rt_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    GV_RT_FORWARD(DRIVER(cuStreamBeginCapture_v2)(stream, (CUstreamCaptureMode)mode));
}

cudaError_t gv_rt_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    GV_RT_FORWARD(DRIVER(cuStreamEndCapture)(stream, pGraph));
}

cudaError_t gv_rt_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    GV_RT_FORWARD(DRIVER(cuEventCreate)(event, flags));
}

cudaError_t gv_rt_cudaEventCreate(cudaEvent_t *event)
{
    return gv_rt_cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t gv_rt_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    GV_RT_FORWARD(DRIVER(cuEventRecord)(event, stream));
}

cudaError_t gv_rt_cudaEventSynchronize(cudaEvent_t event)
{
    GV_RT_FORWARD(DRIVER(cuEventSynchronize)(event));
}

cudaError_t gv_rt_cudaEventDestroy(cudaEvent_t event)
{
    GV_RT_FORWARD(DRIVER(cuEventDestroy_v2)(event));
}

cudaError_t gv_rt_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    GV_RT_FORWARD(DRIVER(cuEventElapsedTime)(ms, start, end));
}

cudaError_t gv_rt_cudaGraphDestroy(cudaGraph_t graph)
{
    GV_RT_FORWARD(DRIVER(cuGraphDestroy)(graph));
}

GV_RT_EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    GV_RT_FORWARD(DRIVER(cuGraphGetNodes)(graph, nodes, count));
}

cudaError_t gv_rt_cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                unsigned long long flags)
{
    GV_RT_FORWARD(DRIVER(cuGraphInstantiateWithFlags)(pGraphExec, graph, flags));
}

/* exec, graph, flags since CUDA 12 */
cudaError_t gv_rt_cudaGraphInstantiate(uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3,
                                       uintptr_t a4)
{
    (void)a3;
    (void)a4;
    return gv_rt_cudaGraphInstantiateWithFlags((cudaGraphExec_t *)a0, (cudaGraph_t)a1, a2);
}

cudaError_t gv_rt_cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    GV_RT_FORWARD(DRIVER(cuGraphExecDestroy)(graphExec));
}

cudaError_t gv_rt_cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    GV_RT_FORWARD(DRIVER(cuGraphLaunch)(graphExec, stream));
}
