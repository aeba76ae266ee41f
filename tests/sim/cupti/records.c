/* Activity records in the layout of this version. */
#include "tests/sim/cupti/records.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_BUCKETS 1024u

const char *gv_cupti_name(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct known {
        struct known *next;
        char name[];
    } * buckets[NAME_BUCKETS];
    uint32_t hash = 2166136261u;
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    pthread_mutex_lock(&lock);
    struct known *known = buckets[hash % NAME_BUCKETS];
    while (known && strcmp(known->name, name) != 0)
        known = known->next;
    if (!known && (known = malloc(sizeof *known + length + 1))) {
        memcpy(known->name, name, length + 1);
        known->next = buckets[hash % NAME_BUCKETS];
        buckets[hash % NAME_BUCKETS] = known;
    }
    pthread_mutex_unlock(&lock);
    return known ? known->name : NULL;
}

size_t gv_cupti_record_bytes(CUpti_ActivityKind kind)
{
    switch ((int)kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(gv_kernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(gv_memcpy);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(gv_peer);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(gv_memset);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizeof(gv_graph);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return sizeof(gv_call);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(gv_overhead);
    case CUPTI_ACTIVITY_KIND_JIT:
        return sizeof(gv_jit);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(gv_wait);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(gv_external);
    default:
        return 0;
    }
}

size_t gv_cupti_record_start(CUpti_ActivityKind kind)
{
    switch ((int)kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return offsetof(gv_kernel, start);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return offsetof(gv_memcpy, start);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return offsetof(gv_peer, start);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return offsetof(gv_memset, start);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return offsetof(gv_graph, start);
    default:
        return 0;
    }
}

static uint32_t thread_id(void)
{
    static _Thread_local uint32_t id;
    return id ? id : (id = (uint32_t)syscall(SYS_gettid));
}

static void external_add(uint32_t correlation)
{
    for (int kind = 1; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; kind++) {
        gv_external record = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                              .externalKind = (CUpti_ExternalCorrelationKind)kind,
                              .correlationId = correlation};
        uint64_t id;
        if (!gv_cupti_external((CUpti_ExternalCorrelationKind)kind, &id))
            continue;
        record.externalId = id;
        gv_cupti_record_add(&record, sizeof record, 0);
    }
}

