/*
 * The tables range_total and range_total_of: what the calls in ranges of one name did, for a part
 * of a trace. docs/ranges.md says which calls are in a range, and which texts are one name.
 *
 * Memory: that of the membership, the names, and the sets of names that calls are in at the same
 * time. One thread.
 */
#ifndef GV_ANALYSE_RANGES_TOTALS_H
#define GV_ANALYSE_RANGES_TOTALS_H

#include "report/analyse/ranges/consumer.h"
#include "report/analyse/totals/part.h"

#include <sqlite3.h>

/* More names of a kind are one, "*". */
#define GV_RANGE_NAMES 4096

struct gv_range_totals;

/* *made is NULL if the trace has no ranges. It fills range_total_of, which is empty. 0 or -errno;
 * close it in any case. */
int gv_range_totals_open(struct gv_range_totals **made, sqlite3 *trace,
                         const struct gv_totals_part *part);
/* The row of range_total of a range that starts in the part; 0: none. 0 or -errno. */
int gv_range_totals_of(struct gv_range_totals *totals, int64_t range, int64_t *total);
struct gv_range_consumer gv_range_totals_consumer(struct gv_range_totals *totals);
/* After the pass: fills range_total, which is empty. `totals` may be NULL. 0 or -errno. */
int gv_range_totals_store(struct gv_range_totals *totals);
void gv_range_totals_close(struct gv_range_totals *totals);

#endif
