#include "report/collect/call_batch.h"

int gv_call_batch_flush(struct gv_call_batch *batch, struct gv_database *database)
{
    const unsigned count = batch->count;

    batch->count = 0;
    return gv_row_add(database, GV_TABLE_call, batch->rows, count);
}

int gv_call_batch_next(struct gv_call_batch *batch, struct gv_database *database,
                       struct gv_row_call **row)
{
    int error = batch->count == GV_ROW_BATCH ? gv_call_batch_flush(batch, database) : 0;

    if (error)
        return error;
    *row = &batch->rows[batch->count++];
    return 0;
}
