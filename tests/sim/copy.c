/*
 * Copies and sets. The bytes move when the call is made. Separately, the copy takes time, and the
 * caller may wait for it:
 *
 *    a blocking copy between host and device waits for its end; one within the device does not
 *    an "async" copy waits if it writes pageable memory, or reads more than 64 KB of it
 */
#include "tests/sim/sim.h"

#include <string.h>

#define STAGED_BYTES  (64u << 10)
#define COPY_START_NS 2000u

uint64_t gv_sim_copy_ns(size_t size_bytes)
{
    return COPY_START_NS + (uint64_t)size_bytes * 1000u / gv_sim_settings.copy_bytes_per_us;
}

void gv_sim_rows_copy(const struct gv_sim_rows *rows)
{
    for (size_t z = 0; z < rows->depth; z++)
        for (size_t y = 0; y < rows->height; y++)
            memmove(rows->target + z * rows->target_slice + y * rows->target_pitch,
                    rows->source + z * rows->source_slice + y * rows->source_pitch,
                    rows->width_bytes);
}

enum waits { ASYNC, BLOCKING };

static bool is_device(enum gv_sim_memory memory)
{
    return memory >= GV_SIM_DEVICE;
}

static bool host_waits(enum waits waits, enum gv_sim_memory source, enum gv_sim_memory target,
                       size_t size_bytes)
{
    if (waits == BLOCKING)
        return !is_device(source) || !is_device(target);
    return target == GV_SIM_PAGEABLE || (source == GV_SIM_PAGEABLE && size_bytes > STAGED_BYTES);
}

static CUresult capture_rows(struct gv_sim_stream *s, const struct gv_sim_rows *rows, uint64_t ns)
{
    struct gv_sim_graph *graph = gv_sim_capture_graph(s);
    struct gv_sim_node *node = graph ? gv_sim_node_new(graph, CU_GRAPH_NODE_TYPE_MEMCPY, ns) : NULL;
    if (node)
        node->rows = *rows;
    return gv_sim_capture_add(s, node);
}

static CUresult copy_rows(const struct gv_sim_rows *rows, CUstream hStream, enum waits waits)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s || (waits == BLOCKING && (result = gv_sim_unsafe())))
        return result;
    size_t bytes = rows->width_bytes * rows->height * rows->depth;
    if (!bytes)
        return CUDA_SUCCESS;
    if (!rows->source || !rows->target)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t ns = gv_sim_copy_ns(bytes);
    if (gv_sim_captured(s, &result))
        return result ? result : capture_rows(s, rows, ns);
    if (result)
        return result;
    enum gv_sim_memory source = gv_sim_memory_kind(rows->source);
    enum gv_sim_memory target = gv_sim_memory_kind(rows->target);
    bool waits_here = host_waits(waits, source, target, bytes);
    /* Nobody knows before when a host function ends; a copy behind it begins then. */
    if (waits_here && gv_sim_host_pending(atomic_load(&s->host_work)))
        gv_sim_stream_wait_holding(s, 0);
    gv_sim_stream_lock(s);
    uint64_t end = gv_sim_stream_push(s, ns);
    gv_sim_rows_copy(rows);
    pthread_mutex_unlock(&s->context->work);
    if (gv_sim_traced()) {
        struct gv_sim_operation work;
        gv_sim_trace_copy(&work, rows);
        work.async = waits == ASYNC;
        gv_sim_trace_work(s, end, ns, &work);
    }
    if (waits_here)
        gv_sim_stream_wait_holding(s, 0);
    return CUDA_SUCCESS;
}

static CUresult copy(uintptr_t target, uintptr_t source, size_t bytes, CUstream hStream,
                     enum waits waits)
{
    struct gv_sim_rows rows = {.source = (const char *)source,
                               .target = (char *)target,
                               .width_bytes = bytes,
                               .height = 1,
                               .depth = 1};
    return copy_rows(&rows, hStream, waits);
}

CUresult gv_sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return copy(dst, src, ByteCount, NULL, BLOCKING);
}

CUresult gv_sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return copy(dst, src, ByteCount, hStream, ASYNC);
}

CUresult gv_sim_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy(dstDevice, (uintptr_t)srcHost, ByteCount, NULL, BLOCKING);
}

CUresult gv_sim_cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy((uintptr_t)dstHost, srcDevice, ByteCount, NULL, BLOCKING);
}

CUresult gv_sim_cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(dstDevice, srcDevice, ByteCount, NULL, BLOCKING);
}

CUresult gv_sim_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                     CUstream hStream)
{
    return copy(dstDevice, (uintptr_t)srcHost, ByteCount, hStream, ASYNC);
}

CUresult gv_sim_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                     CUstream hStream)
{
    return copy((uintptr_t)dstHost, srcDevice, ByteCount, hStream, ASYNC);
}

CUresult gv_sim_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                     CUstream hStream)
{
    return copy(dstDevice, srcDevice, ByteCount, hStream, ASYNC);
}

static CUresult copy_peer(uintptr_t target, CUcontext target_handle, uintptr_t source,
                          CUcontext source_handle, size_t bytes, CUstream hStream, enum waits waits)
{
    struct gv_sim_rows rows = {.source = (const char *)source,
                               .target = (char *)target,
                               .width_bytes = bytes,
                               .height = 1,
                               .depth = 1,
                               .source_context = gv_sim_context_of(source_handle),
                               .target_context = gv_sim_context_of(target_handle)};
    if (!rows.source_context || !rows.target_context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy_rows(&rows, hStream, waits);
}

CUresult gv_sim_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                             CUcontext srcContext, size_t ByteCount)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, BLOCKING);
}
