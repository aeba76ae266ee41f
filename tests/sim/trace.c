/*
 * Reports to a tracer (the simulated libcupti) through a private table from cuGetExportTable, as
 * the real driver does for NVIDIA's tools. Without a tracer, it costs one load.
 */
#include "tests/sim/sim.h"

#include <string.h>

const struct gv_sim_tracer *_Atomic gv_sim_tracer;

static _Thread_local struct {
    int depth;
    uint32_t correlation;
} call __attribute__((tls_model("initial-exec")));

void gv_sim_trace_enter(enum gv_sim_symbol symbol)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (!tracer || call.depth++)
        return;
    call.correlation = tracer->enter(symbol);
}

void gv_sim_trace_leave(enum gv_sim_symbol symbol, CUresult result)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (!tracer || !call.depth || --call.depth)
        return;
    if (symbol == GV_SIM_SYMBOL_cuInit && result == CUDA_SUCCESS &&
        !atomic_flag_test_and_set(&told))
        tracer->initialised();
    tracer->leave(symbol, (int)result);
    call.correlation = 0;
}

/* A child's calls are not reported. */
void gv_sim_trace_forked(void)
{
    atomic_store(&gv_sim_tracer, NULL);
    call.depth = 0;
}

uint32_t gv_sim_trace_correlation(void)
{
    return call.correlation;
}

void gv_sim_trace_work(const struct gv_sim_stream *stream, uint64_t end_ns, uint64_t duration_ns,
                       struct gv_sim_operation *work)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (!tracer)
        return;
    work->device = (uint32_t)stream->context->device;
    work->context = (uint32_t)stream->context->id;
    work->stream = (uint32_t)stream->id;
    if (!work->correlation)
        work->correlation = call.correlation;
    work->start_ns = end_ns - duration_ns;
    work->end_ns = end_ns;
    tracer->operation(work);
}

void gv_sim_trace_kernel(struct gv_sim_operation *work, const char *name,
                         const CUDA_KERNEL_NODE_PARAMS *shape)
{
    *work =
        (struct gv_sim_operation){.kind = GV_SIM_OPERATION_KERNEL,
                                  .name = name,
                                  .grid = {shape->gridDimX, shape->gridDimY, shape->gridDimZ},
                                  .block = {shape->blockDimX, shape->blockDimY, shape->blockDimZ},
                                  .registers = GV_SIM_KERNEL_REGISTERS,
                                  .dynamic_shared_bytes = shape->sharedMemBytes};
}

static enum gv_sim_side side_of(const void *address)
{
    switch (gv_sim_memory_kind(address)) {
    case GV_SIM_PAGEABLE:
        return GV_SIM_SIDE_PAGEABLE;
    case GV_SIM_PINNED:
    case GV_SIM_REGISTERED:
        return GV_SIM_SIDE_PINNED;
    case GV_SIM_MANAGED:
        return GV_SIM_SIDE_MANAGED;
    default:
        return GV_SIM_SIDE_DEVICE;
    }
}

void gv_sim_trace_copy(struct gv_sim_operation *work, const struct gv_sim_rows *rows)
{
    *work = (struct gv_sim_operation){.kind = GV_SIM_OPERATION_COPY,
                                      .bytes = rows->width_bytes * rows->height * rows->depth,
                                      .source = side_of(rows->source),
                                      .target = side_of(rows->target)};
    if (!rows->source_context)
        return;
    work->kind = GV_SIM_OPERATION_PEER;
    work->source_device = (uint32_t)rows->source_context->device;
    work->source_context = (uint32_t)rows->source_context->id;
    work->target_device = (uint32_t)rows->target_context->device;
    work->target_context = (uint32_t)rows->target_context->id;
}

void gv_sim_trace_set(struct gv_sim_operation *work, const struct gv_sim_fill *fill)
{
    *work = (struct gv_sim_operation){.kind = GV_SIM_OPERATION_SET,
                                      .bytes = fill->element_bytes * fill->width * fill->height,
                                      .value = fill->value,
                                      .target = side_of(fill->target)};
}

void gv_sim_trace_node(const struct gv_sim_node *node, const struct gv_sim_node *original)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (tracer)
        tracer->node(node, original, (int)node->type);
}

