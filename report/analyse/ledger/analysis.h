/*
 * The ledger: each nanosecond of a device's run booked once (docs/ledger.md). A lane is a device of
 * a process, or a process without a GPU side; its rows add up to its run.
 */
#ifndef GV_LEDGER_ANALYSIS_H
#define GV_LEDGER_ANALYSIS_H

#include "report/analyse/totals/part.h"
#include "report/pass/pass.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Makes the rows of lane, ledger_row, ledger_minute, finding and idle_time, which are empty, from
 * the trace's rows, its stalls and its steps, of a part of the run: then they add up to that.
 * Phases are those of the whole run; of a thread, only the time that it kept a device idle. 0 or
 * -errno. */
int gv_ledger_make(sqlite3 *trace, const struct gv_totals_part *part, struct gv_pass *pass);

/* Without findings and idle_time. 0 or -errno. */
int gv_ledger_minutes_make(sqlite3 *trace, const struct gv_totals_part *part, struct gv_pass *pass);

#endif
