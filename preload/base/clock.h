/*
 * The session's clock: nanoseconds close to CLOCK_MONOTONIC. If the Linux kernel trusts the time
 * stamp counter, reading it takes half as long. All processes of a session convert with the same
 * numbers, so their times agree to the tick. The collector keeps them right (trace/clock.h).
 */
#ifndef GV_BASE_CLOCK_H
#define GV_BASE_CLOCK_H

#include "trace/clock.h"

#include <stdint.h>

/* The session's, or CLOCK_MONOTONIC while there is none. */
extern const struct gv_clock *_Atomic gv_clock;

static inline uint64_t gv_clock_now_ns(void)
{
    return gv_clock_read(atomic_load_explicit(&gv_clock, memory_order_relaxed));
}

/* NULL: none. The session stays mapped until then. */
void gv_clock_use(const struct gv_clock *clock);

/* Notes when the library was loaded: the session's start, and the first point of the
 * calibration. */
void gv_clock_note_load(void);

/* Makes a clock for a new session. `choice` is GPUVERIFY_CLOCK's index. Takes up to 2 ms. */
void gv_clock_calibrate(struct gv_clock *clock, int64_t choice);

#endif
