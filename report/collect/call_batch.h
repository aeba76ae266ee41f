/*
 * Inserts rows into the table `call` in batches: a statement with GV_CALL_BATCH_ROWS rows takes two
 * thirds of the time of single rows.
 *
 * Rows wait in memory until a batch is full. Call gv_call_batch_flush() before the commit of their
 * transaction. 0 or -errno.
 */
#ifndef GV_COLLECT_CALL_BATCH_H
#define GV_COLLECT_CALL_BATCH_H

#include "report/store/database.h"

#include <stdint.h>

#define GV_CALL_BATCH_ROWS 16

/* In the order of the statement's parameters. */
enum gv_call_column {
    GV_CALL_ID,
    GV_CALL_THREAD,
    GV_CALL_API,
    GV_CALL_START_NS,
    GV_CALL_DURATION_NS,
    GV_CALL_RESULT,
    GV_CALL_STREAM,
    GV_CALL_CONTEXT,
    GV_CALL_BYTES,
    GV_CALL_OBJECT,
    GV_CALL_KERNEL,
    GV_CALL_CORRELATION,
    GV_CALL_COLUMNS
};

struct gv_call_row {
    int64_t value[GV_CALL_COLUMNS];
    uint32_t known; /* bit n: column n has a value; otherwise it is NULL */
};

struct gv_call_batch {
    struct gv_call_row rows[GV_CALL_BATCH_ROWS];
    unsigned count;
};

static inline void gv_call_row_set(struct gv_call_row *row, enum gv_call_column column,
                                   int64_t value)
{
    row->value[column] = value;
    row->known |= 1u << column;
}

/* Returns the next row, empty. Fill it in before the next call. */
int gv_call_batch_next(struct gv_call_batch *batch, struct gv_database *database,
                       struct gv_call_row **row);

/* Inserts the waiting rows. After an error they are gone: roll back the transaction. */
int gv_call_batch_flush(struct gv_call_batch *batch, struct gv_database *database);

#endif
