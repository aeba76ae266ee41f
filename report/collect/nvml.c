#include "report/collect/nvml.h"

#include "report/collect/gpm.h"
#include "report/collect/nvml_calls.h"
#include "report/store/row.h"
#include "trace/futex.h"
#include "trace/proc_file.h"
#include "trace/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the library ---- */

#define GV_NVML_DEVICES    GV_GPM_DEVICES
#define GV_NVML_UUID_BYTES 96

/* Unknown values are -1. */
struct gv_nvml_sample {
    char uuid[GV_NVML_UUID_BYTES];
    int64_t at_ns; /* CLOCK_MONOTONIC */
    int64_t gpu_percent;
    int64_t memory_percent;
    int64_t memory_used_bytes;
    int64_t power_mw;
    int64_t sm_mhz;
    int64_t memory_mhz;
    int64_t temperature_c;
    unsigned device;
    bool has_gpm; /* `gpm` says something */
    struct gv_gpm_sample gpm;
};

struct gv_nvml {
    void *library;
    struct gv_gpm *gpm; /* NULL: no memory */
    struct gv_nvml_calls calls;
    unsigned devices;
    struct {
        void *handle;
        char uuid[GV_NVML_UUID_BYTES];
    } device_at[GV_NVML_DEVICES];
};

static void find_devices(struct gv_nvml *nvml)
{
    unsigned count = 0;

    if (nvml->calls.count(&count) != 0)
        return;
    for (unsigned i = 0; i < count && nvml->devices < GV_NVML_DEVICES; i++) {
        void *device = NULL;
        char *uuid = nvml->device_at[nvml->devices].uuid;

        if (nvml->calls.device(i, &device) != 0 ||
            nvml->calls.uuid(device, uuid, GV_NVML_UUID_BYTES - 1) != 0)
            continue;
        nvml->device_at[nvml->devices++].handle = device;
    }
}

/* With a driver in trouble, these may take long or never return. NULL: no library, or it
 * refuses. */
static struct gv_nvml *nvml_open(void)
{
    struct gv_nvml *nvml = calloc(1, sizeof(*nvml));

    if (!nvml)
        return NULL;
    nvml->library = gv_nvml_calls_open(&nvml->calls);
    if (nvml->library) {
        find_devices(nvml);
        nvml->gpm = gv_gpm_open(nvml->library);
        return nvml;
    }
    free(nvml);
    return NULL;
}

static void nvml_close(struct gv_nvml *nvml)
{
    if (!nvml)
        return;
    gv_gpm_close(nvml->gpm);
    nvml->calls.shutdown();
    dlclose(nvml->library);
    free(nvml);
}

static void nvml_ask(const struct gv_nvml *nvml, unsigned device, struct gv_nvml_sample *sample)
{
    void *handle = nvml->device_at[device].handle;
    struct gv_nvml_utilization rates;
    struct gv_nvml_memory memory;
    unsigned value;

    sample->device = device;
    memcpy(sample->uuid, nvml->device_at[device].uuid, sizeof(sample->uuid));
    sample->at_ns = (int64_t)gv_monotonic_ns();
    bool known = nvml->calls.utilization(handle, &rates) == 0;
    sample->gpu_percent = known ? (int64_t)rates.gpu : -1;
    sample->memory_percent = known ? (int64_t)rates.memory : -1;
    sample->memory_used_bytes =
        nvml->calls.memory(handle, &memory) == 0 ? (int64_t)memory.used : -1;
    sample->power_mw = nvml->calls.power(handle, &value) == 0 ? (int64_t)value : -1;
    sample->sm_mhz = nvml->calls.clock(handle, GV_NVML_CLOCK_SM, &value) == 0 ? (int64_t)value : -1;
    sample->memory_mhz =
        nvml->calls.clock(handle, GV_NVML_CLOCK_MEMORY, &value) == 0 ? (int64_t)value : -1;
    sample->temperature_c =
        nvml->calls.temperature(handle, GV_NVML_TEMPERATURE, &value) == 0 ? (int64_t)value : -1;
}

/* ---- other processes ---- */

