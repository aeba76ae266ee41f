/*
 * The shared objects that contain the addresses of stacks, each written once. The collector names
 * addresses by them, also after they are unmapped.
 */
#ifndef GV_STACKS_STACK_OBJECTS_H
#define GV_STACKS_STACK_OBJECTS_H

#include "preload/base/thread.h"

#include <stdint.h>

/* Writes the objects of these addresses that were not written yet, as records of a group that
 * continues. Any thread; takes the loader's lock. */
void gv_stack_objects_tell(struct gv_thread *thread, const uintptr_t *addresses, unsigned count);

#endif
