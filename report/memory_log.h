/*
 * What was allocated and freed: how much at most at a time, and what was left. Calls are taken in
 * any order and replayed in that of time. One thread.
 */
#ifndef GV_REPORT_MEMORY_LOG_H
#define GV_REPORT_MEMORY_LOG_H

#include "trace/key_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gv_memory_space {
    GV_MEMORY_DEVICE = 1,
    GV_MEMORY_HOST, /* pinned */
    GV_MEMORY_MANAGED,
    GV_MEMORY_FREE, /* no space: the call frees */
};

/* One call. */
struct gv_memory_event {
    int64_t at_ns, process, object, bytes, call;
    enum gv_memory_space space;
};

/* One address. */
struct gv_memory_block {
    int64_t bytes; /* 0: free */
    int64_t call;  /* that allocated it */
    enum gv_memory_space space;
};

struct gv_memory_log {
    struct gv_memory_event *events;
    size_t event_count, event_room;
    bool too_many; /* to be followed: nothing is known */
    struct gv_memory_block *blocks;
    size_t block_count, block_room;
    struct gv_key_map places; /* process and object -> number of the block, from 1 */
    /* of device and managed memory */
    int64_t live_bytes, peak_bytes, peak_ns;
};

/* 0 or -ENOMEM. */
int gv_memory_log_add(struct gv_memory_log *log, const struct gv_memory_event *event);
int gv_memory_log_replay(struct gv_memory_log *log);
void gv_memory_log_free(struct gv_memory_log *log);

#endif
