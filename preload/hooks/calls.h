/*
 * The frame of every hook: gv_call_begin(), the real call, gv_call_end().
 *
 * A thread's outermost hooked call becomes a CALL record. Hooked calls inside it get no record, but
 * their facts are used: loaded code, kernel names, the kernel of a runtime launch.
 *
 * An exception may pass through the real call, because the driver calls back. The hooks name
 * gv_unwind_personality as their personality routine, which closes the call as "unwound". A
 * clean-up region would need _Unwind_Resume from a library that C programs do not have.
 */
#ifndef GV_HOOKS_CALLS_H
#define GV_HOOKS_CALLS_H

#include "preload/hooks/facts.h"
#include "preload/sample/pairs.h"
#include "trace/call_table.h"
#include "trace/gpu_module.h"

#include <stdatomic.h>
#include <stdint.h>

void gv_call_begin(struct gv_call *call, enum gv_api_id api, enum gv_api_class class,
                   const struct gv_facts *facts);
void gv_call_end(struct gv_call *call, int32_t result, const struct gv_facts *facts);

/* SETS_CONTEXT: whether its context is current already. Then, after the real call: false, if it has
 * failed, so that it gets a record, whose start is when it had returned. */
bool gv_call_keeps_context(const struct gv_facts *facts);
bool gv_call_kept_context(const struct gv_facts *facts, int32_t result);

/* CONFIG: before the real call. */
static inline bool gv_call_may_sample(void)
{
    return __builtin_expect(
        atomic_load_explicit(&gv_pairs_are_on, memory_order_relaxed) && gv_thread.context != 0, 0);
}

/* MAKES_GRAPH: before the real call, and after it. */
extern struct gv_gpu_graphs gv_graphs;
static inline void gv_call_begins_graph(void)
{
    atomic_fetch_add(&gv_graphs.begun, 1);
    gv_thread.makes_graph = true;
}
static inline void gv_call_made_graph(void)
{
    atomic_fetch_add(&gv_graphs.ended, 1);
    gv_thread.makes_graph = false;
}

/* Stores how many nodes the graph has that the call made, if CUPTI is in use: each makes its
 * launches dearer. */
void gv_graph_tell_nodes(const struct gv_call *call, struct gv_facts *facts, uint64_t graph);

/* A node was added to a graph, or cloned: struct gv_gpu_host's (graph_nodes.c). */
void gv_graph_node_note(uint64_t node, uint64_t original, bool is_graph);

/* PEERS: before the real call, so that CUPTI reports its copy. */
void gv_call_expect_peers(struct gv_call *call);

/* ON_DEVICE: the call made a context there. */
void gv_call_made_context(const struct gv_call *call, int device);

/* UNLOADS_ALL: before the real call. */
void gv_call_before_unload_all(uint64_t context);

/* UNLOADS: before the real call, because another thread may get the handle as soon as it is
 * free. */
uint32_t gv_call_before_unload(uint64_t owner);

/* Marks the function that contains it; see above. 0x1b: relative to the table, four bytes. */
#define GV_UNWINDABLE __asm__ volatile(".cfi_personality 0x1b, gv_unwind_personality")

#endif
