#include "preload/hooks/calls.h"

#include "preload/base/budget.h"
#include "preload/base/clock.h"
#include "preload/base/own_work.h"
#include "preload/base/thread.h"
#include "preload/bind/entry_points.h"
#include "preload/hooks/gates.h"
#include "preload/hooks/names.h"
#include "preload/hooks/run_delay.h"
#include "preload/sample/pairs.h"
#include "preload/stacks/samples.h"
#include "preload/stacks/stacks.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* Smaller allocations of device memory are ordinary: allocators ask CUDA for 2 MB and more at a
 * time, and a GPU has tens of thousands of MB. */
#define GV_ALLOCATION_BYTES (1u << 20)

/* Why a sampled call gets a stack; any other number is its `one_of`. */
#define GV_NOT_CHOSEN    0u
#define GV_FIRST_OF_SITE UINT32_MAX

_Static_assert(offsetof(struct gv_process_own, changes) == GV_GATE_CHANGES, "GV_GATE_CHANGES");
_Static_assert(offsetof(struct gv_thread, context) == GV_GATE_CONTEXT, "GV_GATE_CONTEXT");
_Static_assert(offsetof(struct gv_thread, depth) == GV_GATE_DEPTH, "GV_GATE_DEPTH");

static void end_outermost(struct gv_thread *thread, struct gv_call *call, int32_t result,
                          uint64_t end_ns, const struct gv_facts *facts, uint32_t chosen);

/* The depth stays until the record is written: calls of a handler in between are nested, find
 * the group open, and count as lost. */
static inline void leave_outermost(struct gv_thread *thread)
{
    atomic_store_explicit(&thread->slot->api_plus_one, 0, memory_order_release);
    thread->depth = 0;
    gv_thread_end_group(thread, false);
}

static void count_lost(enum gv_api_class class)
{
    atomic_fetch_add_explicit(&gv_process.spool.header->lost.calls[class], 1, memory_order_relaxed);
}

/* ---- what a hook costs ---- */

/* One call in so many is measured, by two more readings of the clock: of its hook, what runs before
 * the real call's first reading, and after its second. Without the hooks of calls inside, those
 * with a stack or a reading of the scheduler, and those of more than GV_OWN_COST_HOOK_MOST_NS,
 * which were probably interrupted. */
#define GV_HOOKS_MEASURED 256u

/* At random: by a hash of when the call before began. */
static inline bool is_measured(const struct gv_thread *thread)
{
    return (uint32_t)thread->outer_start_ns * UINT32_C(0x9e3779b1) < UINT32_MAX / GV_HOOKS_MEASURED;
}

__attribute__((noinline)) static void note_hook(const struct gv_call *call, uint64_t end_ns)
{
    uint64_t took_ns = call->start_ns - call->hook_ns + gv_clock_now_ns() - end_ns;

    if (took_ns < GV_OWN_COST_HOOK_MOST_NS && gv_thread_is_live(&gv_thread))
        gv_own_cost_add(gv_process.spool.header->own_cost, GV_OWN_COST_HOOKS, took_ns);
}

/* ---- kernels ---- */

static uint32_t kernel_number(struct gv_thread *thread, uint64_t handle)
{
    struct gv_names_answer answer = gv_names_find(handle);

    if (__builtin_expect(answer.name != NULL, 0)) {
        bool inside = gv_thread_begin_group(thread);

        gv_loads_write_name(thread, answer.kernel, handle, 0, answer.name);
        gv_thread_end_group(thread, inside);
    }
    return answer.kernel;
}

/* ---- beginning ---- */

