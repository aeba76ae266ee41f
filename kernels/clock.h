/* The workloads' own clock. */
#ifndef GV_KERNELS_CLOCK_H
#define GV_KERNELS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t gv_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline double gv_clock_ms_since(uint64_t start_ns)
{
    return (double)(gv_clock_ns() - start_ns) / 1e6;
}

#endif