void gv_cupti_record_call(CUpti_CallbackId cbid, uint64_t start_ns, uint64_t end_ns,
                          uint32_t correlation, uint32_t result)
{
    gv_call record = {.kind = CUPTI_ACTIVITY_KIND_DRIVER,
                      .cbid = cbid,
                      .start = start_ns,
                      .end = end_ns,
                      .processId = (uint32_t)getpid(),
                      .threadId = thread_id(),
                      .correlationId = correlation,
                      .returnValue = result};
    if (gv_cupti_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
        external_add(correlation);
    gv_cupti_record_add(&record, sizeof record, 0);
}

static uint8_t memory_kind(enum gv_sim_side side)
{
    static const uint8_t kinds[] = {[GV_SIM_SIDE_PAGEABLE] = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                                    [GV_SIM_SIDE_PINNED] = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                                    [GV_SIM_SIDE_DEVICE] = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                    [GV_SIM_SIDE_MANAGED] = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED};
    return kinds[side];
}

static uint8_t copy_kind(const struct gv_sim_operation *o)
{
    bool from = o->source >= GV_SIM_SIDE_DEVICE, to = o->target >= GV_SIM_SIDE_DEVICE;
    return from ? (to ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
                : (to ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
}

/* Fields that all records of GPU work have, with the same names. */
#define WHERE_AND_WHEN(o, begins, ends)                                                            \
    .start = (begins), .end = (ends), .deviceId = (o)->device, .contextId = (o)->context,          \
    .streamId = (o)->stream, .correlationId = (o)->correlation

/*
 * CUPTI keeps the first name of a handle, also when the code is unloaded and another function gets
 * the handle: records then have the first name (H200, CUDA 13.0).
 */
static const char *kernel_name(const struct gv_sim_operation *o)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct known {
        struct known *next;
        const void *function;
        const char *name;
    } * buckets[NAME_BUCKETS];
    struct known **bucket = &buckets[(uintptr_t)o->function / 64 % NAME_BUCKETS], *known;

    if (!o->function)
        return gv_cupti_name(o->name);
    pthread_mutex_lock(&lock);
    for (known = *bucket; known && known->function != o->function;)
        known = known->next;
    if (!known && (known = malloc(sizeof *known))) {
        *known = (struct known){*bucket, o->function, gv_cupti_name(o->name)};
        *bucket = known;
    }
    pthread_mutex_unlock(&lock);
    return known ? known->name : NULL;
}

static void kernel_add(const struct gv_sim_operation *o, uint64_t start, uint64_t end, uint64_t at)
{
    gv_kernel record = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                        .registersPerThread = (uint16_t)o->registers,
                        WHERE_AND_WHEN(o, start, end),
                        .completed = end,
                        .gridX = (int32_t)o->grid[0],
                        .gridY = (int32_t)o->grid[1],
                        .gridZ = (int32_t)o->grid[2],
                        .blockX = (int32_t)o->block[0],
                        .blockY = (int32_t)o->block[1],
                        .blockZ = (int32_t)o->block[2],
                        .staticSharedMemory = (int32_t)o->static_shared_bytes,
                        .dynamicSharedMemory = (int32_t)o->dynamic_shared_bytes,
                        /* localMemoryPerThread: 0, as CUPTI reports for every kernel on an H200 */
                        .gridId = o->correlation,
                        .name = kernel_name(o),
                        .graphNodeId = o->graph_node,
                        .graphId = o->graph};
    gv_cupti_record_add(&record, sizeof record, at);
}

static void copy_add(const struct gv_sim_operation *o, uint64_t start, uint64_t end, uint64_t at)
{
    gv_memcpy record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                        .copyKind = copy_kind(o),
                        .srcKind = memory_kind(o->source),
                        .dstKind = memory_kind(o->target),
                        .flags = o->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
                        .bytes = o->bytes,
                        WHERE_AND_WHEN(o, start, end),
                        .graphNodeId = o->graph_node,
                        .graphId = o->graph};
#if GV_CUPTI_API >= 130000
    record.copyCount = 1;
#endif
    gv_cupti_record_add(&record, sizeof record, at);
}

static void peer_add(const struct gv_sim_operation *o, uint64_t start, uint64_t end, uint64_t at)
{
    gv_peer record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                      .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                      .srcKind = memory_kind(o->source),
                      .dstKind = memory_kind(o->target),
                      .flags = o->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
                      .bytes = o->bytes,
                      WHERE_AND_WHEN(o, start, end),
                      .srcDeviceId = o->source_device,
                      .srcContextId = o->source_context,
                      .dstDeviceId = o->target_device,
                      .dstContextId = o->target_context,
                      .graphNodeId = o->graph_node,
                      .graphId = o->graph};
    gv_cupti_record_add(&record, sizeof record, at);
}

static void set_add(const struct gv_sim_operation *o, uint64_t start, uint64_t end, uint64_t at)
{
    gv_memset record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                        .value = o->value,
                        .bytes = o->bytes,
                        WHERE_AND_WHEN(o, start, end),
                        .flags = o->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
                        .memoryKind = memory_kind(o->target),
                        .graphNodeId = o->graph_node,
                        .graphId = o->graph};
    gv_cupti_record_add(&record, sizeof record, at);
}

static void graph_add(const struct gv_sim_operation *o, uint64_t start, uint64_t end, uint64_t at)
{
    gv_graph record = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                       WHERE_AND_WHEN(o, start, end),
                       .graphId = o->graph};
#if GV_CUPTI_API >= 130000
    record.endDeviceId = o->device;
    record.endContextId = o->context;
#endif
    gv_cupti_record_add(&record, sizeof record, at);
}

