#include "preload/bind/plt_slots.h"

/*
 * A binding ends a page or two early, in the object's data, with a byte count of its own: the same
 * count comes again only after more bindings than a thread can miss between two instructions.
 */
#define PAGE_BYTES 4096u

void gv_plt_slot_bind(struct gv_plt_slot *slot, uintptr_t low, uintptr_t high, void *target)
{
    static uintptr_t bindings;
    uintptr_t pages = (high - low) / PAGE_BYTES;

    if (pages < 2 || atomic_load(&slot->bytes) != 0)
        return;
    atomic_store(&slot->low, low);
    atomic_store(&slot->target, target);
    atomic_store(&slot->bytes, (pages - 1) * PAGE_BYTES + bindings++ % PAGE_BYTES);
}

void gv_plt_slot_unbind(struct gv_plt_slot *slot)
{
    atomic_store(&slot->bytes, 0);
    atomic_store(&slot->target, slot->lazy);
}
