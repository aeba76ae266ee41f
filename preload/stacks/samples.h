/*
 * Which calls that put work on the GPU, wait for it, allocate, free or make graphs are chosen at
 * random to get a stack: about GV_SAMPLES_A_SECOND in each thread.
 *
 * Calls are counted, not timed: a clock would prefer calls after a pause. They are taken in blocks
 * of N, and one call of each block is chosen, each with the same probability, so that no loop is in
 * step with it. N follows the thread's calls of the last tenths of a second, is fixed before a
 * block's call is drawn, and is noted with the call. So whatever N does, each call is chosen with
 * the probability 1/N that its sample says, and sums that count a sample N times have no bias.
 *
 * Only the thread itself may call these, inside a group of records.
 */
#ifndef GV_STACKS_SAMPLES_H
#define GV_STACKS_SAMPLES_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_SAMPLES_A_SECOND 50u

/* Counts a call. True: ask gv_samples_choose(). */
static inline bool gv_samples_count(struct gv_thread *thread, uint64_t end_ns)
{
    return --thread->sample_in == 0 || end_ns >= thread->sample_until_ns;
}

/* Whether the call that was counted is chosen: N of its block. 0: it is not. */
uint32_t gv_samples_choose(struct gv_thread *thread, uint64_t end_ns);

#endif
