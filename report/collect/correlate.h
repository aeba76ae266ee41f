/*
 * Matches GPU operations with their calls, by CUPTI's correlation id.
 *
 * It remembers the last GV_CORRELATE_CALLS calls. An operation that comes before its call waits,
 * until GV_CORRELATE_WAITING others wait too; so a lost call does not keep memory in use. An
 * abandoned operation has its correlation in its row and must be looked up in the trace
 * (`given_up`). One process, one thread. 0 or -ENOMEM.
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
    struct gv_correlate_call *calls; /* by correlation; NULL: none yet */
    int64_t newest_call;
    struct gv_correlate_waiting *waiting; /* the last ones; NULL: none yet */
    uint64_t *chains;     /* by correlation: the number of the newest waiting one, or 0 */
    uint64_t waited;      /* how many ever waited: the number of the newest */
    uint64_t outstanding; /* of them, without a call */
    bool given_up;        /* the call of an abandoned one may be in the trace, or still come */
};

void gv_correlate_free(struct gv_correlate *correlate);

/* Notes a stored call, with a higher id than all before, and matches the operations that wait
 * for it. */
int gv_correlate_add(struct gv_correlate *correlate, struct gv_database *database,
                     uint32_t correlation, int64_t call);

/* The call's id, or 0. */
int64_t gv_correlate_find(const struct gv_correlate *correlate, uint32_t correlation);

/* The call was not found: run `statement` (row, call) when it comes. */
int gv_correlate_wait(struct gv_correlate *correlate, uint32_t correlation,
                      enum gv_statement statement, int64_t row);

#endif
