#include "report/probe/stage.h"

#include <stdlib.h>
#include <string.h>

/* Runs for that long by the GPU's clock. */
static const char probe_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry empty()\n{\n    ret;\n}\n"
                                ".visible .entry spin(.param .u64 spin_ns)\n{\n"
                                "    .reg .pred %p<2>;\n    .reg .b64 %rd<5>;\n"
                                "    ld.param.u64 %rd1, [spin_ns];\n"
                                "    mov.u64 %rd2, %globaltimer;\n"
                                "    add.u64 %rd3, %rd2, %rd1;\n"
                                "AGAIN:\n"
                                "    mov.u64 %rd4, %globaltimer;\n"
                                "    setp.lt.u64 %p1, %rd4, %rd3;\n"
                                "    @%p1 bra AGAIN;\n"
                                "    ret;\n}\n";

static int probe_stage_context(struct gv_probe_stage *stage, int gpu)
{
    GV_PROBE_TRY(GV_CUDA(cuInit)(0));
    GV_PROBE_TRY(GV_CUDA(cuDeviceGet)(&stage->device, gpu));
    GV_PROBE_TRY(GV_CUDA(cuDevicePrimaryCtxRetain)(&stage->context, stage->device));
    GV_PROBE_TRY(GV_CUDA(cuCtxSetCurrent)(stage->context));
    GV_PROBE_TRY(GV_CUDA(cuStreamCreate)(&stage->busy, CU_STREAM_NON_BLOCKING));
    GV_PROBE_TRY(GV_CUDA(cuStreamCreate)(&stage->other, CU_STREAM_NON_BLOCKING));
    GV_PROBE_TRY(GV_CUDA(cuEventCreate)(&stage->ended, CU_EVENT_DISABLE_TIMING));
    GV_PROBE_TRY(GV_CUDA(cuEventCreate)(&stage->early, CU_EVENT_DISABLE_TIMING));
    GV_PROBE_TRY(GV_CUDA(cuEventRecord)(stage->early, stage->other));
    GV_PROBE_TRY(GV_CUDA(cuModuleLoadData)(&stage->module, probe_ptx));
    GV_PROBE_TRY(GV_CUDA(cuModuleGetFunction)(&stage->spin, stage->module, "spin"));
    GV_PROBE_TRY(GV_CUDA(cuModuleGetFunction)(&stage->empty, stage->module, "empty"));
    return CUDA_SUCCESS;
}

static int probe_stage_memory(struct gv_probe_stage *stage)
{
    void *pinned;

    GV_PROBE_TRY(GV_CUDA(cuMemAlloc)(&stage->memory, GV_PROBE_LARGE));
    GV_PROBE_TRY(GV_CUDA(cuMemAllocHost)(&pinned, GV_PROBE_LARGE));
    stage->pinned = pinned;
    stage->pageable = malloc(GV_PROBE_LARGE);
    if (!stage->pageable)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(stage->pageable, 1, GV_PROBE_LARGE);
    memset(stage->pinned, 1, GV_PROBE_LARGE);
    return CUDA_SUCCESS;
}

int gv_probe_stage_open(struct gv_probe_stage *stage, int gpu)
{
    memset(stage, 0, sizeof(*stage));
    GV_PROBE_TRY(probe_stage_context(stage, gpu));
    GV_PROBE_TRY(probe_stage_memory(stage));
    GV_PROBE_TRY(gv_probe_code_make(stage, &stage->code));
    GV_PROBE_TRY(gv_probe_code_make(stage, &stage->loader));
    GV_PROBE_TRY(GV_CUDA(cuCtxGetLimit)(&stage->stack_bytes, CU_LIMIT_STACK_SIZE));
    stage->limit_bytes = stage->stack_bytes;
    /* Launches both kernels before anything is measured. */
    GV_PROBE_TRY(gv_probe_stage_busy(stage, 0));
    GV_PROBE_TRY(
        GV_CUDA(cuLaunchKernel)(stage->empty, 1, 1, 1, 1, 1, 1, 0, stage->other, NULL, NULL));
    return (int)GV_CUDA(cuCtxSynchronize)();
}

int gv_probe_stage_busy(struct gv_probe_stage *stage, int64_t ns)
{
    uint64_t spin_ns = (uint64_t)ns;
    void *parameters[] = {&spin_ns};

    GV_PROBE_TRY(
        GV_CUDA(cuLaunchKernel)(stage->spin, 1, 1, 1, 1, 1, 1, 0, stage->busy, parameters, NULL));
    return (int)GV_CUDA(cuEventRecord)(stage->ended, stage->busy);
}