/* Each call runs through it: as a function of its own, it would save four registers more. */
static inline __attribute__((always_inline)) void
enter_outermost(struct gv_call *call, struct gv_thread *thread, const struct gv_facts *facts)
{
    struct gv_spool_slot *slot = thread->slot;
    uint64_t now_ns;

    call->kernel = facts->kernel ? kernel_number(thread, facts->kernel) : 0;
    now_ns = gv_clock_now_ns();
    call->start_ns = now_ns;
    thread->outer_start_ns = now_ns;
    thread->outer_frame = (uintptr_t)call;
    thread->outer_api = call->api;
    /* A handler came between the last two stores of leave_outermost(), and jumped. */
    if (__builtin_expect(thread->jumped_ns != 0, 0))
        gv_thread_end_group(thread, false);
    thread->jumped_ns = 0;
    thread->launched = 0;
    thread->loaded = 0;
    thread->adds_node = false;
    atomic_store_explicit(&slot->stream, facts->stream, memory_order_release);
    atomic_store_explicit(&slot->detail, call->kernel, memory_order_release);
    thread->correlation = 0;
    atomic_store_explicit(&slot->start_ns, now_ns, memory_order_release);
    atomic_store_explicit(&slot->api_plus_one, call->api + 1u, memory_order_release);
}

