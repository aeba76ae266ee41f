/* Before CUDA's headers, which rename calls by macros. */
#include "trace/call_table.h"

#include "cupti/buffers.h"
#include "cupti/library.h"
#include "cupti/loaded.h"
#include "cupti/output.h"
#include "cupti/switch.h"
#include "cupti/unrecorded.h"
#include "trace/futex.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLBACKS    4096u /* more than any CUPTI has */
#define CALLBACK_GAP 64u   /* after this many numbers without a name, there are no more */

/* A thread may be about to call our callback, which cuptiUnsubscribe() takes away: unsubscribing
 * beside launching threads ended one process in 320 times (CUPTI 13.0). */
#define LEAVE_CALLBACKS_NS 1000000u

static const struct gv_gpu_host *host;
static void (*hurry)(void);
static CUpti_SubscriberHandle subscriber; /* NULL: we have none */
static uint8_t others_zeroed;             /* CUPTI's setting before ours */
static bool is_watching;                  /* its callbacks for calls are on */
static bool is_registered;                /* buffers and clock are ours */

void gv_switch_prepare(const struct gv_gpu_host *given, void (*given_hurry)(void))
{
    host = given;
    hurry = given_hurry;
}

/* ---- CUPTI's callbacks, on the program's threads ---- */

static uint32_t *correlation_here(void)
{
    return (uint32_t *)(void *)(gv_gpu_thread_pointer() + host->correlation_offset);
}

/* The number of the change that stopped recording; 0: it is on. A forked child has no header. */
static uint32_t stop_now(void)
{
    const struct gv_spool_header *header = host->spool->header;
    uint32_t changes = header ? atomic_load(&header->control.changes) : 0;

    return changes & 1 ? changes : 0;
}

static void on_called(uint32_t correlation)
{
    uint32_t stop = stop_now();

    *correlation_here() = correlation;
    if (__builtin_expect(stop, 0))
        gv_unrecorded_note(stop, correlation);
}

static void on_module_loaded(const CUpti_ResourceData *resource)
{
    const CUpti_ModuleResourceData *module = resource->resourceDescriptor;
    struct gv_record_gpu_module loaded = {
        .at_ns = host->now_ns(),
        .bytes = module ? module->cubinSize : 0,
        .module = module ? module->moduleId : 0,
        .correlation = *correlation_here(),
        .tid = (uint32_t)syscall(SYS_gettid),
    };

    if (module && gv_loaded_note(&loaded, module->pCubin))
        hurry();
}

/* CUPTI calls back for each node of a graph that is instantiated, too, once as created and once as
 * a clone. */
static void on_node(const CUpti_GraphData *graph, bool is_clone)
{
    uint64_t node = 0, original = 0;

    if (!graph || gv_cupti.cuptiGetGraphNodeId(graph->node, &node) != CUPTI_SUCCESS)
        return;
    if (is_clone && gv_cupti.cuptiGetGraphNodeId(graph->originalNode, &original) != CUPTI_SUCCESS)
        return;
    host->note_node(node, original, graph->nodeType == CU_GRAPH_NODE_TYPE_GRAPH);
}

static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *resource)
{
    int saved_errno = errno;

    if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED && !stop_now())
        on_module_loaded(resource);
    else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
             id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
        on_node(resource->resourceDescriptor, id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
    errno = saved_errno;
}

static void CUPTIAPI on_callback(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    const CUpti_CallbackData *call = data;

    (void)context;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        if (call->callbackSite == CUPTI_API_ENTER)
            on_called(call->correlationId);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        on_resource(id, data);
    }
}

static void CUPTIAPI give_buffer(uint8_t **data, size_t *bytes, size_t *records_most)
{
    gv_buffers_give(data, bytes, records_most);
    if (gv_buffers_are_short())
        hurry();
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *data, size_t bytes,
                                 size_t used)
{
    gv_buffers_take(context, stream, data, bytes, used);
    if (gv_buffers_are_many())
        hurry();
}

static uint64_t CUPTIAPI now(void)
{
    return host->now_ns();
}

