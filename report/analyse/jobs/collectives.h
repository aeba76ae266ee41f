/*
 * Joins the collectives of all ranks of a trace: fills collective_group and collective_member from
 * the table collective, and says why the last rank came late. docs/jobs.md describes the rules.
 *
 * Needs the stalls and idle times of the trace. Memory does not grow with the trace. One thread.
 */
#ifndef GV_ANALYSE_JOBS_COLLECTIVES_H
#define GV_ANALYSE_JOBS_COLLECTIVES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Goes up when the rules change; meta row "collectives". */
#define GV_COLLECTIVES_VERSION 1
/* It is only explained why ranks came later than this. */
#define GV_COLLECTIVES_LATE_NS 100000

/* Analyses an open, writable trace, in a transaction of its own. 0, or -errno with the tables
 * unchanged. */
int gv_collectives_keep(sqlite3 *trace);

/* The same of a trace that is being finished; first finds the GPU operation of each collective. */
int gv_collectives_settle(sqlite3 *trace);

/* Makes `collectives` of a read-only trace usable: in temporary tables, unless that was done when
 * it was finished. 0 or -errno. */
int gv_collectives_ensure(sqlite3 *trace);

/* The GPU operations of a read-only trace's collectives, in temp.collective, unless it is complete:
 * then they are in the trace. 0 or -errno. */
int gv_operations_ensure(sqlite3 *trace);

/* Launches of graphs with captured collectives, into temp.replay; empty if there are none. 0 or
 * -errno. */
int gv_replays_find(sqlite3 *trace);

/* After gv_ledger_make(). Without several ranks the table finding stays as it is. 0 or -errno. */
int gv_job_findings_join(sqlite3 *trace);

/* report/analyse/jobs/late.c: the rank of a job for which the others wait most, and what it does
 * meanwhile. */
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
