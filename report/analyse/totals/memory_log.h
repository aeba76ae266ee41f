/*
 * What was allocated and freed: how much each line of the program held, the peak of each device,
 * and what was left. Events must come in order of time. A context's memory ends with it. A
 * process's memory takes no space after its end, but counts as never freed. Physical memory
 * (cuMemCreate) lives until its last handle is released and its last mapping is gone. Memory that
 * was allocated before the first event, or by another process, is not counted, nor are its frees.
 *
 * Memory use is bounded by GV_MEMORY_BLOCKS simultaneous allocations. One thread.
 */
#ifndef GV_ANALYSE_TOTALS_MEMORY_LOG_H
#define GV_ANALYSE_TOTALS_MEMORY_LOG_H

#include "report/analyse/totals/duration_total.h"
#include "report/store/key_map.h"
#include "trace/call_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most simultaneous allocations; with more, nothing is known. */
#define GV_MEMORY_BLOCKS (1u << 17)
/* Devices are numbered from 1; 0 stands for an unknown one, the last one for the host. */
#define GV_MEMORY_DEVICES 65u
#define GV_MEMORY_ON_HOST GV_MEMORY_DEVICES
/* A sample says nothing about a peak that is further away. */
#define GV_MEMORY_SAMPLE_NS INT64_C(1000000000)

/* One call, the end of a process, or a sample of a device. */
struct gv_memory_event {
    int64_t at_ns, process;
    int64_t object; /* the address or handle, or the context that is made or ends */
    int64_t second; /* MAPPED: the handle; RETAINED: the address */
    int64_t bytes, call, duration_ns;
    enum gv_memory_space space;
    int64_t context;    /* the context of the call and the block; 0: none that can end */
    int64_t place, api; /* of an allocation: its line, 0: unknown; and its call's name */
    size_t device;      /* of an allocation, or a sample, whose bytes are all that is used */
};

/* One address, or physical memory. */
struct gv_memory_block {
    int64_t bytes; /* 0: free */
    int64_t process, object, call, from_ns;
    enum gv_memory_space space;
    size_t holder;
    size_t context; /* in contexts; for a free one: number of the next free one + 1 */
    int64_t uses;   /* of physical memory: its handles and mappings */
    bool physical;
    bool ended; /* with its process */
};

/* A handle of physical memory, or a mapping of it. */
struct gv_memory_use {
    size_t block; /* for a free one: number of the next free one + 1 */
    int64_t count, bytes;
};

/* What one line allocated through one call. */
struct gv_memory_line {
    int64_t place, api;
    enum gv_memory_space space;
    int64_t allocations, allocated_bytes, freed, largest_bytes;
    int64_t live_bytes, peak_bytes, left_bytes;
    int64_t at_peak_bytes;         /* at the peaks of the devices */
    int64_t time_ns;               /* in the calls that allocate and free it */
    struct gv_duration_total life; /* of what was freed */
};

/* A line's memory in one process, on one device. */
struct gv_memory_holder {
    size_t line, device;
    int64_t process;
    int64_t live_bytes, live_blocks;
    int64_t peak, peak_bytes, peak_blocks; /* at the device's peak of this number */
};

struct gv_memory_device {
    int64_t live_bytes, managed_bytes;
    int64_t peak_bytes, peak_ns;
    int64_t peaks;         /* how many there have been, each higher than the last */
    int64_t sampled_ns;    /* when the last sample was taken; 0: none */
    int64_t sampled_bytes; /* what the log did not know of then; -1: unknown */
    int64_t near_ns; /* how far from the peak the nearest sample is; INT64_MAX: none is near */
    int64_t outside_bytes; /* of that sample, as above */
    int64_t near_at_ns;
};

/* A context's handle. It may stand for one context after the other. */
struct gv_memory_context {
    size_t process; /* in processes */
    bool made;      /* made by a call, so not a primary context */
    bool seen;      /* as its process's primary context */
};

struct gv_memory_process {
    bool ended;
    size_t primaries; /* primary contexts seen; `context` is the last one */
    size_t context;
};

struct gv_memory_log {
    bool too_many; /* to follow: nothing is known */
    struct gv_memory_block *blocks;
    size_t block_count, block_room;
    size_t free_block; /* number + 1; 0: none */
    struct gv_memory_use *uses;
    size_t use_count, use_room, free_use;
    struct gv_memory_line *lines;
    size_t line_count, line_room;
    struct gv_memory_holder *holders;
    size_t holder_count, holder_room;
    struct gv_memory_context *contexts;
    size_t context_count, context_room;
    struct gv_memory_process *processes;
    size_t process_count, process_room;
    struct gv_key_map
        places; /* three numbers, one of them enum gv_memory_place -> number, from 1 */
    struct gv_memory_device devices[GV_MEMORY_DEVICES + 1];
    int64_t left_bytes; /* at the end: on devices, and managed; also what ended processes held */
};

/* 0 or -ENOMEM. */
int gv_memory_log_take(struct gv_memory_log *log, const struct gv_memory_event *event);
/* Call it after the last one. */
void gv_memory_log_end(struct gv_memory_log *log);
/* The device with the highest peak, after the end; NULL: nothing was allocated. */
const struct gv_memory_device *gv_memory_log_fullest(const struct gv_memory_log *log);
void gv_memory_log_free(struct gv_memory_log *log);

#endif
