/* A plug-in that uses CUDA; the program need not know. */
#include "e2e.h"

__attribute__((visibility("default"))) int plugin_work(unsigned launches);
__attribute__((visibility("default"))) int plugin_free(void *memory);

int plugin_work(unsigned launches)
{
    struct e2e_gpu gpu;

    e2e_open(&gpu);
    e2e_tick(&gpu, launches);
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(gpu.module));
    return (int)launches;
}

int plugin_free(void *memory)
{
    return cuMemFree((CUdeviceptr)memory);
}
