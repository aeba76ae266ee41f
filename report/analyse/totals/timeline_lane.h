/*
 * How much of each stretch of the run something took. The stretches get longer with the run, so
 * that there are never more than GV_LANE_STRETCHES.
 */
#ifndef GV_ANALYSE_TOTALS_TIMELINE_LANE_H
#define GV_ANALYSE_TOTALS_TIMELINE_LANE_H

#include <stdint.h>

#define GV_LANE_STRETCHES 1024u

struct gv_lane {
    int64_t stretch_ns; /* 0: nothing was added yet */
    int64_t taken_ns[GV_LANE_STRETCHES];
};

/* Times count from the session's start; what was before is left out. */
void gv_lane_add(struct gv_lane *lane, int64_t start_ns, int64_t end_ns);
/* Makes the stretches at least so long. */
void gv_lane_widen(struct gv_lane *lane, int64_t stretch_ns);

#endif
