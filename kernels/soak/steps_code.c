/* Steps of a thread of soak: code that comes and goes, graphs, calls inside calls, contexts. */
#include "kernels/soak/soak.h"

#include "kernels/ptx.h"

#include <stdio.h>

static void make_ptx(char *text, size_t size, uint32_t number)
{
    snprintf(text, size, GV_PTX_HEAD ".visible .entry kernel_%u()\n{\n    ret;\n}\n", number);
}

static CUresult load_module(struct soak_module *module, const char *ptx, const char *name)
{
    CUresult result;

    soak_note(SOAK_LOADS, 0);
    result = (CUresult)DO(cuModuleLoadData, &module->module, ptx);
    if (result == CUDA_SUCCESS)
        result = (CUresult)DO(cuModuleGetFunction, &module->kernel, module->module, name);
    return result;
}

static CUresult load_library(struct soak_module *module, const char *ptx, const char *name,
                             bool as_function)
{
    CUkernel kernel = NULL;
    CUresult result;

    soak_note(SOAK_LOADS, 0);
    result = (CUresult)DO(cuLibraryLoadData, &module->library, ptx, NULL, NULL, 0, NULL, NULL, 0);
    if (result == CUDA_SUCCESS)
        result = (CUresult)DO(cuLibraryGetKernel, &kernel, module->library, name);
    module->kernel = (CUfunction)kernel;
    if (result == CUDA_SUCCESS && as_function)
        result = (CUresult)DO(cuKernelGetFunction, &module->kernel, kernel);
    return result;
}

void soak_drop_module(struct soak_thread *thread, struct soak_module *module)
{
    if (module->module)
        TOLD(thread, cuModuleUnload, module->module);
    if (module->library)
        TOLD(thread, cuLibraryUnload, module->library);
    *module = (struct soak_module){0};
}

void soak_step_module(struct soak_thread *thread)
{
    struct soak_module *module = &thread->modules[soak_random(thread, SOAK_MODULES)];
    uint32_t how = soak_random(thread, 3);
    char ptx[256], name[32];

    if (module->kernel) {
        soak_drop_module(thread, module);
        return;
    }
    module->number = SOAK_FIRST_MODULE + soak_random(thread, 1u << 23);
    make_ptx(ptx, sizeof ptx, module->number);
    snprintf(name, sizeof name, "kernel_%u", module->number);
    soak_digest(thread,
                how ? load_library(module, ptx, name, how == 2) : load_module(module, ptx, name));
    soak_digest(thread, soak_launch(module->kernel, module->number, thread->home, NULL));
}

/* What is captured runs when the graph runs, as one GPU operation; or at once, if there was no
 * memory for a capture. */
void soak_step_capture(struct soak_thread *thread)
{
    uint32_t launches = soak_random(thread, 4), count = 1 + soak_random(thread, 5);
    CUgraphExec exec = NULL;
    CUgraph graph = NULL;

    soak_quiet = true;
    CUresult begun = DO(cuStreamBeginCapture_v2, thread->home,
                        soak_random(thread, 2) ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                               : CU_STREAM_CAPTURE_MODE_RELAXED);
    uint32_t runs = begun == CUDA_SUCCESS ? 0 : SOAK_RUNS;
    soak_digest(thread, begun);
    for (uint32_t i = 0; i <= launches; i++) {
        soak_note(SOAK_KERNEL | runs, SOAK_EMPTY);
        TOLD(thread, cuLaunchKernel, soak.kernels[SOAK_EMPTY], 1, 1, 1, 1, 1, 1, 0, thread->home,
             NULL, NULL);
    }
    soak_note(runs, 0);
    TOLD(thread, cuMemsetD8Async, thread->scratch, 3, 64, thread->home);
    TOLD(thread, cuStreamEndCapture, thread->home, &graph);
    soak_quiet = false;
    TOLD(thread, cuGraphInstantiateWithFlags, &exec, graph, 0);
    for (uint32_t i = 0; i < count; i++) {
        soak_note(SOAK_RUNS, 0);
        TOLD(thread, cuGraphLaunch, exec, thread->home);
    }
    TOLD(thread, cuStreamSynchronize, thread->home);
    TOLD(thread, cuGraphExecDestroy, exec);
    TOLD(thread, cuGraphDestroy, graph);
}

/* Calls in a callback of the driver belong to the outer call, so none of them is logged. */
static size_t CUDA_CB call_inside(int block_size)
{
    (void)block_size;
    cuEventQuery(soak.always);
    cuStreamQuery(soak.shared[0]);
    return 0;
}

void soak_step_nested(struct soak_thread *thread)
{
    int grid = 0, block = 0;

    TOLD(thread, cuOccupancyMaxPotentialBlockSize, &grid, &block, soak.kernels[SOAK_EMPTY],
         call_inside, 0, 64);
    soak_digest(thread, (uint64_t)block);
}

/* Its end forgets the names of all kernels of which only the handle is known. */
void soak_step_second_context(struct soak_thread *thread)
{
    uint32_t number = SOAK_FIRST_MODULE + soak_random(thread, 1u << 23);
    struct soak_module module = {.number = number};
    char ptx[256], name[32];
    CUcontext context = NULL;

    soak_quiet = true;
    make_ptx(ptx, sizeof ptx, number);
    snprintf(name, sizeof name, "kernel_%u", number);
    TOLD(thread, cuCtxCreate_v2, &context, 0, soak.device);
    soak_digest(thread, load_module(&module, ptx, name));
    for (int i = 0; i < 3; i++)
        soak_digest(thread, soak_launch(module.kernel, number, NULL, NULL));
    TOLD(thread, cuCtxSynchronize);
    TOLD(thread, cuCtxDestroy_v2, context);
    TOLD(thread, cuCtxSetCurrent, soak.context);
    soak_quiet = false;
}
