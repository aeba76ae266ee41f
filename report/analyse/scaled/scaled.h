/*
 * How long calls kept the GPU, of processes of which some calls were measured (gpu_sample). All
 * launches and copies are known, and each takes as long as the samples of its like do on average:
 * of the same kernel, thread and stream; of the same graph; of copies of its size by the same call.
 * Where fewer than GV_SCALED_FEW of these were measured, of all like it.
 *
 * A sample counts for as many calls as it was chosen from, so the average has no bias. Its standard
 * error is that of a ratio, with that of the measurement, which all samples have in common.
 *
 * Memory: 32 bytes for each sample, while the averages are made, and GV_SCALED_CELLS cells. One
 * thread.
 */
#ifndef GV_ANALYSE_SCALED_SCALED_H
#define GV_ANALYSE_SCALED_SCALED_H

#include "report/pass/pass.h"

#include <sqlite3.h>
#include <stdint.h>

#define GV_SCALED_FEW   4
#define GV_SCALED_CELLS 8192u

struct gv_scaled;

/* Reads the samples, and the pass's calls. *scaled stays NULL if there are no samples: all that
 * follows then does nothing. 0 or -errno; call gv_scaled_close() in any case. */
int gv_scaled_open(struct gv_scaled **scaled, sqlite3 *trace, struct gv_pass *pass);

/* How long the call kept the GPU; -1: it did not, or that is not known. error_ns: the standard
 * error of the average, which calls like it have in common. */
int64_t gv_scaled_ns(const struct gv_scaled *scaled, const struct gv_pass_call *call,
                     double *error_ns);

/* The same, and adds it to the sums. */
int64_t gv_scaled_add(struct gv_scaled *scaled, const struct gv_pass_call *call);

struct gv_scaled_sums {
    int64_t samples;             /* in all */
    int64_t operations, unknown; /* unknown: of calls of which none like it was measured */
    int64_t kernel_ns, graph_ns, copy_ns, error_ns;
};

/* Of what was added. Work that ran at once counts each time. */
void gv_scaled_sum(const struct gv_scaled *scaled, struct gv_scaled_sums *sums);

/* Fills the empty table sampled_total. 0 or -errno. */
int gv_scaled_store(const struct gv_scaled *scaled);
void gv_scaled_close(struct gv_scaled *scaled);

#endif
