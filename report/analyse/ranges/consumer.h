/* Those that sum up what calls did: by range, by step. pass.h feeds them. */
#ifndef GV_ANALYSE_RANGES_CONSUMER_H
#define GV_ANALYSE_RANGES_CONSUMER_H

#include <stdint.h>

struct gv_range_sums {
#define GV_RANGE_SUM(name) int64_t name;
#include "report/analyse/ranges/sums.def"
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
    /* For how long no device of its process had work in an interval of sql_borders: the sum of what
     * comes for its key, first less the time before it, then the time before its end. */
    int (*idle)(void *context, int64_t key, int64_t idle_ns);
};

/* The consumer dropped the bucket: the operation comes again after all calls, and `place` is asked
 * again. */
#define GV_RANGE_FORGOTTEN 1

#endif
