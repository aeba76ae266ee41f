/* Contexts: primary and created ones, the stack of each thread, limits, synchronising. */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define STACK_DEPTH  16
#define CONTEXTS_MAX 256
#define SETTLE_NS    200000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gv_sim_context *contexts[CONTEXTS_MAX];
static int context_count;
static uint64_t next_id = 1;

static struct primary {
    struct gv_sim_context *context;
    unsigned int uses, flags;
} primaries[GV_SIM_DEVICES_MAX];

static _Thread_local struct {
    struct gv_sim_context *stack[STACK_DEPTH];
    int depth;
} thread __attribute__((tls_model("initial-exec")));

struct gv_sim_context *gv_sim_current(void)
{
    if (!thread.depth)
        return NULL;
    struct gv_sim_context *top = thread.stack[thread.depth - 1];
    return gv_sim_is(top, GV_SIM_CONTEXT) ? top : NULL;
}

struct gv_sim_context *gv_sim_context_of(CUcontext context)
{
    if (!context)
        return gv_sim_current();
    return gv_sim_is(context, GV_SIM_CONTEXT) ? (struct gv_sim_context *)context : NULL;
}

/* Waits until nothing queued so far still runs. */
void gv_sim_context_drain(struct gv_sim_context *context)
{
    gv_sim_wait_until(atomic_load(&context->end_ns));
    gv_sim_host_drain(context);
}

void gv_sim_context_take_turn(struct gv_sim_context *context)
{
    pthread_mutex_lock(&context->work);
    pthread_mutex_unlock(&context->work);
}

void gv_sim_context_drain_holding(struct gv_sim_context *context)
{
    atomic_fetch_add(&context->waits, 1);
    gv_sim_context_drain(context);
    atomic_fetch_sub(&context->waits, 1);
}

/* Making a context waits for nobody, but shares the device's time with the work of others: seen as
 * 97 ms on an idle device, and 95, 109, 142, 143, 141, 142 ms beside a kernel of another context of
 * 50, 100, 200, 400, 800, 1600 ms. */
static void make_beside_work(CUdevice device)
{
    uint64_t most_ns = gv_sim_settings.context_ns / 2, now_ns;
    uint64_t end_ns = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < context_count; i++) {
        uint64_t its_end_ns = atomic_load(&contexts[i]->end_ns);
        if (contexts[i]->device == device && its_end_ns > end_ns)
            end_ns = its_end_ns;
    }
    pthread_mutex_unlock(&lock);
    now_ns = gv_sim_now_ns();
    if (end_ns > now_ns)
        gv_sim_pass(end_ns - now_ns < most_ns ? end_ns - now_ns : most_ns);
}

/* Repeats the question, because a context may go away meanwhile. */
void gv_sim_contexts_settle(void)
{
    int waits;

    do {
        waits = 0;
        pthread_mutex_lock(&lock);
        for (int i = 0; i < context_count; i++)
            waits += atomic_load(&contexts[i]->waits);
        pthread_mutex_unlock(&lock);
        if (waits > 0)
            gv_sim_pass(SETTLE_NS);
    } while (waits > 0);
}

static struct gv_sim_context *context_new(CUdevice device, unsigned int flags)
{
    struct gv_sim_context *c = gv_sim_object_new(GV_SIM_CONTEXT, sizeof *c);
    if (!c)
        return NULL;
    c->device = device;
    c->flags = flags;
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    c->launch_blocking = blocking && !strcmp(blocking, "1");
    c->limits[CU_LIMIT_STACK_SIZE] = 1024;
    c->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    c->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    c->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    c->local_pool_bytes = 1024;
    pthread_mutex_init(&c->memory, NULL);
    pthread_mutex_init(&c->work, NULL);
    pthread_mutex_init(&c->addresses, NULL);
    pthread_mutex_init(&c->list_lock, NULL);
    c->legacy = gv_sim_stream_new(c, CU_STREAM_DEFAULT, 0);
    if (!c->legacy) {
        gv_sim_object_free(c);
        return NULL;
    }
    c->legacy->legacy = true;
    c->legacy->id = 1;
    gv_sim_machine_join();
    gv_sim_pass(gv_sim_settings.context_ns);
    make_beside_work(device);
    return c;
}

static struct gv_sim_context *context_listed(CUdevice device, unsigned int flags)
{
    struct gv_sim_context *c = context_new(device, flags);
    if (!c)
        return NULL;
    pthread_mutex_lock(&lock);
    c->id = next_id++;
    if (context_count < CONTEXTS_MAX)
        contexts[context_count++] = c;
    pthread_mutex_unlock(&lock);
    gv_sim_trace_context(true, c);
    return c;
}

static void context_free(struct gv_sim_context *c)
{
    gv_sim_context_drain(c);
    gv_sim_trace_context(false, c);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < context_count; i++)
        if (contexts[i] == c)
            contexts[i--] = contexts[--context_count];
    pthread_mutex_unlock(&lock);
    gv_sim_pass(gv_sim_settings.context_ns / 2);
    while (c->modules)
        gv_sim_module_free(c->modules);
    gv_sim_streams_free(c);
    gv_sim_object_free(c);
}

static CUresult push(struct gv_sim_context *context)
{
    if (thread.depth == STACK_DEPTH)
        return CUDA_ERROR_INVALID_VALUE;
    thread.stack[thread.depth++] = context;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = gv_sim_device_check(dev);
    if (result)
        return result;
    struct gv_sim_context *c = context_listed(dev, flags);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pctx = (CUcontext)c;
    return push(c);
}

