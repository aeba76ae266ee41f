#include "report/analyse/totals/timeline_lane.h"

#include <string.h>

#define GV_LANE_FIRST_NS 1024

void gv_lane_widen(struct gv_lane *lane, int64_t stretch_ns)
{
    if (lane->stretch_ns == 0)
        lane->stretch_ns = GV_LANE_FIRST_NS;
    while (lane->stretch_ns < stretch_ns) {
        for (unsigned int i = 0; i < GV_LANE_STRETCHES / 2; i++)
            lane->taken_ns[i] = lane->taken_ns[2 * i] + lane->taken_ns[2 * i + 1];
        memset(lane->taken_ns + GV_LANE_STRETCHES / 2, 0, sizeof(lane->taken_ns) / 2);
        lane->stretch_ns *= 2;
    }
}

void gv_lane_add(struct gv_lane *lane, int64_t start_ns, int64_t end_ns)
{
    int64_t needed_ns = end_ns / GV_LANE_STRETCHES + 1;

    if (start_ns < 0)
        start_ns = 0;
    if (end_ns <= start_ns)
        return;
    gv_lane_widen(lane, needed_ns);
    for (int64_t at = start_ns / lane->stretch_ns; start_ns < end_ns; at++) {
        int64_t until_ns = (at + 1) * lane->stretch_ns;
        if (until_ns > end_ns)
            until_ns = end_ns;
        lane->taken_ns[at] += until_ns - start_ns;
        start_ns = until_ns;
    }
}
