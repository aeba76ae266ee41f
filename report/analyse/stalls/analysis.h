/*
 * Which calls of a trace were held up, by what, and what to do about it: fills the tables `stall`
 * and `load_wait` from the calls, the loads and the GPU's operations. docs/stalls.md tells the
 * rules.
 *
 * Memory does not grow with the trace, nor does the analysis need an index. One thread.
 */
#ifndef GV_ANALYSE_STALLS_ANALYSIS_H
#define GV_ANALYSE_STALLS_ANALYSIS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts up when the rules change; meta row "stalls". */
#define GV_STALLS_VERSION 4

/* Analyses an open trace whose tables can be written, in a transaction of its own; earlier results
 * are replaced. Also says in meta: stalls (version), stall_threshold_ns. 0 or -errno; on error the
 * tables are as before. */
int gv_stalls_analyse(sqlite3 *trace, int64_t threshold_ns);

/* The same for a trace that is only read: the results are in temporary tables and views of the
 * same names, which hide the trace's own. */
int gv_stalls_analyse_temporary(sqlite3 *trace, int64_t threshold_ns);

/* Sees to it that `stalls` of a trace that is only read says something: analyses it, unless it was
 * done when the trace was finished. */
int gv_stalls_ensure(sqlite3 *trace);

/* What GPUVERIFY_STALL_US says. */
int64_t gv_stalls_threshold_ns(void);

#endif