CUresult gv_sim_cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return gv_sim_cuCtxCreate_v2(pctx, flags, dev);
}

CUresult gv_sim_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                               unsigned int flags, CUdevice dev)
{
    if (numParams && !paramsArray)
        return CUDA_ERROR_INVALID_VALUE;
    return gv_sim_cuCtxCreate_v2(pctx, flags, dev);
}

CUresult gv_sim_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                               unsigned int flags, CUdevice dev)
{
    (void)ctxCreateParams;
    return gv_sim_cuCtxCreate_v2(pctx, flags, dev);
}

CUresult gv_sim_cuCtxDestroy_v2(CUcontext ctx)
{
    if (!gv_sim_is(ctx, GV_SIM_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    struct gv_sim_context *c = (struct gv_sim_context *)ctx;
    if (c->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (thread.depth && thread.stack[thread.depth - 1] == c)
        thread.depth--;
    context_free(c);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxDestroy(CUcontext ctx)
{
    return gv_sim_cuCtxDestroy_v2(ctx);
}

/* Locks the making and ending of primary contexts. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

CUresult gv_sim_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = gv_sim_device_check(dev);
    if (result)
        return result;
    struct primary *p = &primaries[dev];
    pthread_mutex_lock(&making);
    if (!p->context) {
        p->context = context_listed(dev, p->flags);
        if (p->context)
            p->context->primary = true;
    }
    if (p->context)
        p->uses++;
    else
        result = CUDA_ERROR_OUT_OF_MEMORY;
    *pctx = (CUcontext)p->context;
    pthread_mutex_unlock(&making);
    return result;
}

CUresult gv_sim_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    CUresult result = gv_sim_device_check(dev);
    if (result)
        return result;
    struct primary *p = &primaries[dev];
    pthread_mutex_lock(&making);
    if (!p->context) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    } else if (!--p->uses) {
        context_free(p->context);
        p->context = NULL;
    }
    pthread_mutex_unlock(&making);
    return result;
}

CUresult gv_sim_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return gv_sim_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult gv_sim_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    CUresult result = gv_sim_device_check(dev);
    if (result)
        return result;
    pthread_mutex_lock(&making);
    if (primaries[dev].context)
        context_free(primaries[dev].context);
    primaries[dev].context = NULL;
    primaries[dev].uses = 0;
    pthread_mutex_unlock(&making);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuDevicePrimaryCtxReset(CUdevice dev)
{
    return gv_sim_cuDevicePrimaryCtxReset_v2(dev);
}

CUresult gv_sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    CUresult result = gv_sim_device_check(dev);
    if (!result)
        primaries[dev].flags = flags;
    return result;
}

CUresult gv_sim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return gv_sim_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult gv_sim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    CUresult result = gv_sim_device_check(dev);
    if (result || !flags || !active)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *flags = primaries[dev].flags;
    *active = primaries[dev].context != NULL;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxPushCurrent_v2(CUcontext ctx)
{
    if (!gv_sim_is(ctx, GV_SIM_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    return push((struct gv_sim_context *)ctx);
}

CUresult gv_sim_cuCtxPushCurrent(CUcontext ctx)
{
    return gv_sim_cuCtxPushCurrent_v2(ctx);
}

CUresult gv_sim_cuCtxPopCurrent_v2(CUcontext *pctx)
{
    if (!thread.depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    thread.depth--;
    if (pctx)
        *pctx = (CUcontext)thread.stack[thread.depth];
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxPopCurrent(CUcontext *pctx)
{
    return gv_sim_cuCtxPopCurrent_v2(pctx);
}

CUresult gv_sim_cuCtxSetCurrent(CUcontext ctx)
{
    if (ctx && !gv_sim_is(ctx, GV_SIM_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (thread.depth)
        thread.depth--;
    return ctx ? push((struct gv_sim_context *)ctx) : CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxGetCurrent(CUcontext *pctx)
{
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *pctx = (CUcontext)gv_sim_current();
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxGetDevice(CUdevice *device)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = c->device;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    struct gv_sim_context *c = gv_sim_context_of(ctx);
    if (!c || !device)
        return c ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
    *device = c->device;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!pvalue || (unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    gv_sim_context_take_turn(c);
    *pvalue = c->limits[limit];
    return CUDA_SUCCESS;
}

/* Another stack size moves the local memory of everything that runs. */
CUresult gv_sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (limit == CU_LIMIT_STACK_SIZE) {
        pthread_mutex_lock(&c->work);
        gv_sim_context_drain_holding(c);
        gv_sim_pass(gv_sim_settings.limit_ns);
        if (value > c->local_pool_bytes)
            c->local_pool_bytes = value;
        pthread_mutex_unlock(&c->work);
    }
    c->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxSynchronize_v2(CUcontext ctx)
{
    struct gv_sim_context *c = gv_sim_context_of(ctx);
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = GV_SIM_UNLIKELY(atomic_load(&gv_sim_captures))
                          ? gv_sim_capture_forbids_waiting(c)
                          : CUDA_SUCCESS;
    if (result)
        return result;
    uint64_t start_ns = gv_sim_now_ns();
    gv_sim_context_drain(c);
    gv_sim_pools_synchronised();
    gv_sim_trace_wait(GV_SIM_WAIT_CONTEXT, c, NULL, start_ns);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuCtxSynchronize(void)
{
    return gv_sim_cuCtxSynchronize_v2(NULL);
}
