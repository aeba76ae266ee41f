/*
 * What every wrapper does around the call that it wraps: gv_call_begin(), the real call,
 * gv_call_end().
 *
 * The outermost hooked call of a thread becomes a CALL record. Inside it, hooked calls are not
 * recorded, but what they tell is kept: code that is loaded, the names of kernels, the kernel that
 * a runtime launch comes down to.
 *
 * An exception may pass through the real call (the driver calls back). The wrappers name
 * gv_unwind_personality as their personality routine, which closes the call as "unwound": a
 * clean-up region would need _Unwind_Resume from a library that C programs do not have.
 */
#ifndef GV_HOOKS_CALLS_H
#define GV_HOOKS_CALLS_H

#include "preload/hooks/facts.h"
#include "trace/call_table.h"

#include <stdint.h>

void gv_call_begin(struct gv_call *call, enum gv_api_id api, enum gv_api_class class,
                   const struct gv_facts *facts);
void gv_call_end(struct gv_call *call, int32_t result, const struct gv_facts *facts);

/* UNLOADS_ALL, before the real call. */
void gv_call_before_unload_all(void);

/* UNLOADS, before the real call: another thread may get the same handle as soon as it is free. */
uint32_t gv_call_before_unload(uint64_t owner);

/* Marks the function that it stands in; see above. 0x1b: relative to the table, four bytes. */
#define GV_UNWINDABLE __asm__ volatile(".cfi_personality 0x1b, gv_unwind_personality")

#endif
