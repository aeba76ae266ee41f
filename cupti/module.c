/*
 * The module: switches CUPTI on, runs the thread that fetches records, and answers CUPTI's
 * callbacks.
 *
 * On the program's threads, only starting calls CUPTI. There is no cuptiFinalize() and no
 * unloading: the program may be inside CUPTI on another thread.
 */
#include "trace/gpu_module.h"
/* Before CUDA's headers, which rename calls by macros. */
#include "trace/call_table.h"

#include "cupti/buffers.h"
#include "cupti/library.h"
#include "cupti/loaded.h"
#include "cupti/output.h"
#include "trace/futex.h"
#include "trace/session_id.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES   (2u << 20) /* the program's exit handlers may run on it */
#define CALLBACKS     4096u      /* more than any CUPTI has */
#define CALLBACK_GAP  64u        /* after this many numbers without a name, there are no more */
#define ASKING_TRIES  100        /* of 2 ms, for a thread that is just requesting a buffer */
#define FIRST_MOST_NS 500000000  /* usually 0.1 ms, but CUPTI may hang */

static struct gv_gpu_host host;
static CUpti_SubscriberHandle subscriber;

enum flush_all {
    FLUSH_NOTHING,
    FLUSH_EVERYTHING, /* and go on */
    FLUSH_LAST,
};
static _Atomic uint32_t asked;    /* futex: enum flush_all */
static _Atomic uint32_t answered; /* futex: what was done */
static _Atomic uint32_t is_ready; /* futex: the fetching thread has flushed once */

/* ---- CUPTI's callbacks, on the program's threads ---- */

static uint32_t *correlation_here(void)
{
    return (uint32_t *)(void *)(gv_gpu_thread_pointer() + host.correlation_offset);
}

static void on_module_loaded(const CUpti_ResourceData *resource)
{
    const CUpti_ModuleResourceData *module = resource->resourceDescriptor;
    struct gv_record_gpu_module loaded = {
        .at_ns = host.now_ns(),
        .bytes = module ? module->cubinSize : 0,
        .module = module ? module->moduleId : 0,
        .correlation = *correlation_here(),
        .tid = (uint32_t)syscall(SYS_gettid),
    };

    if (module && gv_loaded_note(&loaded, module->pCubin))
        gv_futex_wake(&asked); /* flushes before its time */
}

static void CUPTIAPI on_callback(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    const CUpti_CallbackData *call = data;

    (void)context;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        if (call->callbackSite == CUPTI_API_ENTER)
            *correlation_here() = call->correlationId;
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
        int saved_errno = errno;

        on_module_loaded(data);
        errno = saved_errno;
    }
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *data, size_t bytes,
                                 size_t used)
{
    gv_buffers_take(context, stream, data, bytes, used);
    if (gv_buffers_are_many())
        gv_futex_wake(&asked); /* see await_request() */
}

static uint64_t CUPTIAPI now(void)
{
    return host.now_ns();
}

/* ---- starting ---- */

/* Writes the reason for the trace; `then` is the consequence. */
static void explain_failure(char *why, CUptiResult result, const char *what, const char *then)
{
    const char *text = NULL;

    if (gv_cupti.cuptiGetResultString(result, &text) != CUPTI_SUCCESS)
        text = NULL;
    snprintf(why, GV_SPOOL_WHY_BYTES, "%s failed with %d, %.60s: %s", what, (int)result,
             text ? text : "unknown", then);
}

static int refuse(CUptiResult result, const char *what)
{
    explain_failure(host.why, result, what,
                    "set GPUVERIFY_CUPTI to a libcupti of the driver's version");
    return -EIO;
}

static int refuse_second(const char *other)
{
    snprintf(host.why, GV_SPOOL_WHY_BYTES,
             "another profiler already uses CUPTI%s%.60s: run without it", other[0] ? ": " : "",
             other);
    return -EBUSY;
}

static int subscribe(void)
{
    char other[64] = "";
    CUpti_SubscriberParams parameters = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                         .subscriberName = "gpuverify",
                                         .oldSubscriberName = other,
                                         .oldSubscriberSize = sizeof other};
    CUptiResult result;

    if (gv_cupti.cuptiSubscribe_v2)
        result = gv_cupti.cuptiSubscribe_v2(&subscriber, on_callback, NULL, &parameters);
    else
        result = gv_cupti.cuptiSubscribe(&subscriber, on_callback, NULL);
    other[sizeof other - 1] = 0;
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return refuse_second(other);
    return result == CUPTI_SUCCESS ? 0 : refuse(result, "cuptiSubscribe");
}

