/*
 * How long at least one of many stretches of time went on: those that overlap count once. They are
 * to come in the order of their starts; then the sum is exact, of however many. Where a process
 * is not to hide what another did at the same time, each is begun anew.
 */
#ifndef GV_ANALYSE_TIME_UNION_H
#define GV_ANALYSE_TIME_UNION_H

#include "report/analyse/time_sum.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero: of none. */
struct gv_time_union {
    int64_t sum_ns;
    int64_t end_ns; /* the latest one so far */
    bool begun;
};

static inline void gv_time_union_add(struct gv_time_union *all, int64_t start_ns, int64_t end_ns)
{
    int64_t new_ns = all->begun && all->end_ns > start_ns ? all->end_ns : start_ns;

    if (end_ns <= new_ns)
        return;
    all->sum_ns = gv_time_sum(all->sum_ns, gv_time_difference(end_ns, new_ns));
    all->end_ns = end_ns;
    all->begun = true;
}

/* What comes now, of another process, overlaps nothing that was added before. */
static inline void gv_time_union_begin(struct gv_time_union *all)
{
    all->begun = false;
}

#endif
