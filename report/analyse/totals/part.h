/* The part of a trace to sum up, and how calls count in it. */
#ifndef GV_ANALYSE_TOTALS_PART_H
#define GV_ANALYSE_TOTALS_PART_H

#include "report/analyse/ranges/choice.h"

#include <stdint.h>

/* Calls and operations that started in [from_ns, to_ns). */
struct gv_totals_part {
    int64_t process; /* id in processes; 0: all */
    int64_t thread;  /* id in threads; 0: all */
    int64_t device;  /* the processes' number of it; -1: all */
    int64_t from_ns;
    int64_t to_ns;
    const struct gv_range_choice *ranges; /* calls in these, and what they did; NULL: all */
};

#define GV_TOTALS_ALL ((struct gv_totals_part){0, 0, -1, INT64_MIN, INT64_MAX, NULL})

/* Gaps shorter than this are short. */
#define GV_TOTALS_SHORT_GAP_NS 300000

#endif
