#include "report/nvml_samples.h"

#include <dlfcn.h>
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

struct gv_samples_functions {
    void *library;
#define GV_NVML(field, symbol, parameters) int(*field) parameters;
    GV_NVML_FUNCTIONS
#undef GV_NVML
};

static int64_t gv_samples_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct gv_samples_functions *gv_samples_open(void)
{
    struct gv_samples_functions *functions = calloc(1, sizeof(*functions));
    bool whole = true;

    if (!functions)
        return NULL;
    functions->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (functions->library) {
#define GV_NVML(field, symbol, parameters)                                                         \
    *(void **)&functions->field = dlsym(functions->library, #symbol);                              \
    whole = whole && functions->field;
        GV_NVML_FUNCTIONS
#undef GV_NVML
        if (whole && functions->init() == 0)
            return functions;
        dlclose(functions->library);
    }
    free(functions);
    return NULL;
}

/* 1: the trace has a device of this UUID, 0: not, or -errno. */
static int gv_samples_knows(struct gv_database *database, const char *uuid)
{
    int error, result;
    sqlite3_stmt *find = gv_database_prepare(database, GV_STATEMENT_DEVICE_FIND, &error);

    if (!find)
        return error;
    result = sqlite3_bind_text(find, 1, uuid, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_step(find);
    error = gv_database_error(database->handle, result);
    sqlite3_reset(find);
    return error ? error : result == SQLITE_ROW;
}

static void gv_samples_find_devices(struct gv_samples *samples)
{
    struct gv_samples_functions *nvml = samples->functions;
    unsigned count = 0;

    if (nvml->count(&count) != 0)
        return;
    for (unsigned i = 0; i < count && samples->count < GV_SAMPLES_DEVICES; i++) {
        void *device = NULL;
        char *uuid = samples->devices[samples->count].uuid;

        if (nvml->device(i, &device) != 0 ||
            nvml->uuid(device, uuid, sizeof(samples->devices[0].uuid) - 1) != 0)
            continue;
        samples->devices[samples->count++].handle = device;
    }
}

/* What NVML does not say is left out. */
static void gv_samples_bind(struct gv_samples_functions *nvml, void *device, sqlite3_stmt *add)
{
    struct gv_nvml_utilization rates;
    struct gv_nvml_memory memory;
    unsigned value;

    if (nvml->utilization(device, &rates) == 0) {
        sqlite3_bind_int64(add, 3, rates.gpu);
        sqlite3_bind_int64(add, 4, rates.memory);
    }
    if (nvml->memory(device, &memory) == 0)
        sqlite3_bind_int64(add, 5, (int64_t)memory.used);
    if (nvml->power(device, &value) == 0)
        sqlite3_bind_int64(add, 6, value);
    if (nvml->clock(device, GV_NVML_CLOCK_SM, &value) == 0)
        sqlite3_bind_int64(add, 7, value);
    if (nvml->clock(device, GV_NVML_CLOCK_MEMORY, &value) == 0)
        sqlite3_bind_int64(add, 8, value);
    if (nvml->temperature(device, GV_NVML_TEMPERATURE, &value) == 0)
        sqlite3_bind_int64(add, 9, value);
}

static int gv_samples_store(struct gv_samples *samples, unsigned device,
                            struct gv_database *database, uint64_t epoch_ns)
{
    int error;
    sqlite3_stmt *add = gv_database_prepare(database, GV_STATEMENT_SAMPLE_ADD, &error);

    if (!add)
        return error;
    sqlite3_clear_bindings(add);
    sqlite3_bind_text(add, 1, samples->devices[device].uuid, -1, SQLITE_STATIC);
    sqlite3_bind_int64(add, 2, gv_samples_now_ns() - (int64_t)epoch_ns);
    gv_samples_bind(samples->functions, samples->devices[device].handle, add);
    error = gv_database_error(database->handle, sqlite3_step(add));
    sqlite3_reset(add);
    return error;
}

static bool gv_samples_is_time(struct gv_samples *samples)
{
    int64_t now_ms = gv_samples_now_ns() / 1000000;

    if (samples->refused || now_ms < samples->next_ms)
        return false;
    samples->next_ms = now_ms + GV_SAMPLES_MS;
    return true;
}

void gv_samples_take(struct gv_samples *samples, struct gv_database *database, uint64_t epoch_ns)
{
    int error = 0;

    if (!gv_samples_is_time(samples))
        return;
    if (!samples->functions) {
        samples->functions = gv_samples_open();
        samples->refused = !samples->functions;
        if (samples->refused)
            return;
        gv_samples_find_devices(samples);
    }
    if (gv_database_begin(database) < 0)
        return;
    for (unsigned i = 0; i < samples->count && !error; i++) {
        int known = gv_samples_knows(database, samples->devices[i].uuid);

        error = known <= 0 ? known : gv_samples_store(samples, i, database, epoch_ns);
    }
    if (error || gv_database_commit(database) < 0)
        gv_database_rollback(database);
}

void gv_samples_close(struct gv_samples *samples)
{
    if (samples->functions) {
        samples->functions->shutdown();
        dlclose(samples->functions->library);
    }
    free(samples->functions);
    memset(samples, 0, sizeof(*samples));
}