/* What CUPTI uses if no clock was registered (measured: CUPTI 13.0, driver 580). CUPTI refuses to
 * unregister ours: NULL is an error. */
static uint64_t CUPTIAPI realtime(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- starting ---- */

void gv_switch_explain(char why[GV_SPOOL_WHY_BYTES], CUptiResult result, const char *what,
                       const char *then)
{
    const char *text = NULL;

    if (gv_cupti.cuptiGetResultString(result, &text) != CUPTI_SUCCESS)
        text = NULL;
    snprintf(why, GV_SPOOL_WHY_BYTES, "%s failed with %d, %.60s: %s", what, (int)result,
             text ? text : "unknown", then);
}

static int refuse(CUptiResult result, const char *what)
{
    gv_switch_explain(host->why, result, what,
                      "set GPUVERIFY_CUPTI to a libcupti of the driver's version");
    return -EIO;
}

static int refuse_second(const char *other)
{
    snprintf(host->why, GV_SPOOL_WHY_BYTES,
             "another profiler already uses CUPTI%s%.60s: run without it", other[0] ? ": " : "",
             other);
    return -EBUSY;
}

/* -EBUSY: another profiler has the subscription. */
static int subscribe(void)
{
    char other[64] = "";
    CUpti_SubscriberParams parameters = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                         .subscriberName = "gpuverify",
                                         .oldSubscriberName = other,
                                         .oldSubscriberSize = sizeof other};
    CUptiResult result =
        gv_cupti.cuptiSubscribe_v2
            ? gv_cupti.cuptiSubscribe_v2(&subscriber, on_callback, NULL, &parameters)
            : gv_cupti.cuptiSubscribe(&subscriber, on_callback, NULL);

    if (result == CUPTI_SUCCESS)
        return 0;
    subscriber = NULL;
    other[sizeof other - 1] = 0;
    return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
               ? refuse_second(other)
               : refuse(result, "cuptiSubscribe");
}

static bool is_correlated(const char *name)
{
    int api = gv_api_find(name);

    return api != GV_API_UNKNOWN && gv_call_kinds[gv_api_rows[api].kind].flags & GV_CALL_CORRELATED;
}

static void watch_resource(CUpti_CallbackId id)
{
    gv_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
}

static int watch_calls(void)
{
    CUptiResult unnamed_with = CUPTI_SUCCESS;
    uint32_t unnamed = 0, watched = 0;

    for (uint32_t id = 1; id < CALLBACKS && unnamed < CALLBACK_GAP; id++) {
        const char *name = NULL;
        CUptiResult result = gv_cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name);
        if (result != CUPTI_SUCCESS || !name) {
            unnamed_with = result;
            unnamed++;
            continue;
        }
        unnamed = 0;
        if (!is_correlated(name))
            continue;
        result = gv_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
        if (result != CUPTI_SUCCESS)
            return refuse(result, "cuptiEnableCallback");
        watched++;
    }
    /* Operations without their calls are useless. */
    if (watched == 0)
        return refuse(unnamed_with, "cuptiGetCallbackName");
    watch_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED);
    if (host->graph_nodes && gv_cupti.cuptiGetGraphNodeId) {
        watch_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
        watch_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
    }
    is_watching = true;
    return 0;
}

/* `needed`: without it there is no GPU side. The others exist only in later versions.
 * `of_peers`: only from gv_switch_records_peers() on. */
static const struct {
    CUpti_ActivityKind kind;
    bool needed, of_peers;
} kinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true, false},
    {CUPTI_ACTIVITY_KIND_MEMCPY, true, false},
    {CUPTI_ACTIVITY_KIND_MEMSET, true, false},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, false, true},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, false, false},
    {CUPTI_ACTIVITY_KIND_JIT, false, false},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static bool has_peers;

/* Launches of graphs as a whole: are they recorded, and how many graphs know of it? */
static bool has_whole_graphs;
static uint32_t graphs_known;

