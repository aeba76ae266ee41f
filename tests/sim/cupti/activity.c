/* The activity API: which kinds are enabled, and how records reach the client. */
#include "tests/sim/cupti/cupti_sim.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define EXTERNAL_DEPTH 32
#define ATTRIBUTES     11
#define GRAPH_RANGES   16

_Atomic bool gv_cupti_kinds[GV_CUPTI_KINDS];
_Atomic bool gv_cupti_driver_apis[GV_CUPTI_CBIDS];

static _Thread_local struct {
    uint64_t ids[EXTERNAL_DEPTH];
    unsigned depth;
} external[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];

bool gv_cupti_external(CUpti_ExternalCorrelationKind kind, uint64_t *id)
{
    if (external[kind].depth)
        *id = external[kind].ids[external[kind].depth - 1];
    return external[kind].depth != 0;
}

/* Enabling a kind without a simulation succeeds, and gives no records. */
static bool kind_exists(CUpti_ActivityKind kind)
{
#if GV_CUPTI_API >= 130000
    unsigned last = CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS;
#elif GV_CUPTI_API >= 19
    unsigned last = CUPTI_ACTIVITY_KIND_JIT;
#else
    unsigned last = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
#endif
    return kind > CUPTI_ACTIVITY_KIND_INVALID && (unsigned)kind <= last &&
           kind != CUPTI_ACTIVITY_KIND_MODULE;
}

static void log_kind(CUpti_ActivityKind kind, bool on)
{
    FILE *log = gv_cupti_settings.log_path ? fopen(gv_cupti_settings.log_path, "ae") : NULL;
    if (log) {
        fprintf(log, "%s %d\n", on ? "enable" : "disable", (int)kind);
        fclose(log);
    }
}

/*
 * Graphs that were instantiated while launches of whole graphs were recorded, as ranges of numbers.
 * CUPTI 13.0 crashes in the launch of any other one, if they are recorded then.
 */
static struct {
    uint32_t first, last;
} known_graphs[GRAPH_RANGES];
static unsigned known_ranges;
static uint32_t graphs_before; /* of the range that is open */
static pthread_mutex_t graphs_lock = PTHREAD_MUTEX_INITIALIZER;

static void note_whole_graphs(bool on)
{
    bool was_on = gv_cupti_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    uint32_t newest = gv_cupti_driver()->newest_graph();

    pthread_mutex_lock(&graphs_lock);
    if (on && !was_on) {
        graphs_before = newest;
    } else if (!on && was_on && newest > graphs_before) {
        known_graphs[known_ranges % GRAPH_RANGES].first = graphs_before + 1;
        known_graphs[known_ranges++ % GRAPH_RANGES].last = newest;
    }
    pthread_mutex_unlock(&graphs_lock);
}

void gv_cupti_check_graph(uint32_t graph)
{
    bool known;

    pthread_mutex_lock(&graphs_lock);
    known = graph > graphs_before;
    for (unsigned i = 0; i < known_ranges && i < GRAPH_RANGES; i++)
        known = known || (graph >= known_graphs[i].first && graph <= known_graphs[i].last);
    pthread_mutex_unlock(&graphs_lock);
    if (!known)
        raise(SIGSEGV);
}

static CUptiResult set_kind(CUpti_ActivityKind kind, bool on)
{
    if (!kind_exists(kind))
        return CUPTI_ERROR_INVALID_KIND;
    if (gv_cupti_no_driver())
        return gv_cupti_no_driver();
    if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
        note_whole_graphs(on);
    atomic_store(&gv_cupti_kinds[kind], on);
    log_kind(kind, on);
    for (unsigned i = 0; kind == CUPTI_ACTIVITY_KIND_DRIVER && i < GV_CUPTI_CBIDS; i++)
        atomic_store(&gv_cupti_driver_apis[i], on);
    return CUPTI_SUCCESS;
}

void gv_cupti_kinds_forget(void)
{
    known_ranges = 0;
    for (unsigned kind = 0; kind < GV_CUPTI_KINDS; kind++)
        atomic_store(&gv_cupti_kinds[kind], false);
    for (unsigned i = 0; i < GV_CUPTI_CBIDS; i++)
        atomic_store(&gv_cupti_driver_apis[i], false);
}

GV_CUPTI_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    GV_CUPTI_ENTER();
    return set_kind(kind, true);
}

