/*
 * Profilers inside the program, such as torch.profiler. CUPTI serves one: if that is us, it refuses
 * them its callbacks; its records go to whoever asked last. We watch their calls without changing
 * them, so that the trace can say whose profile lacks the GPU, and why.
 */
#include "preload/bind/dlsym_filter.h"

#include "preload/base/objects.h"
#include "preload/base/own_process.h"
#include "preload/bind/plt_slots.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define GV_CUPTI_NOT_INITIALIZED    15
#define GV_CUPTI_SECOND_SUBSCRIBER  39
#define GV_OTHER_PROFILERS_EXPORTED __attribute__((visibility("default")))

typedef int gv_subscribe(void **, void *, void *);
typedef int gv_subscribe_v2(void **, void *, void *, void *);
typedef int gv_register(void *, void *);

/* This library must not use cupti.h. The calls' first parameters have not changed since 11.6. */
GV_OTHER_PROFILERS_EXPORTED int cuptiSubscribe(void **subscriber, void *callback, void *context);
GV_OTHER_PROFILERS_EXPORTED int cuptiSubscribe_v2(void **subscriber, void *callback, void *context,
                                                  void *parameters);
GV_OTHER_PROFILERS_EXPORTED int cuptiActivityRegisterCallbacks(void *give, void *take);

/* What the program's look-up found; NULL: search after us. */
static _Atomic(void *) looked_up, looked_up_v2, looked_up_register;

static void note(enum gv_gpu_interrupted what)
{
    struct gv_spool_gpu *gpu;

    if (!gv_process.spool.header)
        return;
    gpu = &gv_process.spool.header->gpu;
    /* If CUPTI refused us, or we have not started, nobody is in anybody's way. */
    if (atomic_load(&gpu->state) == GV_GPU_SEEN)
        atomic_fetch_or(&gpu->interrupted, what);
}

static int note_subscription(int result)
{
    if (result == GV_CUPTI_SECOND_SUBSCRIBER)
        note(GV_GPU_REFUSED_OTHER);
    return result;
}

static void *behind_us(_Atomic(void *) *known, const char *name)
{
    void *real = atomic_load(known);

    return real ? real : gv_objects_next((uintptr_t)gv_plt_slots, name, NULL);
}

int cuptiSubscribe(void **subscriber, void *callback, void *context)
{
    gv_subscribe *real = (gv_subscribe *)behind_us(&looked_up, "cuptiSubscribe");

    return real ? note_subscription(real(subscriber, callback, context)) : GV_CUPTI_NOT_INITIALIZED;
}

int cuptiSubscribe_v2(void **subscriber, void *callback, void *context, void *parameters)
{
    gv_subscribe_v2 *real = (gv_subscribe_v2 *)behind_us(&looked_up_v2, "cuptiSubscribe_v2");

    return real ? note_subscription(real(subscriber, callback, context, parameters))
                : GV_CUPTI_NOT_INITIALIZED;
}

/* CUPTI gives its records to the last subscriber, even if it has no buffer of ours that would
 * show this. */
int cuptiActivityRegisterCallbacks(void *give, void *take)
{
    gv_register *real =
        (gv_register *)behind_us(&looked_up_register, "cuptiActivityRegisterCallbacks");
    int result = real ? real(give, take) : GV_CUPTI_NOT_INITIALIZED;

    if (result == 0)
        note(GV_GPU_TAKEN_OVER);
    return result;
}

static void *swap(_Atomic(void *) *known, void *ours, void *found, const char *name)
{
    if (found == ours)
        return gv_objects_next((uintptr_t)gv_plt_slots, name, NULL) ? ours : NULL;
    if (!found)
        return NULL;
    atomic_store(known, found);
    return ours;
}

void *gv_other_profilers_swap(const char *name, void *found)
{
    if (strcmp(name, "cuptiSubscribe") == 0)
        return swap(&looked_up, (void *)cuptiSubscribe, found, name);
    if (strcmp(name, "cuptiSubscribe_v2") == 0)
        return swap(&looked_up_v2, (void *)cuptiSubscribe_v2, found, name);
    if (strcmp(name, "cuptiActivityRegisterCallbacks") == 0)
        return swap(&looked_up_register, (void *)cuptiActivityRegisterCallbacks, found, name);
    return found;
}
