/*
 * A process's threads. Those with a segment of the spool are in memory. Of the others, which have
 * ended or rest, only the row is known: a program may have a new one for each task. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_THREADS_H
#define GV_COLLECT_INGEST_THREADS_H

#include "report/collect/ingest_state.h"

/* The thread of a segment. Valid until threads are forgotten. */
int gv_ingest_thread_of(struct gv_ingest *ingest, const struct gv_spool_view *view,
                        struct gv_ingest_thread **thread);

/* At the start of a scan: those that rest. */
int gv_ingest_threads_forget(struct gv_ingest *ingest);
void gv_ingest_threads_close(struct gv_ingest *ingest);

#endif
