/* Those that sum up what calls did: by range, by step. pass.h feeds them. */
#ifndef GV_ANALYSE_RANGES_CONSUMER_H
#define GV_ANALYSE_RANGES_CONSUMER_H

#include <stdint.h>

/* The columns of range_total and step. */
struct gv_range_sums {
    int64_t calls;        /* rows that stand for several polls count as these */
    int64_t launches;     /* calls that put work on the GPU */
    int64_t gpu_ns;       /* of the operations that these calls put there */
    int64_t stalls;       /* unexpected ones */
    int64_t stall_ns;     /* waiting and compiling */
    int64_t max_stall_ns; /* of one stall */
    int64_t idle_ns;
    int64_t loads, load_ns;
    int64_t allocations, allocated_bytes; /* of device memory */
};

void gv_range_sums_add(struct gv_range_sums *sums, const struct gv_range_sums *more);

/* One call of the part. */
struct gv_range_call {
    int64_t id, thread, process, start_ns;
};

struct gv_range_consumer {
    void *context;
    /* In which bucket of the consumer a call is; 0: none. A bucket is any number, such as that of a
     * set of names. Calls of a thread come in the order of time; those of different threads do not.
     */
    int (*place)(void *context, const struct gv_range_call *call, int64_t *bucket);
    /* What a call in the bucket did. Its operations come later, each with nothing but gpu_ns. 0,
     * -errno, or GV_RANGE_FORGOTTEN. */
    int (*add)(void *context, int64_t bucket, const struct gv_range_sums *did);
    /* Some calls come again, from the first on, because their operations were late. May be NULL. */
    int (*again)(void *context);
    /* For how long no device of its process had work in an interval of sql_intervals. */
    int (*idle)(void *context, int64_t key, int64_t idle_ns);
};

/* The consumer dropped the bucket: the operation comes again after all calls, and `place` is asked
 * again. */
#define GV_RANGE_FORGOTTEN 1

#endif