GV_CUPTI_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    GV_CUPTI_ENTER();
    return set_kind(kind, false);
}

GV_CUPTI_EXPORT CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    GV_CUPTI_ENTER();
    if (!cbid || cbid >= GV_CUPTI_CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (gv_cupti_no_driver())
        return gv_cupti_no_driver();
    atomic_store(&gv_cupti_driver_apis[cbid], enable != 0);
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                               CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
    GV_CUPTI_ENTER();
    if (!funcBufferRequested || !funcBufferCompleted)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (gv_cupti_no_driver())
        return gv_cupti_no_driver();
    gv_cupti_buffers_set(funcBufferRequested, funcBufferCompleted);
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
    GV_CUPTI_ENTER();
    if (!funcTimestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    gv_cupti_clock_set(funcTimestamp);
    return CUPTI_SUCCESS;
}

/* Values have the size that the header says: a byte for switches, else a size_t. */
static size_t attribute_bytes(CUpti_ActivityAttribute attribute)
{
    switch ((int)attribute) {
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
    case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
        return sizeof(uint8_t);
    default:
        return sizeof(size_t);
    }
}

static size_t attributes[ATTRIBUTES] = {
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
};

static CUptiResult check_attribute(CUpti_ActivityAttribute attribute, const size_t *bytes,
                                   const void *value)
{
    if (!bytes || !value || (unsigned)attribute >= ATTRIBUTES)
        return CUPTI_ERROR_INVALID_PARAMETER;
#if GV_CUPTI_API < 19
    if (attribute > CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED)
        return CUPTI_ERROR_INVALID_PARAMETER;
#endif
    return *bytes < attribute_bytes(attribute) ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT
                                               : CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr,
                                                      size_t *valueSize, void *value)
{
    GV_CUPTI_ENTER();
    CUptiResult result = check_attribute(attr, valueSize, value);
    if (result)
        return result;
    attributes[attr] = 0;
    memcpy(&attributes[attr], value, attribute_bytes(attr)); /* little-endian */
    if (attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
        gv_cupti_buffers_zeroed(attributes[attr] != 0);
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr,
                                                      size_t *valueSize, void *value)
{
    GV_CUPTI_ENTER();
    CUptiResult result = check_attribute(attr, valueSize, value);
    if (result)
        return result;
    *valueSize = attribute_bytes(attr);
    memcpy(value, &attributes[attr], *valueSize);
    return CUPTI_SUCCESS;
}

static uint64_t cpu_ns(void)
{
    struct timespec used = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

GV_CUPTI_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    GV_CUPTI_ENTER();
    for (uint64_t begun_ns = cpu_ns(); cpu_ns() - begun_ns < gv_cupti_settings.flush_ns;)
        ;
    if (!gv_cupti_buffers_ready() || !gv_cupti_driver())
        return CUPTI_ERROR_INVALID_OPERATION;
    gv_cupti_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    return CUPTI_SUCCESS;
}

/* The library's thread delivers full buffers as soon as they are complete, whatever the period. */
GV_CUPTI_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
    GV_CUPTI_ENTER();
    (void)time;
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
                                                       CUpti_Activity **record)
{
    GV_CUPTI_ENTER();
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    uint8_t *next = buffer;
    if (*record)
        next = (uint8_t *)*record + gv_cupti_record_bytes((*record)->kind);
    if (next >= buffer + validBufferSizeBytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return gv_cupti_record_bytes((*record)->kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

GV_CUPTI_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId,
                                                              size_t *dropped)
{
    GV_CUPTI_ENTER();
    (void)context;
    (void)streamId;
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *dropped = gv_cupti_dropped_take();
    return CUPTI_SUCCESS;
}

static bool external_known(CUpti_ExternalCorrelationKind kind)
{
    return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID &&
           kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

GV_CUPTI_EXPORT CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    GV_CUPTI_ENTER();
    if (!external_known(kind) || external[kind].depth == EXTERNAL_DEPTH)
        return CUPTI_ERROR_INVALID_PARAMETER;
    external[kind].ids[external[kind].depth++] = id;
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *lastId)
{
    GV_CUPTI_ENTER();
    if (!external_known(kind))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!external[kind].depth)
        return CUPTI_ERROR_QUEUE_EMPTY;
    uint64_t id = external[kind].ids[--external[kind].depth];
    if (lastId)
        *lastId = id;
    return CUPTI_SUCCESS;
}
