#include "preload/calls.h"

#include "preload/clock.h"
#include "preload/entry_points.h"
#include "preload/gpu_start.h"
#include "preload/loads.h"
#include "preload/names.h"
#include "preload/thread.h"

#include <errno.h>
#include <string.h>

/* ---- beginning ---- */

static void enter_outermost(struct gv_call *call, struct gv_thread *thread)
{
    struct gv_spool_slot *slot = thread->slot;
    uint64_t now_ns = gv_clock_now_ns();

    call->start_ns = now_ns;
    thread->outer_start_ns = now_ns;
    thread->outer_frame = (uintptr_t)call;
    thread->outer_api = call->api;
    thread->launched = 0;
    thread->loaded = 0;
    thread->correlation = 0;
    atomic_store_explicit(&slot->start_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->api_plus_one, call->api + 1u, memory_order_release);
}

void gv_call_begin(struct gv_call *call, enum gv_api_id api)
{
    struct gv_thread *thread = &gv_thread;

    call->api = (uint16_t)api;
    /* A longjmp() out of a call leaves its depth behind; but what is inside it lies below it. */
    if (__builtin_expect(thread->depth != 0, 0) && (uintptr_t)call > thread->outer_frame)
        thread->depth = 0;
    call->depth = thread->depth;
    thread->depth = call->depth + 1;
    call->live = gv_thread_is_live(thread) || gv_thread_join(thread);
    if (!call->live)
        return;
    if (call->depth == 0)
        enter_outermost(call, thread);
    else if (gv_api_rows[api].class == GV_CLASS_LOAD)
        call->start_ns = gv_clock_now_ns();
}

/* ---- what a call tells ---- */

static uint64_t context_now(struct gv_thread *thread)
{
    void *context = NULL;

    if (thread->context)
        return thread->context;
    if (gv_driver_calls.context_get_current && gv_driver_calls.context_get_current(&context) == 0)
        thread->context = (uint64_t)(uintptr_t)context;
    return thread->context;
}

/* A kernel that nobody named to us: from cuModuleEnumerateFunctions(), say. Its own number. */
static uint32_t ask_driver_for_name(struct gv_thread *thread, uint64_t handle)
{
    const char *name = NULL;
    uint32_t kernel = 0;
    int error = -1;

    if (gv_driver_calls.function_get_name)
        error = gv_driver_calls.function_get_name(&name, (void *)(uintptr_t)handle);
    if (error && gv_driver_calls.kernel_get_name)
        error = gv_driver_calls.kernel_get_name(&name, (void *)(uintptr_t)handle);
    if (error || !name || !gv_names_add(handle, 0, &kernel))
        return kernel;
    gv_loads_write_name(thread, kernel, handle, 0, name);
    return kernel;
}

static uint32_t kernel_number(struct gv_thread *thread, uint64_t handle, bool may_ask)
{
    struct gv_names_answer answer;

    if (!handle)
        return 0;
    answer = gv_names_find(handle);
    if (__builtin_expect(answer.name != NULL, 0))
        gv_loads_write_name(thread, answer.kernel, handle, answer.owner, answer.name);
    if (__builtin_expect(answer.kernel == 0, 0) && may_ask)
        return ask_driver_for_name(thread, handle);
    return answer.kernel;
}

/* The kernel of a launch: by the handle it was given, or by that of the driver call inside it. */
static uint32_t launched_kernel(struct gv_thread *thread, const struct gv_facts *facts)
{
    bool is_driver_call = thread->outer_api < GV_DRIVER_COUNT;
    uint32_t kernel = kernel_number(thread, facts->kernel, is_driver_call);

    if (!kernel && thread->launched)
        kernel = kernel_number(thread, thread->launched, true);
    return kernel;
}

static void tell_facts(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                       uint64_t end_ns, const struct gv_facts *facts)
{
    int saved_errno = errno;

    switch ((enum gv_fact)facts->what) {
    case GV_FACT_LOADS_IMAGE:
    case GV_FACT_LOADS_FILE:
    case GV_FACT_LINKS_IMAGE:
    case GV_FACT_LINKS_FILE:
        gv_loads_write(thread, call, result, end_ns, facts);
        break;
    case GV_FACT_NAMES:
        gv_loads_note_name(thread, facts, result);
        break;
    case GV_FACT_ALIASES:
        if (result == 0)
            gv_names_alias(facts->made, facts->owner);
        break;
    case GV_FACT_UNLOADS:
        if (result == 0)
            gv_loads_write_unload(thread, facts);
        break;
    case GV_FACT_NONE:
        break;
    }
    errno = saved_errno;
}