/* A signal handler with a stack of its own, at any address. */
static bool is_on_other_stack(void)
{
    stack_t stack;

    return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

/*
 * Whether this thread's last call is over without having ended: it longjmp()ed, or that call's
 * stack is gone, because calls inside a call are deeper on the stack.
 */
static bool was_left(const struct gv_thread *thread, const struct gv_call *call)
{
    return thread->jumped_ns || ((uintptr_t)call > thread->outer_frame && !is_on_other_stack());
}

#define ROW_SEARCHED 8u /* records behind a call's own: its stack, its names */

/* The jump may have come from a handler when the row was written. */
static bool has_row(const struct gv_thread *thread)
{
    const union gv_record *at = thread->next;

    for (unsigned i = 0; i < ROW_SEARCHED && thread->segment && at > thread->segment->records; i++)
        if ((--at)->call.head.kind == GV_RECORD_CALL && at->call.start_ns == thread->outer_start_ns)
            return true;
    return false;
}

/* The outermost call was left by a jump or an exception. It becomes exactly one row; a handler's
 * call may come first. */
static void abandon(struct gv_thread *thread, uint64_t end_ns)
{
    struct gv_call call = {.start_ns = thread->outer_start_ns,
                           .correlation = thread->correlation,
                           .api = thread->outer_api,
                           .class = (uint8_t)gv_api_rows[thread->outer_api].class};
    struct gv_facts facts = {.flags = GV_RECORD_UNWOUND};

    gv_thread_begin_group(thread); /* or the jump came from a handler, so it continues */
    thread->jumped_ns = 0;
    thread->outer_frame = UINTPTR_MAX; /* from here on no other call uses it */
    atomic_signal_fence(memory_order_seq_cst);
    if (!gv_thread_is_live(thread)) {
        thread->depth = 0;
        gv_thread_end_group(thread, false);
        return;
    }
    if (thread->depth != 0 && !has_row(thread))
        end_outermost(thread, &call, -1, end_ns, &facts, GV_NOT_CHOSEN);
    leave_outermost(thread);
}

static bool is_skipped(const struct gv_call *call)
{
    return gv_process_is_stopped() && (call->traits & GV_TRAIT_SKIPPED);
}

/* A nested call, a thread's first one, or one while the GPU side is being started. A separate
 * function, so that the others save fewer registers. */
__attribute__((noinline)) static void begin_rarely(struct gv_call *call, struct gv_thread *thread,
                                                   const struct gv_facts *facts)
{
    call->hook_ns = 0; /* inside another call, or with the cost of joining */
    if (thread->depth != 0 && was_left(thread, call))
        abandon(thread, thread->jumped_ns ? thread->jumped_ns : gv_clock_now_ns());
    gv_process_steps.await_gpu_start(thread);
    /* Calls of a signal handler after joining are not part of this one. */
    call->live = gv_thread_is_live(thread);
    if (!call->live) {
        call->live = gv_thread_join(thread);
        /* CUPTI allocates memory for each thread. If the thread were cancelled in the middle, it
         * would keep the allocator's lock. */
        if (call->live && gv_process_gpu_module())
            gv_context_current();
    }
    call->depth = thread->depth;
    /* Usually its gate skips it (gates.S). But the process may begin stopped with this call, or the
     * call that the thread was in had been left. */
    if (call->live && call->depth == 0 && is_skipped(call)) {
        call->live = false;
        thread->context = 0; /* the call may change it */
        return;
    }
    thread->depth = call->depth + 1;
    if (!call->live)
        return;
    if (call->depth == 0) {
        enter_outermost(call, thread, facts);
        return;
    }
    if (thread->writing) { /* a handler, not a part of the call whose record is being written */
        count_lost((enum gv_api_class)call->class);
        thread->context = 0; /* the call may change it */
        call->live = false;
        return;
    }
    call->correlation = thread->correlation;
    call->around = call->depth == 1 ? thread->outer_api : thread->inner_api;
    thread->inner_api = call->api;
    if (call->class == GV_CLASS_LOAD)
        call->start_ns = gv_clock_now_ns();
}

/* CUPTI allocates memory and takes locks in calls that put work on the GPU. A thread that was
 * cancelled in the middle would keep them. */
static inline bool is_in_cupti(const struct gv_call *call)
{
    return (call->traits & GV_TRAIT_WORKS_ON_GPU) && call->live && call->depth == 0 &&
           gv_process_gpu_module();
}

/* The real call begins only now. */
static void begin_late(struct gv_call *call, struct gv_thread *thread)
{
    call->start_ns = thread->outer_start_ns = gv_clock_now_ns();
    call->hook_ns = 0; /* its events, or asking CUPTI, came in between */
    atomic_store_explicit(&thread->slot->start_ns, call->start_ns, memory_order_release);
}

static inline void begin_pair(struct gv_call *call, struct gv_thread *thread,
                              const struct gv_facts *facts)
{
    const struct gv_pair_call chosen = {.stream = facts->stream,
                                        .object = facts->kernel | facts->object,
                                        .caller = call->caller,
                                        .api = call->api};

    if (__builtin_expect(gv_pairs_count(thread, &chosen), 0) && gv_pairs_begin(thread, &chosen))
        begin_late(call, thread);
}

bool gv_call_keeps_context(const struct gv_facts *facts)
{
    const struct gv_thread *thread = &gv_thread;

    return facts->object && facts->object == thread->context && thread->depth == 0 &&
           gv_thread_may_call(thread) && gv_context_is_told(facts->object);
}

bool gv_call_kept_context(const struct gv_facts *facts, int32_t result)
{
    if (gv_thread.context != facts->object)
        gv_thread.context = 0; /* a handler's call in the middle of it noted another one */
    return result == 0;
}

void gv_call_begin(struct gv_call *call, enum gv_api_id api, enum gv_api_class class,
                   const struct gv_facts *facts)
{
    struct gv_thread *thread = &gv_thread;

    call->api = (uint16_t)api;
    call->class = (uint8_t) class;
    if (__builtin_expect(thread->depth != 0 || !gv_thread_may_call(thread), 0)) {
        begin_rarely(call, thread, facts);
    } else {
        call->hook_ns = __builtin_expect(is_measured(thread), 0) ? gv_clock_now_ns() : 0;
        call->depth = 0;
        call->live = true;
        thread->depth = 1;
        enter_outermost(call, thread, facts);
    }
    call->is_own_work = is_in_cupti(call);
    if (call->is_own_work)
        gv_own_work_begin();
    if (__builtin_expect((call->traits & GV_TRAIT_WORKS_ON_GPU) &&
                             atomic_load_explicit(&gv_pairs_are_on, memory_order_relaxed) &&
                             call->live && call->depth == 0 && facts->flags & GV_RECORD_HAS_STREAM,
                         0))
        begin_pair(call, thread, facts);
}

/* ---- facts of a call ---- */

/* Inside a group. */
__attribute__((noinline)) static void find_context(struct gv_thread *thread)
{
    thread->context = gv_context_current();
    if (!thread->context)
        return;
    gv_process_steps.note_environment();
    int device = gv_context_device_to_tell(thread->context);
    if (device < 0)
        return;
    const union gv_record record = {
        .device_of_context = {.head = {.kind = GV_RECORD_CONTEXT, .flags = GV_RECORD_MORE},
                              .context = thread->context,
                              .device = (uint32_t)device}};
    gv_thread_write(thread, GV_ROOM_CODE, &record);
}

static uint64_t context_now(struct gv_thread *thread)
{
    uint64_t context;

    if (__builtin_expect(thread->context == 0, 0))
        find_context(thread);
    context = thread->context;
    /* This call may be a handler's, in the middle of one that sets a context and is skipped. */
    if (__builtin_expect(gv_process_is_stopped(), 0))
        thread->context = 0;
    return context;
}

/* Asks the driver about a kernel that nobody named: from cuModuleEnumerateFunctions(), or one
 * that outlived its context. */
static uint32_t ask_driver_for_name(struct gv_thread *thread, uint64_t handle)
{
    const struct gv_driver_calls *driver = &gv_driver_calls;
    void *function = (void *)(uintptr_t)handle;
    const char *name = NULL;
    void *owner = NULL;
    uint32_t kernel = 0;

    if (driver->function_get_name && driver->function_get_name(&name, function) == 0) {
        if (driver->function_get_module)
            driver->function_get_module(&owner, function);
    } else if (driver->kernel_get_name && driver->kernel_get_name(&name, function) == 0) {
        if (driver->kernel_get_library)
            driver->kernel_get_library(&owner, function);
    }
    if (name && gv_names_add(handle, (uintptr_t)owner, &kernel))
        gv_loads_write_name(thread, kernel, handle, gv_names_owner((uintptr_t)owner), name);
    return kernel;
}

/* The number of the launched kernel: by its handle, by that of the driver call inside, or from
 * the driver. Only after success, because a refused handle may be anything. */
static uint32_t launched_kernel(struct gv_thread *thread, const struct gv_call *call,
                                int32_t result, const struct gv_facts *facts)
{
    bool is_driver_call = call->api < GV_DRIVER_COUNT; /* a runtime call gets a host function */
    uint64_t handle = is_driver_call ? facts->kernel : thread->launched;
    uint32_t kernel = call->kernel;

    if (kernel || !handle || result != 0)
        return kernel;
    kernel = kernel_number(thread, handle);
    if (kernel || gv_names_are_full())
        return kernel;
    int saved_errno = gv_own_work_begin();
    kernel = ask_driver_for_name(thread, handle);
    gv_own_work_end(saved_errno);
    return kernel;
}

static void tell_facts(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                       uint64_t end_ns, const struct gv_facts *facts)
{
    int saved_errno = gv_own_work_begin();

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
    case GV_FACT_COLLECTIVE:
        gv_collective_write(thread, call);
        break;
    case GV_FACT_HOST_FUNCTION:
        gv_host_function_write_launch(thread, facts);
        break;
    case GV_FACT_STACK:
    case GV_FACT_NONE:
        break;
    }
    gv_own_work_end(saved_errno);
}

