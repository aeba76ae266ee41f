/*
 * Where the stubs of plt_stubs.S jump to.
 *
 * The stubs take no lock: they read a slot while another thread fills it in. A driver stub reads
 * one word. A runtime stub reads three, and `bytes` once more: it differs from binding to binding,
 * and is 0 while the others change, so that what it has read between two equal ones belongs
 * together.
 */
#ifndef GV_BIND_PLT_SLOTS_H
#define GV_BIND_PLT_SLOTS_H

#include "trace/call_table.h"

#include <stdatomic.h>
#include <stdint.h>

/*
 * The layout is known in plt_stubs.S. Driver stubs use `target` alone; runtime stubs jump when the
 * caller lies in [low, low + bytes) and ask again otherwise.
 */
struct gv_plt_slot {
    void *_Atomic target;
    _Atomic uintptr_t low;
    _Atomic uintptr_t bytes;
    void *lazy; /* where `target` points before the first call */
};

extern struct gv_plt_slot gv_plt_slots[GV_API_COUNT];

/* One thread at a time, for both. */

/* For every caller in [low, high); of a slot that is bound already, nothing happens. */
void gv_plt_slot_bind(struct gv_plt_slot *slot, uintptr_t low, uintptr_t high, void *target);

/* The next call asks again. */
void gv_plt_slot_unbind(struct gv_plt_slot *slot);

#endif
