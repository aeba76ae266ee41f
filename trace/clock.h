/*
 * Reading the clock of a session, and keeping it right.
 *
 * The time stamp counter's rate is not known exactly at the start, and it drifts. So the collector
 * compares the clock with CLOCK_MONOTONIC all the time, and makes it a little faster or slower: it
 * never jumps, and never goes back. A new line begins where the old one is at that tick, a moment
 * after everybody can see it. So all threads use the same line for the same tick.
 */
#ifndef GV_TRACE_CLOCK_H
#define GV_TRACE_CLOCK_H

#include "trace/futex.h"
#include "trace/spool.h"

static inline uint64_t gv_clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static inline uint64_t gv_clock_scale(uint64_t ticks, uint64_t multiplier)
{
    return (uint64_t)(((unsigned __int128)ticks * multiplier) >> 32);
}

static inline uint64_t gv_clock_line_at(const struct gv_clock_line *line, uint64_t ticks)
{
    uint64_t base = atomic_load_explicit(&line->base_ticks, memory_order_relaxed);
    uint64_t base_ns = atomic_load_explicit(&line->base_ns, memory_order_relaxed);
    uint64_t multiplier = atomic_load_explicit(&line->multiplier, memory_order_relaxed);

    return __builtin_expect(ticks >= base, 1) ? base_ns + gv_clock_scale(ticks - base, multiplier)
                                              : base_ns - gv_clock_scale(base - ticks, multiplier);
}

/* Nobody waits: while the older line is being replaced, the newest is used. */
static inline uint64_t gv_clock_at(const struct gv_clock *clock, uint64_t ticks)
{
    uint32_t changes = atomic_load_explicit(&clock->changes, memory_order_acquire), before;
    uint64_t at_ns;

    do {
        const struct gv_clock_line *line = &clock->lines[changes >> 1 & 1];

        /* In this order, so that the compiler makes no jump of what is usual. */
        if (__builtin_expect(ticks < atomic_load_explicit(&line->base_ticks, memory_order_relaxed),
                             0) &&
            !(changes & 1))
            line = &clock->lines[~changes >> 1 & 1];
        at_ns = gv_clock_line_at(line, ticks);
        atomic_thread_fence(memory_order_acquire);
        before = changes;
        changes = atomic_load_explicit(&clock->changes, memory_order_acquire);
    } while (__builtin_expect(changes != before, 0));
    return at_ns;
}

static inline uint64_t gv_clock_read(const struct gv_clock *clock)
{
    if (__builtin_expect(clock->kind == GV_CLOCK_TSC, 1))
        return gv_clock_at(clock, gv_clock_ticks());
    return gv_monotonic_ns();
}

/* A pair of readings: of several tries, the one with the least time between the two. */
static inline void gv_clock_read_pair(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    *ticks = *ns = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t before = gv_clock_ticks();
        uint64_t now_ns = gv_monotonic_ns();
        uint64_t after = gv_clock_ticks();

        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now_ns;
        }
    }
}

/* Replaces the older line. One thread at a time. */
static inline void gv_clock_set_line(struct gv_clock *clock, uint64_t base_ticks, uint64_t base_ns,
                                     uint64_t multiplier)
{
    uint32_t changes = atomic_load_explicit(&clock->changes, memory_order_relaxed) & ~1u;
    struct gv_clock_line *line = &clock->lines[~changes >> 1 & 1];

    atomic_store_explicit(&clock->changes, changes + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&line->base_ticks, base_ticks, memory_order_relaxed);
    atomic_store_explicit(&line->base_ns, base_ns, memory_order_relaxed);
    atomic_store_explicit(&line->multiplier, multiplier, memory_order_relaxed);
    atomic_store_explicit(&clock->changes, changes + 2, memory_order_release);
}

#endif