static bool wanted(const struct gv_sim_operation *o)
{
    if (o->kind != GV_SIM_OPERATION_GRAPH && o->graph &&
        gv_cupti_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
        return false; /* the graph's one record stands for its nodes */
    switch (o->kind) {
    case GV_SIM_OPERATION_KERNEL:
        return gv_cupti_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
               gv_cupti_on(CUPTI_ACTIVITY_KIND_KERNEL);
    case GV_SIM_OPERATION_COPY:
        return gv_cupti_on(CUPTI_ACTIVITY_KIND_MEMCPY);
    case GV_SIM_OPERATION_PEER:
        return gv_cupti_on(CUPTI_ACTIVITY_KIND_MEMCPY2);
    case GV_SIM_OPERATION_SET:
        return gv_cupti_on(CUPTI_ACTIVITY_KIND_MEMSET);
    default:
        return gv_cupti_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    }
}

void gv_cupti_record_operation(const struct gv_sim_operation *o)
{
    static void (*const add[])(const struct gv_sim_operation *, uint64_t, uint64_t, uint64_t) = {
        [GV_SIM_OPERATION_KERNEL] = kernel_add, [GV_SIM_OPERATION_COPY] = copy_add,
        [GV_SIM_OPERATION_PEER] = peer_add,     [GV_SIM_OPERATION_SET] = set_add,
        [GV_SIM_OPERATION_GRAPH] = graph_add,
    };
    static _Atomic uint64_t count, lost;
    if (o->kind == GV_SIM_OPERATION_GRAPH && gv_cupti_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
        gv_cupti_check_graph(o->graph);
    if (!gv_cupti_buffers_ready() || !wanted(o))
        return;
    uint64_t every = gv_cupti_settings.drop_every;
    if (every && (atomic_fetch_add(&count, 1) + 1) % every == 0) {
        gv_cupti_record_dropped();
        return;
    }
    every = gv_cupti_settings.lose_every;
    if (every && (atomic_fetch_add(&lost, 1) + 1) % every == 0)
        return;
    uint64_t start = gv_cupti_clock_at(o->start_ns);
    add[o->kind](o, start, start + (o->end_ns - o->start_ns),
                 o->end_ns + gv_cupti_settings.late_ns);
}

void gv_cupti_record_jit(enum gv_sim_jit_kind kind, uint64_t start_ns, uint64_t end_ns,
                         uint32_t device, uint32_t correlation)
{
    gv_jit record = {.kind = CUPTI_ACTIVITY_KIND_JIT,
                     .jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN,
                     .jitOperationType = (CUpti_ActivityJitOperationType)kind,
                     .deviceId = device,
                     .start = gv_cupti_clock_at(start_ns),
                     .correlationId = correlation};
    if (!gv_cupti_on(CUPTI_ACTIVITY_KIND_JIT))
        return;
    record.end = record.start + (end_ns - start_ns);
#if GV_CUPTI_API >= 130000
    record.processId = (uint32_t)getpid();
    record.threadId = thread_id();
#endif
    gv_cupti_record_add(&record, sizeof record, 0);
}

void gv_cupti_record_overhead(enum gv_sim_overhead_kind kind, uint64_t start_ns, uint64_t end_ns,
                              uint32_t correlation)
{
    gv_overhead record = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                          .overheadKind = (CUpti_ActivityOverheadKind)kind,
                          .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
                          .start = gv_cupti_clock_at(start_ns)};
    if (!gv_cupti_on(CUPTI_ACTIVITY_KIND_OVERHEAD))
        return;
    record.end = record.start + (end_ns - start_ns);
    record.objectId.pt.processId = (uint32_t)getpid();
    /* As seen of CUPTI 13.0: not the system's number of the thread. */
    record.objectId.pt.threadId = (uint32_t)(uintptr_t)pthread_self();
#if GV_CUPTI_API >= 19
    record.correlationId = correlation;
#else
    (void)correlation;
#endif
    gv_cupti_record_add(&record, sizeof record, 0);
}

void gv_cupti_record_wait(enum gv_sim_wait_kind kind, uint32_t context, uint32_t stream,
                          uint64_t start_ns, uint64_t end_ns, uint32_t correlation, int result)
{
    gv_wait record = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                      .type = (CUpti_ActivitySynchronizationType)kind,
                      .start = gv_cupti_clock_at(start_ns),
                      .correlationId = correlation,
                      .contextId = context,
                      .streamId = stream};
    if (!gv_cupti_on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
        return;
    record.end = record.start + (end_ns - start_ns);
#if GV_CUPTI_API >= 130000
    record.returnValue = (uint32_t)result;
#else
    (void)result;
#endif
    gv_cupti_record_add(&record, sizeof record, 0);
}
