/*
 * Shared by the stall workloads: a context, a kernel that keeps the GPU busy on a stream of its
 * own, and timed calls.
 *
 *     PROGRAM [idle] [MILLISECONDS]
 *
 * `idle`: makes the same call on an idle GPU. MILLISECONDS: how long the GPU is busy; default 150.
 * The program prints what it timed as "timed LABEL CALL MILLISECONDS". NAME.expect has what a trace
 * must hold.
 */
#ifndef GV_KERNELS_STALLS_STAGE_H
#define GV_KERNELS_STALLS_STAGE_H

#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The exit status of a program that does not apply to this machine. */
#define GV_STAGE_SKIPPED 77

struct gv_stage {
    bool idle;
    uint64_t busy_ms;
    CUdevice device;
    CUcontext context;
    CUmodule module; /* gv_ptx_tour: empty, spin, fill */
    CUfunction empty;
    CUfunction spin;
    CUstream stream; /* non-blocking: no other stream waits for it */
    CUstream other;
    atomic_bool enters; /* another thread is about to make its call */
};

/* Says that this thread makes its call next. It runs now, so the call begins at once; on a busy
 * machine a new thread, or one that has waited, begins much later. */
static inline void gv_stage_enter(struct gv_stage *stage)
{
    atomic_store(&stage->enters, true);
}

/* Returns when the thread that says so is inside its call. */
static inline void gv_stage_await(struct gv_stage *stage, useconds_t us)
{
    while (!atomic_exchange(&stage->enters, false))
        usleep(100);
    usleep(us);
}

static inline void gv_stage_arguments(struct gv_stage *stage, int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    memset(stage, 0, sizeof(*stage));
    stage->busy_ms = 150;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "idle") == 0)
            stage->idle = true;
        else
            stage->busy_ms = strtoull(argv[i], NULL, 10);
    }
}

/* Launches `kernel` for that long. */
static inline void gv_stage_spin(CUfunction kernel, CUstream stream, uint64_t ms)
{
    uint64_t ns = ms * 1000000u;
    void *parameters[] = {&ns};

    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static inline void gv_stage_launch_empty(CUfunction kernel, CUstream stream)
{
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

/* Makes streams and kernels in the current context, so that nothing later happens for the first
 * time. */
static inline void gv_stage_set(struct gv_stage *stage)
{
    CHECK(cuStreamCreate(&stage->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&stage->other, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&stage->module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&stage->empty, stage->module, "empty"));
    CHECK(cuModuleGetFunction(&stage->spin, stage->module, "spin"));
    gv_stage_spin(stage->spin, stage->stream, 0);
    gv_stage_launch_empty(stage->empty, stage->other);
    CHECK(cuCtxSynchronize());
}

static inline void gv_stage_open(struct gv_stage *stage, int argc, char **argv)
{
    gv_stage_arguments(stage, argc, argv);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&stage->device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&stage->context, stage->device));
    CHECK(cuCtxSetCurrent(stage->context));
    gv_stage_set(stage);
}

/* The same in another context of the device, which becomes current. */
static inline void gv_stage_second(struct gv_stage *second, const struct gv_stage *stage)
{
    *second = *stage;
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&second->context, NULL, 0, stage->device));
#else
    CHECK(cuCtxCreate(&second->context, 0, stage->device));
#endif
    gv_stage_set(second);
}

/* Makes the GPU busy, unless it must be idle. */
static inline void gv_stage_busy(struct gv_stage *stage)
{
    if (!stage->idle)
        gv_stage_spin(stage->spin, stage->stream, stage->busy_ms);
}

static inline void gv_stage_say(const char *label, const char *call, double ms)
{
    printf("timed %s %s %.3f\n", label, call, ms);
}

/* TIMED("label", cuCall, (arguments)) */
#define TIMED(label, call, arguments)                                                              \
    do {                                                                                           \
        uint64_t timed_start_ns = gv_clock_ns();                                                   \
        CUresult timed_result = call arguments;                                                    \
        double timed_ms = gv_clock_ms_since(timed_start_ns);                                       \
        CHECK(timed_result);                                                                       \
        gv_stage_say(label, #call, timed_ms);                                                      \
    } while (0)

static inline int gv_stage_close(struct gv_stage *stage)
{
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy(stage->stream));
    CHECK(cuStreamDestroy(stage->other));
    CHECK(cuDevicePrimaryCtxRelease(stage->device));
    return 0;
}

#endif
