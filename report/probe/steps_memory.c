/* Steps of the probe about memory: allocating, freeing, pinning and copying. */
#include "report/probe/steps.h"

#include <stdlib.h>
#include <string.h>

int gv_probe_allocate(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemAlloc(&stage->made.memory, GV_PROBE_MEGA);
}

int gv_probe_allocate_managed(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemAllocManaged(&stage->made.memory, GV_PROBE_MEGA,
                                                CU_MEM_ATTACH_GLOBAL);
}

int gv_probe_release(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemFree(stage->made.memory);
}

int gv_probe_allocate_async(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemAllocAsync(&stage->made.memory, GV_PROBE_MEGA, stage->other);
}

int gv_probe_release_async(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemFreeAsync(stage->made.memory, stage->other);
}

int gv_probe_allocate_host(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemAllocHost(&stage->made.host, GV_PROBE_MEGA);
}

int gv_probe_release_host(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemFreeHost(stage->made.host);
}

int gv_probe_host(struct gv_probe_stage *stage)
{
    stage->made.host = aligned_alloc(GV_PROBE_SMALL, GV_PROBE_MEGA);
    if (!stage->made.host)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(stage->made.host, 1, GV_PROBE_MEGA);
    return CUDA_SUCCESS;
}

int gv_probe_pin(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemHostRegister(stage->made.host, GV_PROBE_MEGA, 0);
}

int gv_probe_pinned(struct gv_probe_stage *stage)
{
    int error = gv_probe_host(stage);

    return error ? error : gv_probe_pin(stage);
}

/* The memory is freed when the child ends, so that free() is not measured. */
int gv_probe_unpin(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemHostUnregister(stage->made.host);
}

int gv_probe_memory_info(struct gv_probe_stage *stage)
{
    size_t left, all;

    (void)stage;
    return (int)gv_probe_cuda.cuMemGetInfo(&left, &all);
}

int gv_probe_copy_to_pageable(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemcpyDtoHAsync(stage->pageable, stage->memory, GV_PROBE_SMALL,
                                                stage->busy);
}

int gv_probe_copy_small_pageable(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemcpyHtoDAsync(stage->memory, stage->pageable, GV_PROBE_MIDDLE,
                                                stage->busy);
}

int gv_probe_copy_large_pageable(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemcpyHtoDAsync(stage->memory, stage->pageable, GV_PROBE_LARGE,
                                                stage->busy);
}

int gv_probe_copy_pinned_behind(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemcpyHtoDAsync(stage->memory, stage->pinned, GV_PROBE_LARGE,
                                                stage->busy);
}

int gv_probe_copy_pinned(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemcpyHtoDAsync(stage->memory, stage->pinned, GV_PROBE_SMALL,
                                                stage->other);
}

int gv_probe_copy(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemcpyHtoD(stage->memory, stage->pageable, GV_PROBE_SMALL);
}

int gv_probe_set_behind(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemsetD8Async(stage->memory, 1, GV_PROBE_SMALL, stage->busy);
}

int gv_probe_set(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuMemsetD8Async(stage->memory, 1, GV_PROBE_SMALL, stage->other);
}

int gv_probe_pointer_attribute(struct gv_probe_stage *stage)
{
    unsigned int kind;

    return (int)gv_probe_cuda.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                    stage->memory);
}
