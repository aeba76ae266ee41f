/*
 * A simulated libnvidia-ml for the simulator's devices, with values that a test can recognise.
 *
 * GV_SIM_NVML: `refuse` (nvmlInit fails), `hang` (nvmlInit never returns), `partial` (devices
 * report no utilisation and no power, as some do). GV_SIM_NVML_DEVICES: the number of devices,
 * default 1. GV_SIM_MACHINE: each lists the processes of this folder (tests/sim/machine.c).
 * GV_SIM_GPM: a file with what GPM says from now on, such as "2=41 3=12.5", by the numbers of
 * nvml.h, and "clocks=4", what slows the device down. A program writes it as its work changes.
 * Without it there is no GPM.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SUCCESS           0
#define NOT_SUPPORTED     3
#define INSUFFICIENT_SIZE 7
#define UNKNOWN           999
#define INVALID           2
#define EXPORT            __attribute__((visibility("default")))

struct rates {
    unsigned gpu;
    unsigned memory;
};

struct memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

struct gpm_support {
    unsigned version, is_supported;
};

struct gpm_metric {
    unsigned number;
    int result;
    double value;
    char *words[3];
};

struct gpm_metrics {
    unsigned version, count;
    struct gpm_sample *before, *after;
    struct gpm_metric metrics[64];
};

/* What the file said, and when. */
struct gpm_sample {
    struct timespec at;
    char text[512];
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned bytes);
int nvmlDeviceGetName(void *device, char *name, unsigned bytes);
int nvmlDeviceGetUtilizationRates(void *device, struct rates *rates);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                            struct process *processes);
int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation);
int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *width);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
int nvmlGpmQueryDeviceSupport(void *device, struct gpm_support *support);
int nvmlGpmSampleAlloc(struct gpm_sample **sample);
int nvmlGpmSampleFree(struct gpm_sample *sample);
int nvmlGpmSampleGet(void *device, struct gpm_sample *sample);
int nvmlGpmMetricsGet(struct gpm_metrics *metrics);

static int is(const char *mode)
{
    const char *value = getenv("GV_SIM_NVML");

    return value && strcmp(value, mode) == 0;
}

EXPORT int nvmlInit_v2(void)
{
    while (is("hang"))
        pause();
    return is("refuse") ? UNKNOWN : SUCCESS;
}

EXPORT int nvmlShutdown(void)
{
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    const char *devices = getenv("GV_SIM_NVML_DEVICES");

    *count = devices ? (unsigned)strtoul(devices, NULL, 10) : 1;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)(uintptr_t)(index + 1);
    return SUCCESS;
}

/* As tests/sim/device.c has it. */
EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned bytes)
{
    unsigned char raw[17] = "gv-sim-device-#";
    size_t used = 0;

    raw[15] = (unsigned char)((uintptr_t)device - 1);
    used = (size_t)snprintf(uuid, bytes, "GPU-");
    for (size_t i = 0; i < 16 && used + 3 < bytes; i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += (size_t)snprintf(uuid + used, bytes - used, "%s%02x", dash, raw[i]);
    }
    return SUCCESS;
}

EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned bytes)
{
    (void)device;
    snprintf(name, bytes, "Simulated GPU");
    return SUCCESS;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct rates *rates)
{
    (void)device;
    *rates = (struct rates){.gpu = 97, .memory = 41};
    return is("partial") ? NOT_SUPPORTED : SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    (void)device;
    *memory = (struct memory){.total = 80ull << 30, .free = 79ull << 30, .used = 1ull << 30};
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 351000;
    return is("partial") ? NOT_SUPPORTED : SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    (void)device;
    *mhz = which == 1 ? 1980 : 2619;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device;
    (void)sensor;
    *celsius = 54;
    return SUCCESS;
}

/* Those with a context: tests/sim/machine.c makes a file for each. */
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                                   struct process *processes)
{
    const char *machine = getenv("GV_SIM_MACHINE");
    DIR *folder = machine ? opendir(machine) : NULL;
    unsigned found = 0;

    (void)device;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        unsigned pid = (unsigned)strtoul(entry->d_name, NULL, 10);
        if (pid && found < *count)
            processes[found] = (struct process){.pid = pid, .used = 100ull << 20};
        found += pid != 0;
    }
    if (folder)
        closedir(folder);
    bool fits = found <= *count;
    *count = found;
    return is("partial") ? NOT_SUPPORTED : fits ? SUCCESS : INSUFFICIENT_SIZE;
}

EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation)
{
    (void)device;
    *generation = 5;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *width)
{
    (void)device;
    *width = 16;
    return SUCCESS;
}

/* ---- GPM ---- */

static bool gpm_read(struct gpm_sample *sample)
{
    const char *path = getenv("GV_SIM_GPM");
    FILE *file = path ? fopen(path, "r") : NULL;

    if (!file)
        return false;
    size_t length = fread(sample->text, 1, sizeof(sample->text) - 1, file);
    sample->text[length] = '\0';
    fclose(file);
    return true;
}

/* The number behind "name=". */
static bool gpm_find(const struct gpm_sample *sample, const char *name, double *value)
{
    size_t length = strlen(name);

    for (const char *at = sample->text; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            *value = strtod(at + length + 1, NULL);
            return true;
        }
    }
    return false;
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    struct gpm_sample sample;
    double value;

    (void)device;
    if (!gpm_read(&sample))
        return NOT_SUPPORTED;
    *reasons = gpm_find(&sample, "clocks", &value) ? (unsigned long long)value : 0;
    return SUCCESS;
}

EXPORT int nvmlGpmQueryDeviceSupport(void *device, struct gpm_support *support)
{
    struct gpm_sample sample;

    (void)device;
    if (support->version != 1)
        return INVALID;
    support->is_supported = gpm_read(&sample);
    return SUCCESS;
}

EXPORT int nvmlGpmSampleAlloc(struct gpm_sample **sample)
{
    *sample = calloc(1, sizeof(**sample));
    return *sample ? SUCCESS : UNKNOWN;
}

EXPORT int nvmlGpmSampleFree(struct gpm_sample *sample)
{
    free(sample);
    return SUCCESS;
}

EXPORT int nvmlGpmSampleGet(void *device, struct gpm_sample *sample)
{
    (void)device;
    clock_gettime(CLOCK_MONOTONIC, &sample->at);
    return gpm_read(sample) ? SUCCESS : NOT_SUPPORTED;
}

/* As the real one, it wants 100 ms between two samples, and says of each number what it knows. */
EXPORT int nvmlGpmMetricsGet(struct gpm_metrics *metrics)
{
    const struct timespec *from = &metrics->before->at, *to = &metrics->after->at;
    char name[16];

    if (metrics->version != 1 || metrics->count > 64 || from->tv_sec == 0 ||
        (to->tv_sec - from->tv_sec) * 1000000000L + to->tv_nsec - from->tv_nsec < 100000000L)
        return INVALID;
    for (unsigned i = 0; i < metrics->count; i++) {
        struct gpm_metric *metric = &metrics->metrics[i];
        snprintf(name, sizeof(name), "%u", metric->number);
        metric->result = gpm_find(metrics->after, name, &metric->value) ? SUCCESS : NOT_SUPPORTED;
    }
    return SUCCESS;
}
