/* Steps of the probe about code: modules, libraries, the linker, first launches, limits. */
#include "report/probe/steps.h"

#include <string.h>

#define GV_PROBE_MANY 2000

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

int gv_probe_load(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuModuleLoadData(&stage->made.module, stage->made.image);
}

int gv_probe_module(struct gv_probe_stage *stage)
{
    int error = gv_probe_image(stage);

    return error ? error : gv_probe_load(stage);
}

int gv_probe_unload(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuModuleUnload(stage->made.module);
}

int gv_probe_module_function(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuModuleGetFunction(&stage->made.function, stage->made.module,
                                                  "late");
}

int gv_probe_module_global(struct gv_probe_stage *stage)
{
    CUdeviceptr where;
    size_t size;

    return (int)gv_probe_cuda.cuModuleGetGlobal(&where, &size, stage->made.module, "late_tag");
}

int gv_probe_library_load(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuLibraryLoadData(&stage->made.library, stage->made.image, NULL, NULL,
                                                0, NULL, NULL, 0);
}

int gv_probe_library_unload(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuLibraryUnload(stage->made.library);
}

int gv_probe_library_image(struct gv_probe_stage *stage)
{
    int error = gv_probe_image(stage);

    return error ? error : gv_probe_library_load(stage);
}

int gv_probe_library_kernel(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuLibraryGetKernel(&stage->made.kernel, stage->made.library, "late");
}

int gv_probe_library(struct gv_probe_stage *stage)
{
    int error = gv_probe_library_image(stage);

    if (!error)
        error = gv_probe_library_kernel(stage);
    if (!error)
        error = (int)gv_probe_cuda.cuLibraryGetKernel(&stage->made.second, stage->made.library,
                                                      "second");
    return error;
}

int gv_probe_kernel_function(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuKernelGetFunction(&stage->made.function, stage->made.kernel);
}

static int probe_launch_one(CUfunction function, CUstream stream, void **parameters)
{
    return (int)gv_probe_cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters,
                                             NULL);
}

int gv_probe_kernel_launch(struct gv_probe_stage *stage)
{
    CUdeviceptr nowhere = 0;
    void *parameters[] = {&nowhere};

    return probe_launch_one((CUfunction)stage->made.kernel, stage->other, parameters);
}

int gv_probe_second_launch(struct gv_probe_stage *stage)
{
    return probe_launch_one((CUfunction)stage->made.second, stage->other, NULL);
}

int gv_probe_used_library(struct gv_probe_stage *stage)
{
    int error = gv_probe_library(stage);

    return error ? error : gv_probe_kernel_launch(stage);
}

int gv_probe_link(struct gv_probe_stage *stage)
{
    void *linked;
    size_t size;
    int error = (int)gv_probe_cuda.cuLinkCreate(0, NULL, NULL, &stage->made.link);

    if (!error)
        error = (int)gv_probe_cuda.cuLinkAddData(stage->made.link, CU_JIT_INPUT_PTX, stage->ptx,
                                                 strlen(stage->ptx) + 1, "late", 0, NULL, NULL);
    if (!error)
        error = (int)gv_probe_cuda.cuLinkComplete(stage->made.link, &linked, &size);
    return error;
}

int gv_probe_unlink(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuLinkDestroy(stage->made.link);
}

int gv_probe_function_attribute(struct gv_probe_stage *stage)
{
    int value;

    return (int)gv_probe_cuda.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, stage->empty);
}

int gv_probe_function_set(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuFuncSetAttribute(
        stage->empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16384);
}

/* Each is larger than all before: setting a smaller one may do nothing. */
int gv_probe_next_limit(struct gv_probe_stage *stage)
{
    stage->limit_bytes += 1024;
    return CUDA_SUCCESS;
}

int gv_probe_set_limit(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, stage->limit_bytes);
}

int gv_probe_restore_limit(struct gv_probe_stage *stage)
{
    return (int)gv_probe_cuda.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, stage->stack_bytes);
}

int gv_probe_deep(struct gv_probe_stage *stage)
{
    int error;

    if (stage->depot_bytes < stage->limit_bytes)
        stage->depot_bytes = stage->limit_bytes / 4096 * 4096 + 8192;
    stage->depot_bytes += 4096;
    error = gv_probe_write_deep(stage);
    stage->made.image = stage->ptx;
    if (!error)
        error = gv_probe_load(stage);
    if (!error)
        error = (int)gv_probe_cuda.cuModuleGetFunction(&stage->made.function, stage->made.module,
                                                       "deep");
    return error;
}

int gv_probe_deep_launch(struct gv_probe_stage *stage)
{
    void *parameters[] = {&stage->memory};

    return (int)gv_probe_cuda.cuLaunchKernel(stage->made.function, 1, 1, 1, 32, 1, 1, 0,
                                             stage->other, parameters, NULL);
}

int gv_probe_launch(struct gv_probe_stage *stage)
{
    return probe_launch_one(stage->empty, stage->other, NULL);
}

int gv_probe_launch_behind(struct gv_probe_stage *stage)
{
    return probe_launch_one(stage->empty, stage->busy, NULL);
}

int gv_probe_launch_many(struct gv_probe_stage *stage)
{
    int error = CUDA_SUCCESS;

    for (int i = 0; i < GV_PROBE_MANY && !error; i++)
        error = gv_probe_launch_behind(stage);
    return error;
}
