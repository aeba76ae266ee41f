/*
 * The functions of NVIDIA's management library (NVML) that are called, and their structures. Each
 * returns 0 for success. With a driver in trouble, any of them may take long, or never return.
 */
#ifndef GV_COLLECT_NVML_CALLS_H
#define GV_COLLECT_NVML_CALLS_H

#include <stdbool.h>

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

struct gv_nvml_process {
    unsigned pid;
    unsigned long long used_bytes; /* all bits are set: unknown */
    unsigned gpu_instance, compute_instance;
};

/* GV_NVML(field, symbol, parameters) */
#define GV_NVML_FUNCTIONS                                                                          \
    GV_NVML(init, nvmlInit_v2, (void))                                                             \
    GV_NVML(shutdown, nvmlShutdown, (void))                                                        \
    GV_NVML(count, nvmlDeviceGetCount_v2, (unsigned *count))                                       \
    GV_NVML(device, nvmlDeviceGetHandleByIndex_v2, (unsigned index, void **device))                \
    GV_NVML(uuid, nvmlDeviceGetUUID, (void *device, char *uuid, unsigned bytes))                   \
    GV_NVML(name, nvmlDeviceGetName, (void *device, char *name, unsigned bytes))                   \
    GV_NVML(utilization, nvmlDeviceGetUtilizationRates,                                            \
            (void *device, struct gv_nvml_utilization *rates))                                     \
    GV_NVML(memory, nvmlDeviceGetMemoryInfo, (void *device, struct gv_nvml_memory *memory))        \
    GV_NVML(power, nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatts))                  \
    GV_NVML(clock, nvmlDeviceGetClockInfo, (void *device, int which, unsigned *mhz))               \
    GV_NVML(temperature, nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius))

struct gv_nvml_calls {
#define GV_NVML(field, symbol, parameters) int(*field) parameters;
    GV_NVML_FUNCTIONS
#undef GV_NVML
    /* NULL: a library that lacks it. *count: the room, and then how many there are. */
    int (*processes)(void *device, unsigned *count, struct gv_nvml_process *processes);
};

/* Opens the library and initialises it. NULL: it is not installed, or it refuses. */
void *gv_nvml_calls_open(struct gv_nvml_calls *calls);

#endif
