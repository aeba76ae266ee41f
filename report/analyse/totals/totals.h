/*
 * Sums over all calls and operations of a trace: the tables fact, api_total, kernel_total,
 * copy_total, device_total, gap, gap_call and timeline among them. They are made when a trace is
 * finished and kept in it, and made for the moment when a trace has none, or a part of it is asked
 * for.
 *
 * Memory does not grow with the trace; each call is read once, those from the first one that starts
 * CUDA to the last one twice, each operation twice. One thread.
 */
#ifndef GV_ANALYSE_TOTALS_TOTALS_H
#define GV_ANALYSE_TOTALS_TOTALS_H

#include "report/analyse/totals/part.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Counts up when what is kept changes; meta row "totals". The views ask for 16 at least: from then
 * on medians that are kept are exact. */
#define GV_TOTALS_VERSION 16

bool gv_totals_is_all(const struct gv_totals_part *part);

/* Makes the tables of an open trace that can be written, in a transaction of its own. 0 or -errno:
 * the tables are as before. */
int gv_totals_keep(sqlite3 *trace);

/* 1: this trace is finished and has them, whatever temporary ones hide them; 0: it has not; or
 * -errno. */
int gv_totals_are_kept(sqlite3 *trace);

/* Sees to it that the tables say something of this part of a trace that is only read: those that
 * are kept, or temporary ones, which hide them. 0 or -errno. */
int gv_totals_ensure(sqlite3 *trace, const struct gv_totals_part *part);

#endif