/* Processes are listed once in so many samples. */
#define GV_OTHERS_EVERY (1000 / GV_SAMPLES_MS)
/* The most that are listed of one device; of a longer list nothing is known. */
#define GV_OTHERS_LISTED 128
/* The most that are remembered; later ones are not. */
#define GV_OTHERS 256
/* As /proc/PID/comm has it. */
#define GV_COMM_BYTES 16

/* A process that uses a device, also of the session. */
struct gv_other {
    unsigned device, pid;
    char name[GV_COMM_BYTES]; /* "": unknown */
    bool is_here;             /* the pid is one of this container's */
    bool started, ended, changed;
    int64_t first_ns, last_ns;
    int64_t most_bytes; /* of the device's memory; 0: unknown */
    int64_t row;        /* of other_process; 0: none yet */
    bool committed;
};

static void other_name(struct gv_other *other)
{
    other->is_here =
        gv_proc_read(other->name, sizeof(other->name), "/proc/%u/comm", other->pid) > 0;
    other->name[strcspn(other->name, "\n")] = '\0';
}

/* ---- the samples ---- */

/* The most samples that wait to be stored; further ones are dropped. */
#define GV_SAMPLES_WAITING 1024
/* The last question may still be in progress. */
#define GV_SAMPLES_END_MS 300

/* Shared by the collector's thread and the sampling thread. */
struct gv_sampler {
    pthread_mutex_t lock;
    pthread_cond_t ending_changed;
    bool ending;
    unsigned count;
    struct gv_nvml_sample samples[GV_SAMPLES_WAITING];
    atomic_bool
        is_used[GV_NVML_DEVICES]; /* one of the trace: of others, GPM is not worth its cost */
    unsigned other_count;
    struct gv_other others[GV_OTHERS];
    bool pids_known; /* the session's own processes are listed by the numbers that we know */
    char uuids[GV_NVML_DEVICES][GV_NVML_UUID_BYTES];
    pthread_t thread;
};

static void sampler_add(struct gv_sampler *sampler, const struct gv_nvml_sample *sample)
{
    pthread_mutex_lock(&sampler->lock);
    if (sampler->count < GV_SAMPLES_WAITING)
        sampler->samples[sampler->count++] = *sample;
    pthread_mutex_unlock(&sampler->lock);
}

/* The process, if it was seen before and not gone since; or a new one. NULL: no room. */
static struct gv_other *other_of(struct gv_sampler *sampler, unsigned device, unsigned pid)
{
    struct gv_other *unused = NULL;

    for (unsigned i = 0; i < sampler->other_count; i++) {
        struct gv_other *other = &sampler->others[i];
        if (other->device == device && other->pid == pid && !other->ended)
            return other;
        if (other->ended && !other->changed)
            unused = other;
    }
    if (sampler->other_count < GV_OTHERS)
        unused = &sampler->others[sampler->other_count++];
    if (unused)
        *unused = (struct gv_other){.device = device, .pid = pid};
    return unused;
}

/* Notes which processes use a device. */
static void sampler_list(struct gv_sampler *sampler, const struct gv_nvml *nvml, unsigned device,
                         bool first, int64_t at_ns)
{
    struct gv_nvml_process list[GV_OTHERS_LISTED];
    unsigned count = GV_OTHERS_LISTED;

    if (!nvml->calls.processes ||
        nvml->calls.processes(nvml->device_at[device].handle, &count, list) != 0 ||
        count > GV_OTHERS_LISTED)
        return;
    pthread_mutex_lock(&sampler->lock);
    memcpy(sampler->uuids[device], nvml->device_at[device].uuid, GV_NVML_UUID_BYTES);
    for (unsigned i = 0; i < count; i++) {
        struct gv_other *other = other_of(sampler, device, list[i].pid);
        if (!other)
            continue;
        if (!other->first_ns) {
            other->first_ns = at_ns;
            other->started = !first;
        }
        if (!other->name[0])
            other_name(other);
        other->last_ns = at_ns;
        /* All bits are set if it is unknown. */
        if (list[i].used_bytes < INT64_MAX && (int64_t)list[i].used_bytes > other->most_bytes)
            other->most_bytes = (int64_t)list[i].used_bytes;
        other->changed = true;
    }
    for (unsigned i = 0; i < sampler->other_count; i++) {
        struct gv_other *other = &sampler->others[i];
        if (other->device == device && !other->ended && other->last_ns != at_ns)
            other->ended = other->changed = true;
    }
    pthread_mutex_unlock(&sampler->lock);
}

