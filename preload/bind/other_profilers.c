/*
 * Profilers inside the program, such as torch.profiler: CUPTI serves one, and where that is us it
 * refuses them its callbacks; its records it gives to who asked last. Their calls are seen, not
 * changed, so that the trace can say whose profile lacks the GPU, and why.
 */
#include "preload/bind/dlsym_filter.h"

#include "preload/base/objects.h"
#include "preload/base/own_process.h"
#include "preload/bind/entry_points.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define GV_CUPTI_NOT_INITIALIZED    15
#define GV_CUPTI_SECOND_SUBSCRIBER  39
#define GV_OTHER_PROFILERS_EXPORTED __attribute__((visibility("default")))

typedef int gv_subscribe(void **, void *, void *);
typedef int gv_subscribe_v2(void **, void *, void *, void *);
typedef int gv_register(void *, void *);

/* cupti.h is not for this library, and the calls' first parameters have not changed since 11.6. */
GV_OTHER_PROFILERS_EXPORTED int cuptiSubscribe(void **subscriber, void *callback, void *context);
GV_OTHER_PROFILERS_EXPORTED int cuptiSubscribe_v2(void **subscriber, void *callback, void *context,
                                                  void *parameters);
GV_OTHER_PROFILERS_EXPORTED int cuptiActivityRegisterCallbacks(void *give, void *take);

/* Where the program's look-up found them; NULL: look behind us. */
static _Atomic(void *) looked_up, looked_up_v2, looked_up_register;

static void note(enum gv_gpu_interrupted what)
{
    struct gv_spool_gpu *gpu;

    if (!gv_process.spool.header)
        return;
    gpu = &gv_process.spool.header->gpu;
    /* Refused ourselves, or not begun, we are in nobody's way, and nobody is in ours. */
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

/* CUPTI hands its records to who came last: also where it holds no buffer of ours that would tell.
 */
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
