/*
 * What was allocated and freed: the peak, and what was left. Calls must come in order of time. A
 * context's memory ends with it. A process's memory takes no space after its end, but counts as
 * never freed. Memory use is bounded by GV_MEMORY_BLOCKS simultaneous allocations. One thread.
 */
#ifndef GV_ANALYSE_TOTALS_MEMORY_LOG_H
#define GV_ANALYSE_TOTALS_MEMORY_LOG_H

#include "report/store/key_map.h"
#include "trace/call_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most simultaneous allocations; with more, nothing is known. */
#define GV_MEMORY_BLOCKS (1u << 17)

/* One call, or the end of a process. */
struct gv_memory_event {
    int64_t at_ns, process;
    int64_t object; /* the address, or the context that is made or ends */
    int64_t bytes, call;
    enum gv_memory_space space;
    int64_t context; /* the context of the call and the block; 0: none that can end */
};

/* One address. */
struct gv_memory_block {
    int64_t bytes; /* 0: free */
    int64_t call;  /* the allocating process */
    enum gv_memory_space space;
    size_t context; /* in contexts; for a free one: number of the next free one + 1 */
    int64_t life;   /* of the context's blocks */
};

/* A context's handle. It may stand for one context after the other. */
struct gv_memory_context {
    size_t process; /* in processes */
    int64_t life;
    int64_t live_bytes;
    bool made; /* made by a call, so not a primary context */
    bool seen; /* as its process's primary context */
};

struct gv_memory_process {
    int64_t live_bytes;
    bool ended;
    size_t primaries; /* primary contexts seen; `context` is the last one */
    size_t context;
};

struct gv_memory_log {
    bool too_many; /* to follow: nothing is known */
    struct gv_memory_block *blocks;
    size_t block_count, block_room;
    size_t free_block; /* number + 1; 0: none */
    struct gv_memory_context *contexts;
    size_t context_count, context_room;
    struct gv_memory_process *processes;
    size_t process_count, process_room;
    struct gv_key_map places; /* process, object, kind -> number, from 1 */
    /* of device and managed memory */
    int64_t live_bytes, peak_bytes, peak_ns;
    int64_t left_bytes; /* at the end: including what ended processes had not freed */
};

/* 0 or -ENOMEM. */
int gv_memory_log_take(struct gv_memory_log *log, const struct gv_memory_event *event);
/* Call it after the last one. */
void gv_memory_log_end(struct gv_memory_log *log);
/* The part of a block that was never freed, after the end; 0: none. */
int64_t gv_memory_log_left(const struct gv_memory_log *log, const struct gv_memory_block *block);
void gv_memory_log_free(struct gv_memory_log *log);

#endif
