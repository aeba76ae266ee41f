/*
 * Rows of the table `call` that wait in memory until a batch is full.
 *
 * Call gv_call_batch_flush() before the commit of their transaction. 0 or -errno.
 */
#ifndef GV_COLLECT_CALL_BATCH_H
#define GV_COLLECT_CALL_BATCH_H

#include "report/store/row.h"

struct gv_call_batch {
    struct gv_row_call rows[GV_ROW_BATCH];
    unsigned count;
};

/* Returns the next row, which may hold anything. Set all of it before the next call. */
int gv_call_batch_next(struct gv_call_batch *batch, struct gv_database *database,
                       struct gv_row_call **row);

/* Inserts the waiting rows. After an error they are gone: roll back the transaction. */
int gv_call_batch_flush(struct gv_call_batch *batch, struct gv_database *database);

#endif
