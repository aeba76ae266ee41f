/* How busy the GPUs were: in words, and as levels of the columns of a line. */
#ifndef GV_COMMANDS_SUMMARY_ACTIVITY_H
#define GV_COMMANDS_SUMMARY_ACTIVITY_H

#include "report/analyse/facts/run_facts.h"

#include <sqlite3.h>
#include <stddef.h>

/* "62 % of the first 3.00 s": after operations were seen. */
#define GV_SUMMARY_BUSY_BYTES (GV_FACTS_SHARE_BYTES + GV_FACTS_SEEN_BYTES + 16)
void gv_summary_busy(const struct gv_run_facts *facts, char out[GV_SUMMARY_BUSY_BYTES]);

/* Blanks the columns of a line of levels, of [from_ns, to_ns), in which the GPU side was not seen.
 * If windows of it were, a level is of these. 0 or -errno. */
int gv_summary_blank_unseen(sqlite3 *trace, int64_t from_ns, int64_t to_ns, double *levels,
                            size_t count);

#endif
