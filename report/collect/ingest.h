/*
 * Turns a spool's records into rows of the trace, each exactly once.
 *
 * The number of stored records of each thread is stored in the same transaction as the rows. So a
 * collector that replaces a killed one continues from there. The memory here mirrors the database:
 * after a rollback, or when another program has written to the trace, close everything and open it
 * again.
 *
 * All functions except open and close run inside a transaction of the caller. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_H
#define GV_COLLECT_INGEST_H

#include "report/collect/ingest_state.h"

/* Finds the spool's process in the trace, or adds it. `live` may be NULL. */
int gv_ingest_open(struct gv_ingest *ingest, struct gv_database *database,
                   struct gv_spool_reader *reader, int64_t *next_call, struct gv_live *live);
void gv_ingest_close(struct gv_ingest *ingest);

/* Finds the segments to read. Needs no transaction. */
int gv_ingest_scan(struct gv_ingest *ingest);
/* Whether the scan found anything but looks: a record of one of the program's threads, a full
 * segment of looks, or copies of stacks, of which few have room. */
bool gv_ingest_has_news(const struct gv_ingest *ingest);
/* Stores about `limit` records of them. *done: the scan is finished. With `final`, for an ended
 * process, incomplete groups are stored too. Adds to *stored. */
int gv_ingest_step(struct gv_ingest *ingest, size_t limit, bool final, bool *done, size_t *stored);
/* Call it after the commit: gives segments back to the process. */
void gv_ingest_committed(struct gv_ingest *ingest);

#endif
