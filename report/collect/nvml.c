#include "report/collect/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GV_NVML_CLOCK_SM     1
#define GV_NVML_CLOCK_MEMORY 2
#define GV_NVML_TEMPERATURE  0

struct gv_nvml_utilization {
    unsigned gpu;
    unsigned memory;
};

struct gv_nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

/* GV_NVML(field, symbol, parameters); each returns 0 for success. */
#define GV_NVML_FUNCTIONS                                                                          \
    GV_NVML(init, nvmlInit_v2, (void))                                                             \
    GV_NVML(shutdown, nvmlShutdown, (void))                                                        \
    GV_NVML(count, nvmlDeviceGetCount_v2, (unsigned *count))                                       \
    GV_NVML(device, nvmlDeviceGetHandleByIndex_v2, (unsigned index, void **device))                \
    GV_NVML(uuid, nvmlDeviceGetUUID, (void *device, char *uuid, unsigned bytes))                   \
    GV_NVML(utilization, nvmlDeviceGetUtilizationRates,                                            \
            (void *device, struct gv_nvml_utilization *rates))                                     \
    GV_NVML(memory, nvmlDeviceGetMemoryInfo, (void *device, struct gv_nvml_memory *memory))        \
    GV_NVML(power, nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatts))                  \
    GV_NVML(clock, nvmlDeviceGetClockInfo, (void *device, int which, unsigned *mhz))               \
    GV_NVML(temperature, nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius))

struct gv_nvml {
    void *library;
#define GV_NVML(field, symbol, parameters) int(*field) parameters;
    GV_NVML_FUNCTIONS
#undef GV_NVML
    unsigned devices;
    struct {
        void *handle;
        char uuid[GV_NVML_UUID_BYTES];
    } device_at[GV_NVML_DEVICES];
};

static bool gv_nvml_look_up(struct gv_nvml *nvml)
{
    bool whole = true;

#define GV_NVML(field, symbol, parameters)                                                         \
    *(void **)&nvml->field = dlsym(nvml->library, #symbol);                                        \
    whole = whole && nvml->field;
    GV_NVML_FUNCTIONS
#undef GV_NVML
    return whole;
}

static void gv_nvml_find_devices(struct gv_nvml *nvml)
{
    unsigned count = 0;

    if (nvml->count(&count) != 0)
        return;
    for (unsigned i = 0; i < count && nvml->devices < GV_NVML_DEVICES; i++) {
        void *device = NULL;
        char *uuid = nvml->device_at[nvml->devices].uuid;

        if (nvml->device(i, &device) != 0 || nvml->uuid(device, uuid, GV_NVML_UUID_BYTES - 1) != 0)
            continue;
        nvml->device_at[nvml->devices++].handle = device;
    }
}

struct gv_nvml *gv_nvml_open(void)
{
    struct gv_nvml *nvml = calloc(1, sizeof(*nvml));

    if (!nvml)
        return NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library && gv_nvml_look_up(nvml) && nvml->init() == 0) {
        gv_nvml_find_devices(nvml);
        return nvml;
    }
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
    return NULL;
}

void gv_nvml_close(struct gv_nvml *nvml)
{
    if (!nvml)
        return;
    nvml->shutdown();
    dlclose(nvml->library);
    free(nvml);
}

unsigned gv_nvml_count(const struct gv_nvml *nvml)
{
    return nvml->devices;
}

void gv_nvml_ask(const struct gv_nvml *nvml, unsigned device, struct gv_nvml_sample *sample)
{
    void *handle = nvml->device_at[device].handle;
    struct gv_nvml_utilization rates;
    struct gv_nvml_memory memory;
    struct timespec now;
    unsigned value;

    memcpy(sample->uuid, nvml->device_at[device].uuid, sizeof(sample->uuid));
    clock_gettime(CLOCK_MONOTONIC, &now);
    sample->at_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    bool known = nvml->utilization(handle, &rates) == 0;
    sample->gpu_percent = known ? (int64_t)rates.gpu : -1;
    sample->memory_percent = known ? (int64_t)rates.memory : -1;
    sample->memory_used_bytes = nvml->memory(handle, &memory) == 0 ? (int64_t)memory.used : -1;
    sample->power_mw = nvml->power(handle, &value) == 0 ? (int64_t)value : -1;
    sample->sm_mhz = nvml->clock(handle, GV_NVML_CLOCK_SM, &value) == 0 ? (int64_t)value : -1;
    sample->memory_mhz =
        nvml->clock(handle, GV_NVML_CLOCK_MEMORY, &value) == 0 ? (int64_t)value : -1;
    sample->temperature_c =
        nvml->temperature(handle, GV_NVML_TEMPERATURE, &value) == 0 ? (int64_t)value : -1;
}