/* Sleeps until the next sample; true: stop. */
static bool sampler_ends(struct gv_sampler *sampler, struct timespec *next)
{
    int result = 0;

    next->tv_nsec += GV_SAMPLES_MS * 1000000;
    next->tv_sec += next->tv_nsec / 1000000000;
    next->tv_nsec %= 1000000000;
    pthread_mutex_lock(&sampler->lock);
    while (!sampler->ending && result == 0)
        result = pthread_cond_timedwait(&sampler->ending_changed, &sampler->lock, next);
    bool ends = sampler->ending;
    pthread_mutex_unlock(&sampler->lock);
    return ends;
}

static void *sampler_run(void *context)
{
    struct gv_sampler *sampler = context;
    struct gv_nvml *nvml = nvml_open();
    struct gv_nvml_sample sample;
    struct timespec next;
    unsigned rounds = 0;

    if (!nvml)
        return NULL;
    do {
        clock_gettime(CLOCK_MONOTONIC, &next);
        for (unsigned i = 0; i < nvml->devices; i++) {
            sample.has_gpm = nvml->gpm && atomic_load(&sampler->is_used[i]) &&
                             gv_gpm_take(nvml->gpm, i, nvml->device_at[i].handle, &sample.gpm);
            nvml_ask(nvml, i, &sample);
            sampler_add(sampler, &sample);
            if (rounds % GV_OTHERS_EVERY == 0)
                sampler_list(sampler, nvml, i, rounds == 0, sample.at_ns);
        }
        rounds++;
    } while (!sampler_ends(sampler, &next));
    nvml_close(nvml);
    return NULL;
}

static struct gv_sampler *sampler_start(void)
{
    struct gv_sampler *sampler = calloc(1, sizeof(*sampler));
    pthread_condattr_t monotonic;

    if (!sampler)
        return NULL;
    pthread_mutex_init(&sampler->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler->ending_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&sampler->thread, NULL, sampler_run, sampler) == 0)
        return sampler;
    free(sampler);
    return NULL;
}

/* 1: it is a process of the session; 0: not; or -errno. */
static int knows_process(struct gv_database *database, unsigned pid)
{
    const int64_t value = pid;
    int64_t known = 0;
    int error = gv_database_number(database->handle, "SELECT 1 FROM process WHERE pid = ?1", &value,
                                   1, &known);

    return error ? error : known != 0;
}

/* If the device is one of the trace. */
static int store_other(struct gv_database *database, struct gv_other *other, const char *uuid,
                       uint64_t epoch_ns)
{
    char name[GV_TEXT_REPAIRED_BYTES(GV_COMM_BYTES)];
    int error = 0;

    gv_text_repair(name, sizeof(name), other->name, sizeof(other->name));
    if (!other->row)
        error = gv_database_run(database, GV_STATEMENT_OTHER_ADD, "tii", uuid,
                                other->first_ns - (int64_t)epoch_ns, (int64_t)other->started);
    if (!error && !other->row && sqlite3_changes(database->handle) > 0)
        other->row = gv_database_last_id(database);
    if (!error && other->row)
        error = gv_database_run(database, GV_STATEMENT_OTHER_SEEN, "iztii", other->row,
                                other->is_here ? (int64_t)other->pid : 0, name,
                                other->last_ns - (int64_t)epoch_ns, (int64_t)other->ended);
    if (!error && other->row && other->most_bytes)
        error =
            GV_ADD(database, other_process_memory, .other = other->row, .bytes = other->most_bytes);
    return error;
}

/* Stores those that are not of the session. Numbers of another container, in which those of the
 * session are others than here, tell nobody apart. */
static int store_others(struct gv_sampler *sampler, struct gv_database *database, uint64_t epoch_ns)
{
    int error = 0;

    for (unsigned i = 0; i < sampler->other_count && !error && !sampler->pids_known; i++) {
        int known = knows_process(database, sampler->others[i].pid);

        sampler->pids_known = known > 0;
        error = known < 0 ? known : 0;
    }
    for (unsigned i = 0; i < sampler->other_count && !error && sampler->pids_known; i++) {
        struct gv_other *other = &sampler->others[i];
        int own = other->changed ? knows_process(database, other->pid) : 1;

        error = own < 0 ? own : 0;
        if (own == 0)
            error = store_other(database, other, sampler->uuids[other->device], epoch_ns);
        other->changed = other->changed && error;
    }
    return error;
}

