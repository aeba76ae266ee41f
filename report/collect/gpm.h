/*
 * How much of a device's units is in use, by NVML's GPU performance monitoring (GPM): Hopper and
 * later, not with MIG. A sample takes 1 to 2 ms of the calling thread, and says what was since the
 * one before. With it goes what slows the device down, which older devices say, too. For one
 * thread.
 */
#ifndef GV_COLLECT_GPM_H
#define GV_COLLECT_GPM_H

#include <stdbool.h>
#include <stdint.h>

#define GV_GPM_DEVICES 64

enum gv_gpm_value {
#define GV_GPM(column, ...) GV_GPM_##column,
#include "report/collect/gpm.def"
    GV_GPM_VALUES
};

/* Unknown values are -1. */
struct gv_gpm_sample {
    int64_t duration_ns; /* of the time that the values are of; 0: there are none */
    int64_t of[GV_GPM_VALUES];
    int64_t pcie_tenths;   /* the fuller direction, of the link's speed */
    int64_t clock_reasons; /* bits of nvmlClocksEventReasons; */
};

struct gv_gpm;

/* `library`: of dlopen, which stays open for as long. NULL: no memory. */
struct gv_gpm *gv_gpm_open(void *library);
void gv_gpm_close(struct gv_gpm *gpm);
/* Whether the library can be asked for it: older drivers' cannot. */
bool gv_gpm_is_known(const struct gv_gpm *gpm);
/* Whether the device has GPM at all. */
bool gv_gpm_is_there(const struct gv_gpm *gpm, void *device);
/* Whether there is something new of a device (its number, NVML's handle). */
bool gv_gpm_take(struct gv_gpm *gpm, unsigned number, void *device, struct gv_gpm_sample *sample);

#endif
