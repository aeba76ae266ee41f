/*
 * The sums of a program whose GPU side was seen in windows (GPUVERIFY_GPU=windows). All calls are
 * known; what those between the windows did on the GPU is estimated (estimate.h). A part of the
 * totals (report/analyse/totals), which read the operations in the order of time anyway.
 *
 * Memory: the estimate's, and 32 bytes for each window. Operations of calls that are being read are
 * in a temporary table. One thread.
 */
#ifndef GV_ANALYSE_SCALED_SCALED_H
#define GV_ANALYSE_SCALED_SCALED_H

#include "report/analyse/gpu_unseen.h"
#include "report/analyse/scaled/estimate.h"
#include "report/analyse/stopped.h"
#include "report/analyse/totals/part.h"

#include <sqlite3.h>
#include <stdint.h>

struct gv_scaled;

/* *scaled stays NULL if no process of the part has windows: all that follows then does nothing. 0
 * or -errno; call gv_scaled_close() in any case. */
int gv_scaled_open(struct gv_scaled **scaled, sqlite3 *trace, const struct gv_totals_part *part);
/* An operation of the part, of a call (0: not known) of a process. 0 or -errno. */
int gv_scaled_take(struct gv_scaled *scaled, int64_t process, int64_t call,
                   const struct gv_estimate_work *work);
/* After the last operation: reads the calls. 0 or -errno. */
int gv_scaled_solve(struct gv_scaled *scaled, const struct gv_gpu_unseen_list *unseen,
                    const struct gv_stopped *stopped);
/* NULL: nothing is estimated. */
const struct gv_estimate *gv_scaled_estimate(const struct gv_scaled *scaled);
/* The sum of a row of the estimate, rounded. */
int64_t gv_scaled_sum(const struct gv_estimate_row *row, enum gv_estimate_amount amount);
/* For how long the GPU side was recorded between two times, in millionths of the processes' time.
 */
int64_t gv_scaled_seen_ppm(const struct gv_scaled *scaled, int64_t from_ns, int64_t to_ns);
/* Fills the empty table scaled_total. 0 or -errno. */
int gv_scaled_store(const struct gv_scaled *scaled);
void gv_scaled_close(struct gv_scaled *scaled);

#endif
