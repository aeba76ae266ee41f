/* Keeps the session's clock at CLOCK_MONOTONIC (trace/clock.h). Only the collector's thread. */
#ifndef GV_COLLECT_STEER_CLOCK_H
#define GV_COLLECT_STEER_CLOCK_H

#include "trace/clock.h"

struct gv_clock_steering {
    uint64_t ticks, ns; /* the last comparison; 0: none yet */
};

/* Compares if it is time for that. Call it often. */
void gv_clock_steer(struct gv_clock_steering *steering, struct gv_clock *clock);

/* The same with a given comparison: at `ticks` it was `ns`. */
void gv_clock_steer_by(struct gv_clock_steering *steering, struct gv_clock *clock, uint64_t ticks,
                       uint64_t ns);

#endif
