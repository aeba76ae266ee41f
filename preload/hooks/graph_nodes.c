/*
 * The nodes of graphs: how many a graph has; with GPUVERIFY_GRAPHS=nodes, also which calls add
 * them, as CUPTI tells in the middle of these calls.
 */
#include "preload/hooks/calls.h"

#include "preload/base/own_process.h"
#include "preload/base/own_work.h"
#include "preload/base/thread.h"
#include "preload/bind/entry_points.h"

#include <stdatomic.h>

/* A program that makes graphs all the time would fill the trace with them. */
#define NODES_MOST (1u << 18)

static void count_lost(void)
{
    /* A forked child has none. */
    if (gv_process.spool.header)
        atomic_fetch_add_explicit(&gv_process.spool.header->lost.graph_nodes, 1,
                                  memory_order_relaxed);
}

/* Not recorded: what no call added, and what the driver adds to a graph that can be launched, which
 * CUPTI tells of as a clone, too. */
static bool is_wanted(const struct gv_thread *thread, uint64_t original)
{
    return original || (thread->depth != 0 && !thread->makes_graph);
}

void gv_graph_node_note(uint64_t node, uint64_t original, bool is_graph)
{
    static _Atomic uint32_t nodes;
    struct gv_thread *thread = &gv_thread;
    bool is_in_call = thread->depth != 0;
    const union gv_record record = {
        .graph_node = {
            .head = {.kind = GV_RECORD_GRAPH_NODE,
                     .flags = (uint8_t)((is_in_call ? GV_RECORD_MORE : 0) |
                                        (thread->makes_graph ? GV_RECORD_INSTANTIATED : 0) |
                                        (is_graph ? GV_RECORD_IS_GRAPH : 0))},
            .node = node,
            .original = original,
            .call_start_ns = is_in_call ? thread->outer_start_ns : 0}};

    if (!is_wanted(thread, original))
        return;
    /* A handler's call while its thread writes: its records would lie in another group. */
    if (!gv_thread_is_live(thread) || thread->writing ||
        atomic_load_explicit(&nodes, memory_order_relaxed) >= NODES_MOST) {
        count_lost();
        return;
    }
    atomic_fetch_add_explicit(&nodes, 1, memory_order_relaxed);
    bool inside = gv_thread_begin_group(thread);
    if (!gv_thread_write(thread, GV_ROOM_WORK, &record))
        count_lost();
    gv_thread_end_group(thread, inside);
    thread->adds_node |= is_in_call && !original;
}

/* Those of graphs in it count as one. */
void gv_graph_tell_nodes(const struct gv_call *call, struct gv_facts *facts, uint64_t graph)
{
    size_t count = 0;

    if (!call->live || call->depth != 0 || !gv_process_gpu_module() ||
        !gv_driver_calls.graph_get_nodes)
        return;
    int saved_errno = gv_own_work_begin();
    if (gv_driver_calls.graph_get_nodes((void *)(uintptr_t)graph, NULL, &count) == 0)
        facts->bytes = count ? count : 1; /* 0: unknown */
    gv_own_work_end(saved_errno);
}
