/*
 * The stack of a call that took long, failed, allocated or was chosen (docs/stacks.md): a copy of
 * its native side, and its thread's Python frames.
 *
 * Taken on the calling thread after the real call has returned. A call that needs none pays a few
 * comparisons.
 *
 * Stacks have a budget of a thread's time (stacks.c). The first call of each site gets its stack at
 * once; later ones get their own while the budget lasts, and then that of an earlier call.
 */
#ifndef GV_STACKS_STACKS_H
#define GV_STACKS_STACKS_H

#include "preload/base/thread.h"
#include "preload/stacks/known.h"
#include "trace/mix.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a call of this duration gets a stack: GPUVERIFY_STACKS, GPUVERIFY_STALL_US. */
extern uint64_t gv_stacks_least_ns;

static inline bool gv_stacks_wanted(uint64_t duration_ns)
{
    return duration_ns >= gv_stacks_least_ns;
}

static inline bool gv_stacks_are_on(void)
{
    return gv_stacks_least_ns != UINT64_MAX;
}

/* Whether a failed call of this thread gets one, however short it was: the first few failures of
 * each function do, of those made when a stack can be taken. */
bool gv_stacks_wanted_of_failed(unsigned api);

/* Call it when the process attaches, with its settings, once its spool is there. */
void gv_stacks_start(const struct gv_settings *settings, bool forked);

/* What tells calls apart before a stack is taken. */
struct gv_stack_site {
    uintptr_t caller; /* where the call returns to */
    uintptr_t frame;  /* where its hook's variables are on the stack */
    uint64_t object;  /* kernel, graph or function; 0: none */
    uint16_t api;
    bool can_wait; /* a wait that the program asked for, or a call that was not slow */
    bool is_node;  /* it added a node to a graph, which may run many times */
    bool is_short; /* a wait that the program asked for, of less than GV_STACKS_OWN_WAIT_NS */
};

/* A wait that the program asked for gets a stack of its own only if that takes less than a
 * thousandth of it; of shorter ones enough are chosen at random. In a loop that decodes through a
 * graph, the stacks of its waits cost 0.25 %. */
#define GV_STACKS_OWN_WAIT_NS 5000000

/* Sites with stacks. */
extern struct gv_known gv_stack_sites;

/* The part of the site that is known without a system call. The depth on the stack tells callers of
 * the same library apart; it is the same in each thread. */
static inline uint64_t gv_stack_site_hash(const struct gv_thread *thread,
                                          const struct gv_stack_site *site)
{
    /* Addresses have 47 bits, and stacks fewer than 24. A kernel may lie beside the call that
     * launches it, so that their difference tells nothing. */
    uint64_t call = site->caller ^ ((uint64_t)site->api << 1 | site->can_wait) << 48;
    uint64_t hash =
        gv_mix(gv_mix(0, call) + site->object, (thread->stack_high - site->frame) << 40);

    return hash ? hash : 1;
}

/* True only for a site that has a stack. False: most probably none. */
static inline bool gv_stack_site_is_known(uint64_t hash)
{
    return atomic_load_explicit(&gv_stack_sites.at[gv_known_cell(hash)].hash,
                                memory_order_relaxed) == hash;
}

/* Whether no call of this site has had a stack, and this one may. */
bool gv_stacks_wanted_of_first(struct gv_thread *thread, const struct gv_stack_site *site);

/* Calls with one of these traits are chosen, at random and the first of each site:
 * GPUVERIFY_STACKS=stalls. */
extern uint8_t gv_stacks_chosen_traits;

/* Writes the stack, or which site's stack the next record's call has. `one_of`: as in struct
 * gv_record_stack, if the stack is the call's own. */
void gv_stacks_write(struct gv_thread *thread, const struct gv_stack_site *site, uint32_t one_of);

/* Writes a stack of one frame, the beginning of this function, if it is new. Its number; 0: none.
 */
uint32_t gv_stacks_write_function(struct gv_thread *thread, uintptr_t function);

/* Writes a stack of another thread's Python frames, if it is new, as records of a group that
 * continues. Its number; 0: there is no room. */
uint32_t gv_stacks_write_positions(struct gv_thread *thread,
                                   const struct gv_python_position *positions, unsigned count);

#endif
