/*
 * Finds when the devices of each process were idle, and why: fills the table `idle_time` from the
 * operations, the calls and the looks at threads (table idle_sample). docs/idle.md describes the
 * rules.
 *
 * The rows of a device add up to the time from the process's start to its end without its busy time
 * and without the time in which its GPU side was not seen. Memory does not grow with the number of
 * calls and operations; it has all looks. One thread.
 */
#ifndef GV_ANALYSE_IDLE_ANALYSIS_H
#define GV_ANALYSE_IDLE_ANALYSIS_H

#include "report/analyse/ranges/choice.h"

#include <sqlite3.h>
#include <stdint.h>

/* Goes up when the rules change; meta row "idle". */
#define GV_IDLE_VERSION 2

/* Analyses an open, writable trace whose stacks have names, in a transaction of its own. Idle times
 * are cut to [from_ns, until_ns). 0, or -errno with the table unchanged. */
int gv_idle_keep(sqlite3 *trace, int64_t from_ns, int64_t until_ns);

/* Makes `idle` and `idle_time` of a read-only trace usable: analyses it into temporary ones that
 * hide the trace's own, unless that was done when the trace was finished. 0 or -errno. */
int gv_idle_ensure(sqlite3 *trace);

/* Makes them show only what is in these ranges: each idle time is cut to them; NULL: all of it. The
 * rows have ids of their own. 0 or -errno. */
int gv_idle_of_ranges(sqlite3 *trace, const struct gv_range_choice *ranges);

#endif
