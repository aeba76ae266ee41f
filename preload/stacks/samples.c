#include "preload/stacks/samples.h"

#include "trace/mix.h"

#include <stdatomic.h>

/* What a thread has counted weighs half after so long. The first calls of a burst are chosen too
 * often until it is counted: 7 of them, and 7 more for each time that the burst grows e-fold. So a
 * thread whose steps are further apart has about as many samples a second as one without pauses. */
#define HALF_LIFE_NS 100000000u
/* The count has the calls of one half-life to two, 3/2 on the average. */
#define COUNTED_A_SAMPLE (GV_SAMPLES_A_SECOND * 3 / 2 / (1000000000u / HALF_LIFE_NS))

/* What some thread had counted: where a new one starts, because programs with many short threads
 * would have many more samples otherwise. */
static _Atomic uint64_t counted_lately;

/* xorshift64: Marsaglia 2003. */
static uint32_t draw(struct gv_thread *thread)
{
    uint64_t random = thread->sample_random;

    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    thread->sample_random = random;
    return (uint32_t)(random >> 32);
}

/* After `rest` calls. */
static void begin_block(struct gv_thread *thread, uint32_t rest)
{
    uint64_t of = (thread->sample_calls + COUNTED_A_SAMPLE / 2) / COUNTED_A_SAMPLE;
    uint32_t at;

    if (of < 1)
        of = 1;
    if (of > UINT32_MAX / 4)
        of = UINT32_MAX / 4;
    at = 1 + (uint32_t)(draw(thread) * of >> 32);
    thread->sample_of = (uint32_t)of;
    thread->sample_rest = (uint32_t)of - at;
    thread->sample_in = thread->sample_gap = rest + at;
}

static void forget_old(struct gv_thread *thread, uint64_t now_ns)
{
    uint64_t half_lives;

    if (thread->sample_until_ns) {
        half_lives = (now_ns - thread->sample_until_ns) / HALF_LIFE_NS + 1;
        thread->sample_calls = half_lives < 64 ? thread->sample_calls >> half_lives : 0;
        atomic_store_explicit(&counted_lately, thread->sample_calls, memory_order_relaxed);
    } else {
        thread->sample_calls = atomic_load_explicit(&counted_lately, memory_order_relaxed);
        if (!thread->sample_random)
            thread->sample_random = gv_mix(now_ns, thread->tid) | 1;
    }
    thread->sample_until_ns = now_ns + HALF_LIFE_NS;
}

uint32_t gv_samples_choose(struct gv_thread *thread, uint64_t end_ns)
{
    uint32_t of;

    thread->sample_calls += thread->sample_gap - thread->sample_in;
    /* The time of this does not depend on what was drawn; the block's other calls lose their
     * chance, and this one is the first of a new block. */
    if (end_ns >= thread->sample_until_ns) {
        forget_old(thread, end_ns);
        begin_block(thread, 0);
        thread->sample_gap = --thread->sample_in;
    }
    if (thread->sample_in != 0)
        return 0;
    of = thread->sample_of;
    begin_block(thread, thread->sample_rest);
    return of;
}
