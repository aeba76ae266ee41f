/*
 * When recording was stopped and went on, and what commands did from outside. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_CONTROL_H
#define GV_COLLECT_INGEST_CONTROL_H

#include "report/collect/ingest_state.h"

/* gpu_change has news from then on; a change; with the status, notes and what follows for the GPU
 * side; the process has ended; after the commit. */
void gv_ingest_changed(struct gv_ingest *ingest, int64_t at_ns);
int gv_ingest_change(struct gv_ingest *ingest, uint32_t number, uint64_t at_ns);
int gv_ingest_control(struct gv_ingest *ingest);
int gv_ingest_control_end(struct gv_ingest *ingest);
void gv_ingest_control_committed(struct gv_ingest *ingest);

#endif
