/*
 * Stream capture: which calls go into a graph, and which break a capture.
 *
 * As in the real driver, a call that could wait for the GPU is unsafe while any thread captures in
 * global mode, or this thread in thread-local mode: it fails with 900 and invalidates the capture.
 * Waiting for the context does so in every mode, whichever thread waits, and loading code in none
 * (H100, driver 580).
 * Work for the legacy stream fails with 906 while a blocking stream is captured, in every mode.
 * Threads: one lock for all captures; gv_sim_captures keeps the hot path out of here.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gv_sim_capture {
    struct gv_sim_capture *next;
    uint64_t id;
    struct gv_sim_graph *graph;
    bool graph_is_ours, invalid;
    CUstreamCaptureMode mode;
    const void *thread;
    struct gv_sim_stream *origin;
};

_Atomic unsigned gv_sim_captures;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gv_sim_capture *captures;
static uint64_t next_id = 1;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static _Thread_local char thread_mark;

int gv_sim_nodes_add(struct gv_sim_nodes *nodes, struct gv_sim_node *node)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->list[i] == node)
            return 0;
    if (nodes->count % 8 == 0) { /* grows by eight */
        struct gv_sim_node **more = realloc(nodes->list, (nodes->count + 8) * sizeof *more);
        if (!more)
            return -ENOMEM;
        nodes->list = more;
    }
    nodes->list[nodes->count++] = node;
    return 0;
}

int gv_sim_nodes_set(struct gv_sim_nodes *nodes, const struct gv_sim_nodes *from)
{
    int error = 0;
    nodes->count = 0;
    for (size_t i = 0; i < from->count && !error; i++)
        error = gv_sim_nodes_add(nodes, from->list[i]);
    return error;
}

void gv_sim_nodes_free(struct gv_sim_nodes *nodes)
{
    free(nodes->list);
    *nodes = (struct gv_sim_nodes){0};
}

