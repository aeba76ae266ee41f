/*
 * Profilers inside the program, such as torch.profiler. CUPTI serves one at a time, and the
 * program's own comes first: its calls reach us, and before one that needs CUPTI for itself, the
 * module leaves it (trace/gpu_module.h). Otherwise the program's own profile would lack the GPU.
 */
#include "preload/bind/dlsym_filter.h"

#include "preload/base/objects.h"
#include "preload/base/own_process.h"
#include "preload/base/own_work.h"
#include "preload/base/thread.h"
#include "preload/bind/other_profilers.h"
#include "preload/bind/plt_slots.h"
#include "trace/futex.h"
#include "trace/gpu_module.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* CUPTI's numbers; this library must not use cupti.h. They have not changed since 11.6. */
#define GV_CUPTI_NOT_INITIALIZED   15
#define GV_CUPTI_SECOND_SUBSCRIBER 39
#define GV_CUPTI_DOMAIN_DRIVER     1u
#define GV_CUPTI_DOMAIN_RUNTIME    2u
/* Fetching everything took up to 0.2 s while 8 threads launched (H100, CUPTI 13.0). */
#define YIELD_PATIENCE_NS UINT64_C(2000000000)

typedef uintptr_t word; /* a parameter, in its register */
typedef int cupti_call(word, word, word, word);

struct gv_gpu_other gv_other_profiler;

#define GV_CUPTI_CALL(name, ...)                                                                   \
    __attribute__((visibility("default"))) int name(word a, word b, word c, word d);
#include "preload/bind/cupti_calls.def"

enum call {
#define GV_CUPTI_CALL(name, ...) CALL_##name,
#include "preload/bind/cupti_calls.def"
    CALLS
};

enum note {
    SUBSCRIBED,
    UNSUBSCRIBED,
    FINALIZED,
    WATCHES,
    HAS_BUFFERS,
    HAS_CLOCK,
    TOLD_TIME,
    ENABLED,
    DISABLED,
};

static const struct {
    const char *name;
    void *ours;
    bool yields;
    enum note note;
} calls[CALLS] = {
#define GV_CUPTI_CALL(name, yields, note) {#name, (void *)name, yields, note},
#include "preload/bind/cupti_calls.def"
};

/* What the program's look-up found; NULL: search after us. */
static _Atomic(void *) looked_up[CALLS];

static uint64_t kind_bit(word kind)
{
    return (uint32_t)kind < 64 ? UINT64_C(1) << (uint32_t)kind : 0;
}

/* Both calls about callbacks: switch, subscriber, domain. */
static void note_watched(word enable, word domain)
{
    if ((uint32_t)enable &&
        ((uint32_t)domain == GV_CUPTI_DOMAIN_DRIVER || (uint32_t)domain == GV_CUPTI_DOMAIN_RUNTIME))
        atomic_store(&gv_other_profiler.watches_calls, 1);
}

/* While we record, CUPTI's time is that of our clock. A profiler asks for it before the call that
 * makes us leave (JAX's does), and takes its records' times as relative to that. */
