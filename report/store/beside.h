/*
 * A query in the order of calls, read beside them. Its first columns are the call's start and id;
 * of calls that come in the order of their ids, the start is 0.
 */
#ifndef GV_STORE_BESIDE_H
#define GV_STORE_BESIDE_H

#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <stdbool.h>

struct gv_beside {
    sqlite3_stmt *rows;
    int64_t start_ns, call; /* of the row; INT64_MAX: the end */
};

static inline int gv_beside_next(struct gv_beside *beside)
{
    int result = sqlite3_step(beside->rows);

    beside->start_ns = result == SQLITE_ROW ? gv_time_column(beside->rows, 0) : INT64_MAX;
    beside->call = result == SQLITE_ROW ? sqlite3_column_int64(beside->rows, 1) : INT64_MAX;
    return gv_database_error(sqlite3_db_handle(beside->rows), result);
}

/* 0 or -errno; finalize beside->rows in any case. */
static inline int gv_beside_ask(struct gv_beside *beside, sqlite3 *trace, const char *sql)
{
    int error = gv_database_compile(trace, sql, &beside->rows);

    return error ? error : gv_beside_next(beside);
}

/* Moves to the rows of a call. *of: whether there are any. 0 or -errno. */
static inline int gv_beside_find(struct gv_beside *beside, int64_t start_ns, int64_t call, bool *of)
{
    int error = 0;

    while (!error &&
           (beside->start_ns < start_ns || (beside->start_ns == start_ns && beside->call < call)))
        error = gv_beside_next(beside);
    *of = !error && beside->call == call;
    return error;
}

#endif
