/*
 * A stall, or a call that has not returned, told in plain words: what, why, a picture of the time
 * around it, where in the code, what else was held up, what to do.
 */
#ifndef GV_COMMANDS_EXPLAIN_EXPLAIN_H
#define GV_COMMANDS_EXPLAIN_EXPLAIN_H

#include "report/analyse/stalls/rows.h"

#include <stdbool.h>
#include <stdio.h>

/* Lines are broken at `columns`. 0 or -errno. */
int gv_explain_stall(sqlite3 *trace, const struct gv_stall_row *row, FILE *out, int columns);

/* All calls that had not returned. *told: how many. 0 or -errno. */
int gv_explain_flights(sqlite3 *trace, FILE *out, int columns, int *told);

/* The sentence for a cause; *waits: whether what the GPU had to do belongs to it. Never NULL. */
const char *gv_explain_why(const char *cause, bool *waits);

#endif
