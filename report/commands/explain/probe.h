/* What 'gpuverify probe' measured on this machine about a stall's cause. */
#ifndef GV_COMMANDS_EXPLAIN_PROBE_H
#define GV_COMMANDS_EXPLAIN_PROBE_H

#include "report/analyse/stalls/rows.h"

#include <stdio.h>

/*
 * Prints a paragraph if this user keeps a result for the driver, and the GPU as far as the trace
 * knows it, of the stall's process; nothing otherwise. -ENOMEM is its only error.
 */
int gv_explain_probe(sqlite3 *trace, const struct gv_stall_row *row, FILE *out, int columns);

#endif
