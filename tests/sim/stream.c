/*
 * Streams: the start and end of operations.
 *
 * An operation starts when the one before it in its stream has ended, or at once in an idle stream.
 * Operations of the legacy default stream and of blocking streams wait for each other. Any thread
 * may raise stream->end_ns (cuStreamWaitEvent takes no lock); everything else changes under
 * context->work.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>

static _Atomic uint64_t next_id = 10;
static _Thread_local char thread_mark __attribute__((tls_model("initial-exec")));
static _Thread_local struct gv_sim_stream *thread_stream __attribute__((tls_model("initial-exec")));

void gv_sim_raise(_Atomic uint64_t *value, uint64_t at_least)
{
    uint64_t old = atomic_load_explicit(value, memory_order_relaxed);
    while (old < at_least && !atomic_compare_exchange_weak_explicit(
                                 value, &old, at_least, memory_order_release, memory_order_relaxed))
        continue;
}

struct gv_sim_stream *gv_sim_stream_new(struct gv_sim_context *context, unsigned int flags,
                                        int priority)
{
    struct gv_sim_stream *s = gv_sim_object_new(GV_SIM_STREAM, sizeof *s);
    if (!s)
        return NULL;
    s->context = context;
    s->flags = flags;
    s->blocking = !(flags & CU_STREAM_NON_BLOCKING);
    s->priority = priority;
    s->id = atomic_fetch_add(&next_id, 1);
    pthread_mutex_lock(&context->list_lock);
    s->next = context->streams;
    context->streams = s;
    pthread_mutex_unlock(&context->list_lock);
    return s;
}

void gv_sim_streams_free(struct gv_sim_context *context)
{
    while (context->streams) {
        struct gv_sim_stream *s = context->streams;
        context->streams = s->next;
        gv_sim_nodes_free(&s->frontier);
        gv_sim_object_free(s);
    }
}

static struct gv_sim_stream *per_thread_stream(struct gv_sim_context *context)
{
    struct gv_sim_stream *s = thread_stream;
    if (gv_sim_is(s, GV_SIM_STREAM) && s->context == context && s->thread == &thread_mark)
        return s;
    pthread_mutex_lock(&context->list_lock);
    for (s = context->streams; s && s->thread != &thread_mark; s = s->next)
        continue;
    pthread_mutex_unlock(&context->list_lock);
    if (!s && (s = gv_sim_stream_new(context, CU_STREAM_DEFAULT, 0))) {
        s->thread = &thread_mark;
        s->id = 2;
    }
    return thread_stream = s;
}

struct gv_sim_stream *gv_sim_stream_of(CUstream handle, CUresult *error)
{
    *error = CUDA_SUCCESS;
    if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
        struct gv_sim_stream *s = (struct gv_sim_stream *)handle;
        if (gv_sim_is(s, GV_SIM_STREAM))
            return s;
        *error = CUDA_ERROR_INVALID_HANDLE;
        return NULL;
    }
    struct gv_sim_context *context = gv_sim_current();
    if (!context) {
        *error = CUDA_ERROR_INVALID_CONTEXT;
        return NULL;
    }
    if (handle == CU_STREAM_PER_THREAD || (!handle && gv_sim_per_thread_default)) {
        struct gv_sim_stream *s = per_thread_stream(context);
        if (!s)
            *error = CUDA_ERROR_OUT_OF_MEMORY;
        return s;
    }
    return context->legacy;
}

void gv_sim_stream_wait_holding(struct gv_sim_stream *stream, uint64_t until_ns)
{
    bool locked = !pthread_mutex_trylock(&stream->context->memory);

    if (until_ns) {
        gv_sim_wait_until(until_ns);
    } else {
        atomic_fetch_add(&stream->context->waits, 1);
        gv_sim_stream_wait(stream);
        atomic_fetch_sub(&stream->context->waits, 1);
    }
    if (locked)
        pthread_mutex_unlock(&stream->context->memory);
}

/* Sets context->now_ns for the push that follows. */
void gv_sim_stream_lock(struct gv_sim_stream *stream)
{
    struct gv_sim_context *context = stream->context;
    pthread_mutex_lock(&context->work);
    for (;;) {
        uint64_t free_at = stream->slot_end_ns[stream->queued % GV_SIM_QUEUE_DEPTH];
        context->now_ns = gv_sim_now_ns();
        if (free_at <= context->now_ns)
            return;
        pthread_mutex_unlock(&context->work);
        uint64_t start_ns = gv_sim_now_ns();
        gv_sim_stream_wait_holding(stream, free_at);
        gv_sim_trace_overhead(GV_SIM_OVERHEAD_QUEUE_FULL, start_ns);
        pthread_mutex_lock(&context->work);
    }
}

