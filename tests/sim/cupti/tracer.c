/* Called by the driver: around its calls, and for each piece of work. */
#include "tests/sim/cupti/cupti_sim.h"

#include <string.h>

static _Thread_local struct gv_cupti_call call;

static uint32_t enter(unsigned symbol)
{
    static _Atomic uint32_t next = 1;
    call.cbid = gv_cupti_cbid(symbol);
    call.correlation = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    call.client_data = 0;
    gv_cupti_callback_call(&call, CUPTI_API_ENTER, NULL);
    call.start_ns = atomic_load(&gv_cupti_driver_apis[call.cbid]) ? gv_cupti_clock_now() : 0;
    return call.correlation;
}

static void leave(unsigned symbol, int result)
{
    (void)symbol;
    if (call.start_ns && gv_cupti_buffers_ready())
        gv_cupti_record_call(call.cbid, call.start_ns, gv_cupti_clock_now(), call.correlation,
                             (uint32_t)result);
    gv_cupti_callback_call(&call, CUPTI_API_EXIT, &result);
    call.correlation = 0;
}

static void jit(enum gv_sim_jit_kind kind, uint64_t start_ns, uint64_t end_ns)
{
    uint32_t context = 0, device = 0;
    gv_cupti_driver()->context(&context, &device);
    if (gv_cupti_buffers_ready())
        gv_cupti_record_jit(kind, start_ns, end_ns, device, call.correlation);
}

static void overhead(enum gv_sim_overhead_kind kind, uint64_t start_ns, uint64_t end_ns)
{
    if (gv_cupti_buffers_ready())
        gv_cupti_record_overhead(kind, start_ns, end_ns, call.correlation);
}

static void waited(enum gv_sim_wait_kind kind, uint32_t context, uint32_t stream, uint64_t start_ns,
                   uint64_t end_ns, int result)
{
    if (gv_cupti_buffers_ready())
        gv_cupti_record_wait(kind, context, stream, start_ns, end_ns, call.correlation, result);
}

static void module(bool loaded, void *context, uint32_t id, const void *image, size_t size_bytes)
{
    CUpti_ModuleResourceData module = {
        .moduleId = id, .cubinSize = size_bytes, .pCubin = (const char *)image};
    CUpti_ResourceData data = {.context = (CUcontext)context, .resourceDescriptor = &module};
    gv_cupti_callback_resource(loaded ? CUPTI_CBID_RESOURCE_MODULE_LOADED
                                      : CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                               &data);
}

static void context(bool made, void *handle)
{
    CUpti_ResourceData data = {.context = (CUcontext)handle};
    gv_cupti_callback_resource(made ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED
                                    : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                               &data);
}

static void stream(bool made, void *context_handle, void *handle)
{
    CUpti_ResourceData data = {.context = (CUcontext)context_handle,
                               .resourceHandle.stream = (CUstream)handle};
    gv_cupti_callback_resource(made ? CUPTI_CBID_RESOURCE_STREAM_CREATED
                                    : CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                               &data);
}

static void node(const void *node, const void *original, int type)
{
    CUpti_GraphData graph = {.node = (CUgraphNode)node,
                             .originalNode = (CUgraphNode)original,
                             .nodeType = (CUgraphNodeType)type};
    CUpti_ResourceData data = {.resourceDescriptor = &graph};
    gv_cupti_callback_resource(original ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
                                        : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                               &data);
}

static void initialised(void)
{
    CUpti_ResourceData data = {0};
    gv_cupti_callback_resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, &data);
}

const struct gv_sim_tracer gv_cupti_tracer = {.enter = enter,
                                              .leave = leave,
                                              .operation = gv_cupti_record_operation,
                                              .jit = jit,
                                              .overhead = overhead,
                                              .waited = waited,
                                              .module = module,
                                              .context = context,
                                              .stream = stream,
                                              .initialised = initialised,
                                              .node = node};
