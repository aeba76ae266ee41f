/*
 * Shared by the ordinary workloads: a context of one device with the kernels of gv_ptx_tour, and
 * claims. A claim is a line of output with what a trace of the program must hold.
 * tests/workload_claims.py lists and checks them.
 */
#ifndef GV_KERNELS_ORDINARY_WORKLOAD_H
#define GV_KERNELS_ORDINARY_WORKLOAD_H

#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The exit status of a program that does not apply to this machine. */
#define GV_WORKLOAD_SKIPPED 77

struct gv_workload {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction empty;
    CUfunction spin;
    CUfunction fill;
    bool simulated; /* on the simulator no kernel computes anything */
};

static inline void gv_workload_open(struct gv_workload *workload, int device)
{
    char name[128] = "";

    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&workload->device, device));
    CHECK(cuDeviceGetName(name, sizeof(name), workload->device));
    workload->simulated = strstr(name, "GV_SIM") != NULL;
    CHECK(cuDevicePrimaryCtxRetain(&workload->context, workload->device));
    CHECK(cuCtxSetCurrent(workload->context));
    CHECK(cuModuleLoadData(&workload->module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&workload->empty, workload->module, "empty"));
    CHECK(cuModuleGetFunction(&workload->spin, workload->module, "spin"));
    CHECK(cuModuleGetFunction(&workload->fill, workload->module, "fill"));
}

static inline void gv_workload_spin(struct gv_workload *workload, CUstream stream, uint64_t ns)
{
    void *parameters[] = {&ns};

    CHECK(cuLaunchKernel(workload->spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static inline void gv_workload_fill(struct gv_workload *workload, CUstream stream, CUdeviceptr to,
                                    uint32_t value)
{
    void *parameters[] = {&to, &value};

    CHECK(cuLaunchKernel(workload->fill, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static inline void gv_workload_close(struct gv_workload *workload)
{
    CHECK(cuCtxSynchronize());
    CHECK(cuModuleUnload(workload->module));
    CHECK(cuDevicePrimaryCtxRelease(workload->device));
}

static inline void gv_claim(const char *what, unsigned long count, const char *of)
{
    printf("claim %s %lu %s\n", what, count, of);
}

static inline void gv_claim_ms(const char *what, double ms, const char *of)
{
    printf("claim %s %.3f ms %s\n", what, ms, of);
}

#endif
