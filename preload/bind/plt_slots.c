#include "preload/bind/plt_slots.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A binding ends a page or two early, in the object's data, with a byte count of its own: the same
 * count comes again only after more bindings than a thread can miss between two instructions.
 */
#define PAGE_BYTES 4096u

static struct gv_plt_slot further[GV_RUNTIME_COUNT][GV_PLT_FURTHER];

/* NULL: the driver's or NCCL's, which has one target for all. */
static struct gv_plt_slot *further_of(const struct gv_plt_slot *slot)
{
    ptrdiff_t api = slot - gv_plt_slots;

    return gv_api_in_runtime((int)api) ? further[api - GV_DRIVER_COUNT] : NULL;
}

/* As the stubs read it. */
static void *target_for(const struct gv_plt_slot *slot, uintptr_t caller)
{
    uintptr_t bytes = atomic_load(&slot->bytes);
    uintptr_t low = atomic_load(&slot->low);
    void *target = atomic_load(&slot->target);

    return caller - low < bytes && bytes == atomic_load(&slot->bytes) ? target : NULL;
}

void *gv_plt_slot_find(const struct gv_plt_slot *slot, uintptr_t caller)
{
    const struct gv_plt_slot *others = further_of(slot);
    void *target = NULL;

    for (int i = 0; others && i < GV_PLT_FURTHER && !target; i++)
        target = target_for(&others[i], caller);
    return target;
}

static bool bind_free(struct gv_plt_slot *slot, uintptr_t low, uintptr_t pages, void *target)
{
    static uintptr_t bindings;

    if (atomic_load(&slot->bytes) != 0)
        return false;
    atomic_store(&slot->low, low);
    atomic_store(&slot->target, target);
    atomic_store(&slot->bytes, (pages - 1) * PAGE_BYTES + bindings++ % PAGE_BYTES);
    return true;
}

void gv_plt_slot_bind(struct gv_plt_slot *slot, uintptr_t low, uintptr_t high, void *target)
{
    struct gv_plt_slot *others = further_of(slot);
    uintptr_t pages = (high - low) / PAGE_BYTES;
    bool is_bound = pages < 2 || bind_free(slot, low, pages, target);

    for (int i = 0; others && i < GV_PLT_FURTHER && !is_bound; i++)
        is_bound = bind_free(&others[i], low, pages, target);
}

void gv_plt_slot_unbind(struct gv_plt_slot *slot)
{
    struct gv_plt_slot *others = further_of(slot);

    for (int i = 0; others && i < GV_PLT_FURTHER; i++)
        atomic_store(&others[i].bytes, 0);
    atomic_store(&slot->bytes, 0);
    atomic_store(&slot->target, slot->lazy);
}
