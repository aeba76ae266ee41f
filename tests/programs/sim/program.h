/* Shared by the simulated twins in C: a context, a stream, a kernel, and memory. */
#ifndef GV_PROGRAMS_SIM_PROGRAM_H
#define GV_PROGRAMS_SIM_PROGRAM_H

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct program {
    bool fix;
    CUcontext context;
    CUmodule module;
    CUfunction spin;
    CUstream stream;
    CUdeviceptr memory;
    void *pinned;
};

static inline uint64_t program_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How long the main thread was ready without a CPU. */
static inline double program_descheduled_ms(void)
{
    FILE *file = fopen("/proc/self/schedstat", "r");
    unsigned long long ran = 0, waited = 0;

    if (file) {
        if (fscanf(file, "%llu %llu", &ran, &waited) != 2)
            waited = 0;
        fclose(file);
    }
    return (double)waited / 1e6;
}

/* Returns whether the fixed twin is wanted. */
static inline bool program_open(struct program *program)
{
    const char *fix = getenv("FIX");
    CUdevice device;

    program->fix = fix && strcmp(fix, "1") == 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&program->context, device));
    CHECK(cuCtxSetCurrent(program->context));
    CHECK(cuStreamCreate(&program->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&program->module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&program->spin, program->module, "spin"));
    CHECK(cuMemAlloc(&program->memory, 1 << 20));
    CHECK(cuMemHostAlloc(&program->pinned, 1 << 20, 0));
    return program->fix;
}

/* A kernel that fills the GPU for so long. It is part of the line that calls it. */
__attribute__((always_inline)) static inline void program_launch(struct program *program,
                                                                 uint64_t us)
{
    uint64_t ns = us * 1000;
    void *parameters[] = {&ns};

    CHECK(
        cuLaunchKernel(program->spin, 2112, 1, 1, 256, 1, 1, 0, program->stream, parameters, NULL));
}

static inline int program_close(struct program *program, int steps, uint64_t start_ns, double value)
{
    double seconds = gv_clock_ms_since(start_ns) / 1e3;

    CHECK(cuMemFree(program->memory));
    CHECK(cuMemFreeHost(program->pinned));
    printf("value %s\ndone: %d steps in %.2f s\n", value < 0 ? "negative" : "positive", steps,
           seconds);
    printf("descheduled %.0f ms\n", program_descheduled_ms());
    return 0;
}

#endif
