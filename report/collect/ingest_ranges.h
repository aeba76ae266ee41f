/*
 * The program's own ranges. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_RANGES_H
#define GV_COLLECT_INGEST_RANGES_H

#include "report/collect/ingest_state.h"

/* `text` may be NULL. */
int gv_ingest_range_text(struct gv_ingest *ingest, uint32_t number, const char *text);
int gv_ingest_range(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                    const struct gv_record_range *range, const char *text);
int gv_ingest_range_end(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                        const struct gv_record_range_end *end);
/* The ranges that a thread is in, when it becomes known; the range of a call, if it is not that of
 * the thread's last one. */
void gv_ingest_range_thread(const struct gv_ingest *ingest, struct gv_ingest_thread *thread);
int gv_ingest_range_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread, int64_t call);
/* What a collector that resumes a process must know of it. */
int gv_ingest_ranges_resume(struct gv_ingest *ingest);
void gv_ingest_ranges_close(struct gv_ingest *ingest);

#endif
