/*
 * Ranges and marks with which the program says what it does: NVTX (preload/ranges/nvtx.c) and
 * gpuverify.h.
 *
 * They never attach the process: before its first CUDA call, a thread remembers the ranges that it
 * is in, at most GV_RANGES_EARLY of them, and writes them when it begins to record. What has ended
 * by then is not recorded. A forked child starts in no range.
 *
 * Any thread, also in signal handlers. Takes no lock, allocates nothing, keeps errno. What cannot
 * be written is counted as lost, in a way that a later pop still ends the range that it belongs to.
 */
#ifndef GV_RANGES_RANGES_H
#define GV_RANGES_RANGES_H

#include "preload/base/thread.h"

#include <stdint.h>

#define GV_RANGES_EARLY 16u

/* What the program said, besides its text. All numbers are those of texts.h; 0: none. */
struct gv_range {
    uint32_t domain;
    uint32_t registered; /* the text, if it has a number already */
    const char *text;    /* if not; NULL: none */
    uint32_t category;
    uint32_t category_name;
    uint32_t color;
    uint8_t has_color;
    uint8_t payload_type; /* enum gv_range_payload */
    uint64_t payload;
};

void gv_ranges_mark(const struct gv_range *range);
void gv_ranges_push(const struct gv_range *range);
void gv_ranges_pop(uint32_t domain);
/* `id` is what gv_ranges_end() will get. */
void gv_ranges_start(const struct gv_range *range, uint64_t id);
void gv_ranges_end(uint64_t id);

/* Never given out before in this process. */
uint64_t gv_ranges_new_id(void);

/* The thread has just begun to record: writes the ranges that it is in. */
void gv_ranges_write_open(struct gv_thread *thread);

/* In a forked child. */
void gv_ranges_start_over(void);

#endif