/* If CUPTI knows all graphs (struct gv_gpu_graphs). Otherwise graphs are recorded node by node. */
static void enable_whole_graphs(void)
{
    const struct gv_gpu_graphs *graphs = host->graphs;
    bool may = !host->graph_nodes && atomic_load(&graphs->begun) == graphs_known;

    has_whole_graphs =
        may && gv_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == CUPTI_SUCCESS;
    if (has_whole_graphs && atomic_load(&graphs->begun) != graphs_known) {
        gv_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
        has_whole_graphs = false;
    }
    atomic_store(&host->spool->header->gpu.whole_graphs, has_whole_graphs);
}

/* One that is being instantiated is not known: then `begun` is never again what is known. */
static void disable_whole_graphs(void)
{
    if (!has_whole_graphs)
        return;
    graphs_known = atomic_load(&host->graphs->ended);
    gv_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    has_whole_graphs = false;
}

static int enable_kinds(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        CUptiResult result;

        if (kinds[i].of_peers && !has_peers)
            continue;
        result = gv_cupti.cuptiActivityEnable(kinds[i].kind);
        if (result != CUPTI_SUCCESS && kinds[i].needed)
            return refuse(result, "cuptiActivityEnable");
    }
    enable_whole_graphs();
    return 0;
}

/* CUPTI need not zero the buffers; an older one
 * ignores this. */
static void set_zeroed(uint8_t zeroed)
{
    size_t bytes = sizeof zeroed;

    gv_cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes,
                                       &zeroed);
}

static int register_buffers(void)
{
    CUptiResult result;
    size_t bytes = sizeof others_zeroed;

    if (is_registered)
        return 0;
    gv_buffers_leave(false);
    is_registered = true;
    result = gv_cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (result != CUPTI_SUCCESS)
        return refuse(result, "cuptiActivityRegisterCallbacks");
    result = gv_cupti.cuptiActivityRegisterTimestampCallback(now);
    if (result != CUPTI_SUCCESS)
        return refuse(result, "cuptiActivityRegisterTimestampCallback");
    if (gv_cupti.cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes,
                                           &others_zeroed) != CUPTI_SUCCESS)
        others_zeroed = 0;
    set_zeroed(1);
    return 0;
}

void gv_switch_buffer_callbacks(void **give, void **take)
{
    *give = (void *)give_buffer;
    *take = (void *)take_buffer;
}

/* ---- on and off ---- */

int gv_switch_on(bool or_less, enum gv_recording *recording)
{
    int error = subscriber ? 0 : subscribe();

    *recording = GV_RECORDING_ALL;
    if (error == -EBUSY && or_less) {
        *recording = GV_RECORDING_OPERATIONS;
        error = 0;
    }
    if (error)
        return error;
    error = register_buffers();
    if (!error && subscriber && !is_watching)
        error = watch_calls();
    if (!error)
        error = enable_kinds();
    if (!error)
        return 0;
    gv_switch_records_off();
    gv_switch_off();
    return error;
}

void gv_switch_records_peers(bool now)
{
    has_peers = true;
    for (size_t i = 0; now && i < KINDS; i++)
        if (kinds[i].of_peers)
            gv_cupti.cuptiActivityEnable(kinds[i].kind);
}

void gv_switch_records_off(void)
{
    disable_whole_graphs();
    for (size_t i = 0; i < KINDS; i++)
        gv_cupti.cuptiActivityDisable(kinds[i].kind);
    if (!subscriber)
        return;
    gv_cupti.cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    gv_cupti.cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
    is_watching = false;
    gv_pause_ns(LEAVE_CALLBACKS_NS);
    gv_cupti.cuptiUnsubscribe(subscriber);
    subscriber = NULL;
}

void gv_switch_off(void)
{
    CUpti_TimestampCallbackFunc clock = NULL;

    *(void **)&clock = atomic_load(&host->other->clock);
    gv_cupti.cuptiActivityRegisterTimestampCallback(clock ? clock : realtime);
    set_zeroed(others_zeroed);
    gv_buffers_leave(true);
    is_registered = false;
}
