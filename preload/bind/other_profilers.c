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

enum call { SUBSCRIBE, SUBSCRIBE_V2, REGISTER, CALLS };

static const char *const names[CALLS] = {"cuptiSubscribe", "cuptiSubscribe_v2",
                                         "cuptiActivityRegisterCallbacks"};
static void *const ours[CALLS] = {(void *)cuptiSubscribe, (void *)cuptiSubscribe_v2,
                                  (void *)cuptiActivityRegisterCallbacks};
/* What the program's look-up found; NULL: search after us. */
static _Atomic(void *) looked_up[CALLS];

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

static void *behind_us(enum call call)
{
    void *real = atomic_load(&looked_up[call]);

    return real ? real : gv_objects_next((uintptr_t)gv_plt_slots, names[call], NULL);
}

int cuptiSubscribe(void **subscriber, void *callback, void *context)
{
    gv_subscribe *real = (gv_subscribe *)behind_us(SUBSCRIBE);

    return real ? note_subscription(real(subscriber, callback, context)) : GV_CUPTI_NOT_INITIALIZED;
}

int cuptiSubscribe_v2(void **subscriber, void *callback, void *context, void *parameters)
{
    gv_subscribe_v2 *real = (gv_subscribe_v2 *)behind_us(SUBSCRIBE_V2);

    return real ? note_subscription(real(subscriber, callback, context, parameters))
                : GV_CUPTI_NOT_INITIALIZED;
}

/* CUPTI gives its records to the last subscriber, even if it has no buffer of ours that would
 * show this. */
int cuptiActivityRegisterCallbacks(void *give, void *take)
{
    gv_register *real = (gv_register *)behind_us(REGISTER);
    int result = real ? real(give, take) : GV_CUPTI_NOT_INITIALIZED;

    if (result == 0)
        note(GV_GPU_TAKEN_OVER);
    return result;
}

void *gv_other_profilers_swap(const char *name, void *found)
{
    int call = 0;

    while (call < CALLS && strcmp(name, names[call]) != 0)
        call++;
    if (call == CALLS || !found)
        return found;
    if (found == ours[call])
        return gv_objects_next((uintptr_t)gv_plt_slots, name, NULL) ? found : NULL;
    atomic_store(&looked_up[call], found);
    return ours[call];
}
