/*
 * NVIDIA's management library, opened when it is there: what each GPU is doing now.
 *
 * Any of these may take long, or never return, with a driver in trouble: not for a thread that has
 * other things to do. One thread.
 */
#ifndef GV_COLLECT_NVML_H
#define GV_COLLECT_NVML_H

#include <stdint.h>

#define GV_NVML_DEVICES    64
#define GV_NVML_UUID_BYTES 96

/* What a device did not tell is -1. */
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
};

struct gv_nvml;

/* NULL: there is none, or it refuses. */
struct gv_nvml *gv_nvml_open(void);
void gv_nvml_close(struct gv_nvml *nvml);

unsigned gv_nvml_count(const struct gv_nvml *nvml);
void gv_nvml_ask(const struct gv_nvml *nvml, unsigned device, struct gv_nvml_sample *sample);

#endif