void gv_sim_trace_jit(enum gv_sim_jit_kind kind, uint64_t start_ns)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (tracer)
        tracer->jit(kind, start_ns, gv_sim_now_ns());
}

void gv_sim_trace_overhead(enum gv_sim_overhead_kind kind, uint64_t start_ns)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (tracer)
        tracer->overhead(kind, start_ns, gv_sim_now_ns());
}

void gv_sim_trace_wait(enum gv_sim_wait_kind kind, const struct gv_sim_context *context,
                       const struct gv_sim_stream *stream, uint64_t start_ns)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (tracer)
        tracer->waited(kind, (uint32_t)context->id, stream ? (uint32_t)stream->id : UINT32_MAX,
                       start_ns, gv_sim_now_ns(), CUDA_SUCCESS);
}

void gv_sim_trace_module(bool loaded, const struct gv_sim_module *module)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (tracer)
        tracer->module(loaded, module->context, module->id, module->image->code,
                       module->image->code ? module->image->code_bytes : 0);
}

void gv_sim_trace_context(bool made, struct gv_sim_context *context)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (tracer)
        tracer->context(made, context);
}

void gv_sim_trace_stream(bool made, struct gv_sim_stream *stream)
{
    const struct gv_sim_tracer *tracer = atomic_load(&gv_sim_tracer);
    if (tracer)
        tracer->stream(made, stream->context, stream);
}

/* The first copy of libcupti in a process stays the only one (measured: CUPTI 12.8 beside 13.0,
 * driver 580; cuptiFinalize() and dlclose() change nothing). */
static bool attach(const struct gv_sim_tracer *tracer)
{
    static const struct gv_sim_tracer *_Atomic first;
    const struct gv_sim_tracer *nobody = NULL;

    if (!atomic_compare_exchange_strong(&first, &nobody, tracer) && nobody != tracer)
        return false;
    atomic_store(&gv_sim_tracer, tracer);
    atomic_fetch_or(&gv_sim_gate, GV_SIM_GATE_TRACE);
    return true;
}

static const char *name_of(unsigned symbol)
{
    return symbol < GV_SIM_SYMBOLS ? gv_sim_symbol_name((enum gv_sim_symbol)symbol) : NULL;
}

static bool context_id(const void *handle, uint32_t *id, uint32_t *device)
{
    const struct gv_sim_context *context = handle;
    if (!gv_sim_is(context, GV_SIM_CONTEXT))
        return false;
    *id = (uint32_t)context->id;
    *device = (uint32_t)context->device;
    return true;
}

static void *current(uint32_t *id, uint32_t *device)
{
    struct gv_sim_context *context = gv_sim_current();
    return context_id(context, id, device) ? context : NULL;
}

static bool stream_id(void *handle, bool per_thread, uint32_t *id)
{
    CUresult result;
    const struct gv_sim_stream *stream =
        gv_sim_stream_of(!handle && per_thread ? CU_STREAM_PER_THREAD : handle, &result);
    if (stream)
        *id = (uint32_t)stream->id;
    return stream != NULL;
}

static int devices(void)
{
    return gv_sim_settings.no_device || gv_sim_settings.all_hidden ? 0 : gv_sim_settings.devices;
}

static const struct gv_sim_tracing table = {.size_bytes = sizeof table,
                                            .attach = attach,
                                            .now_ns = gv_sim_now_ns,
                                            .symbols = GV_SIM_SYMBOLS,
                                            .symbol_name = name_of,
                                            .context = current,
                                            .context_id = context_id,
                                            .stream_id = stream_id,
                                            .graph_id = gv_sim_graph_id,
                                            .node_id = gv_sim_node_id,
                                            .newest_graph = gv_sim_graph_newest,
                                            .devices = devices,
                                            .settle = gv_sim_contexts_settle};

/* The real driver's other private tables do not exist here. */
CUresult gv_sim_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (!ppExportTable || !pExportTableId)
        return CUDA_ERROR_INVALID_VALUE;
    *ppExportTable = NULL;
    if (memcmp(pExportTableId, GV_SIM_TRACING_ID, sizeof *pExportTableId) != 0)
        return CUDA_ERROR_NOT_FOUND;
    *ppExportTable = &table;
    return CUDA_SUCCESS;
}