/* ---- ending ---- */

static void count_lost(enum gv_api_class class)
{
    atomic_fetch_add_explicit(&gv_process.spool.header->lost.calls[class], 1, memory_order_relaxed);
}

static void write_call(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                       uint64_t end_ns, const struct gv_facts *facts)
{
    enum gv_api_class class = gv_api_rows[call->api].class;
    uint32_t kernel = 0;
    uint64_t context;
    union gv_record *record;

    if (class == GV_CLASS_LAUNCH)
        kernel = launched_kernel(thread, facts);
    context = context_now(thread);
    record = gv_thread_reserve(thread, gv_api_class_rows[class].kept);
    if (__builtin_expect(!record, 0)) {
        count_lost(class);
        return;
    }
    record->call = (struct gv_record_call){
        .head = {.kind = GV_RECORD_CALL,
                 .flags = (uint8_t)(facts->flags | (context ? GV_RECORD_HAS_CONTEXT : 0)),
                 .api = call->api,
                 .result = result},
        .start_ns = call->start_ns,
        .duration_ns = end_ns - call->start_ns,
        .stream = facts->stream,
        .context = context,
        .bytes = facts->bytes,
        .object = facts->object,
        .kernel = kernel,
        .correlation = thread->correlation,
    };
    gv_thread_publish(thread);
}

static void end_outermost(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                          const struct gv_facts *facts)
{
    uint64_t end_ns = gv_clock_now_ns();
    enum gv_api_class class = gv_api_rows[call->api].class;

    if (__builtin_expect(class == GV_CLASS_CONTEXT || class == GV_CLASS_INIT, 0)) {
        thread->context = 0;
        gv_process_note_driver();
    }
    if (__builtin_expect(facts->what != GV_FACT_NONE, 0))
        tell_facts(thread, call, result, end_ns, facts);
    write_call(thread, call, result, end_ns, facts);
    atomic_store_explicit(&thread->slot->api_plus_one, 0, memory_order_release);
    if (__builtin_expect(class == GV_CLASS_INIT, 0) && result == 0)
        gv_gpu_start(thread);
}

static void end_nested(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                       const struct gv_facts *facts)
{
    enum gv_api_class class = gv_api_rows[call->api].class;

    if (class == GV_CLASS_LAUNCH)
        thread->launched = facts->kernel;
    else if (class == GV_CLASS_CONTEXT || class == GV_CLASS_INIT)
        thread->context = 0;
    if (facts->what != GV_FACT_NONE)
        tell_facts(thread, call, result, gv_clock_now_ns(), facts);
    if (class == GV_CLASS_INIT && result == 0)
        gv_gpu_start(thread);
}

void gv_call_end(struct gv_call *call, int32_t result, const struct gv_facts *facts)
{
    struct gv_thread *thread = &gv_thread;

    thread->depth = call->depth;
    /* A fork inside the call: the child's half of it is not the child's to record. */
    if (__builtin_expect(!call->live || !gv_thread_is_live(thread), 0))
        return;
    if (__builtin_expect(call->depth == 0, 1))
        end_outermost(thread, call, result, facts);
    else
        end_nested(thread, call, result, facts);
}

uint32_t gv_call_before_unload(uint64_t owner)
{
    return gv_names_void_owner((uintptr_t)owner);
}

/* ---- exceptions ---- */

#define UNWIND_CLEANUP_PHASE 2
#define UNWIND_CONTINUE      8

int gv_unwind_personality(int version, int actions, uint64_t exception_class, void *exception,
                          void *context);

/* Called by the unwinder for each of our frames that an exception passes. */
int gv_unwind_personality(int version, int actions, uint64_t exception_class, void *exception,
                          void *context)
{
    static const struct gv_facts nothing;
    struct gv_thread *thread = &gv_thread;

    (void)version;
    (void)exception_class;
    (void)exception;
    (void)context;
    if (!(actions & UNWIND_CLEANUP_PHASE) || thread->depth == 0)
        return UNWIND_CONTINUE;
    thread->depth--;
    if (thread->depth == 0 && gv_thread_is_live(thread)) {
        struct gv_call call = {.start_ns = thread->outer_start_ns, .api = thread->outer_api};
        struct gv_facts facts = nothing;

        facts.flags = GV_RECORD_UNWOUND;
        end_outermost(thread, &call, 0, &facts);
    }
    return UNWIND_CONTINUE;
}
