/*
 * The time in which at least one of many intervals was going on: overlaps count once. Intervals
 * must come in the order of their starts; the sum is then exact for any number. Start anew for each
 * process, so that one does not hide another.
 */
#ifndef GV_ANALYSE_TIME_UNION_H
#define GV_ANALYSE_TIME_UNION_H

#include "report/store/time_sum.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero: empty. */
struct gv_time_union {
    int64_t sum_ns;
    int64_t end_ns; /* the latest end so far */
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

/* The next intervals, of another process, overlap nothing added before. */
static inline void gv_time_union_begin(struct gv_time_union *all)
{
    all->begun = false;
}

#endif
