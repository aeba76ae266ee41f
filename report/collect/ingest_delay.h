/*
 * How long, at least, threads waited for a CPU inside slow calls. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_DELAY_H
#define GV_COLLECT_INGEST_DELAY_H

#include "report/collect/ingest_state.h"

/* The group of a call has such a record; `id` is the call's row. */
int gv_ingest_delay_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                         const struct gv_record_run_delay *record,
                         const struct gv_record_call *call, int64_t id);

/* Reads how long threads in calls have waited for a CPU. Call it repeatedly while the process
 * lives. */
void gv_ingest_delay_look(struct gv_ingest *ingest, uint32_t pid);

/*
 * The least time for which a thread waited for a CPU inside a call, from readings at other times.
 * All times are of one clock, and may be anything. The call was [start_ns, end_ns]; `end` was read
 * after it. `earlier` was read before it, or NULL. `inside_ns` was read by another process during
 * the call, or UINT64_MAX. Time between two readings outside of the call counts as waiting, so the
 * result is never too large.
 */
uint64_t gv_ingest_delay_least(uint64_t start_ns, uint64_t end_ns,
                               const struct gv_delay_reading *end,
                               const struct gv_delay_reading *earlier, uint64_t inside_ns);

#endif
