/* The rank of a job for which the others wait most, and what it does meanwhile. */
#ifndef GV_ANALYSE_JOBS_LATE_H
#define GV_ANALYSE_JOBS_LATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct gv_late_rank {
    int64_t process, rank; /* process 0: no rank is late */
    int64_t late_ns;       /* how long the others wait in a step, of those in which it is late */
    int64_t steps, of;     /* in which it is late, of how many */
    bool are_steps;        /* or collectives, if its steps are not known */
    int64_t total_ns;      /* that the others waited for it */
    char text[512];        /* "waiting for data: data.py:41 __getitem__" */
};

/* From the collectives of an open trace and its steps. 0 or -errno. */
int gv_late_rank_read(sqlite3 *trace, struct gv_late_rank *late);

#endif
