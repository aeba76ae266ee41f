/* Times calls that must not stall, and prints each that took as long as a stall. */
#ifndef GV_KERNELS_STALLS_TIMED_CALLS_H
#define GV_KERNELS_STALLS_TIMED_CALLS_H

#include "kernels/clock.h"

#include <stdint.h>
#include <stdio.h>

#define GV_SLOW_MS 0.1
/* At most this many are printed; a machine with more does not apply. */
#define GV_SLOW_MOST 10000u

/* Returns `count`, plus one if this call, which began at `start_ns`, was slow. */
static inline unsigned gv_slow_count(unsigned count, const char *call, uint64_t start_ns)
{
    double ms = gv_clock_ms_since(start_ns);

    if (ms < GV_SLOW_MS)
        return count;
    if (count < GV_SLOW_MOST)
        printf("slow %s %.3f\n", call, ms);
    return count + 1;
}

#endif
