/*
 * Ingests looks at threads between their calls: rows of idle_sample. Inside a transaction of the
 * caller, as all of report/collect/ingest.h. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_IDLE_H
#define GV_COLLECT_INGEST_IDLE_H

#include "report/collect/ingest.h"

/* Stores a sample. `text` may be NULL. */
int gv_ingest_idle(struct gv_ingest *ingest, const struct gv_record_idle_sample *sample,
                   const char *text);
/* The process has ended: finds the threads that its samples still lack. */
int gv_ingest_idle_end(struct gv_ingest *ingest);

#endif
