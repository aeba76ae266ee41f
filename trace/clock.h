/* Reading the clock of a session. */
#ifndef GV_TRACE_CLOCK_H
#define GV_TRACE_CLOCK_H

#include "trace/futex.h"
#include "trace/spool.h"

static inline uint64_t gv_clock_read(const struct gv_clock *clock)
{
#if defined(__x86_64__)
    if (__builtin_expect(clock->kind == GV_CLOCK_TSC, 1)) {
        uint64_t ticks = __builtin_ia32_rdtsc() - clock->base_ticks;
        unsigned __int128 product = (unsigned __int128)ticks * clock->multiplier;

        return clock->base_ns + (uint64_t)(product >> 32);
    }
#else
    (void)clock;
#endif
    return gv_monotonic_ns();
}

#endif
