/*
 * Looks at threads between their calls. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_IDLE_H
#define GV_COLLECT_INGEST_IDLE_H

#include "report/collect/ingest_state.h"

/* A sample, whose text may be NULL. The process has ended: finds the threads that its samples still
 * lack. */
int gv_ingest_idle(struct gv_ingest *ingest, const struct gv_record_idle_sample *sample,
                   const char *text);
int gv_ingest_idle_end(struct gv_ingest *ingest);
void gv_ingest_idle_close(struct gv_ingest *ingest);

#endif
