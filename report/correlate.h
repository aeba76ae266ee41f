/*
 * Which call started an operation on the GPU, by CUPTI's correlation id.
 *
 * Calls are remembered as they come in, the last GV_CORRELATE_CALLS of them. What comes before its
 * call does waits for it. One process, one thread. 0 or -ENOMEM.
 */
#ifndef GV_REPORT_CORRELATE_H
#define GV_REPORT_CORRELATE_H

#include "trace/database.h"
#include "trace/key_map.h"

#include <stdint.h>

#define GV_CORRELATE_CALLS (1u << 20)

struct gv_correlate_call;

struct gv_correlate_waiting {
    enum gv_statement statement; /* tells the row `row` its call */
    int64_t row;
    int64_t next; /* place of another one with this correlation, or 0 */
};

struct gv_correlate {
    struct gv_correlate_call *calls; /* NULL: there was none yet */
    struct gv_key_map waiting;       /* correlation -> place of the newest one */
    struct gv_correlate_waiting *list;
    int64_t used;        /* places of the list; place 0 is nobody's */
    int64_t outstanding; /* of them, still waiting */
    int64_t room;
};

void gv_correlate_free(struct gv_correlate *correlate);

/* A call was stored. Tells those that wait for it. */
int gv_correlate_add(struct gv_correlate *correlate, struct gv_database *database,
                     uint32_t correlation, int64_t call);

/* The call's id, or 0. */
int64_t gv_correlate_find(const struct gv_correlate *correlate, uint32_t correlation);

/* The call was not found: `statement` (row, call) is to be run when it comes. */
int gv_correlate_wait(struct gv_correlate *correlate, uint32_t correlation,
                      enum gv_statement statement, int64_t row);

#endif
