/* What is found out about a trace when nothing more is written to it: by the collector at the end,
 * and for a snapshot. */
#ifndef GV_COLLECT_SETTLE_H
#define GV_COLLECT_SETTLE_H

#include "report/store/database.h"

/* Names its stacks, and stores its stalls and sums. If one of them fails,
 * it says so and goes on: the commands then compute that themselves. */
void gv_settle(struct gv_database *database, const char *path);

#endif
