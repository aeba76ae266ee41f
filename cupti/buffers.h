/*
 * A pool of zeroed buffers that CUPTI fills with records.
 *
 * CUPTI requests a buffer on a thread of the program, in the middle of a launch, and must always
 * get one. The module's thread refills the pool. If it is too slow, the requesting thread maps
 * memory itself. Nothing here locks, because a signal handler may request a buffer in the middle of
 * its thread's own request.
 */
#ifndef GV_CUPTI_BUFFERS_H
#define GV_CUPTI_BUFFERS_H

#include "trace/gpu_module.h"

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_BUFFER_BYTES (256u * 1024u)

struct gv_buffer {
    struct gv_buffer *next;
    size_t used;  /* bytes of `data` that have records */
    uint8_t turn; /* of gv_buffers_mark() */
    _Alignas(64) uint8_t data[];
};

/* Fills the pool for the first time. `hurry` makes the module's thread look. 0 or -ENOMEM. */
int gv_buffers_prepare(const struct gv_gpu_other *other, void (*hurry)(void));

/*
 * CUPTI's two callbacks. Any thread, also signal handlers.
 *
 * They stay registered once we have begun, and pass another profiler's buffers on. Exchanging them
 * is not enough: a thread that launches may have read the old callback and call it later (seen with
 * PyTorch's profiler: an unknown buffer, and a session without most of its kernels).
 */
void CUPTIAPI gv_buffers_give(uint8_t **data, size_t *bytes, size_t *records_most);
void CUPTIAPI gv_buffers_take(CUcontext context, uint32_t stream, uint8_t *data, size_t bytes,
                              size_t used);

/* Call mark before a flush of everything. marked() returns how many of the buffers that
 * CUPTI had then it still has. */
void gv_buffers_mark(void);
uint32_t gv_buffers_marked(void);

/* Whether CUPTI's records are for the other profiler, so that its callbacks are called. */
void gv_buffers_leave(bool is_to_other);

/* CUPTI still has a buffer of the other profiler, and would fill it with our records. */
bool gv_buffers_are_others(void);

/* Buffers that were not read since the last call, because there was no memory. Each had at least
 * one record. */
uint64_t gv_buffers_unread(void);

/* Too many are full to wait for the next fetch. Any thread. */
bool gv_buffers_are_many(void);

/* CUPTI has so many that none may be left soon. A forced flush brings all of them back. Any thread.
 */
bool gv_buffers_are_short(void);

/* The module's thread: takes all full buffers, oldest first, or NULL; and gives one back. */
struct gv_buffer *gv_buffers_full(void);
void gv_buffers_recycle(struct gv_buffer *buffer);

/* The module's thread: maps more buffers if the pool is low. */
void gv_buffers_refill(void);

/* What is left out: all that began since then, if `all`; otherwise that of unrecorded calls. */
struct gv_records_unwanted {
    uint64_t since_ns;
    bool all;
};

/* (records.c) Writes all records of a full buffer into the spool; not `have_calls`: without the
 * numbers of their calls, which nobody knows. Returns CUPTI's error if it cannot continue. */
CUptiResult gv_records_read(struct gv_buffer *buffer, bool have_calls,
                            struct gv_records_unwanted unwanted);

#endif