static bool forbids(const struct gv_sim_capture *c)
{
    bool own = c->thread == &thread_mark;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
        return c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
               (own && c->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    return thread_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && own &&
           c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult gv_sim_capture_forbids(void)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    for (struct gv_sim_capture *c = captures; c; c = c->next) {
        if (forbids(c)) {
            c->invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult gv_sim_capture_forbids_waiting(const struct gv_sim_context *context)
{
    CUresult result = gv_sim_capture_forbids();
    pthread_mutex_lock(&lock);
    for (struct gv_sim_capture *c = captures; c; c = c->next) {
        if (c->origin->context == context) {
            c->invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* Called with the lock held. */
static bool implicates(const struct gv_sim_stream *stream, bool invalidate)
{
    bool found = false;
    for (struct gv_sim_capture *c = captures; stream->legacy && c; c = c->next) {
        if (c->origin->context == stream->context && c->origin->blocking) {
            c->invalid |= invalidate;
            found = true;
        }
    }
    return found;
}

CUresult gv_sim_capture_check(struct gv_sim_stream *stream)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct gv_sim_capture *c = atomic_load(&stream->capture);
    if (c && c->invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (implicates(stream, true))
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult gv_sim_capture_query(struct gv_sim_stream *stream)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct gv_sim_capture *c = atomic_load(&stream->capture);
    if (implicates(stream, true)) {
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    } else if (c) {
        result = c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                            : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        c->invalid = true;
    }
    pthread_mutex_unlock(&lock);
    return result ? result : gv_sim_capture_forbids();
}

struct gv_sim_graph *gv_sim_capture_graph(struct gv_sim_stream *stream)
{
    struct gv_sim_capture *c = atomic_load(&stream->capture);
    return c ? c->graph : NULL;
}

CUresult gv_sim_capture_add(struct gv_sim_stream *stream, struct gv_sim_node *node)
{
    if (!node || gv_sim_nodes_set(&node->needs, &stream->frontier))
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->frontier.count = 0;
    return gv_sim_nodes_add(&stream->frontier, node) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

bool gv_sim_capture_has(const struct gv_sim_event *event)
{
    bool found = false;
    if (!event->capture || !atomic_load(&gv_sim_captures))
        return false;
    pthread_mutex_lock(&lock);
    for (struct gv_sim_capture *c = captures; c && !found; c = c->next)
        found = c == event->capture && c->id == event->capture_id;
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult gv_sim_capture_record(struct gv_sim_stream *stream, struct gv_sim_event *event)
{
    struct gv_sim_capture *c = atomic_load(&stream->capture);
    event->capture = c;
    event->capture_id = c->id;
    event->recorded = false;
    return gv_sim_nodes_set(&event->frontier, &stream->frontier) ? CUDA_ERROR_OUT_OF_MEMORY
                                                                 : CUDA_SUCCESS;
}

/* The stream joins the event's capture, or waits within its own. */
CUresult gv_sim_capture_wait(struct gv_sim_stream *stream, struct gv_sim_event *event)
{
    struct gv_sim_capture *own = atomic_load(&stream->capture);
    if (!gv_sim_capture_has(event)) {
        pthread_mutex_lock(&lock);
        own->invalid = true;
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (stream->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (own && own != event->capture) {
        pthread_mutex_lock(&lock);
        own->invalid = event->capture->invalid = true;
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!own) {
        stream->frontier.count = 0;
        atomic_store(&stream->capture, event->capture);
    }
    for (size_t i = 0; i < event->frontier.count; i++)
        if (gv_sim_nodes_add(&stream->frontier, event->frontier.list[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

static CUresult begin(CUstream hStream, struct gv_sim_graph *graph, const CUgraphNode *needs,
                      size_t need_count, CUstreamCaptureMode mode)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s)
        return result;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (atomic_load(&s->capture))
        return CUDA_ERROR_ILLEGAL_STATE;
    struct gv_sim_capture *c = calloc(1, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (struct gv_sim_capture){.graph = graph ? graph : gv_sim_graph_new(),
                                 .graph_is_ours = !graph,
                                 .mode = mode,
                                 .thread = &thread_mark,
                                 .origin = s};
    s->frontier.count = 0;
    for (size_t i = 0; i < need_count && !result; i++)
        if (gv_sim_nodes_add(&s->frontier, (struct gv_sim_node *)needs[i]))
            result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!c->graph || result) {
        free(c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    c->id = next_id++;
    c->next = captures;
    captures = c;
    atomic_fetch_add(&gv_sim_captures, 1);
    atomic_store(&s->capture, c);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    return begin(hStream, NULL, NULL, 0, mode);
}

CUresult gv_sim_cuStreamBeginCapture(CUstream hStream)
{
    return begin(hStream, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* The capture is over for every stream that had joined it. */
static void leave(struct gv_sim_capture *c)
{
    struct gv_sim_context *context = c->origin->context;
    pthread_mutex_lock(&context->list_lock);
    for (struct gv_sim_stream *s = context->streams; s; s = s->next)
        if (atomic_load(&s->capture) == c)
            atomic_store(&s->capture, NULL);
    pthread_mutex_unlock(&context->list_lock);
    pthread_mutex_lock(&lock);
    struct gv_sim_capture **at = &captures;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    atomic_fetch_sub(&gv_sim_captures, 1);
    pthread_mutex_unlock(&lock);
}

CUresult gv_sim_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s || !phGraph)
        return s ? CUDA_ERROR_INVALID_VALUE : result;
    struct gv_sim_capture *c = atomic_load(&s->capture);
    *phGraph = NULL;
    if (!c)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (c->origin != s)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (c->thread != &thread_mark && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    leave(c);
    if (c->invalid) {
        if (c->graph_is_ours)
            gv_sim_graph_free(c->graph);
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else {
        *phGraph = (CUgraph)c->graph;
    }
    free(c);
    return result;
}

static CUresult status_of(CUstream hStream, CUstreamCaptureStatus *status,
                          struct gv_sim_stream **stream)
{
    CUresult result;
    struct gv_sim_stream *s = *stream = gv_sim_stream_of(hStream, &result);
    if (!s || !status)
        return s ? CUDA_ERROR_INVALID_VALUE : result;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!atomic_load(&gv_sim_captures))
        return CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct gv_sim_capture *c = atomic_load(&s->capture);
    if (c)
        *status =
            c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    else if (implicates(s, false))
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult gv_sim_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    struct gv_sim_stream *s;
    return status_of(hStream, captureStatus, &s);
}

CUresult gv_sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