/* ---- ending ---- */

/* Writes into reserved room. */
static inline void fill_record(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                               uint64_t duration_ns, const struct gv_facts *facts, uint64_t context,
                               uint32_t kernel)
{
    thread->next->call = (struct gv_record_call){
        .head = {.kind = GV_RECORD_CALL,
                 .flags = (uint8_t)(facts->flags | (context ? GV_RECORD_HAS_CONTEXT : 0)),
                 .api = call->api,
                 .result = result},
        .start_ns = call->start_ns,
        .duration_ns = duration_ns,
        .stream = facts->stream,
        .context = context,
        .bytes = facts->bytes,
        .object = facts->object,
        .kernel = kernel,
        .correlation = call->correlation,
    };
    gv_thread_publish(thread);
}

static void write_call(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                       uint64_t end_ns, const struct gv_facts *facts)
{
    enum gv_api_class class = (enum gv_api_class)call->class;
    uint32_t kernel = call->kernel;
    uint64_t context;

    if (class == GV_CLASS_LAUNCH || class == GV_CLASS_COLLECTIVE)
        kernel = launched_kernel(thread, call, result, facts);
    context = context_now(thread);
    if (__builtin_expect(!gv_thread_reserve(thread, gv_api_class_rows[class].room), 0)) {
        count_lost(class);
        return;
    }
    fill_record(thread, call, result, end_ns - call->start_ns, facts, context, kernel);
}

