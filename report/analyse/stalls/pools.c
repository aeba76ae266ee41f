/*
 * Finds the allocations in stream order for which a memory pool had to map memory that it had
 * before: since the last synchronisation, which gives back what is free, it had less.
 *
 * Memory counts for each context, because a call does not say which pool it uses. For the same
 * reason, the highest release threshold of a process's pools counts for all of them.
 */
#include "report/analyse/stalls/run.h"
#include "report/store/key_map.h"

#include <errno.h>
#include <stdlib.h>

/* More pools with a threshold, or more blocks at a time, are not followed: nothing is found then.
 */
#define THRESHOLDS 64u
#define BLOCKS     (1u << 17)

enum pool_call { POOL_ALLOCATES = 1, POOL_FREES, POOL_SYNCHRONISES, POOL_SETS_THRESHOLD };

/* What a context allocated in stream order. */
struct pool_context {
    int64_t live_bytes, most_bytes;
    int64_t kept_bytes;      /* at most since the last synchronisation */
    int64_t threshold_bytes; /* at that time */
};

struct pools {
    struct gv_key_map blocks; /* process, address -> bytes */
    struct {
        int64_t process, pool, bytes;
    } thresholds[THRESHOLDS];
    size_t threshold_count;
    struct pool_context *contexts; /* by row */
    bool too_many;
};

static void set_threshold(struct pools *pools, int64_t process, int64_t pool, int64_t bytes)
{
    size_t i = 0;

    while (i < pools->threshold_count &&
           (pools->thresholds[i].process != process || pools->thresholds[i].pool != pool))
        i++;
    pools->too_many |= i == THRESHOLDS;
    if (pools->too_many)
        return;
    pools->thresholds[i].process = process;
    pools->thresholds[i].pool = pool;
    pools->thresholds[i].bytes = bytes;
    if (i == pools->threshold_count)
        pools->threshold_count++;
}

static void synchronise(const struct pools *pools, struct pool_context *context, int64_t process)
{
    context->kept_bytes = context->live_bytes;
    context->threshold_bytes = 0;
    for (size_t i = 0; i < pools->threshold_count; i++)
        if (pools->thresholds[i].process == process &&
            pools->thresholds[i].bytes > context->threshold_bytes)
            context->threshold_bytes = pools->thresholds[i].bytes;
}

static void release(struct pools *pools, struct pool_context *context, const struct gv_key *block)
{
    int64_t bytes = gv_key_map_find(&pools->blocks, block);

    if (context)
        context->live_bytes = gv_time_difference(context->live_bytes, bytes);
    gv_key_map_remove(&pools->blocks, block);
}

static int allocate(struct gv_stall_run *run, struct pools *pools, struct pool_context *context,
                    const struct gv_key *block, int64_t bytes, int64_t call)
{
    bool mapped_again;
    int error;

    release(pools, context, block); /* its free may be lost */
    pools->too_many |= pools->blocks.used >= BLOCKS;
    if (bytes <= 0 || pools->too_many)
        return 0;
    error = gv_key_map_add(&pools->blocks, block, bytes);
    context->live_bytes = gv_time_sum(context->live_bytes, bytes);
    mapped_again = context->live_bytes > context->kept_bytes &&
                   context->live_bytes <= context->most_bytes &&
                   context->live_bytes > context->threshold_bytes;
    if (context->live_bytes > context->kept_bytes)
        context->kept_bytes = context->live_bytes;
    if (context->live_bytes > context->most_bytes)
        context->most_bytes = context->live_bytes;
    return !error && mapped_again ? gv_stall_put(run, GV_STALL_ADD_POOL, &call, 1) : error;
}

static int take_call(struct gv_stall_run *run, struct pools *pools, sqlite3_stmt *row)
{
    int64_t process = sqlite3_column_int64(row, 2), object = sqlite3_column_int64(row, 4);
    struct gv_key block = {.part = {(uint64_t)process, (uint64_t)object}};
    struct pool_context *context =
        GV_STALL_ROW(pools->contexts, run->context_count, sqlite3_column_int64(row, 3));

    switch (sqlite3_column_int(row, 1)) {
    case POOL_ALLOCATES:
        return context ? allocate(run, pools, context, &block, sqlite3_column_int64(row, 5),
                                  sqlite3_column_int64(row, 0))
                       : 0;
    case POOL_FREES:
        release(pools, context, &block);
        return 0;
    case POOL_SYNCHRONISES:
        if (context)
            synchronise(pools, context, process);
        return 0;
    default:
        set_threshold(pools, process, object, sqlite3_column_int64(row, 5));
        return 0;
    }
}

int gv_stall_pools_find(struct gv_stall_run *run)
{
    struct pools pools = {.contexts = calloc(run->context_count + 1, sizeof(*pools.contexts))};
    int error = pools.contexts ? 0 : -ENOMEM;
    sqlite3_stmt *rows = error ? NULL : gv_stall_statement(run, GV_STALL_POOL_CALLS, &error);

    while (!error && gv_stall_next(run, rows, &error))
        error = take_call(run, &pools, rows);
    gv_key_map_free(&pools.blocks);
    free(pools.contexts);
    return error;
}
