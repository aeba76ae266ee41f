/*
 * Samples the GPUs through NVIDIA's management library (NVML) every GV_SAMPLES_MS while a program
 * runs: utilisation, memory, power, clocks, temperature. Once a second it also lists which
 * processes outside the session use them, and two to five times a second, less in long runs, how
 * full the units of the session's own are (gpm.h). For the collector.
 *
 * Sampling has its own thread: a driver in trouble may not answer for long, and the collector must
 * continue storing. The thread starts with the first device in the trace. Without the library there
 * are no samples. The functions are for the collector's thread.
 */
#ifndef GV_COLLECT_NVML_H
#define GV_COLLECT_NVML_H

#include "report/store/database.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_SAMPLES_MS 100

struct gv_sampler;

struct gv_samples {
    struct gv_sampler *sampler; /* NULL: not started */
    int failed;                 /* it could not be started */
};

/* Stores the samples of devices that the trace knows, in a transaction of its own. `epoch_ns` is
 * 0 of the trace's times in CLOCK_MONOTONIC. */
void gv_samples_take(struct gv_samples *samples, struct gv_database *database, uint64_t epoch_ns);

/* Ends the thread, or abandons it if it does not answer. */
void gv_samples_close(struct gv_samples *samples);

/* How many devices the machine has, how many of them have GPM, and whether the driver knows of GPM.
 * With a driver in trouble, it may never return. 0; -ENOENT: no library, or it refuses. */
int gv_samples_count_gpm(unsigned *devices, unsigned *with_gpm, bool *is_known);

#endif
