/*
 * Records of code that came and went: loads, link inputs, unloads, and the names of kernels.
 * All of them stand before the record of the outermost call that they belong to.
 */
#ifndef GV_HOOKS_LOADS_H
#define GV_HOOKS_LOADS_H

#include "preload/base/thread.h"
#include "preload/hooks/calls.h"

#include <stdint.h>

/* A load or a link input, after the real call returned, at end_ns. */
void gv_loads_write(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                    uint64_t end_ns, const struct gv_facts *facts);

/* A call named a kernel: gives it a number, and writes its name if it is new. */
void gv_loads_note_name(struct gv_thread *thread, const struct gv_facts *facts, int32_t result);

void gv_loads_write_name(struct gv_thread *thread, uint32_t kernel, uint64_t handle,
                         uint32_t module, const char *name);

void gv_loads_write_unload(struct gv_thread *thread, const struct gv_facts *facts);

#endif
