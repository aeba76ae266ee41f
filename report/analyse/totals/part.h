/* Which part of a trace is summed up, and what counts as what in it. */
#ifndef GV_ANALYSE_TOTALS_PART_H
#define GV_ANALYSE_TOTALS_PART_H

#include <stdint.h>

/* Calls and operations that began in [from_ns, to_ns). */
struct gv_totals_part {
    int64_t process; /* id in processes; 0: all */
    int64_t thread;  /* id in threads; 0: all */
    int64_t device;  /* number that the processes know it by; -1: all */
    int64_t from_ns;
    int64_t to_ns;
};

#define GV_TOTALS_ALL ((struct gv_totals_part){0, 0, -1, INT64_MIN, INT64_MAX})

/* Gaps between operations are short below it. */
#define GV_TOTALS_SHORT_GAP_NS 300000

#endif
