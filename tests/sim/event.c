/* Events: a time at which everything before them in their stream has ended. */
#include "tests/sim/sim.h"

CUresult gv_sim_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!phEvent || Flags > 7)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&c->work);
    struct gv_sim_event *event = gv_sim_object_new(GV_SIM_EVENT, sizeof *event);
    pthread_mutex_unlock(&c->work);
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->context = c;
    event->flags = Flags;
    *phEvent = (CUevent)event;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuEventDestroy_v2(CUevent hEvent)
{
    if (!gv_sim_is(hEvent, GV_SIM_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    gv_sim_nodes_free(&((struct gv_sim_event *)hEvent)->frontier);
    gv_sim_object_free(hEvent);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuEventDestroy(CUevent hEvent)
{
    return gv_sim_cuEventDestroy_v2(hEvent);
}

/* What an event with a time takes of its stream: 2.1 us around a kernel, less behind another event
 * (H100, driver 580). */
#define AFTER_WORK_NS  2100u
#define AFTER_EVENT_NS 1300u

static uint64_t takes_ns(const struct gv_sim_stream *stream, const struct gv_sim_event *event)
{
    if (event->flags & CU_EVENT_DISABLE_TIMING)
        return 0;
    return atomic_load(&stream->end_ns) == stream->event_end_ns ? AFTER_EVENT_NS : AFTER_WORK_NS;
}

CUresult gv_sim_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s)
        return result;
    if (!gv_sim_is(hEvent, GV_SIM_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_event *event = (struct gv_sim_event *)hEvent;
    if (gv_sim_captured(s, &result))
        return result ? result : gv_sim_capture_record(s, event);
    if (result)
        return result;
    gv_sim_stream_lock(s);
    event->capture = NULL;
    s->event_end_ns = gv_sim_stream_push(s, takes_ns(s, event));
    atomic_store(&event->time_ns, s->event_end_ns);
    atomic_store(&event->host_work, atomic_load(&s->host_work));
    event->recorded = true;
    pthread_mutex_unlock(&s->context->work);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return gv_sim_cuEventRecordWithFlags(hEvent, hStream, 0);
}

CUresult gv_sim_cuEventQuery(CUevent hEvent)
{
    if (!gv_sim_is(hEvent, GV_SIM_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_event *event = (struct gv_sim_event *)hEvent;
    if (gv_sim_capture_has(event))
        return CUDA_ERROR_CAPTURED_EVENT;
    CUresult result = gv_sim_unsafe();
    if (result)
        return result;
    bool busy = atomic_load(&event->time_ns) > gv_sim_now_ns() ||
                gv_sim_host_pending(atomic_load(&event->host_work));
    return busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult gv_sim_cuEventSynchronize(CUevent hEvent)
{
    if (!gv_sim_is(hEvent, GV_SIM_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_event *event = (struct gv_sim_event *)hEvent;
    if (gv_sim_capture_has(event))
        return CUDA_ERROR_CAPTURED_EVENT;
    CUresult result = gv_sim_unsafe();
    if (result)
        return result;
    uint64_t start_ns = gv_sim_now_ns();
    gv_sim_wait_until(atomic_load(&event->time_ns));
    gv_sim_host_wait(atomic_load(&event->host_work));
    gv_sim_pools_synchronised();
    gv_sim_trace_wait(GV_SIM_WAIT_EVENT, event->context, NULL, start_ns);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    if (!gv_sim_is(hStart, GV_SIM_EVENT) || !gv_sim_is(hEnd, GV_SIM_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_event *start = (struct gv_sim_event *)hStart, *end = (struct gv_sim_event *)hEnd;
    if (!start->recorded || !end->recorded ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!pMilliseconds)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t from = atomic_load(&start->time_ns), to = atomic_load(&end->time_ns);
    uint64_t now = gv_sim_now_ns();
    if (from > now || to > now)
        return CUDA_ERROR_NOT_READY;
    *pMilliseconds = (float)((double)(int64_t)(to - from) / 1e6);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return gv_sim_cuEventElapsedTime(pMilliseconds, hStart, hEnd);
}
