/*
 * What the GPUs are doing while a program runs, asked of NVIDIA's management library every
 * GV_SAMPLES_MS: utilisation, memory, power, clocks, temperature. For the collector.
 *
 * The asking has a thread of its own, since a driver in trouble may not answer for long, and the
 * collector's thread must go on storing. It is started when there is a first device in the trace;
 * without the library there are no samples. The functions are for one thread, the collector's.
 */
#ifndef GV_COLLECT_NVML_H
#define GV_COLLECT_NVML_H

#include "report/store/database.h"

#include <stdint.h>

#define GV_SAMPLES_MS 100

struct gv_sampler;

struct gv_samples {
    struct gv_sampler *sampler; /* NULL: not started */
    int failed;                 /* it cannot be started */
};

/* Stores what has been sampled of the devices that the trace knows, in a transaction of its own.
 * `epoch_ns` is 0 of the trace's times in CLOCK_MONOTONIC. */
void gv_samples_take(struct gv_samples *samples, struct gv_database *database, uint64_t epoch_ns);

/* Ends the thread, or leaves it alone should it not answer. */
void gv_samples_close(struct gv_samples *samples);

#endif
