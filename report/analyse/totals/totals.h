/*
 * Computes the sums over all calls and operations of a trace: the tables fact, api_total,
 * kernel_total, copy_total, device_total, timeline and others, also those of the
 * GPU's time by line (report/analyse/lines) and of ranges (report/analyse/ranges). They are made
 * and stored when a trace is finished. For a trace without them, or for a part of a trace, they are
 * made in temporary tables.
 *
 * Memory does not grow with the trace, which a pass (report/pass) reads once. One thread.
 */
#ifndef GV_ANALYSE_TOTALS_TOTALS_H
#define GV_ANALYSE_TOTALS_TOTALS_H

#include "report/analyse/totals/part.h"
#include "report/pass/pass.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Goes up when the stored sums change; meta row "totals". The views need at least 16: from then
 * on stored medians are exact. */
#define GV_TOTALS_VERSION 32

bool gv_totals_is_all(const struct gv_totals_part *part);

/* Makes the tables of an open, writable trace in a transaction of its own. `pass`: of all of it.
 * 0, or -errno with the tables unchanged. */
int gv_totals_keep(sqlite3 *trace, struct gv_pass *pass);

/* 1: this trace is finished and has them, even if temporary ones hide them; 0: it has not; or
 * -errno. */
int gv_totals_are_kept(sqlite3 *trace);

/* Provides the tables, and the view gpu_lines, for this part of a read-only trace: the stored ones,
 * or temporary ones, which hide them. 0 or -errno. */
int gv_totals_ensure(sqlite3 *trace, const struct gv_totals_part *part);

#endif
