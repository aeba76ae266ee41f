/*
 * GPUVERIFY_GPU=sampled: how long some calls kept the GPU, without CUPTI.
 *
 * A call that puts work into a stream is chosen at random, by thread and site, and put between two
 * events in its own stream. A thread of ours reads them when they have ended, and writes a
 * GPU_SAMPLE. The call's record has its number in `correlation`, which is CUPTI's otherwise.
 *
 * Not chosen: calls inside other calls; calls that name no stream, or one that is being captured or
 * is of another context; launches with an attribute that would mean something else with an event
 * beside them. Nothing here waits for the GPU: where there are no free events, a sample is lost.
 * Events are made at a context's first chosen call, for 16 contexts at a time, and end with their
 * context.
 *
 * The hooks ask only if gv_pairs_are_on, before and after the real call, on its thread.
 */
#ifndef GV_SAMPLE_PAIRS_H
#define GV_SAMPLE_PAIRS_H

#include "preload/base/thread.h"
#include "trace/mix.h"

#include <stdbool.h>
#include <stdint.h>

/* 1 from the start of a process that is sampled until its end. */
extern _Atomic uint32_t gv_pairs_are_on;

struct gv_pair_call {
    uint64_t stream;
    uint64_t object;  /* kernel or graph; 0: none */
    uintptr_t caller; /* where the call returns to */
    uint16_t api;
};

/* Calls of a site are taken in blocks of `of`, of which one is chosen. `in` goes down to it, and
 * then `rest` are left. Counted by each thread for itself: a counter of several would have to be
 * locked, which takes 60 ns a launch. */
#define GV_PAIR_SITES 512u
struct gv_pair_sites {
    int32_t in[GV_PAIR_SITES];
    struct gv_pair_block {
        uint32_t of, rest; /* 0: a new site */
        uint64_t at_ns;
    } blocks[GV_PAIR_SITES];
};

static inline uint32_t gv_pairs_site(const struct gv_pair_call *call)
{
    uint64_t hash = gv_mix(gv_mix(call->caller, call->api), call->object);

    return (uint32_t)(hash >> 32) % GV_PAIR_SITES;
}

/* Counts a call. True: ask gv_pairs_begin(). */
static inline bool gv_pairs_count(struct gv_thread *thread, const struct gv_pair_call *call)
{
    return !thread->pair_sites || --thread->pair_sites->in[gv_pairs_site(call)] <= 0;
}

/* True: it has been chosen, so the real call begins only now; then call gv_pairs_end() after it. A
 * call that is left in another way needs none. */
bool gv_pairs_begin(struct gv_thread *thread, const struct gv_pair_call *call);
void gv_pairs_end(struct gv_thread *thread, int32_t result, uint64_t end_ns);

/* Whether a launch with these attributes (CUlaunchAttribute, cudaLaunchAttribute) can be chosen. */
bool gv_pairs_allow(const void *attributes, unsigned count);

/* cuInit() has succeeded, in a process that is to be sampled. NULL, or why it is not. */
const char *gv_pairs_start(void);

/* A context is about to end; 0: any of them. Its events are not used any more, and no call of ours
 * with them is under way when this returns, unless it takes more than a second. */
void gv_pairs_void(uint64_t context);

/* Has what has ended written, within `patience_ns`. False: it took longer. `is_last`: nothing is
 * sampled from now on. Also in a signal handler. */
bool gv_pairs_fetch(uint64_t patience_ns, bool is_last);

#endif
