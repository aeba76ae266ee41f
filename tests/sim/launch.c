/* Launches of kernels and host functions. */
#include "tests/sim/collective.h"
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

uint64_t gv_sim_kernel_ns(const struct gv_sim_entry *entry, void **parameters, void **extra)
{
    uint64_t ns = 0;
    if (!entry->spins)
        return gv_sim_settings.kernel_ns;
    if (parameters && parameters[0])
        memcpy(&ns, parameters[0], sizeof ns);
    for (; !parameters && extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            memcpy(&ns, extra[1], sizeof ns);
    return ns;
}

/* Enlarging the pool takes 0.6 ms on a real GPU. */
#define GROW_NS 600000

/* A kernel that needs more local memory: everything must stop while the pool grows. */
static void grow_local(struct gv_sim_context *context, uint64_t needed_bytes)
{
    gv_sim_context_drain_holding(context);
    gv_sim_pass(GROW_NS);
    context->local_pool_bytes = needed_bytes;
    context->now_ns = gv_sim_now_ns();
}

/* A kernel that waits for those of other processes. */
struct meeting {
    struct gv_sim_collective collective;
    const struct gv_sim_stream *stream;
    struct gv_sim_operation work;
};

static void run_meeting(void *data)
{
    struct meeting *meeting = data;
    uint64_t start_ns = gv_sim_now_ns(), end_ns;

    meeting->collective.meet(meeting->collective.data);
    end_ns = gv_sim_now_ns();
    gv_sim_trace_work(meeting->stream, end_ns, end_ns - start_ns, &meeting->work);
    free(meeting);
}

/* As a host function, its end is not known before it has come. */
static CUresult launch_meeting(struct gv_sim_stream *stream, const char *name, void **parameters,
                               const CUDA_KERNEL_NODE_PARAMS *shape)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    if (!meeting)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(&meeting->collective, *(void **)parameters[0], sizeof meeting->collective);
    meeting->stream = stream;
    gv_sim_trace_kernel(&meeting->work, name, shape);
    meeting->work.correlation = gv_sim_trace_correlation();
    gv_sim_stream_lock(stream);
    bool queued =
        gv_sim_host_queue(stream, gv_sim_stream_push(stream, 0), run_meeting, NULL, meeting) != 0;
    pthread_mutex_unlock(&stream->context->work);
    if (!queued)
        free(meeting);
    return queued ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult launch(const void *handle, CUstream hStream, void **parameters, void **extra,
                       const CUDA_KERNEL_NODE_PARAMS *shape)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (GV_SIM_UNLIKELY(!s))
        return result;
    if (!shape->gridDimX || !shape->gridDimY || !shape->gridDimZ || !shape->blockDimX ||
        !shape->blockDimY || !shape->blockDimZ ||
        (uint64_t)shape->blockDimX * shape->blockDimY * shape->blockDimZ > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_function *function;
    result = gv_sim_function_of(handle, s->context, &function);
    if (GV_SIM_UNLIKELY(result))
        return result;
    uint64_t ns = gv_sim_kernel_ns(function->entry, parameters, extra);
    if (GV_SIM_UNLIKELY(gv_sim_captured(s, &result))) {
        struct gv_sim_graph *graph = result ? NULL : gv_sim_capture_graph(s);
        struct gv_sim_node *node =
            graph ? gv_sim_node_kernel(graph, (CUfunction)handle, function, ns) : NULL;
        if (node) {
            node->kernel = *shape;
            node->kernel.func = (CUfunction)handle;
        }
        return result ? result : gv_sim_capture_add(s, node);
    }
    if (GV_SIM_UNLIKELY(result))
        return result;
    if (GV_SIM_UNLIKELY(function->entry->meets) && parameters && parameters[0])
        return launch_meeting(s, function->entry->name, parameters, shape);
    gv_sim_stream_lock(s);
    if (GV_SIM_UNLIKELY(function->entry->local_bytes > s->context->local_pool_bytes))
        grow_local(s->context, function->entry->local_bytes);
    uint64_t end = gv_sim_stream_push(s, ns);
    pthread_mutex_unlock(&s->context->work);
    if (gv_sim_traced()) {
        struct gv_sim_operation work;
        gv_sim_trace_kernel(&work, function->entry->name, shape);
        work.function = handle;
        gv_sim_trace_work(s, end, ns, &work);
    }
    gv_sim_stream_launched(s);
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                               unsigned int gridDimZ, unsigned int blockDimX,
                               unsigned int blockDimY, unsigned int blockDimZ,
                               unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                               void **extra)
{
    CUDA_KERNEL_NODE_PARAMS shape = {.gridDimX = gridDimX,
                                     .gridDimY = gridDimY,
                                     .gridDimZ = gridDimZ,
                                     .blockDimX = blockDimX,
                                     .blockDimY = blockDimY,
                                     .blockDimZ = blockDimZ,
                                     .sharedMemBytes = sharedMemBytes};
    return launch(f, hStream, kernelParams, extra, &shape);
}

CUresult gv_sim_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                          unsigned int gridDimY, unsigned int gridDimZ,
                                          unsigned int blockDimX, unsigned int blockDimY,
                                          unsigned int blockDimZ, unsigned int sharedMemBytes,
                                          CUstream hStream, void **kernelParams)
{
    return gv_sim_cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
                                 sharedMemBytes, hStream, kernelParams, NULL);
}

CUresult gv_sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                 void **extra)
{
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    return gv_sim_cuLaunchKernel(f, config->gridDimX, config->gridDimY, config->gridDimZ,
                                 config->blockDimX, config->blockDimY, config->blockDimZ,
                                 config->sharedMemBytes, config->hStream, kernelParams, extra);
}

static CUresult host_work(CUstream hStream, CUhostFn function, CUstreamCallback callback,
                          void *data)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s)
        return result;
    if (gv_sim_captured(s, &result)) {
        if (!result && callback)
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        struct gv_sim_graph *graph = result ? NULL : gv_sim_capture_graph(s);
        return result
                   ? result
                   : gv_sim_capture_add(s, graph ? gv_sim_node_host(graph, function, data) : NULL);
    }
    if (result)
        return result;
    gv_sim_stream_lock(s);
    uint64_t due = gv_sim_stream_push(s, 0);
    if (!gv_sim_host_queue(s, due, function, callback, data))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&s->context->work);
    return result;
}

CUresult gv_sim_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    return fn ? host_work(hStream, fn, NULL, userData) : CUDA_ERROR_INVALID_VALUE;
}

CUresult gv_sim_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                    unsigned int flags)
{
    return callback && !flags ? host_work(hStream, NULL, callback, userData)
                              : CUDA_ERROR_INVALID_VALUE;
}