static void tell_time(uint64_t *time_ns)
{
    void *registered = atomic_load(&gv_other_profiler.clock);
    uint64_t (*clock)(void);
    struct timespec now;

    if (!gv_process_gpu_module())
        return;
    memcpy(&clock, &registered, sizeof clock);
    if (clock)
        *time_ns = clock();
    else if (clock_gettime(CLOCK_REALTIME, &now) == 0)
        *time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void note_success(enum note note, word a, word c)
{
    struct gv_gpu_other *other = &gv_other_profiler;

    switch (note) {
    case SUBSCRIBED:
        atomic_store(&other->watches_calls, 0);
        atomic_store(&other->subscriber, *(void **)a);
        break;
    case UNSUBSCRIBED:
        atomic_store(&other->subscriber, NULL);
        break;
    case FINALIZED:
        atomic_store(&other->is_finalized, 1);
        atomic_store(&other->clock, NULL);
        break;
    case WATCHES:
        note_watched(a, c);
        break;
    case HAS_BUFFERS: /* was noted before */
        break;
    case HAS_CLOCK:
        atomic_store(&other->clock, (void *)a);
        break;
    case TOLD_TIME:
        tell_time((uint64_t *)a);
        break;
    case ENABLED:
        atomic_fetch_or(&other->kinds, kind_bit(a));
        break;
    case DISABLED:
        atomic_fetch_and(&other->kinds, ~kind_bit(a));
        break;
    }
}

static void yield(uintptr_t caller)
{
    const struct gv_gpu_module *module;
    struct gv_object object;
    int saved_errno = gv_own_work_begin();

    if (gv_process_is_attached_here()) {
        if (gv_objects_at(caller, &object))
            snprintf(gv_other_profiler.file, sizeof gv_other_profiler.file, "%s", object.path);
        gv_process_steps.await_gpu_start(&gv_thread);
        module = gv_process_gpu_module();
        if (module)
            module->yield(YIELD_PATIENCE_NS);
    }
    gv_own_work_end(saved_errno);
}

/* From now on our callbacks serve it. */
static void exchange_buffers(word *give, word *take)
{
    const struct gv_gpu_module *module = gv_process_gpu_module();
    void *ours_give, *ours_take;

    atomic_store(&gv_other_profiler.give, (void *)*give);
    atomic_store(&gv_other_profiler.take, (void *)*take);
    if (*give && *take && module) {
        module->buffer_callbacks(&ours_give, &ours_take);
        *give = (word)ours_give;
        *take = (word)ours_take;
    }
}

static int make(enum call call, uintptr_t caller, word a, word b, word c, word d)
{
    void *found = atomic_load(&looked_up[call]);
    cupti_call *real;
    int result;

    if (!found)
        found = gv_objects_next((uintptr_t)gv_plt_slots, calls[call].name, NULL);
    real = (cupti_call *)found;
    if (!real)
        return GV_CUPTI_NOT_INITIALIZED;
    atomic_fetch_add(&gv_other_profiler.inside, 1);
    if (calls[call].yields)
        yield(caller);
    if (calls[call].note == HAS_BUFFERS)
        exchange_buffers(&a, &b);
    result = real(a, b, c, d);
    /* A later CUPTI may let subscribers share, so the first try is without yielding. */
    if (result == GV_CUPTI_SECOND_SUBSCRIBER && calls[call].note == SUBSCRIBED) {
        yield(caller);
        result = real(a, b, c, d);
    }
    if (result == 0)
        note_success(calls[call].note, a, c);
    if (calls[call].note != TOLD_TIME) /* a program may ask all the time */
        atomic_store(&gv_other_profiler.last_ns, gv_monotonic_ns());
    atomic_fetch_sub(&gv_other_profiler.inside, 1);
    return result;
}

#define GV_CUPTI_CALL(name, ...)                                                                   \
    int name(word a, word b, word c, word d)                                                       \
    {                                                                                              \
        return make(CALL_##name, (uintptr_t)__builtin_return_address(0), a, b, c, d);              \
    }
#include "preload/bind/cupti_calls.def"

/*
 * A second copy of libcupti in a process fails each call with 39 once another copy was used, even
 * after cuptiFinalize() (CUPTI 12.8 beside 13.0, driver 580). Triton brings a copy of its own: its
 * look-ups get the one in use instead.
 */
static void *in_the_one_used(const char *name, void *found)
{
    const struct gv_gpu_module *module = gv_process_gpu_module();
    struct gv_object library;
    void *there = NULL;

    if (module && gv_objects_at(module->library(), &library) &&
        !gv_object_has(&library, (uintptr_t)found))
        there = gv_object_symbol(&library, name);
    return there ? there : found;
}

void *gv_other_profilers_swap(const char *name, void *found)
{
    int call = 0;

    while (call < CALLS && strcmp(name, calls[call].name) != 0)
        call++;
    if (call == CALLS)
        return in_the_one_used(name, found);
    if (found == calls[call].ours)
        return gv_objects_next((uintptr_t)gv_plt_slots, name, NULL) ? found : NULL;
    atomic_store(&looked_up[call], in_the_one_used(name, found));
    return calls[call].ours;
}
