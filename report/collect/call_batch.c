#include "report/collect/call_batch.h"

/* Inserts rows[0 .. count): as many as the statement has. */
static int call_batch_insert(struct gv_database *database, enum gv_statement statement,
                             const struct gv_call_row *rows, unsigned count)
{
    int error = 0;
    sqlite3_stmt *add = gv_database_prepare(database, statement, &error);
    int parameter = 1;
    int result;

    if (!add)
        return error;
    result = sqlite3_clear_bindings(add); /* unbound parameters are NULL */
    for (unsigned i = 0; i < count; i++)
        for (int column = 0; column < GV_CALL_COLUMNS; column++, parameter++)
            if (rows[i].known & 1u << column)
                result |= sqlite3_bind_int64(add, parameter, rows[i].value[column]);
    if (result == SQLITE_OK)
        result = sqlite3_step(add);
    error = gv_database_error(database->handle, result);
    sqlite3_reset(add);
    return error;
}

int gv_call_batch_flush(struct gv_call_batch *batch, struct gv_database *database)
{
    unsigned count = batch->count;
    int error = 0;

    batch->count = 0;
    if (count == GV_CALL_BATCH_ROWS)
        return call_batch_insert(database, GV_STATEMENT_CALL_ADD_BATCH, batch->rows, count);
    for (unsigned i = 0; i < count && !error; i++)
        error = call_batch_insert(database, GV_STATEMENT_CALL_ADD, &batch->rows[i], 1);
    return error;
}

int gv_call_batch_next(struct gv_call_batch *batch, struct gv_database *database,
                       struct gv_call_row **row)
{
    int error = 0;

    if (batch->count == GV_CALL_BATCH_ROWS)
        error = gv_call_batch_flush(batch, database);
    if (error)
        return error;
    *row = &batch->rows[batch->count++];
    (*row)->known = 0;
    return 0;
}
