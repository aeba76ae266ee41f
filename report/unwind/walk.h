/* Walks one copied stack, as far as the tables and the checks allow. */
#ifndef GV_UNWIND_WALK_H
#define GV_UNWIND_WALK_H

#include "report/unwind/objects.h"

struct gv_walk;

#define GV_WALK_NO_PLACE UINT32_MAX

/* The return address in a word. On aarch64, those bits that no address has can be a signature. */
static inline uint64_t gv_walk_address(uint64_t word)
{
#ifdef __aarch64__
    return word & ((UINT64_C(1) << 48) - 1);
#else
    return word;
#endif
}

/* Without libunwind only the unwinder is there, which finds no frames. */

/* NULL: no memory. */
struct gv_walk *gv_walk_open(struct gv_objects *objects);
void gv_walk_close(struct gv_walk *walk);

/* To be called before the walks of one stack. */
void gv_walk_begin(struct gv_walk *walk, uint32_t generation);

/* `most`: of frames. `place`: at which byte of the copy each frame's address was;
 * GV_WALK_NO_PLACE: in a register. */
void gv_walk_run(struct gv_walk *walk, const struct gv_unwind_stack *stack, size_t most,
                 struct gv_unwind_chain *chain, uint32_t place[GV_UNWIND_FRAMES]);
/* The register that was needed last and is not known; -1: none. */
int gv_walk_lacked(const struct gv_walk *walk);

/* Lengthens the chain of the last walk, if that ended because the frame pointer is not known. */
void gv_frame_pointer_guess(struct gv_walk *walk, struct gv_objects *objects,
                            const struct gv_unwind_stack *stack, struct gv_unwind_chain *chain,
                            uint32_t place[GV_UNWIND_FRAMES]);

#endif
