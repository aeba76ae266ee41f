/*
 * Chains that were found before. A stack whose innermost address and depth are the same, and which
 * has the same words where the return addresses were, has the same chain: it needs no unwinding.
 */
#ifndef GV_UNWIND_CHAINS_H
#define GV_UNWIND_CHAINS_H

#include "report/unwind/unwind.h"

struct gv_chains;

/* NULL: no memory. */
struct gv_chains *gv_chains_open(void);
void gv_chains_close(struct gv_chains *chains);

/* `era`: of the stack's generation, as in objects.h. */
bool gv_chains_find(struct gv_chains *chains, uint32_t era, const struct gv_unwind_stack *stack,
                    struct gv_unwind_chain *chain);
/* `place`: as in walk.h. Drops older chains, as memory is bounded. */
void gv_chains_add(struct gv_chains *chains, uint32_t era, const struct gv_unwind_stack *stack,
                   const struct gv_unwind_chain *chain, const uint32_t place[GV_UNWIND_FRAMES]);

#endif
