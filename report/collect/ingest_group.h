/*
 * A group of records: what a thread wrote of one call, or of one event. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_GROUP_H
#define GV_COLLECT_INGEST_GROUP_H

#include "report/collect/ingest_state.h"

int gv_ingest_group(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                    const union gv_record *records, size_t count);

#endif
