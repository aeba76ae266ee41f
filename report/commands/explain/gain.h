/*
 * What the end of a stall would save: nothing where the host waits for the same stream soon after
 * and the stream had work all the while.
 */
#ifndef GV_COMMANDS_EXPLAIN_GAIN_H
#define GV_COMMANDS_EXPLAIN_GAIN_H

#include "report/analyse/stalls/rows.h"

#include <sqlite3.h>
#include <stdio.h>

/* Prints nothing where that is not known, or where most of the stall would be saved. 0 or -errno.
 */
int gv_explain_gain(sqlite3 *trace, const struct gv_stall_row *row, FILE *out, int columns);

#endif