static bool is_correlated(const char *name)
{
    int api = gv_api_find(name);

    return api != GV_API_UNKNOWN && gv_call_kinds[gv_api_rows[api].kind].flags & GV_CALL_CORRELATED;
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
    gv_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                 CUPTI_CBID_RESOURCE_MODULE_LOADED);
    return 0;
}

/* `needed`: without it there is no GPU side. The others exist only in later versions. */
static const struct {
    CUpti_ActivityKind kind;
    bool needed;
} kinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true},
    {CUPTI_ACTIVITY_KIND_MEMCPY, true},
    {CUPTI_ACTIVITY_KIND_MEMSET, true},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, false},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, false},
    {CUPTI_ACTIVITY_KIND_JIT, false},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, false},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static int enable_kinds(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        CUptiResult result;

        if (kinds[i].kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && host.graph_nodes)
            continue;
        result = gv_cupti.cuptiActivityEnable(kinds[i].kind);
        if (result != CUPTI_SUCCESS && kinds[i].needed)
            return refuse(result, "cuptiActivityEnable");
        if (result == CUPTI_SUCCESS && kinds[i].kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
            atomic_store(&host.spool->header->gpu.whole_graphs, 1);
    }
    return 0;
}

static int register_buffers(void)
{
    uint8_t zeroed = 1;
    size_t bytes = sizeof zeroed;
    CUptiResult result = gv_cupti.cuptiActivityRegisterCallbacks(gv_buffers_give, take_buffer);

    if (result != CUPTI_SUCCESS)
        return refuse(result, "cuptiActivityRegisterCallbacks");
    result = gv_cupti.cuptiActivityRegisterTimestampCallback(now);
    if (result != CUPTI_SUCCESS)
        return refuse(result, "cuptiActivityRegisterTimestampCallback");
    /* CUPTI need not zero the buffers; an older one ignores this. */
    gv_cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes,
                                       &zeroed);
    return 0;
}

static void switch_off(void)
{
    for (size_t i = 0; i < KINDS; i++)
        gv_cupti.cuptiActivityDisable(kinds[i].kind);
    gv_cupti.cuptiUnsubscribe(subscriber);
}

/* ---- the fetching thread ---- */

static void note_dropped(void)
{
    size_t dropped = 0;

    if (gv_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped)
        atomic_fetch_add_explicit(&host.spool->header->gpu.dropped, dropped, memory_order_relaxed);
}

/* Only for the fetching thread: records are missing, and nobody else counts them. */
static bool failed;

static void note_failure(CUptiResult result, const char *what)
{
    if (result == CUPTI_SUCCESS || failed)
        return;
    failed = true;
    explain_failure(host.spool->header->gpu.why, result, what,
                    "some or all of what ran on the GPU is missing");
    atomic_fetch_or(&host.spool->header->gpu.interrupted, GV_GPU_FAILED);
}

static void read_full(void)
{
    struct gv_buffer *buffer, *next;

    for (buffer = gv_buffers_full(); buffer; buffer = next) {
        next = buffer->next;
        note_failure(gv_records_read(buffer), "cuptiActivityGetNextRecord");
        gv_buffers_recycle(buffer);
    }
    gv_buffers_refill();
}

/* For the trace: what the thread has used so far. */
static void note_own_cost(void)
{
    struct gv_own_cost_total *total = &host.spool->header->own_cost[GV_OWN_COST_THREAD];
    struct timespec used = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    atomic_fetch_add_explicit(&total->count, 1, memory_order_relaxed);
    atomic_store_explicit(&total->total_ns,
                          (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec,
                          memory_order_relaxed);
}

static void flush(bool forced)
{
    uint64_t before_ns = host.now_ns();

    note_failure(gv_cupti.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0),
                 "cuptiActivityFlushAll");
    gv_loaded_write();
    read_full();
    for (uint64_t unread = gv_buffers_unread(); unread > 0; unread--)
        gv_output_count_lost();
    note_dropped();
    atomic_store_explicit(&host.spool->header->gpu.flushed_ns, before_ns, memory_order_release);
    note_own_cost();
}

/* The thread that asked for everything continued without it, and so did the program: this is not
 * the end. */
static _Atomic bool fetch_timed_out;

/* CUPTI may be gone after the exit handlers that follow FLUSH_LAST, so nothing calls it after
 * that. */
static void flush_all(enum flush_all which)
{
    gv_buffers_mark();
    flush(true);
    /* A buffer that a program's thread is just requesting comes with a later flush. */
    for (int i = 0; i < ASKING_TRIES && gv_buffers_marked() > 0; i++) {
        gv_pause_ns(2000000);
        flush(true);
    }
    /* A forced flush returns every buffer, unless they now go to another profiler's callback. */
    if (gv_buffers_marked() > 0)
        atomic_fetch_or(&host.spool->header->gpu.interrupted, GV_GPU_TAKEN_OVER);
    if (!failed && (which == FLUSH_LAST || !atomic_load(&fetch_timed_out)))
        atomic_store(&host.spool->header->gpu.finished, 1);
    atomic_store(&answered, which);
    gv_futex_wake(&answered);
}

