/*
 * Ingests looks at threads between their calls: rows of idle_sample. Inside a transaction of the
 * caller, as all of report/collect/ingest.h. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_IDLE_H
#define GV_COLLECT_INGEST_IDLE_H

#include "report/collect/ingest.h"
#include "report/collect/unwind.h"

/* Stores a sample. `text` may be NULL. */
int gv_ingest_idle(struct gv_ingest *ingest, const struct gv_record_idle_sample *sample,
                   const char *text);
/* Finds the native frames of a blocked thread, and adds them to a row of stack. None: nothing is
 * known of it, or this process has used up its time; then it is counted. */
int gv_ingest_idle_copy(struct gv_ingest *ingest, const struct gv_unwind_stack *copy, int64_t row);
/* The process has ended: finds the threads that its samples still lack. */
int gv_ingest_idle_end(struct gv_ingest *ingest);
void gv_ingest_idle_close(struct gv_ingest *ingest);

#endif
