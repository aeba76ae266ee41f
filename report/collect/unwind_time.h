/*
 * CPU time that the collector may use for the stacks of threads that are blocked or run: the first
 * one through a large library takes milliseconds, later ones microseconds. One thread.
 */
#ifndef GV_COLLECT_UNWIND_TIME_H
#define GV_COLLECT_UNWIND_TIME_H

#include "trace/futex.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define GV_UNWIND_TIME_NS       20000000  /* of each second, */
#define GV_UNWIND_TIME_AHEAD_NS 200000000 /* and so much ahead */

struct gv_unwind_time {
    int64_t spent_ns; /* what the seconds allowed is taken off */
    int64_t looked_ns;
};

static inline int64_t gv_unwind_time_begin(void)
{
    return (int64_t)gv_time_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void gv_unwind_time_end(struct gv_unwind_time *time, int64_t begin_ns)
{
    time->spent_ns += gv_unwind_time_begin() - begin_ns;
}

static inline bool gv_unwind_time_is_left(struct gv_unwind_time *time)
{
    int64_t now_ns = (int64_t)gv_monotonic_ns();

    time->spent_ns -= (now_ns - time->looked_ns) / (1000000000 / GV_UNWIND_TIME_NS);
    time->looked_ns = now_ns;
    if (time->spent_ns < 0)
        time->spent_ns = 0;
    return time->spent_ns < GV_UNWIND_TIME_AHEAD_NS;
}

#endif