/* Rows of a transaction that failed do not exist. */
static void settle_others(struct gv_sampler *sampler, bool committed)
{
    for (unsigned i = 0; i < sampler->other_count; i++) {
        struct gv_other *other = &sampler->others[i];

        if (committed)
            other->committed = other->row != 0;
        else if (!other->committed)
            other->row = 0;
        other->changed |= !committed;
    }
}

static int store_gpm(struct gv_database *database, const struct gv_gpm_sample *gpm)
{
    struct gv_row_sample_gpm row = {.sample = gv_database_last_id(database),
                                    .duration_ns = gpm->duration_ns,
                                    .pcie_tenths = gv_row_known(gpm->pcie_tenths),
                                    .clock_reasons = gv_row_known(gpm->clock_reasons)};

#define GV_GPM(column, ...) row.column = gv_row_known(gpm->of[GV_GPM_##column]);
#include "report/collect/gpm.def"
    return gv_row_add(database, GV_TABLE_sample_gpm, &row, 1);
}

static int store_known(struct gv_sampler *sampler, struct gv_database *database, uint64_t epoch_ns)
{
    int error = gv_database_begin(database);

    for (unsigned i = 0; i < sampler->count && !error; i++) {
        const struct gv_nvml_sample *sample = &sampler->samples[i];

        error = gv_database_run(database, GV_STATEMENT_SAMPLE_ADD, "tiiiiiiii", sample->uuid,
                                sample->at_ns - (int64_t)epoch_ns, sample->gpu_percent,
                                sample->memory_percent, sample->memory_used_bytes, sample->power_mw,
                                sample->sm_mhz, sample->memory_mhz, sample->temperature_c);
        if (error || sqlite3_changes(database->handle) == 0)
            continue;
        atomic_store(&sampler->is_used[sample->device], true);
        if (sample->has_gpm)
            error = store_gpm(database, &sample->gpm);
    }
    if (!error)
        error = store_others(sampler, database, epoch_ns);
    return error ? error : gv_database_commit(database);
}

void gv_samples_take(struct gv_samples *samples, struct gv_database *database, uint64_t epoch_ns)
{
    if (!samples->sampler && !samples->failed) {
        samples->sampler = sampler_start();
        samples->failed = !samples->sampler;
    }
    if (!samples->sampler)
        return;
    struct gv_sampler *sampler = samples->sampler;
    pthread_mutex_lock(&sampler->lock);
    if (sampler->count > 0) {
        int error = store_known(sampler, database, epoch_ns);
        if (error)
            gv_database_rollback(database);
        settle_others(sampler, !error);
        sampler->count = 0;
    }
    pthread_mutex_unlock(&sampler->lock);
}

void gv_samples_close(struct gv_samples *samples)
{
    struct gv_sampler *sampler = samples->sampler;
    struct timespec end;

    samples->sampler = NULL;
    if (!sampler)
        return;
    pthread_mutex_lock(&sampler->lock);
    sampler->ending = true;
    pthread_cond_signal(&sampler->ending_changed);
    pthread_mutex_unlock(&sampler->lock);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += GV_SAMPLES_END_MS * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    if (pthread_timedjoin_np(sampler->thread, NULL, &end) != 0) {
        /* It still uses the sampler, and ends with the process. */
        pthread_detach(sampler->thread);
        return;
    }
    pthread_cond_destroy(&sampler->ending_changed);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler);
}

int gv_samples_count_gpm(unsigned *devices, unsigned *with_gpm, bool *is_known)
{
    struct gv_nvml *nvml = nvml_open();

    *devices = *with_gpm = 0;
    if (!nvml)
        return -ENOENT;
    *devices = nvml->devices;
    *is_known = nvml->gpm && gv_gpm_is_known(nvml->gpm);
    for (unsigned i = 0; i < nvml->devices && nvml->gpm; i++)
        *with_gpm += gv_gpm_is_there(nvml->gpm, nvml->device_at[i].handle);
    nvml_close(nvml);
    return 0;
}
