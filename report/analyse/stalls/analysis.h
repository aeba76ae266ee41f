/*
 * Finds the stalls of a trace, their causes and the advice, and lost captures. Fills the tables
 * `stall`, `load_wait` and `lost_capture` from the calls, the loads and the GPU operations.
 * docs/stalls.md describes the rules.
 *
 * Memory does not grow with the trace, and the analysis needs no index. One thread.
 */
#ifndef GV_ANALYSE_STALLS_ANALYSIS_H
#define GV_ANALYSE_STALLS_ANALYSIS_H

#include "report/pass/pass.h"

#include <sqlite3.h>
#include <stdint.h>

/* Goes up when the rules change; meta row "stalls". */
#define GV_STALLS_VERSION 5

/* Analyses an open, writable trace in a transaction of its own, and replaces earlier results.
 * `pass`: of all of it. Writes to meta: stalls (version), stall_threshold_ns. 0
 * or -errno; on error the tables are unchanged. */
int gv_stalls_analyse(sqlite3 *trace, int64_t threshold_ns, struct gv_pass *pass);

/* Writes the advice of all stalls anew, after names have changed. In a transaction of its own. 0 or
 * -errno. */
int gv_stalls_advise(sqlite3 *trace);

/* Makes `stalls` and `lost_captures` of a read-only trace usable: analyses it, unless that was done
 * when the trace was finished. The results are then in temporary tables and views with the same
 * names, which hide the trace's own. 0 or -errno. */
int gv_stalls_ensure(sqlite3 *trace);

/* Leaves only those of calls for which gv_in_ranges() says so (report/analyse/ranges/choice.h), in
 * temporary ones. After gv_stalls_ensure(). 0 or -errno. */
int gv_stalls_of_ranges(sqlite3 *trace);

/* The value of GPUVERIFY_STALL_US. */
int64_t gv_stalls_threshold_ns(void);

#endif
