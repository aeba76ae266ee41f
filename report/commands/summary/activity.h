/* How busy the GPUs were: in words, and as levels of the columns of a line. */
#ifndef GV_COMMANDS_SUMMARY_ACTIVITY_H
#define GV_COMMANDS_SUMMARY_ACTIVITY_H

#include "report/analyse/facts/run_facts.h"

#include <sqlite3.h>
#include <stddef.h>

/* "about 62 ± 2 %, by 312 of 2997 launches and copies", if calls were sampled. */
#define GV_SUMMARY_BUSY_BYTES (GV_FACTS_SHARE_BYTES + 120)
void gv_summary_busy(const struct gv_run_facts *facts, char out[GV_SUMMARY_BUSY_BYTES]);

/* Blanks the columns of a line of levels, of [from_ns, to_ns), in which the GPU side was not seen.
 * 0 or -errno. */
int gv_summary_blank_unseen(sqlite3 *trace, int64_t from_ns, int64_t to_ns, double *levels,
                            size_t count);

#endif