/* ---- polls ---- */

/* The number of different polls that may alternate. */
#define POLLS_MOST 8

/* The POLL record for this poll, among the thread's last records. */
static struct gv_record_poll *find_poll(const struct gv_thread *thread, const struct gv_call *call,
                                        const struct gv_facts *facts)
{
    union gv_record *at = thread->next;

    if (thread->polls_end != at)
        return NULL;
    for (int i = 0; i < POLLS_MOST && at > thread->polls; i++) {
        struct gv_record_poll *poll = &(--at)->poll;

        if (poll->head.api == call->api && poll->stream == facts->stream &&
            poll->object == facts->object && poll->context == thread->context)
            return poll;
    }
    return NULL;
}

/* False: the reader has taken the record, which must not change: it may be read again after a
 * rollback. */
static bool count_poll(struct gv_record_poll *poll, uint64_t duration_ns, uint64_t end_ns)
{
    uint64_t count = atomic_load_explicit(&poll->count, memory_order_relaxed);
    uint64_t total_ns = atomic_load_explicit(&poll->total_ns, memory_order_relaxed);

    do
        if (count & GV_POLL_TAKEN)
            return false;
    while (!atomic_compare_exchange_weak_explicit(&poll->count, &count, count + 1,
                                                  memory_order_release, memory_order_relaxed));
    atomic_store_explicit(&poll->total_ns, total_ns + duration_ns, memory_order_relaxed);
    atomic_store_explicit(&poll->span_ns, end_ns - poll->start_ns, memory_order_relaxed);
    return true;
}

__attribute__((noinline)) static void write_poll(struct gv_thread *thread,
                                                 const struct gv_call *call, uint64_t end_ns,
                                                 const struct gv_facts *facts)
{
    uint64_t context = context_now(thread), duration_ns = end_ns - call->start_ns;
    struct gv_record_poll *known = find_poll(thread, call, facts);
    union gv_record *record;

    if (known && count_poll(known, duration_ns, end_ns))
        return;
    record = gv_thread_reserve(thread, GV_ROOM_REST);
    if (!record) {
        count_lost((enum gv_api_class)call->class);
        return;
    }
    record->poll = (struct gv_record_poll){
        .head = {.kind = GV_RECORD_POLL,
                 .flags = (uint8_t)(facts->flags | (context ? GV_RECORD_HAS_CONTEXT : 0)),
                 .api = call->api,
                 .result = GV_RESULT_NOT_READY},
        .start_ns = call->start_ns,
        .span_ns = duration_ns,
        .total_ns = duration_ns,
        .stream = facts->stream,
        .context = context,
        .object = facts->object,
        .count = 1,
    };
    if (thread->polls_end != record)
        thread->polls = record;
    gv_thread_publish(thread);
    thread->polls_end = thread->next;
}

static inline bool is_failure(const struct gv_call *call, int32_t result)
{
    return gv_result_is_failure(call->class == GV_CLASS_COLLECTIVE, result);
}

/* ---- stacks ---- */

static inline uint64_t object_of(const struct gv_call *call, const struct gv_facts *facts)
{
    if (call->traits & GV_TRAIT_WORKS_ON_GPU)
        return facts->kernel | facts->object; /* a graph is an object */
    return facts->what == GV_FACT_HOST_FUNCTION ? facts->owner : 0;
}

static inline struct gv_stack_site site_of(const struct gv_call *call, const struct gv_facts *facts,
                                           bool can_wait)
{
    return (struct gv_stack_site){.caller = call->caller,
                                  .frame = (uintptr_t)call,
                                  .object = object_of(call, facts),
                                  .api = call->api,
                                  .can_wait = can_wait};
}

__attribute__((noinline)) static uint32_t choose(struct gv_thread *thread,
                                                 const struct gv_call *call, uint64_t end_ns,
                                                 const struct gv_facts *facts, bool is_counted_out)
{
    const struct gv_stack_site site = site_of(call, facts, true);
    uint32_t one_of = is_counted_out ? gv_samples_choose(thread, end_ns) : 0;

    if (one_of)
        return one_of;
    return gv_stacks_wanted_of_first(thread, &site) ? GV_FIRST_OF_SITE : GV_NOT_CHOSEN;
}

