/*
 * What was allocated and freed: how much at most at a time, and what was left. Calls are taken in
 * the order of time. What a context that ended had is gone; what a process that ended had takes no
 * room any longer, but nobody freed it. Memory is bounded by what is allocated at a time, and that
 * by GV_MEMORY_BLOCKS. One thread.
 */
#ifndef GV_ANALYSE_TOTALS_MEMORY_LOG_H
#define GV_ANALYSE_TOTALS_MEMORY_LOG_H

#include "report/store/key_map.h"
#include "trace/call_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocated at a time; of more, nothing is known. */
#define GV_MEMORY_BLOCKS (1u << 17)

/* One call, or the end of a process. */
struct gv_memory_event {
    int64_t at_ns, process;
    int64_t object; /* the address, or the context that is made or ends */
    int64_t bytes, call;
    enum gv_memory_space space;
    int64_t context; /* where the call worked, and the block lives; 0: nowhere that can end */
};

/* One address. */
struct gv_memory_block {
    int64_t bytes; /* 0: free */
    int64_t call;  /* that allocated it */
    enum gv_memory_space space;
    size_t context; /* in contexts; of one that is free: number of the next such one + 1 */
    int64_t life;   /* of the context's */
};

/* A handle of a context. It may name one context after the other: each is another life. */
struct gv_memory_context {
    size_t process; /* in processes */
    int64_t life;
    int64_t live_bytes;
    bool made; /* by a call for it: no primary context */
    bool seen; /* as its process's primary context */
};

struct gv_memory_process {
    int64_t live_bytes;
    bool ended;
    size_t primaries; /* primary contexts seen; context is the last one */
    size_t context;
};

struct gv_memory_log {
    bool too_many; /* to be followed: nothing is known */
    struct gv_memory_block *blocks;
    size_t block_count, block_room;
    size_t free_block; /* number + 1; 0: none */
    struct gv_memory_context *contexts;
    size_t context_count, context_room;
    struct gv_memory_process *processes;
    size_t process_count, process_room;
    struct gv_key_map places; /* process, object, kind of place -> its number, from 1 */
    /* of device and managed memory */
    int64_t live_bytes, peak_bytes, peak_ns;
    int64_t left_bytes; /* at the end: with what processes that ended had not freed */
};

/* 0 or -ENOMEM. */
int gv_memory_log_take(struct gv_memory_log *log, const struct gv_memory_event *event);
/* After the last one. */
void gv_memory_log_end(struct gv_memory_log *log);
/* What of a block was never freed, after the end; 0: nothing. */
int64_t gv_memory_log_left(const struct gv_memory_log *log, const struct gv_memory_block *block);
void gv_memory_log_free(struct gv_memory_log *log);

#endif
