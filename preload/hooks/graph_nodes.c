/* Which calls add nodes to graphs, as CUPTI tells in the middle of them (GPUVERIFY_GRAPHS=nodes).
 */
#include "preload/hooks/calls.h"

#include "preload/base/thread.h"

#include <stdatomic.h>

/* A program that makes graphs all the time would fill the trace with them. */
#define NODES_MOST (1u << 20)

bool gv_graph_node_note(uint64_t node, uint64_t original)
{
    static _Atomic uint32_t nodes;
    struct gv_thread *thread = &gv_thread;
    bool is_in_call = thread->depth != 0;
    const union gv_record record = {
        .graph_node = {
            .head = {.kind = GV_RECORD_GRAPH_NODE, .flags = is_in_call ? GV_RECORD_MORE : 0},
            .node = node,
            .original = original,
            .call_start_ns = is_in_call ? thread->outer_start_ns : 0}};
    bool written;

    /* A handler's call while its thread writes: its records would lie in another group. */
    if (!gv_thread_is_live(thread) || thread->writing ||
        atomic_load_explicit(&nodes, memory_order_relaxed) >= NODES_MOST)
        return false;
    atomic_fetch_add_explicit(&nodes, 1, memory_order_relaxed);
    bool inside = gv_thread_begin_group(thread);
    written = gv_thread_write(thread, GV_ROOM_CODE, &record);
    gv_thread_end_group(thread, inside);
    thread->adds_node |= is_in_call && !original;
    return written;
}
