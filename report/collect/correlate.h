/*
 * Which call started an operation on the GPU, by CUPTI's correlation id.
 *
 * Calls are remembered as they come in, the last GV_CORRELATE_CALLS of them. What comes before its
 * call does waits for it, until GV_CORRELATE_WAITING others have begun to wait: so a call that was
 * lost keeps nothing in memory for long. What is given up keeps its correlation in its row, and is
 * to be looked up in the trace (`given_up`). One process, one thread. 0 or -ENOMEM.
 */
#ifndef GV_COLLECT_CORRELATE_H
#define GV_COLLECT_CORRELATE_H

#include "report/store/database.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_CORRELATE_CALLS   (1u << 20)
#define GV_CORRELATE_WAITING (1u << 18)

struct gv_correlate_call;
struct gv_correlate_waiting;

struct gv_correlate {
    struct gv_correlate_call *calls; /* by correlation; NULL: there was none yet */
    int64_t newest_call;
    struct gv_correlate_waiting *waiting; /* the last of them; NULL: there was none yet */
    uint64_t *chains;     /* by correlation: the number of the newest one that waits, or 0 */
    uint64_t waited;      /* so many ever began to wait: the number of the newest */
    uint64_t outstanding; /* of them, not told their call */
    bool given_up;        /* the call of one that waits no more may be in the trace, or come yet */
};

void gv_correlate_free(struct gv_correlate *correlate);

/* A call was stored, with a higher id than all before. Tells those that wait for it. */
int gv_correlate_add(struct gv_correlate *correlate, struct gv_database *database,
                     uint32_t correlation, int64_t call);

/* The call's id, or 0. */
int64_t gv_correlate_find(const struct gv_correlate *correlate, uint32_t correlation);

/* The call was not found: `statement` (row, call) is to be run when it comes. */
int gv_correlate_wait(struct gv_correlate *correlate, uint32_t correlation,
                      enum gv_statement statement, int64_t row);

#endif