static void flush_as_asked(void)
{
    uint32_t everything = FLUSH_EVERYTHING;

    if (atomic_compare_exchange_strong(&asked, &everything, FLUSH_NOTHING))
        flush_all(FLUSH_EVERYTHING);
    else if (everything == FLUSH_NOTHING)
        flush(false);
}

/* Waits for a request, or for the time of the next fetch. A busy GPU fills more buffers until then
 * than should pile up: those are read without a flush. */
static void await_request(void)
{
    uint64_t end_ns = gv_monotonic_ns() + (uint64_t)host.flush_ms * 1000000u;

    while (gv_futex_wait_until(&asked, FLUSH_NOTHING, end_ns) && gv_buffers_are_many())
        read_full();
}

/*
 * Runs until the last flush is requested and done, or no other thread is left. libc ends a process
 * with its last thread, which is then this one.
 */
static void *run(void *context)
{
    (void)context;
    prctl(PR_SET_NAME, "gpuverify-gpu");
    /* Makes CUPTI allocate its per-thread data now: the program may run out of memory later, and
     * the dynamic loader would then end it. */
    flush(false);
    atomic_store(&is_ready, 1);
    gv_futex_wake(&is_ready);
    while (atomic_load(&asked) != FLUSH_LAST && !gv_session_is_last_thread()) {
        await_request();
        flush_as_asked();
    }
    flush_all(FLUSH_LAST);
    return NULL;
}

/* ---- what the library calls ---- */

/* If no step has given a reason. */
static int explain(int error)
{
    if (error && !host.why[0])
        snprintf(host.why, GV_SPOOL_WHY_BYTES, "out of memory or threads: %s", strerror(-error));
    return error;
}

static int start(const struct gv_gpu_host *given)
{
    struct gv_spool_gpu *gpu = &given->spool->header->gpu;
    int error;

    host = *given;
    error =
        gv_cupti_library_open(host.cupti_path, host.driver_version, host.why, GV_SPOOL_WHY_BYTES);
    if (!error && !host.is_wanted())
        error = -ECANCELED;
    if (error)
        return error;
    snprintf(gpu->library, sizeof gpu->library, "%s", gv_cupti.path);
    atomic_store(&gpu->cupti_version, gv_cupti.version);
    gv_output_start(host.spool);
    error = gv_buffers_prepare();
    if (!error)
        error = subscribe();
    if (error)
        return explain(error);
    error = register_buffers();
    if (!error)
        error = watch_calls();
    if (!error)
        error = enable_kinds();
    if (!error)
        atomic_store(&gpu->started_ns, host.now_ns());
    if (!error && !host.claim())
        error = -ECANCELED;
    if (!error)
        error = host.start_thread(run, NULL, STACK_BYTES);
    if (error)
        switch_off();
    else
        gv_futex_wait(&is_ready, 0, FIRST_MOST_NS);
    return explain(error);
}

/* Whether it was done in time. */
static bool await_answer(enum flush_all which, uint64_t patience_ns)
{
    uint64_t end_ns = gv_monotonic_ns() + patience_ns;
    uint32_t known;

    gv_futex_wake(&asked);
    while ((known = atomic_load(&answered)) < (uint32_t)which)
        if (!gv_futex_wait_until(&answered, known, end_ns))
            return false;
    return true;
}

static void finish(uint64_t patience_ns)
{
    atomic_store(&asked, FLUSH_LAST);
    await_answer(FLUSH_LAST, patience_ns);
    gv_output_hurry();
}

static bool fetch(uint64_t patience_ns)
{
    uint32_t nothing = FLUSH_NOTHING, everything = FLUSH_EVERYTHING;

    atomic_compare_exchange_strong(&answered, &everything, FLUSH_NOTHING);
    if (!atomic_compare_exchange_strong(&asked, &nothing, FLUSH_EVERYTHING))
        return true;
    atomic_store(&fetch_timed_out, false);
    if (await_answer(FLUSH_EVERYTHING, patience_ns))
        return true;
    atomic_store(&fetch_timed_out, true);
    return false;
}

__attribute__((visibility("default"))) extern const struct gv_gpu_module gv_gpu_module;
const struct gv_gpu_module gv_gpu_module = {
    .version = GV_GPU_MODULE_VERSION,
    .start = start,
    .finish = finish,
    .fetch = fetch,
};
