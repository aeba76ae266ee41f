/* Walks one copied stack, as far as the tables and the checks allow. */
#ifndef GV_UNWIND_WALK_H
#define GV_UNWIND_WALK_H

#include "report/unwind/objects.h"

struct gv_walk;

#define GV_WALK_NO_PLACE UINT32_MAX

bool gv_walk_is_there(void);

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

#endif
