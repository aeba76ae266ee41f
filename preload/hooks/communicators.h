/*
 * NCCL's communicators and collectives, for the records of hooks_nccl.c.
 *
 * A communicator has the same number on all its ranks: a hash of the unique id with which it was
 * made, or of its parent's, of how often that was split before, and of the colour. Its collectives
 * are counted, also while recording is stopped; those of two ranks for each peer and direction.
 *
 * Any thread; nothing here allocates or locks. `result` is the real call's.
 */
#ifndef GV_HOOKS_COMMUNICATORS_H
#define GV_HOOKS_COMMUNICATORS_H

#include "preload/hooks/facts.h"

#include <stdint.h>

enum gv_collective_kind {
#define GV_COLLECTIVE_KIND(name, number, text) GV_COLLECTIVE_##name = (number),
#include "trace/collective_kinds.def"
};

void gv_communicator_note(int result, uint64_t handle, const char id[128], int size, int rank);
void gv_communicators_note(int result, void *const *handles, int count);
void gv_communicator_split(int result, uint64_t handle, uint64_t parent, int colour);
void gv_communicator_forget(uint64_t handle);

/* Counts the collective, and tells it to gv_collective_write(). */
void gv_collective_note(struct gv_facts *facts, int result, uint64_t handle,
                        enum gv_collective_kind kind, uint64_t count, int type, int root_or_peer);

#endif
