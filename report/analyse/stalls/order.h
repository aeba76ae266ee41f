/*
 * A chunk's calls in the orders in which the GPU's operations look for them: by thread, by context,
 * by stream, by their own number. Calls whose process did not see the GPU's side are left out.
 */
#ifndef GV_ANALYSE_STALLS_ORDER_H
#define GV_ANALYSE_STALLS_ORDER_H

#include "report/analyse/stalls/run.h"

/* What an operation leaves at the first call that it concerns, for all that come after. */
struct gv_stall_mark {
    int64_t busy_until_ns, local_bytes;
};

struct gv_stall_order {
    /* positions in the chunk: threads of a process, calls of a thread, by time */
    uint32_t *by_thread, *by_context, *by_stream, *by_call;
    size_t thread_positions, context_positions, stream_positions, call_count;
    struct gv_stall_span *threads;   /* one for each thread that has calls; by process */
    struct gv_stall_span *processes; /* of `threads`, by row */
    size_t process_count;
    struct gv_stall_span *contexts, *streams; /* by row */
    size_t context_count, stream_count;
    struct gv_stall_mark *marks; /* beside by_context */
    int64_t *ahead;              /* beside by_stream: differences to the one before */
};

/* 0 or -ENOMEM; to be freed in any case. The streams' order needs the calls' own operations. */
int gv_stall_order_make(struct gv_stall_order *order, const struct gv_stall_run *run);
int gv_stall_order_streams(struct gv_stall_order *order, const struct gv_stall_run *run);
void gv_stall_order_free(struct gv_stall_order *order);

/* The call of this number, if it puts work on the GPU. */
struct gv_held *gv_stall_order_call(const struct gv_stall_order *order, struct gv_held *held,
                                    int64_t call);
/* The threads of a process that have calls in the chunk: how many, and the first. */
size_t gv_stall_order_threads(const struct gv_stall_order *order, int64_t process,
                              struct gv_stall_span **threads);
/* The thread's first call that ends at or after a time. */
struct gv_held *gv_stall_order_ending(const struct gv_stall_order *order, struct gv_held *held,
                                      struct gv_stall_span *thread, int64_t at_ns);
/* An operation ran in a context; was in a stream's queue. */
void gv_stall_order_running(struct gv_stall_order *order, const struct gv_held *held,
                            int64_t context, int64_t start_ns, int64_t end_ns, int64_t local_bytes);
void gv_stall_order_queued(struct gv_stall_order *order, const struct gv_held *held, int64_t stream,
                           int64_t start_ns, int64_t end_ns);
/* Tells the calls what running and queued left. */
void gv_stall_order_finish(const struct gv_stall_order *order, struct gv_held *held);

#endif
