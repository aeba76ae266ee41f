#include "report/look/gpus.h"

#include "report/collect/nvml_calls.h"
#include "report/look/apart.h"
#include "trace/futex.h"

#include <string.h>

#define ANSWER_NS 2000000000u

static void ask_gpu(const struct gv_nvml_calls *nvml, void *device, struct gv_look_gpu *gpu)
{
    struct gv_nvml_process processes[GV_LOOK_GPU_USERS];
    unsigned count = GV_LOOK_GPU_USERS, mhz;
    struct gv_nvml_utilization rates;
    struct gv_nvml_memory memory;

    if (nvml->name(device, gpu->name, sizeof(gpu->name) - 1) != 0)
        gpu->name[0] = '\0';
    gpu->busy = nvml->utilization(device, &rates) == 0 ? (int32_t)rates.gpu : -1;
    gpu->sm_mhz = nvml->clock(device, GV_NVML_CLOCK_SM, &mhz) == 0 ? (int32_t)mhz : -1;
    bool known = nvml->memory(device, &memory) == 0;
    gpu->used_bytes = known ? (int64_t)memory.used : -1;
    gpu->total_bytes = known ? (int64_t)memory.total : -1;
    if (!nvml->processes || nvml->processes(device, &count, processes) != 0)
        return;
    for (unsigned i = 0; i < count && i < GV_LOOK_GPU_USERS; i++) {
        gpu->user[gpu->users].pid = processes[i].pid;
        gpu->user[gpu->users++].bytes =
            processes[i].used_bytes > INT64_MAX ? -1 : (int64_t)processes[i].used_bytes;
    }
}

static void ask(void *result)
{
    struct gv_look_gpus *gpus = result;
    struct gv_nvml_calls nvml;
    unsigned count = 0;

    if (!gv_nvml_calls_open(&nvml) || nvml.count(&count) != 0)
        return;
    for (unsigned i = 0; i < count && i < GV_LOOK_GPUS; i++) {
        void *device = NULL;
        struct gv_look_gpu *gpu = &gpus->gpu[gpus->count++];
        *gpu = (struct gv_look_gpu){.busy = -1, .sm_mhz = -1, .used_bytes = -1, .total_bytes = -1};
        if (nvml.device(i, &device) == 0)
            ask_gpu(&nvml, device, gpu);
    }
}

void gv_look_gpus(struct gv_look_gpus *gpus)
{
    memset(gpus, 0, sizeof(*gpus));
    if (gv_apart_run(ask, gpus, sizeof(*gpus), ANSWER_NS, gv_monotonic_ns() + ANSWER_NS))
        memset(gpus, 0, sizeof(*gpus));
}

bool gv_look_gpu_is_of(const struct gv_look_gpu *gpu, uint32_t pid, int64_t *bytes)
{
    for (uint32_t i = 0; i < gpu->users && i < GV_LOOK_GPU_USERS; i++)
        if (gpu->user[i].pid == pid) {
            if (bytes)
                *bytes = gpu->user[i].bytes;
            return true;
        }
    return false;
}

int gv_look_gpus_busy(const struct gv_look_gpus *gpus, uint32_t pid)
{
    int busy = -1;

    for (uint32_t i = 0; i < gpus->count; i++)
        if (gv_look_gpu_is_of(&gpus->gpu[i], pid, NULL) && gpus->gpu[i].busy > busy)
            busy = gpus->gpu[i].busy;
    return busy;
}
