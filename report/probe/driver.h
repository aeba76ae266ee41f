/*
 * The driver and the runtime, opened at run time, so that gpuverify starts on machines without
 * them. Only in a child of the probe.
 */
#ifndef GV_PROBE_DRIVER_H
#define GV_PROBE_DRIVER_H

#include <cuda.h>
#include <stddef.h>

/* The members have the symbols' names; cuda.h turns cuMemAlloc into cuMemAlloc_v2 here too. */
struct gv_probe_driver {
#define GV_PROBE_DRIVER(call)                __typeof__(call) *call;
#define GV_PROBE_BY_HAND(symbol, parameters) CUresult(*symbol) parameters;
#define GV_PROBE_RUNTIME(symbol, parameters) int(*symbol) parameters;
#include "report/probe/entry_points.def"
};

extern struct gv_probe_driver gv_probe_cuda;

/* Fills in gv_probe_cuda. -ENOENT: no driver. */
int gv_probe_driver_open(void);

/* "580.159.04", or "". */
void gv_probe_driver_version(char *out, size_t size);

#endif
