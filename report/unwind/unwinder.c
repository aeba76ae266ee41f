#include "report/unwind/chains.h"
#include "report/unwind/objects.h"
#include "report/unwind/unwind.h"
#include "report/unwind/walk.h"

#include <stdlib.h>

#ifdef GV_HAS_LIBUNWIND
#define IS_THERE true
#else
#define IS_THERE                                     false
#define gv_walk_open(objects)                        ((struct gv_walk *)(objects))
#define gv_walk_close(walk)                          ((void)(walk))
#define gv_walk_begin(walk, generation)              ((void)(walk))
#define gv_walk_run(walk, stack, most, chain, place) ((chain)->count = 0)
#endif

struct gv_unwinder {
    struct gv_mapped_pages *pages;
    struct gv_objects *objects;
    struct gv_walk *walk;
    struct gv_chains *chains;
};

bool gv_unwind_is_there(void)
{
    return IS_THERE;
}

struct gv_unwinder *gv_unwinder_open(void)
{
    struct gv_unwinder *unwinder = calloc(1, sizeof(*unwinder));

    if (!unwinder)
        return NULL;
    unwinder->pages = gv_mapped_pages_open();
    unwinder->chains = gv_chains_open();
    if (unwinder->pages)
        unwinder->objects = gv_objects_open(unwinder->pages);
    if (unwinder->objects)
        unwinder->walk = gv_walk_open(unwinder->objects);
    if (!unwinder->chains || !unwinder->walk) {
        gv_unwinder_close(unwinder);
        return NULL;
    }
    return unwinder;
}

void gv_unwinder_close(struct gv_unwinder *unwinder)
{
    if (!unwinder)
        return;
    gv_walk_close(unwinder->walk);
    gv_objects_close(unwinder->objects);
    gv_mapped_pages_close(unwinder->pages);
    gv_chains_close(unwinder->chains);
    free(unwinder);
}

int gv_unwinder_add(struct gv_unwinder *unwinder, uint32_t generation,
                    const struct gv_unwind_object *object)
{
    return gv_objects_add(unwinder->objects, generation, object);
}

void gv_unwinder_remove(struct gv_unwinder *unwinder, uint32_t generation, uint64_t base)
{
    gv_objects_remove(unwinder->objects, generation, base);
}

void gv_unwinder_forget(struct gv_unwinder *unwinder, uint32_t generation)
{
    gv_objects_forget(unwinder->objects, generation);
}

const struct gv_unwind_object *gv_unwinder_object(struct gv_unwinder *unwinder, uint32_t generation,
                                                  uint64_t address)
{
    struct gv_object *object = gv_objects_find(unwinder->objects, generation, address);

    return object ? &object->object : NULL;
}

void gv_unwinder_walk(struct gv_unwinder *unwinder, const struct gv_unwind_stack *stack,
                      struct gv_unwind_chain *chain)
{
    uint32_t era = gv_objects_era(unwinder->objects, stack->generation);
    uint64_t failures = gv_mapped_pages_failures(unwinder->pages);
    uint32_t place[GV_UNWIND_FRAMES];

    if (gv_chains_find(unwinder->chains, era, stack, chain))
        return;
    gv_mapped_pages_begin(unwinder->pages);
    gv_walk_begin(unwinder->walk, stack->generation);
    chain->end = GV_UNWIND_STOPPED;
    gv_walk_run(unwinder->walk, stack, GV_UNWIND_FRAMES, chain, place);
    gv_frame_pointer_guess(unwinder->walk, unwinder->objects, stack, chain, place);
    gv_mapped_pages_rest(unwinder->pages);
    /* What could not be read may be read next time. */
    if (gv_mapped_pages_failures(unwinder->pages) == failures)
        gv_chains_add(unwinder->chains, era, stack, chain, place);
}
