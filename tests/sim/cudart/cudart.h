/*
 * A small CUDA runtime that uses only the driver's public calls, because NVIDIA's needs private
 * ones. It finds the driver in the same way, so that tests cover all hooks on that way.
 *
 * Every export in the table is generated (entry.c) and calls gv_rt_<symbol>. An unwritten one fails
 * with cudaErrorNotSupported and a message. Any thread; the only lock is around registration.
 */
#ifndef GV_TESTS_SIM_CUDART_H
#define GV_TESTS_SIM_CUDART_H

#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef GV_RT_STATIC
#define GV_RT_EXPORT __attribute__((visibility("hidden")))
#else
#define GV_RT_EXPORT __attribute__((visibility("default")))
#endif

#pragma GCC visibility push(hidden)

#define GV_API_NO_DRIVER
#define GV_API(symbol, kind, type, parameters, arguments, facts) type gv_rt_##symbol parameters;
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)
#include "trace/calls.inc"
#undef GV_API_NO_DRIVER

/* The driver's calls, for the legacy [0] and for the per-thread [1] default stream (driver.c). */
struct gv_rt_driver {
#define GV_RT_CALL(symbol, name, version) __typeof__(symbol) *p_##symbol;
#include "tests/sim/cudart/driver_calls.def"
};
extern struct gv_rt_driver gv_rt_drivers[2];
extern _Thread_local int gv_rt_per_thread;
#define DRIVER(symbol) gv_rt_drivers[gv_rt_per_thread].p_##symbol

/* cuGetProcAddress_v2, as the driver returned it; NULL without a driver. */
extern __typeof__(cuGetProcAddress_v2) *gv_rt_ask;

/* Makes the driver usable; with _context, with a context of the current device. */
cudaError_t gv_rt_start(void);
cudaError_t gv_rt_context(void);

/* Stores the error for cudaGetLastError, and returns it. */
cudaError_t gv_rt_failed(cudaError_t error);
static inline cudaError_t gv_rt_result(CUresult result)
{
    return (cudaError_t)result; /* the numbers are the same on purpose */
}

/* The CUkernel of a registered function, or of a handle (registration.c). */
cudaError_t gv_rt_kernel(const void *function, CUkernel *kernel);

/* Makes a driver call: returns its error, or continues. */
#define GV_RT_TRY(call)                                                                            \
    do {                                                                                           \
        cudaError_t gv_rt_error = (call);                                                          \
        if (gv_rt_error)                                                                           \
            return gv_rt_error;                                                                    \
    } while (0)
/* Most calls: a context, then one call of the driver. */
#define GV_RT_FORWARD(call)                                                                        \
    do {                                                                                           \
        GV_RT_TRY(gv_rt_context());                                                                \
        return gv_rt_result(call);                                                                 \
    } while (0)

#pragma GCC visibility pop
#endif