/* Whether a call gets a stack because calls like it are sampled. */
static inline uint32_t chosen_of(struct gv_thread *thread, const struct gv_call *call,
                                 uint64_t end_ns, const struct gv_facts *facts)
{
    struct gv_stack_site site;
    bool is_counted_out;

    if (!(call->traits & gv_stacks_chosen_traits))
        return GV_NOT_CHOSEN;
    site = site_of(call, facts, true);
    is_counted_out = gv_samples_count(thread, end_ns);
    if (__builtin_expect(
            !is_counted_out && gv_stack_site_is_known(gv_stack_site_hash(thread, &site)), 1))
        return GV_NOT_CHOSEN;
    return choose(thread, call, end_ns, facts, is_counted_out);
}

/* Of a call that allocates. */
static inline bool is_much(const struct gv_call *call, const struct gv_facts *facts)
{
    return (call->traits & GV_TRAIT_PINS) || facts->bytes >= GV_ALLOCATION_BYTES;
}

/* Nothing but its record is wanted of such a call, if it succeeds at once. */
static inline bool is_frequent(const struct gv_call *call, const struct gv_facts *facts)
{
    return !(call->traits & (GV_TRAIT_RARE | GV_TRAIT_QUESTION)) &&
           (!(call->traits & GV_TRAIT_ALLOCATES) || !is_much(call, facts));
}

static bool is_stack_wanted(const struct gv_call *call, int32_t result, uint64_t duration_ns,
                            const struct gv_facts *facts)
{
    bool allocates = call->traits & GV_TRAIT_ALLOCATES;

    if (gv_stacks_wanted(duration_ns))
        return true;
    if (facts->what >= GV_FACT_STACK || gv_thread.adds_node ||
        (allocates && (is_failure(call, result) || is_much(call, facts))))
        return gv_stacks_are_on();
    return is_failure(call, result) && gv_stacks_wanted_of_failed(call->api);
}

/* Inside a group. */
__attribute__((noinline)) static void end_outermost(struct gv_thread *thread, struct gv_call *call,
                                                    int32_t result, uint64_t end_ns,
                                                    const struct gv_facts *facts, uint32_t chosen)
{
    enum gv_api_class class = (enum gv_api_class)call->class;
    bool is_slow = gv_run_delay_wanted(end_ns - call->start_ns);
    /* A wait that the program asked for, or not slow; running out of memory is no less than slow.
     */
    bool can_wait = (!is_slow || class == GV_CLASS_SYNC) &&
                    !(is_failure(call, result) && (call->traits & GV_TRAIT_ALLOCATES));

    if (__builtin_expect(class == GV_CLASS_CONTEXT || class == GV_CLASS_INIT, 0)) {
        thread->context = 0;
        gv_process_steps.note_driver();
    }
    if (__builtin_expect(facts->what != GV_FACT_NONE, 0))
        tell_facts(thread, call, result, end_ns, facts);
    gv_budget_grow(&thread->stacks, GV_BUDGET_STACKS_OF_1000, end_ns);
    /* The stack of a call that was left is gone; this one is later. */
    if (!(facts->flags & GV_RECORD_UNWOUND) &&
        (chosen || is_stack_wanted(call, result, end_ns - call->start_ns, facts))) {
        struct gv_stack_site site = site_of(call, facts, can_wait);

        call->hook_ns = 0; /* its cost is in `stacks` */
        site.is_node = thread->adds_node;
        site.is_short = class == GV_CLASS_SYNC && end_ns - call->start_ns < GV_STACKS_OWN_WAIT_NS;
        gv_stacks_write(thread, &site, chosen == GV_FIRST_OF_SITE ? 0 : chosen);
    }
    if (is_slow && gv_budget_allows(thread, can_wait) && !(facts->flags & GV_RECORD_UNWOUND)) {
        call->hook_ns = 0; /* its cost is in `cpu-waits` */
        gv_run_delay_write(thread, gv_api_class_rows[class].room, end_ns);
    }
    write_call(thread, call, result, end_ns, facts);
}

