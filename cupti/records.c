/* Translates CUPTI's records into the spool's. Only the module's thread. */
#include "cupti/buffers.h"
#include "cupti/library.h"
#include "cupti/output.h"
#include "cupti/unrecorded.h"
#include "trace/mix.h"
#include "trace/spool.h"

#include <stddef.h>
#include <string.h>

/*
 * CUPTI's structs only grow at their end, so the newest struct can read what every CUPTI from 11.6
 * to 13 writes, for the fields used here. These offsets must never change.
 */
#define AT(type, field, place) _Static_assert(offsetof(type, field) == (place), #type "." #field)
AT(CUpti_ActivityKernel9, registersPerThread, 6);
AT(CUpti_ActivityKernel9, start, 16);
AT(CUpti_ActivityKernel9, end, 24);
AT(CUpti_ActivityKernel9, deviceId, 40);
AT(CUpti_ActivityKernel9, contextId, 44);
AT(CUpti_ActivityKernel9, streamId, 48);
AT(CUpti_ActivityKernel9, gridX, 52);
AT(CUpti_ActivityKernel9, blockX, 64);
AT(CUpti_ActivityKernel9, staticSharedMemory, 76);
AT(CUpti_ActivityKernel9, dynamicSharedMemory, 80);
AT(CUpti_ActivityKernel9, localMemoryPerThread, 84);
AT(CUpti_ActivityKernel9, correlationId, 92);
AT(CUpti_ActivityKernel9, name, 104);
AT(CUpti_ActivityKernel9, graphNodeId, 144);
AT(CUpti_ActivityMemcpy5, bytes, 8);
AT(CUpti_ActivityMemcpy5, start, 16);
AT(CUpti_ActivityMemcpy5, deviceId, 32);
AT(CUpti_ActivityMemcpy5, streamId, 40);
AT(CUpti_ActivityMemcpy5, correlationId, 44);
AT(CUpti_ActivityMemcpy5, graphNodeId, 64);
AT(CUpti_ActivityMemcpyPtoP4, correlationId, 60);
AT(CUpti_ActivityMemset4, correlationId, 44);
AT(CUpti_ActivityGraphTrace, start, 8);
AT(CUpti_ActivityGraphTrace, streamId, 36);
AT(CUpti_ActivityJit, start, 16);
AT(CUpti_ActivityJit, correlationId, 32);
AT(CUpti_ActivityJit, cacheSize, 48);

/* Of the buffer that is being read. */
static bool have_calls;
static struct gv_records_unwanted unwanted;

static bool is_wanted(uint64_t start_ns, uint32_t correlation)
{
    return start_ns < unwanted.since_ns || !(unwanted.all || gv_unrecorded_has(correlation));
}

/* ---- names and shapes of kernels ---- */

/*
 * Kernel names, and kernels with their launch configuration. Each is written into the spool once
 * and gets a number, so a launch takes one record.
 *
 * The tables have fixed sizes. A slot that is used again forgets its number; the next use gets a
 * new number and is written again.
 */

#define CELLS 16384u
#define WAYS  4u

struct cell {
    uint64_t hash;
    uint32_t number; /* 0: free */
};

struct table {
    struct cell cells[CELLS];
    uint32_t numbered;
};

static struct table names, shapes;

/* The cell with this hash, or one to be filled. */
static struct cell *cell_of(struct table *table, uint64_t hash)
{
    struct cell *cells = &table->cells[hash % (CELLS / WAYS) * WAYS];
    struct cell *cell = &cells[hash >> 32 & (WAYS - 1)];

    for (uint32_t i = 0; i < WAYS; i++)
        if (cells[i].number && cells[i].hash == hash)
            return &cells[i];
    for (uint32_t i = 0; i < WAYS; i++)
        if (!cells[i].number)
            cell = &cells[i];
    return cell;
}

