#include "report/probe/stage.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of the runtime's header. */
#define GV_PROBE_DEVICE_TO_HOST 2
#define GV_PROBE_STACK_LIMIT    0

#define GV_PROBE_MANY 2000

#define GV_PROBE_STEP(name, call, arguments) int gv_probe_##name(struct gv_probe_stage *stage);
#define GV_PROBE_STEPS(name, first, second)  int gv_probe_##name(struct gv_probe_stage *stage);
#include "report/probe/steps.def"

#define GV_PROBE_STEP(name, call, arguments)                                                       \
    int gv_probe_##name(struct gv_probe_stage *stage)                                              \
    {                                                                                              \
        int result = (int)GV_CUDA(call) arguments;                                                 \
        (void)stage;                                                                               \
        return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;                             \
    }
#define GV_PROBE_STEPS(name, first, second)                                                        \
    int gv_probe_##name(struct gv_probe_stage *stage)                                              \
    {                                                                                              \
        GV_PROBE_TRY(gv_probe_##first(stage));                                                     \
        return gv_probe_##second(stage);                                                           \
    }
#include "report/probe/steps.def"

int gv_probe_nothing(struct gv_probe_stage *stage)
{
    (void)stage;
    return CUDA_SUCCESS;
}

int gv_probe_image(struct gv_probe_stage *stage)
{
    gv_probe_code_renew(stage, &stage->code);
    stage->made.image = stage->code.bytes;
    return CUDA_SUCCESS;
}

int gv_probe_fresh_ptx(struct gv_probe_stage *stage)
{
    int error = gv_probe_write_ptx(stage);

    stage->made.image = stage->ptx;
    return error;
}

/* Each is larger than all before: setting a smaller one may do nothing. */
int gv_probe_next_limit(struct gv_probe_stage *stage)
{
    stage->limit_bytes += 1024;
    return CUDA_SUCCESS;
}

int gv_probe_deep(struct gv_probe_stage *stage)
{
    if (stage->depot_bytes < stage->limit_bytes)
        stage->depot_bytes = stage->limit_bytes / 4096 * 4096 + 8192;
    stage->depot_bytes += 4096;
    GV_PROBE_TRY(gv_probe_write_deep(stage));
    stage->made.image = stage->ptx;
    GV_PROBE_TRY(gv_probe_load(stage));
    return (int)GV_CUDA(cuModuleGetFunction)(&stage->made.function, stage->made.module, "deep");
}

int gv_probe_launch_many(struct gv_probe_stage *stage)
{
    for (int i = 0; i < GV_PROBE_MANY; i++)
        GV_PROBE_TRY(gv_probe_launch_behind(stage));
    return CUDA_SUCCESS;
}

int gv_probe_host(struct gv_probe_stage *stage)
{
    stage->made.host = aligned_alloc(GV_PROBE_SMALL, GV_PROBE_MEGA);
    if (!stage->made.host)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(stage->made.host, 1, GV_PROBE_MEGA);
    return CUDA_SUCCESS;
}

int gv_probe_loader_image(struct gv_probe_stage *stage)
{
    stage->made.image = stage->loader.bytes;
    return CUDA_SUCCESS;
}

/* Pages that exist already: the driver would otherwise take most of the time to make them. */
int gv_probe_much_host(struct gv_probe_stage *stage)
{
    static char *much;

    if (!much) {
        much = aligned_alloc(GV_PROBE_SMALL, GV_PROBE_MUCH);
        if (!much)
            return CUDA_ERROR_OUT_OF_MEMORY;
        memset(much, 1, GV_PROBE_MUCH);
    }
    stage->made.host = much;
    return CUDA_SUCCESS;
}

int gv_probe_graph(struct gv_probe_stage *stage)
{
    GV_PROBE_TRY(GV_CUDA(cuStreamBeginCapture)(stage->other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    int error = gv_probe_launch(stage);
    int ended = (int)GV_CUDA(cuStreamEndCapture)(stage->other, &stage->made.graph);
    return error ? error : ended;
}

int gv_probe_runtime_allocate(struct gv_probe_stage *stage)
{
    void *memory;

    GV_PROBE_TRY(GV_CUDA(cudaMalloc)(&memory, GV_PROBE_MEGA));
    stage->made.memory = (CUdeviceptr)memory;
    return CUDA_SUCCESS;
}
