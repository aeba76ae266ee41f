/* Guesses the frame pointer of a stack of which only `pc` and `sp` are known (x86-64). */
#ifndef GV_UNWIND_FRAME_POINTER_H
#define GV_UNWIND_FRAME_POINTER_H

#include "report/unwind/walk.h"

/* Lengthens the chain of the last walk, if that ended because the frame pointer is not known. */
void gv_frame_pointer_guess(struct gv_walk *walk, struct gv_objects *objects,
                            const struct gv_unwind_stack *stack, struct gv_unwind_chain *chain,
                            uint32_t place[GV_UNWIND_FRAMES]);

#endif