uint64_t gv_sim_stream_push(struct gv_sim_stream *stream, uint64_t duration_ns)
{
    struct gv_sim_context *context = stream->context;
    uint64_t start = context->now_ns;
    uint64_t end = atomic_load_explicit(&stream->end_ns, memory_order_acquire);
    if (end > start)
        start = end;
    if (stream->blocking) {
        uint64_t other = stream->legacy ? atomic_load(&context->blocking_end_ns)
                                        : atomic_load(&context->legacy->end_ns);
        if (other > start)
            start = other;
    }
    end = start + duration_ns;
    gv_sim_raise(&stream->end_ns, end);
    gv_sim_raise(&context->end_ns, end);
    if (stream->blocking)
        gv_sim_raise(&context->blocking_end_ns, end);
    stream->slot_end_ns[stream->queued++ % GV_SIM_QUEUE_DEPTH] = end;
    return end;
}

void gv_sim_stream_wait(struct gv_sim_stream *stream)
{
    gv_sim_host_wait(atomic_load(&stream->host_work)); /* it delays what is behind it */
    gv_sim_wait_until(atomic_load(&stream->end_ns));
    if (stream->legacy)
        gv_sim_wait_until(atomic_load(&stream->context->blocking_end_ns));
}

void gv_sim_stream_launched(struct gv_sim_stream *stream)
{
    if (GV_SIM_UNLIKELY(stream->context->launch_blocking))
        gv_sim_stream_wait(stream);
}

CUresult gv_sim_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!phStream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&c->work);
    struct gv_sim_stream *s = gv_sim_stream_new(c, flags, priority);
    pthread_mutex_unlock(&c->work);
    *phStream = (CUstream)s;
    if (s)
        gv_sim_trace_stream(true, s);
    return s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gv_sim_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return gv_sim_cuStreamCreateWithPriority(phStream, Flags, 0);
}

/* Work of a destroyed stream continues; the context's end includes it. */
CUresult gv_sim_cuStreamDestroy_v2(CUstream hStream)
{
    if (!gv_sim_is(hStream, GV_SIM_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_stream *s = (struct gv_sim_stream *)hStream;
    if (s->legacy || s->thread)
        return CUDA_ERROR_INVALID_HANDLE;
    gv_sim_host_wait(atomic_load(&s->host_work));
    gv_sim_trace_stream(false, s);
    pthread_mutex_lock(&s->context->list_lock);
    struct gv_sim_stream **at = &s->context->streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    pthread_mutex_unlock(&s->context->list_lock);
    gv_sim_nodes_free(&s->frontier);
    gv_sim_object_free(s);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamDestroy(CUstream hStream)
{
    return gv_sim_cuStreamDestroy_v2(hStream);
}

static CUresult asked(CUstream handle, struct gv_sim_stream **stream)
{
    CUresult result;
    *stream = gv_sim_stream_of(handle, &result);
    if (*stream && atomic_load(&gv_sim_captures))
        result = gv_sim_capture_query(*stream);
    return result;
}

CUresult gv_sim_cuStreamQuery(CUstream hStream)
{
    struct gv_sim_stream *s;
    CUresult result = asked(hStream, &s);
    if (result)
        return result;
    uint64_t now = gv_sim_now_ns();
    bool busy = atomic_load(&s->end_ns) > now || gv_sim_host_pending(atomic_load(&s->host_work)) ||
                (s->legacy && atomic_load(&s->context->blocking_end_ns) > now);
    return busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamSynchronize(CUstream hStream)
{
    struct gv_sim_stream *s;
    CUresult result = asked(hStream, &s);
    if (result)
        return result;
    uint64_t start_ns = gv_sim_now_ns();
    gv_sim_stream_wait(s);
    gv_sim_pools_synchronised();
    gv_sim_trace_wait(GV_SIM_WAIT_STREAM, s->context, s, start_ns);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s)
        return result;
    if (!gv_sim_is(hEvent, GV_SIM_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_event *event = (struct gv_sim_event *)hEvent;
    if (gv_sim_capture_has(event) || gv_sim_captured(s, &result))
        return result ? result : gv_sim_capture_wait(s, event);
    if (result)
        return result;
    uint64_t time = atomic_load(&event->time_ns);
    uint64_t work = atomic_load(&event->host_work);
    gv_sim_raise(&s->end_ns, time);
    gv_sim_raise(&s->context->end_ns, time);
    if (s->blocking)
        gv_sim_raise(&s->context->blocking_end_ns, time);
    if (gv_sim_host_pending(work))
        atomic_store(&s->host_work, work);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamGetPriority(CUstream hStream, int *priority)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s || !priority)
        return s ? CUDA_ERROR_INVALID_VALUE : result;
    *priority = s->priority;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s || !flags)
        return s ? CUDA_ERROR_INVALID_VALUE : result;
    *flags = s->flags;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s || !pctx)
        return s ? CUDA_ERROR_INVALID_VALUE : result;
    *pctx = (CUcontext)s->context;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s || !streamId)
        return s ? CUDA_ERROR_INVALID_VALUE : result;
    *streamId = s->id;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s || !device)
        return s ? CUDA_ERROR_INVALID_VALUE : result;
    *device = s->context->device;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    if (!gv_sim_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (leastPriority)
        *leastPriority = 0;
    if (greatestPriority)
        *greatestPriority = -5;
    return CUDA_SUCCESS;
}
