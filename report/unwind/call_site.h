/* Whether the instruction before an address is a call, and of what. */
#ifndef GV_UNWIND_CALL_SITE_H
#define GV_UNWIND_CALL_SITE_H

#include "report/unwind/objects.h"

enum gv_call {
    GV_CALL_NONE,
    GV_CALL_ANY,   /* of a register, or through memory at one */
    GV_CALL_TABLE, /* through the object's table */
    GV_CALL_DIRECT,
};

/* `target`: of a direct call. */
enum gv_call gv_call_before(struct gv_objects *objects, uint32_t generation, uint64_t returns,
                            uint64_t *target);

/* Whether what is at an address only jumps to a function of another file. */
bool gv_call_is_stub(struct gv_objects *objects, uint32_t generation, uint64_t address);

/* Whether a signal handler returns to an address. */
bool gv_call_is_signal_return(struct gv_objects *objects, uint32_t generation, uint64_t address);

#endif
