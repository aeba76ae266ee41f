/* Guesses the frame pointer of a stack of which only `pc` and `sp` are known (x86-64). */
#include "report/unwind/walk.h"

#if defined(__x86_64__) && defined(GV_HAS_LIBUNWIND)

#include "report/unwind/call_site.h"
#include "report/unwind/tables.h"

#include <string.h>

/*
 * A function that uses a frame pointer begins with pushing its caller's, so there are the caller's
 * frame pointer and the return address at it. It is near the end of the stack. What looks like it
 * may be left from an earlier call, so the return address has to follow a call of the function, as
 * far as the code tells.
 */

#define FRAME_POINTER 6
#define REACH         4096u

/* 0: unknown. */
static uint64_t function_at(struct gv_objects *objects, uint32_t generation, uint64_t address)
{
    struct gv_object *object = gv_objects_find(objects, generation, address);
    struct gv_mapped_file *file = object ? gv_objects_file(objects, object) : NULL;
    struct gv_table_entry entry;

    return file && gv_table_find(file, address - object->object.base, &entry) == 0
               ? object->object.base + entry.start
               : 0;
}

/* How sure it is that what returns to an address was called from there. */
enum fit { FIT_NONE, FIT_POSSIBLE, FIT_LIKELY, FIT_SURE };

/* `function`: that of the address `last`; 0: unknown. */
static enum fit fit_of(struct gv_objects *objects, uint32_t generation, uint64_t last,
                       uint64_t function, uint64_t returns)
{
    uint64_t target = 0;

    switch (gv_call_before(objects, generation, returns, &target)) {
    case GV_CALL_DIRECT:
        if (target == function)
            return FIT_SURE;
        if (function && gv_objects_find(objects, generation, target) ==
                            gv_objects_find(objects, generation, last))
            return FIT_NONE;
        /* One of another file is called through a stub, or by who went on to it with a jump, */
        return !function || gv_call_is_stub(objects, generation, target) ? FIT_LIKELY
                                                                         : FIT_POSSIBLE;
    case GV_CALL_TABLE: /* or the program's table. */
        return FIT_LIKELY;
    case GV_CALL_ANY:
        return FIT_POSSIBLE;
    case GV_CALL_NONE:
        break;
    }
    return FIT_NONE;
}

/* Of those that fit best, the nearest one. What a hook calls through its table is often left on the
 * stack, and may be any function: sleeping programs on an H100 seemed to be inside
 * cuCtxSynchronize. */
void gv_frame_pointer_guess(struct gv_walk *walk, struct gv_objects *objects,
                            const struct gv_unwind_stack *stack, struct gv_unwind_chain *chain,
                            uint32_t place[GV_UNWIND_FRAMES])
{
    struct gv_unwind_stack guess = *stack;
    struct gv_unwind_chain further;
    uint32_t further_place[GV_UNWIND_FRAMES];
    uint64_t best_pointer = 0, last, function, returns;
    size_t known = chain->count, reach = stack->size < REACH ? stack->size : REACH;
    enum fit best = FIT_NONE;

    if (gv_walk_lacked(walk) != FRAME_POINTER || known == GV_UNWIND_FRAMES)
        return;
    last = chain->address[known - 1];
    function = function_at(objects, stack->generation, last);
    guess.known |= 1u << FRAME_POINTER;
    for (size_t at = -stack->sp & 15; at + 16 <= reach && best != FIT_SURE; at += 16) {
        memcpy(&returns, stack->bytes + at + 8, sizeof(returns));
        if (returns == 0)
            continue;
        enum fit fit = fit_of(objects, stack->generation, last, function, returns);
        if (fit <= best)
            continue;
        guess.value[FRAME_POINTER] = stack->sp + at;
        gv_walk_run(walk, &guess, known + 1, &further, further_place);
        if (further.count > known && further.address[known] == returns) {
            best = fit;
            best_pointer = guess.value[FRAME_POINTER];
        }
    }
    guess.value[FRAME_POINTER] = best_pointer;
    if (best != FIT_NONE)
        gv_walk_run(walk, &guess, GV_UNWIND_FRAMES, chain, place);
}

#else

void gv_frame_pointer_guess(struct gv_walk *walk, struct gv_objects *objects,
                            const struct gv_unwind_stack *stack, struct gv_unwind_chain *chain,
                            uint32_t place[GV_UNWIND_FRAMES])
{
    (void)walk, (void)objects, (void)stack, (void)chain, (void)place;
}

#endif
