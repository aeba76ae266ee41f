/*
 * The GPU side of a process. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_GPU_H
#define GV_COLLECT_INGEST_GPU_H

#include "report/collect/ingest_state.h"

/* One record; whether text follows it; the process's state. */
int gv_ingest_gpu(struct gv_ingest *ingest, const union gv_record *record, const char *text);
bool gv_ingest_gpu_has_text(const union gv_record *record, uint32_t *bytes);
int gv_ingest_gpu_status(struct gv_ingest *ingest, const struct gv_spool_status *now);
/* The process has ended: handles what was never seen, and what never found its call. */
int gv_ingest_gpu_end(struct gv_ingest *ingest, const struct gv_spool_status *status);
void gv_ingest_gpu_close(struct gv_ingest *ingest);

#endif