/* Its number; 0: it could not be written. A new one is written as `record` and `text`. */
static uint32_t number_of(struct table *table, uint64_t hash, union gv_record *record,
                          uint32_t *number, const char *text, uint32_t bytes)
{
    struct cell *cell = cell_of(table, hash);

    if (cell->number && cell->hash == hash)
        return cell->number;
    *number = table->numbered + 1;
    if (!gv_output_write(record) || !gv_output_text(text, bytes))
        return 0;
    *cell = (struct cell){hash, ++table->numbered};
    return cell->number;
}

static uint32_t number_of_name(const char *name)
{
    uint32_t bytes = gv_spool_text_bytes(name);
    union gv_record record = {
        .gpu_name = {.head = {.kind = GV_RECORD_GPU_NAME, .flags = bytes ? GV_RECORD_MORE : 0},
                     .text_bytes = bytes}};

    return name ? number_of(&names, gv_mix_bytes(0, name, bytes), &record, &record.gpu_name.number,
                            name, bytes)
                : 0;
}

static uint32_t number_of_shape(const CUpti_ActivityKernel9 *kernel)
{
    union gv_record record = {
        .gpu_shape = {
            .head = {.kind = GV_RECORD_GPU_SHAPE},
            .name = number_of_name(kernel->name),
            .grid = {(uint32_t)kernel->gridX, (uint32_t)kernel->gridY, (uint32_t)kernel->gridZ},
            .block = {(uint32_t)kernel->blockX, (uint32_t)kernel->blockY, (uint32_t)kernel->blockZ},
            .static_shared_bytes = (uint32_t)kernel->staticSharedMemory,
            .dynamic_shared_bytes = (uint32_t)kernel->dynamicSharedMemory,
            .local_bytes = kernel->localMemoryPerThread,
            .registers = kernel->registersPerThread,
        }};

    return number_of(&shapes, gv_mix_bytes(0, &record, sizeof record), &record,
                     &record.gpu_shape.number, NULL, 0);
}

/* ---- records ---- */

/* The fields that all operations have. */
struct operation {
    uint64_t start, end, bytes, graph_node;
    uint32_t device, context, stream, correlation, shape;
    uint16_t kind;
    int32_t copy_kind;
    bool has_bytes;
};

static uint64_t length(uint64_t start, uint64_t end)
{
    return start && end > start ? end - start : 0;
}

static void write_operation(const struct operation *operation)
{
    union gv_record record = {.gpu_op = {
                                  .head = {.kind = GV_RECORD_GPU_OP,
                                           .flags = operation->has_bytes ? GV_RECORD_HAS_BYTES : 0,
                                           .api = operation->kind,
                                           .result = operation->copy_kind},
                                  .start_ns = operation->end ? operation->start : 0,
                                  .duration_ns = length(operation->start, operation->end),
                                  .bytes = operation->bytes,
                                  .graph_node = operation->graph_node,
                                  .device = operation->device,
                                  .context = operation->context,
                                  .stream = operation->stream,
                                  .correlation = have_calls ? operation->correlation : 0,
                                  .shape = operation->shape,
                              }};

    gv_output_write(&record);
}

/* Writes an operation of a record of CUPTI's, with the fields that its kind alone has. */
#define WRITE(what, from, ...)                                                                     \
    do {                                                                                           \
        if (is_wanted((from)->start, (from)->correlationId))                                       \
            write_operation(&(struct operation){.kind = (what),                                    \
                                                .start = (from)->start,                            \
                                                .end = (from)->end,                                \
                                                .device = (from)->deviceId,                        \
                                                .context = (from)->contextId,                      \
                                                .stream = (from)->streamId,                        \
                                                .correlation = (from)->correlationId,              \
                                                __VA_ARGS__});                                     \
    } while (0)

static void read_kernel(const CUpti_ActivityKernel9 *kernel)
{
    WRITE(GV_GPU_KERNEL, kernel, .graph_node = kernel->graphNodeId,
          .shape = number_of_shape(kernel));
}

