/*
 * Stacks of calls and of blocked threads: native frames from copies that the process left in its
 * ring, and Python frames by code object and position. Python frames replace those of the
 * interpreter, at the position of its innermost one. Native frames are offsets in files, to be
 * named when the trace is finished.
 *
 * A copy is cleared, and its room free, after the commit.
 */
#ifndef GV_COLLECT_INGEST_STACKS_H
#define GV_COLLECT_INGEST_STACKS_H

#include "report/collect/ingest_state.h"

/* What one group of records says of a stack. */
struct gv_ingest_stack {
    int64_t stack; /* row, whose Python frames follow; 0: none */
    int64_t depth; /* Python frames so far, with those that were left out */
    int64_t of_call;
    bool of_other;   /* and of an earlier call */
    uint32_t one_of; /* as in the record */
    uint64_t of_call_start_ns;
};

/* One record of a group about a stack. */
int gv_ingest_stack_part(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                         const union gv_record *record);
/* The group's call has been stored. */
int gv_ingest_stack_of_call(struct gv_ingest *ingest, struct gv_ingest_stack *state, int64_t call,
                            uint64_t start_ns);
/* A code object's record has come: frames that were waiting for it get their names. */
int gv_ingest_stack_code(struct gv_ingest *ingest, uint32_t number);

/* The row of a stack with a number, which may come later. */
int gv_ingest_stack(struct gv_ingest *ingest, uint32_t number, int64_t *stack);

/* The unwinder of the process, with its objects as they are now; NULL: no memory. */
struct gv_unwinder *gv_ingest_stacks_unwinder(struct gv_ingest *ingest, uint32_t *generation);
/* The native frames of a chain, for a row that has its Python frames already. */
int gv_ingest_stacks_frames(struct gv_ingest *ingest, int64_t row, uint32_t generation,
                            const struct gv_unwind_chain *chain);

/* Whether an address lies in a Python interpreter. */
bool gv_ingest_stacks_is_interpreter(struct gv_ingest *ingest, uint32_t generation,
                                     uint64_t address);

/* After the commit: copies that were read are cleared. */
void gv_ingest_stacks_committed(struct gv_ingest *ingest);
void gv_ingest_stacks_close(struct gv_ingest *ingest);

#endif
