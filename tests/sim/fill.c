/* The memset family. None of them waits for the GPU. */
#include "tests/sim/sim.h"

#include <string.h>

void gv_sim_fill_do(const struct gv_sim_fill *fill)
{
    for (size_t y = 0; y < fill->height; y++) {
        char *row = fill->target + y * fill->pitch;
        if (fill->element_bytes == 1)
            memset(row, (int)fill->value, fill->width);
        else
            for (size_t x = 0; x < fill->width; x++)
                memcpy(row + x * fill->element_bytes, &fill->value, fill->element_bytes);
    }
}

static CUresult fill_rows(CUdeviceptr target, size_t pitch, size_t element_bytes, uint32_t value,
                          size_t width, size_t height, CUstream hStream, bool blocking)
{
    CUresult result;
    struct gv_sim_stream *s = gv_sim_stream_of(hStream, &result);
    if (!s || (blocking && (result = gv_sim_unsafe())))
        return result;
    if (gv_sim_memory_kind((void *)target) == GV_SIM_PAGEABLE || target % element_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_fill fill = {.target = (char *)target,
                               .pitch = pitch,
                               .element_bytes = element_bytes,
                               .width = width,
                               .height = height,
                               .value = value};
    uint64_t ns = gv_sim_copy_ns(element_bytes * width * height);
    if (gv_sim_captured(s, &result)) {
        struct gv_sim_graph *graph = result ? NULL : gv_sim_capture_graph(s);
        struct gv_sim_node *node =
            graph ? gv_sim_node_new(graph, CU_GRAPH_NODE_TYPE_MEMSET, ns) : NULL;
        if (node)
            node->fill = fill;
        return result ? result : gv_sim_capture_add(s, node);
    }
    if (result)
        return result;
    gv_sim_stream_lock(s);
    uint64_t end = gv_sim_stream_push(s, ns);
    gv_sim_fill_do(&fill);
    pthread_mutex_unlock(&s->context->work);
    if (gv_sim_traced()) {
        struct gv_sim_operation work;
        gv_sim_trace_set(&work, &fill);
        work.async = !blocking;
        gv_sim_trace_work(s, end, ns, &work);
    }
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return fill_rows(dstDevice, 0, 1, uc, N, 1, NULL, true);
}

CUresult gv_sim_cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return fill_rows(dstDevice, 0, 4, ui, N, 1, NULL, true);
}

CUresult gv_sim_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    return fill_rows(dstDevice, 0, 1, uc, N, 1, hStream, false);
}

CUresult gv_sim_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    return fill_rows(dstDevice, 0, 4, ui, N, 1, hStream, false);
}
