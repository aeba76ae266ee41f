#include "report/collect/nvml_calls.h"

#include <dlfcn.h>
#include <stddef.h>

static bool look_up(void *library, struct gv_nvml_calls *calls)
{
    bool whole = true;

#define GV_NVML(field, symbol, parameters)                                                         \
    *(void **)&calls->field = dlsym(library, #symbol);                                             \
    whole = whole && calls->field;
    GV_NVML_FUNCTIONS
#undef GV_NVML
    /* Both versions have the same structure. */
    *(void **)&calls->processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
    if (!calls->processes)
        *(void **)&calls->processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v2");
    return whole;
}

void *gv_nvml_calls_open(struct gv_nvml_calls *calls)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library && look_up(library, calls) && calls->init() == 0)
        return library;
    if (library)
        dlclose(library);
    return NULL;
}
