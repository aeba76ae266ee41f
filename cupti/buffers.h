/*
 * The memory that CUPTI fills with records: zeroed buffers, handed out from a pool and taken back
 * full.
 *
 * CUPTI asks for one on a thread of the program's, in the middle of a launch, and must never be
 * given none. The module's thread refills the pool; only when that came too late does the asking
 * thread map memory itself. Nothing here locks: a signal handler may ask for a buffer in the middle
 * of its thread's asking for one.
 */
#ifndef GV_CUPTI_BUFFERS_H
#define GV_CUPTI_BUFFERS_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#define GV_BUFFER_BYTES (512u * 1024u)

struct gv_buffer {
    struct gv_buffer *next;
    size_t used;  /* bytes of `data` with records */
    uint8_t turn; /* of gv_buffers_mark() */
    _Alignas(64) uint8_t data[];
};

/* 0 or -ENOMEM: the pool is filled for the first time. */
int gv_buffers_prepare(void);

/* CUPTI's two callbacks. Any thread, signal handlers too. */
void CUPTIAPI gv_buffers_give(uint8_t **data, size_t *bytes, size_t *records_most);
void CUPTIAPI gv_buffers_take(CUcontext context, uint32_t stream, uint8_t *data, size_t bytes,
                              size_t used);

/* Before a flush of everything; and how many of those that CUPTI had then it still has. */
void gv_buffers_mark(void);
uint32_t gv_buffers_marked(void);

/* Buffers that went by unread since the last time, for want of memory. Each held one record at
 * least. */
uint64_t gv_buffers_unread(void);

/* The module's thread: all full buffers, the oldest first, or NULL; and one back when it is read.
 */
struct gv_buffer *gv_buffers_full(void);
void gv_buffers_recycle(struct gv_buffer *buffer);

/* The module's thread: maps more where the pool runs low. */
void gv_buffers_refill(void);

/* (records.c) Writes everything that stands in a full buffer into the spool. What CUPTI says if it
 * cannot go on before the end. */
CUptiResult gv_records_read(struct gv_buffer *buffer);

#endif