/* A call's record has one number of CUPTI's, the last one. A call of NCCL may launch several
 * kernels. */
static void write_earlier(struct gv_thread *thread, const struct gv_call *call)
{
    const union gv_record record = {
        .inside = {.head = {.kind = GV_RECORD_INSIDE, .flags = GV_RECORD_MORE},
                   .call_start_ns = thread->outer_start_ns,
                   .correlation = call->correlation}};
    bool inside = gv_thread_begin_group(thread);

    gv_thread_write(thread, GV_ROOM_WORK, &record);
    gv_thread_end_group(thread, inside);
}

__attribute__((noinline)) static void end_nested(struct gv_thread *thread,
                                                 const struct gv_call *call, int32_t result,
                                                 const struct gv_facts *facts)
{
    enum gv_api_class class = (enum gv_api_class)call->class;
    /* Only signal handlers make calls there. Calls inside a runtime call, or one of NCCL's, belong
     * to it. */
    bool in_driver = call->around < GV_DRIVER_COUNT;

    thread->inner_api = call->around;
    if (class == GV_CLASS_LAUNCH && !in_driver)
        thread->launched = facts->kernel;
    else if (class == GV_CLASS_CONTEXT || class == GV_CLASS_INIT)
        thread->context = 0;
    if (facts->what != GV_FACT_NONE) {
        bool inside = gv_thread_begin_group(thread);

        tell_facts(thread, call, result, gv_clock_now_ns(), facts);
        gv_thread_end_group(thread, inside);
    }
    if (call->correlation && in_driver)
        thread->correlation = call->correlation;
    else if (call->correlation && call->correlation != thread->correlation &&
             call->around >= GV_CUDA_COUNT)
        write_earlier(thread, call);
    if (class == GV_CLASS_INIT && result == 0)
        gv_process_steps.start_gpu(thread);
}

/* Fast path: only the record is left to write, and there is room for it. */
static inline bool is_ordinary(const struct gv_thread *thread, const struct gv_call *call,
                               int32_t result, uint64_t duration_ns, const struct gv_facts *facts)
{
    return is_frequent(call, facts) && result == 0 && facts->what == GV_FACT_NONE &&
           !thread->adds_node && !gv_stacks_wanted(duration_ns) &&
           !gv_run_delay_wanted(duration_ns) && thread->context &&
           (call->kernel || !(facts->kernel | thread->launched) /* a graph */ ||
            (call->class != GV_CLASS_LAUNCH && call->class != GV_CLASS_COLLECTIVE)) &&
           thread->next < thread->end && thread->open_to == GV_ROOM_REST;
}

/* Nobody waits for such a call, and programs make millions. One about an address fails often. */
static inline bool is_quick_question(const struct gv_call *call, int32_t result,
                                     uint64_t duration_ns)
{
    return (call->traits & GV_TRAIT_QUESTION) && !gv_run_delay_wanted(duration_ns) &&
           (result == 0 || call->class == GV_CLASS_ASK);
}

/* A slow poll gets its own row, because it may be a stall. */
static inline bool is_quick_poll(int32_t result, uint64_t duration_ns, const struct gv_facts *facts)
{
    return result == GV_RESULT_NOT_READY && facts->what == GV_FACT_NONE &&
           !gv_run_delay_wanted(duration_ns);
}

/* A cancelled thread ends here, so its call must have its row. */
static inline void end_own_work(const struct gv_call *call)
{
    if (__builtin_expect(call->is_own_work, 0))
        gv_own_work_end(errno);
}

