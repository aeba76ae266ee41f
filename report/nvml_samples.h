/*
 * What the GPUs are doing while a program runs, asked of NVIDIA's management library every
 * GV_SAMPLES_MS: utilisation, memory, power, clocks, temperature. For the collector, one thread.
 *
 * The library is opened when there is a first device in the trace; without it there are no samples.
 */
#ifndef GV_REPORT_NVML_SAMPLES_H
#define GV_REPORT_NVML_SAMPLES_H

#include "trace/database.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_SAMPLES_MS      100
#define GV_SAMPLES_DEVICES 64

struct gv_samples_functions;

struct gv_samples {
    struct gv_samples_functions *functions; /* NULL: not opened */
    bool refused;                           /* it cannot be opened */
    unsigned count;
    struct {
        void *handle;
        char uuid[96];
    } devices[GV_SAMPLES_DEVICES];
    int64_t next_ms;
};

/* Stores a sample of each device that the trace knows, if it is time, in a transaction of its own.
 * `epoch_ns` is 0 of the trace's times in CLOCK_MONOTONIC. What cannot be asked is left out. */
void gv_samples_take(struct gv_samples *samples, struct gv_database *database, uint64_t epoch_ns);

void gv_samples_close(struct gv_samples *samples);

#endif
