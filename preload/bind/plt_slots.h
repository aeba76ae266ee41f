/*
 * The targets of the stubs in plt_stubs.S.
 *
 * The stubs take no lock: they read a slot while another thread fills it in. A driver stub reads
 * one word. A runtime stub reads three, and then `bytes` again: `bytes` differs between bindings,
 * and is 0 while the others change. So if both readings are equal, the values belong together.
 */
#ifndef GV_BIND_PLT_SLOTS_H
#define GV_BIND_PLT_SLOTS_H

#include "trace/call_table.h"

#include <stdatomic.h>
#include <stdint.h>

/*
 * plt_stubs.S knows this layout. Driver stubs use only `target`. Runtime stubs jump if the caller
 * is in [low, low + bytes), and otherwise ask again.
 */
struct gv_plt_slot {
    void *_Atomic target;
    _Atomic uintptr_t low;
    _Atomic uintptr_t bytes;
    void *lazy; /* `target` before the first call */
};

extern struct gv_plt_slot gv_plt_slots[GV_API_COUNT];

/*
 * A runtime call can have several callers: libtorch_cuda.so and libc10_cuda.so, for example. The
 * first one's binding is in the slot, and those of GV_PLT_FURTHER more are beside it. Finding one
 * of these costs 20 ns; searching all libraries of PyTorch costs 7 us.
 */
#define GV_PLT_FURTHER 7

/* The target for a caller that the slot is not bound for; NULL: not known. Any thread. */
void *gv_plt_slot_find(const struct gv_plt_slot *slot, uintptr_t caller);

/* One thread at a time, for both. */

/* For every caller in [low, high). Does nothing if there is no room. */
void gv_plt_slot_bind(struct gv_plt_slot *slot, uintptr_t low, uintptr_t high, void *target);

/* The next call asks again. */
void gv_plt_slot_unbind(struct gv_plt_slot *slot);

#endif