void gv_call_end(struct gv_call *call, int32_t result, const struct gv_facts *facts)
{
    struct gv_thread *thread = &gv_thread;
    uint64_t end_ns, duration_ns;
    uint32_t chosen;

    /* A fork inside the call: the child must not record its half. */
    if (__builtin_expect(!call->live || !gv_thread_is_live(thread), 0)) {
        thread->depth = call->depth;
        end_own_work(call);
        return;
    }
    if (__builtin_expect(call->depth != 0, 0)) {
        thread->depth = call->depth;
        end_nested(thread, call, result, facts);
        return;
    }
    end_ns = gv_clock_now_ns();
    if (__builtin_expect(
            atomic_load_explicit(&gv_pairs_are_on, memory_order_relaxed) && thread->correlation, 0))
        gv_pairs_end(thread, result, end_ns);
    duration_ns = end_ns - call->start_ns;
    /* Now, because CUPTI also notes the number of a handler's call, whatever we do with that. */
    call->correlation = thread->correlation;
    if (__builtin_expect(gv_thread_begin_group(thread), 0)) {
        /* A handler came between the last two stores of leave_outermost(). */
        atomic_store_explicit(&thread->slot->api_plus_one, 0, memory_order_release);
        thread->depth = 0;
        count_lost((enum gv_api_class)call->class);
        end_own_work(call);
        return;
    }
    chosen = chosen_of(thread, call, end_ns, facts);
    if (__builtin_expect(!chosen && is_ordinary(thread, call, result, duration_ns, facts), 1))
        fill_record(thread, call, result, duration_ns, facts, thread->context, call->kernel);
    else if (is_quick_poll(result, duration_ns, facts))
        write_poll(thread, call, end_ns, facts);
    else if (is_quick_question(call, result, duration_ns))
        gv_thread_count(&thread->slot->unrecorded);
    else {
        int saved_errno = errno;
        if (!call->is_own_work)
            gv_own_work_begin();
        call->is_own_work = true;
        end_outermost(thread, call, result, end_ns, facts, chosen);
        errno = saved_errno;
    }
    leave_outermost(thread);
    end_own_work(call);
    if (__builtin_expect(call->hook_ns != 0, 0))
        note_hook(call, end_ns);
    if (__builtin_expect(call->class == GV_CLASS_INIT, 0) && result == 0)
        gv_process_steps.start_gpu(thread);
}

struct gv_gpu_graphs gv_graphs;

/* ---- copies between devices ---- */

void gv_call_expect_peers(struct gv_call *call)
{
    struct gv_thread *thread = &gv_thread;

    if (call->live && gv_process_steps.expect_peers() && call->depth == 0)
        begin_late(call, thread);
}

void gv_call_made_context(const struct gv_call *call, int device)
{
    static _Atomic int first = -1;
    int none = -1;

    if (call->live && !atomic_compare_exchange_strong(&first, &none, device) && none != device)
        gv_process_steps.expect_peers();
}

/* ---- unloading ---- */

static void note_unloading(void)
{
    uint64_t never = 0;

    if (gv_thread_is_live(&gv_thread))
        atomic_compare_exchange_strong(&gv_process.spool.header->gpu.unloaded_ns, &never,
                                       gv_clock_now_ns());
}

void gv_call_before_unload_all(uint64_t context)
{
    note_unloading();
    gv_names_void_loaded();
    gv_contexts_void();
    gv_pairs_void(context);
}

uint32_t gv_call_before_unload(uint64_t owner)
{
    note_unloading();
    return gv_names_void_owner((uintptr_t)owner);
}

/* ---- exceptions ---- */

#define UNWIND_CLEANUP_PHASE 2
#define UNWIND_CONTINUE      8

int gv_unwind_personality(int version, int actions, uint64_t exception_class, void *exception,
                          void *context);

/* The unwinder calls it for each of our frames that an exception passes. */
int gv_unwind_personality(int version, int actions, uint64_t exception_class, void *exception,
                          void *context)
{
    struct gv_thread *thread = &gv_thread;

    (void)version;
    (void)exception_class;
    (void)exception;
    (void)context;
    if (!(actions & UNWIND_CLEANUP_PHASE))
        return UNWIND_CONTINUE;
    gv_own_work_leave(); /* if a handler threw it in the middle */
    if (thread->depth == 1)
        abandon(thread, gv_clock_now_ns());
    else if (thread->depth > 1)
        thread->depth--;
    return UNWIND_CONTINUE;
}
