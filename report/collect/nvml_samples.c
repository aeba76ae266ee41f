#include "report/collect/nvml_samples.h"

#include "report/collect/nvml.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* As many wait to be stored; what comes then is left out. */
#define GV_SAMPLES_WAITING 1024
/* The last question may be under way. */
#define GV_SAMPLES_END_MS 300

/* Shared by the collector's thread and the one that asks. */
struct gv_sampler {
    pthread_mutex_t lock;
    pthread_cond_t ending_changed;
    bool ending;
    unsigned count;
    struct gv_nvml_sample samples[GV_SAMPLES_WAITING];
    pthread_t thread;
};

static void gv_sampler_add(struct gv_sampler *sampler, const struct gv_nvml_sample *sample)
{
    pthread_mutex_lock(&sampler->lock);
    if (sampler->count < GV_SAMPLES_WAITING)
        sampler->samples[sampler->count++] = *sample;
    pthread_mutex_unlock(&sampler->lock);
}

/* Sleeps until the next look; true when there will be none. */
static bool gv_sampler_ends(struct gv_sampler *sampler, struct timespec *next)
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

static void *gv_sampler_run(void *context)
{
    struct gv_sampler *sampler = context;
    struct gv_nvml *nvml = gv_nvml_open();
    struct gv_nvml_sample sample;
    struct timespec next;

    if (!nvml)
        return NULL;
    do {
        clock_gettime(CLOCK_MONOTONIC, &next);
        for (unsigned i = 0; i < gv_nvml_count(nvml); i++) {
            gv_nvml_ask(nvml, i, &sample);
            gv_sampler_add(sampler, &sample);
        }
    } while (!gv_sampler_ends(sampler, &next));
    gv_nvml_close(nvml);
    return NULL;
}

static struct gv_sampler *gv_sampler_start(void)
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
    if (pthread_create(&sampler->thread, NULL, gv_sampler_run, sampler) == 0)
        return sampler;
    free(sampler);
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

static int gv_samples_store(struct gv_database *database, const struct gv_nvml_sample *sample,
                            uint64_t epoch_ns)
{
    const int64_t values[] = {
        sample->gpu_percent, sample->memory_percent, sample->memory_used_bytes, sample->power_mw,
        sample->sm_mhz,      sample->memory_mhz,     sample->temperature_c};
    int error, result;
    sqlite3_stmt *add = gv_database_prepare(database, GV_STATEMENT_SAMPLE_ADD, &error);

    if (!add)
        return error;
    result = sqlite3_bind_text(add, 1, sample->uuid, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(add, 2, sample->at_ns - (int64_t)epoch_ns);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && result == SQLITE_OK; i++)
        result = values[i] < 0 ? sqlite3_bind_null(add, (int)i + 3)
                               : sqlite3_bind_int64(add, (int)i + 3, values[i]);
    error = gv_database_error(database->handle, result == SQLITE_OK ? sqlite3_step(add) : result);
    sqlite3_reset(add);
    return error;
}

static int gv_samples_store_known(struct gv_sampler *sampler, struct gv_database *database,
                                  uint64_t epoch_ns)
{
    int error = gv_database_begin(database);

    for (unsigned i = 0; i < sampler->count && !error; i++) {
        const struct gv_nvml_sample *sample = &sampler->samples[i];
        int known = gv_samples_knows(database, sample->uuid);

        error = known <= 0 ? known : gv_samples_store(database, sample, epoch_ns);
    }
    return error ? error : gv_database_commit(database);
}

void gv_samples_take(struct gv_samples *samples, struct gv_database *database, uint64_t epoch_ns)
{
    if (!samples->sampler && !samples->failed) {
        samples->sampler = gv_sampler_start();
        samples->failed = !samples->sampler;
    }
    if (!samples->sampler)
        return;
    struct gv_sampler *sampler = samples->sampler;
    pthread_mutex_lock(&sampler->lock);
    if (sampler->count > 0) {
        if (gv_samples_store_known(sampler, database, epoch_ns) < 0)
            gv_database_rollback(database);
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
        /* It still uses the sampler, and goes with the process. */
        pthread_detach(sampler->thread);
        return;
    }
    pthread_cond_destroy(&sampler->ending_changed);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler);
}
