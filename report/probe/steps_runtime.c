/* Steps of the probe that go through libcudart, in the stage's context. */
#include "report/probe/steps.h"

#define GV_PROBE_DEVICE_TO_HOST 2
#define GV_PROBE_STACK_LIMIT    0

int gv_probe_runtime(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaSetDevice(stage->device);
}

int gv_probe_runtime_allocate(struct gv_probe_stage *stage)
{
    void *memory;
    int error = gv_probe_cuda.cudaMalloc(&memory, GV_PROBE_MEGA);

    if (!error)
        stage->made.memory = (CUdeviceptr)memory;
    return error;
}

int gv_probe_runtime_allocated(struct gv_probe_stage *stage)
{
    int error = gv_probe_runtime(stage);

    return error ? error : gv_probe_runtime_allocate(stage);
}

int gv_probe_runtime_release(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaFree((void *)stage->made.memory);
}

int gv_probe_runtime_allocate_host(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaMallocHost(&stage->made.host, GV_PROBE_MEGA);
}

int gv_probe_runtime_allocated_host(struct gv_probe_stage *stage)
{
    int error = gv_probe_runtime(stage);

    return error ? error : gv_probe_runtime_allocate_host(stage);
}

int gv_probe_runtime_release_host(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaFreeHost(stage->made.host);
}

int gv_probe_runtime_host(struct gv_probe_stage *stage)
{
    int error = gv_probe_runtime(stage);

    return error ? error : gv_probe_host(stage);
}

int gv_probe_runtime_pin(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaHostRegister(stage->made.host, GV_PROBE_MEGA, 0);
}

int gv_probe_runtime_pinned(struct gv_probe_stage *stage)
{
    int error = gv_probe_runtime_host(stage);

    return error ? error : gv_probe_runtime_pin(stage);
}

int gv_probe_runtime_unpin(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaHostUnregister(stage->made.host);
}

int gv_probe_runtime_copy(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaMemcpyAsync(stage->pageable, (const void *)stage->memory,
                                         GV_PROBE_SMALL, GV_PROBE_DEVICE_TO_HOST, stage->busy);
}

int gv_probe_runtime_next_limit(struct gv_probe_stage *stage)
{
    int error = gv_probe_runtime(stage);

    return error ? error : gv_probe_next_limit(stage);
}

int gv_probe_runtime_set_limit(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaDeviceSetLimit(GV_PROBE_STACK_LIMIT, stage->limit_bytes);
}

int gv_probe_runtime_restore_limit(struct gv_probe_stage *stage)
{
    return gv_probe_cuda.cudaDeviceSetLimit(GV_PROBE_STACK_LIMIT, stage->stack_bytes);
}