/* GV_GPU_COPY_KIND of a copy. */
static int32_t kind_of_copy(const CUpti_ActivityMemcpy5 *copy)
{
    bool to_host = copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ||
                   copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_ATOH;
    bool from_host = copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD ||
                     copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOA;
    unsigned int memory = to_host ? copy->dstKind : from_host ? copy->srcKind : 0;

    return (int32_t)GV_GPU_COPY_KIND(copy->copyKind, memory);
}

static void read_copy(const CUpti_ActivityMemcpy5 *copy)
{
    WRITE(GV_GPU_COPY, copy, .copy_kind = kind_of_copy(copy), .bytes = copy->bytes,
          .has_bytes = true, .graph_node = copy->graphNodeId);
}

static void read_peer_copy(const CUpti_ActivityMemcpyPtoP4 *copy)
{
    WRITE(GV_GPU_COPY, copy, .copy_kind = copy->copyKind, .bytes = copy->bytes, .has_bytes = true);
}

static void read_set(const CUpti_ActivityMemset4 *set)
{
    WRITE(GV_GPU_SET, set, .bytes = set->bytes, .has_bytes = true, .graph_node = set->graphNodeId);
}

static void read_graph(const CUpti_ActivityGraphTrace *graph)
{
    WRITE(GV_GPU_GRAPH, graph, .shape = 0);
}

static void read_jit(const CUpti_ActivityJit *jit)
{
    union gv_record record = {.jit = {
                                  .head = {.kind = GV_RECORD_JIT,
                                           .api = (uint16_t)jit->jitEntryType,
                                           .result = (int32_t)jit->jitOperationType},
                                  .start_ns = jit->start,
                                  .duration_ns = length(jit->start, jit->end),
                                  .cache_bytes = jit->cacheSize,
                                  .device = jit->deviceId,
                                  .correlation = have_calls ? jit->correlationId : 0,
                              }};

    if (is_wanted(jit->start, jit->correlationId))
        gv_output_write(&record);
}

/* CUPTI's own upkeep is not caused by the program. */
static bool is_told(CUpti_ActivityOverheadKind kind)
{
    uint32_t number = (uint32_t)kind;

    return number != CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH &&
           number != CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION &&
           number != CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE &&
           number != 7u << 16; /* a buffer was requested */
}

static void read_overhead(const CUpti_ActivityOverhead *overhead)
{
    bool is_thread = overhead->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD;
    union gv_record record = {.overhead = {
                                  .head = {.kind = GV_RECORD_OVERHEAD},
                                  .start_ns = overhead->start,
                                  .duration_ns = length(overhead->start, overhead->end),
                                  .overhead = (uint32_t)overhead->overheadKind,
                                  .tid = is_thread ? overhead->objectId.pt.threadId : 0,
                              }};

    if (is_told(overhead->overheadKind) && !(unwanted.all && overhead->start >= unwanted.since_ns))
        gv_output_write(&record);
}

static void read_record(const CUpti_Activity *record)
{
    const void *plain = record;

    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        read_kernel(plain);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        read_copy(plain);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        read_peer_copy(plain);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        read_set(plain);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        read_graph(plain);
        break;
    case CUPTI_ACTIVITY_KIND_JIT:
        read_jit(plain);
        break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        read_overhead(plain);
        break;
    default:
        break;
    }
}

CUptiResult gv_records_read(struct gv_buffer *buffer, bool with_calls,
                            struct gv_records_unwanted without)
{
    CUpti_Activity *record = NULL;
    CUptiResult result;

    have_calls = with_calls;
    unwanted = without;
    while ((result = gv_cupti.cuptiActivityGetNextRecord(buffer->data, buffer->used, &record)) ==
           CUPTI_SUCCESS)
        read_record(record);
    /* The end, also of a buffer that CUPTI got zeroed. */
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED || result == CUPTI_ERROR_INVALID_KIND)
        return CUPTI_SUCCESS;
    return result;
}
