#include "report/analyse/gpu_unseen.h"

#include "report/analyse/captured.h"
#include "report/analyse_gpu_unseen.inc"
#include "report/store/database.h"

#include <stdbool.h>
#include <stdint.h>

/* The first two columns of a query's only row for a process; *any: whether the first is not
 * NULL. */
static int gpu_unseen_query(sqlite3 *trace, const char *sql, int64_t process, int64_t values[2],
                            bool *any)
{
    sqlite3_stmt *row = NULL;
    int result = gv_database_ask(trace, sql, &process, 1, &row);

    *any = false;
    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        *any = sqlite3_column_type(row, 0) != SQLITE_NULL;
        values[0] = sqlite3_column_int64(row, 0);
        values[1] = sqlite3_column_int64(row, 1);
    }
    sqlite3_finalize(row);
    return gv_database_error(trace, result);
}

int gv_gpu_unseen_each(sqlite3 *trace, gv_gpu_unseen_take *take, void *context)
{
    struct gv_gpu_unseen unseen = {0};
    int64_t next[2] = {INT64_MIN}, first[2];
    bool another, any = false;
    int error = gpu_unseen_query(trace, sql_next, INT64_MIN, next, &another);

    while (!error && another) {
        unseen.process = next[0];
        error = gv_captured_open(trace, unseen.process);
        if (!error)
            error = gpu_unseen_query(trace, sql_unseen, unseen.process, first, &any);
        if (!error)
            error = gv_captured_close(trace);
        if (!error && any) {
            unseen.launched_ns = first[0];
            unseen.known_ns = first[1];
            take(context, &unseen);
        }
        if (!error)
            error = gpu_unseen_query(trace, sql_next, unseen.process, next, &another);
    }
    return error;
}
