/* The total costs of the stalls of an open trace. */
#ifndef GV_ANALYSE_STALLS_SUMS_H
#define GV_ANALYSE_STALLS_SUMS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct gv_stall_sums {
    int64_t count;    /* unexpected stalls */
    int64_t lost_ns;  /* time lost in them; simultaneous losses of a process count once */
    int64_t known_ns; /* the same for explained stalls, */
    int64_t unknown_count, unknown_ns; /* and for the others */
    int64_t jit_ns;                    /* compiling in them, summed over threads */
    int64_t expected_count;
    int64_t expected_ns;
    int64_t run_ns;     /* from a process's first call's start to its last one's end, summed */
    int64_t processes;  /* with calls */
    int64_t unfinished; /* calls that had not returned; not counted above */
};

/* Whether they cost less than 1 % of the run: not worth a change. */
static inline bool gv_stall_sums_are_small(const struct gv_stall_sums *sums)
{
    return (double)sums->lost_ns < 0.01 * (double)sums->run_ns || sums->run_ns <= 0;
}

/* 0 or -errno. */
int gv_stall_sums_read(sqlite3 *trace, struct gv_stall_sums *sums);

#endif
