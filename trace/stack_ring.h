/*
 * The ring of copied stacks (struct gv_stack_copy): takes and frees its chunks. Any thread of the
 * program takes them, lock-free; who has seen to a copy frees them.
 */
#ifndef GV_TRACE_STACK_RING_H
#define GV_TRACE_STACK_RING_H

#include "trace/spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest copy has 17: they are in one word. */
static inline uint32_t gv_stack_ring_chunks(size_t stack_bytes)
{
    return (
        uint32_t)((offsetof(struct gv_stack_copy, stack) + stack_bytes + GV_STACK_CHUNK_BYTES - 1) /
                  GV_STACK_CHUNK_BYTES);
}

static inline uint64_t gv_stack_ring_bits(uint32_t chunk, uint32_t count)
{
    return ((UINT64_C(1) << count) - 1) << chunk % GV_STACK_WORD_CHUNKS;
}

/* The lowest chunks of a word that are free, in a row: the first one's number plus one. 0: there
 * are not so many. */
static inline uint32_t gv_stack_ring_take(struct gv_spool_stacks *stacks, uint32_t word,
                                          uint32_t count)
{
    uint64_t used = atomic_load_explicit(&stacks->used[word], memory_order_relaxed);

    for (;;) {
        uint64_t starts = ~used; /* bits from which on so many are free */

        for (uint32_t i = 1; i < count; i++)
            starts &= ~used >> i;
        if (!starts)
            return 0;
        uint32_t chunk = word * GV_STACK_WORD_CHUNKS + (uint32_t)__builtin_ctzll(starts);
        /* The reader has read what it freed. */
        if (atomic_compare_exchange_weak_explicit(&stacks->used[word], &used,
                                                  used | gv_stack_ring_bits(chunk, count),
                                                  memory_order_acquire, memory_order_relaxed))
            return chunk + 1;
    }
}

/* A finished copy can be freed by the reader, and by its thread if a jump left it behind: by the
 * one who claims it. False: somebody else has, or the chunk has another copy. */
static inline bool gv_stack_ring_claim(struct gv_stack_copy *copy, uint64_t serial)
{
    return atomic_compare_exchange_strong(&copy->serial, &serial, 0);
}

static inline void gv_stack_ring_free(struct gv_spool_stacks *stacks, uint32_t chunk,
                                      uint32_t count)
{
    atomic_fetch_and_explicit(&stacks->used[chunk / GV_STACK_WORD_CHUNKS],
                              ~gv_stack_ring_bits(chunk, count), memory_order_release);
}

#endif
