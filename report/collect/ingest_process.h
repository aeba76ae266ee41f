/*
 * What is stored once of a process, its losses, its calls in flight, and its end. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_PROCESS_H
#define GV_COLLECT_INGEST_PROCESS_H

#include "report/collect/ingest_state.h"

int gv_ingest_process_add(struct gv_ingest *ingest, const struct gv_spool_facts *facts);

/* Stores the losses and the driver's version, if they changed. */
int gv_ingest_status(struct gv_ingest *ingest);
/* Stores how the process ended, and its unfinished calls. `became_another`: by exec, and the
 * other program uses CUDA too. */
int gv_ingest_end(struct gv_ingest *ingest, bool became_another);
/* Stores the process's unfinished calls with their causes, or that there are none any more. */
int gv_ingest_flights(struct gv_ingest *ingest);
int gv_ingest_flights_clear(struct gv_ingest *ingest);

#endif
