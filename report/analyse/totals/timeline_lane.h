/*
 * The share of each stretch of the run that something took. Stretches grow with the run, so that
 * there are never more than GV_LANE_STRETCHES.
 */
#ifndef GV_ANALYSE_TOTALS_TIMELINE_LANE_H
#define GV_ANALYSE_TOTALS_TIMELINE_LANE_H

#include <stdint.h>

#define GV_LANE_STRETCHES 1024u

struct gv_lane {
    int64_t stretch_ns; /* 0: empty */
    int64_t taken_ns[GV_LANE_STRETCHES];
};

/* Times are since the session's start; earlier times are ignored. */
void gv_lane_add(struct gv_lane *lane, int64_t start_ns, int64_t end_ns);
/* Makes the stretches at least this long. */
void gv_lane_widen(struct gv_lane *lane, int64_t stretch_ns);

#endif
