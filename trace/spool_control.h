/*
 * Stopping and starting the recording of a process: by the process, and by commands of the same
 * user that have its spool mapped. No change waits for anybody.
 */
#ifndef GV_TRACE_SPOOL_CONTROL_H
#define GV_TRACE_SPOOL_CONTROL_H

#include "trace/claim.h"
#include "trace/clock.h"
#include "trace/futex.h"

#include <stdbool.h>

static inline bool gv_control_is_stopped(const struct gv_spool_control *control)
{
    return atomic_load(&control->changes) & 1;
}

/*
 * The number of this change; 0: it is so already. Wakes all waiters. `*at_ns`: when it was.
 * Of calls at the same time, those that began in a recorded time are recorded; some more may be.
 */
static inline uint32_t gv_control_change(struct gv_spool_control *control, bool stop,
                                         const struct gv_clock *clock, uint64_t *at_ns)
{
    uint32_t changes = atomic_load(&control->changes);

    do {
        if ((changes & 1) == stop)
            return 0;
        *at_ns = gv_clock_read(clock);
    } while (!atomic_compare_exchange_weak(&control->changes, &changes, changes + 1));
    if (stop)
        *at_ns = gv_clock_read(clock);
    gv_futex_wake(&control->changes);
    return changes + 1;
}

/* A note to fill in; NULL: all are waiting for the reader. */
static inline struct gv_spool_note *gv_control_note(struct gv_spool_control *control)
{
    for (uint32_t i = 0; i < GV_SPOOL_NOTES; i++)
        if (gv_claim_take(&control->notes[i].state, GV_NOTE_BUSY))
            return &control->notes[i];
    return NULL;
}

/* It is filled in. Before what the caller reads next, such as whether the process ends. */
static inline void gv_control_note_give(struct gv_spool_note *note)
{
    atomic_store(&note->state, GV_NOTE_FULL);
}

#endif
