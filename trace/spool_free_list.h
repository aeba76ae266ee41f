/*
 * The free segments of a spool: a stack. The program's threads pop; the reader pushes after it has
 * stored a segment's records. The tag in the head changes with every step, so an equal head is the
 * same head. Lock-free; any thread of either process.
 */
#ifndef GV_TRACE_SPOOL_FREE_LIST_H
#define GV_TRACE_SPOOL_FREE_LIST_H

#include "trace/spool.h"

#define GV_SPOOL_EMPTY_LIST ((uint64_t)GV_SPOOL_NO_SEGMENT)

static inline uint64_t gv_spool_free_list_next_head(uint64_t head, uint32_t segment)
{
    return ((head >> 32) + 1) << 32 | segment;
}

static inline void gv_spool_free_list_push(struct gv_spool_list *list,
                                           struct gv_spool_segment *segments, uint32_t segment)
{
    uint64_t head = atomic_load_explicit(&list->head, memory_order_relaxed);

    do
        atomic_store_explicit(&segments[segment].next_free, (uint32_t)head, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&list->head, &head,
                                                  gv_spool_free_list_next_head(head, segment),
                                                  memory_order_release, memory_order_relaxed));
    atomic_fetch_add_explicit(&list->count, 1, memory_order_relaxed);
}

/* GV_SPOOL_NO_SEGMENT if empty. `limit` guards against an overwritten head. */
static inline uint32_t gv_spool_free_list_pop(struct gv_spool_list *list,
                                              struct gv_spool_segment *segments, uint32_t limit)
{
    uint64_t head = atomic_load_explicit(&list->head, memory_order_acquire);

    for (;;) {
        uint32_t segment = (uint32_t)head;
        uint32_t next;

        if (segment >= limit)
            return GV_SPOOL_NO_SEGMENT;
        next = atomic_load_explicit(&segments[segment].next_free, memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(&list->head, &head,
                                                  gv_spool_free_list_next_head(head, next),
                                                  memory_order_acquire, memory_order_acquire)) {
            atomic_fetch_sub_explicit(&list->count, 1, memory_order_relaxed);
            return segment;
        }
    }
}

#endif
