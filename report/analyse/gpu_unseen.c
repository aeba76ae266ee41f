#include "report/analyse/gpu_unseen.h"

#include "report/analyse/captured.h"
#include "report/store/database.h"

#include <stdbool.h>
#include <stdint.h>

/* The next process of which operations are missing, or may be: ?1 is the one before. */
static const char gv_gpu_unseen_next_sql[] =
    "SELECT min(id) FROM process WHERE id > ?1 AND gpu = 'cupti' AND (ended IS NULL OR id IN"
    " (SELECT process FROM loss WHERE what = 'GPU operation' AND class = 'last flush'"
    " AND count > 0))";

/* Neither what was launched before the GPU's side was on, nor graphs of which each node is
 * recorded, as in report/collect/ingest_gpu.c; and only what is behind the last one that was
 * seen of its stream. Operations of a stream run in their order: the first that is missing did not
 * begin before the last one seen had ended. */
static const char gv_gpu_unseen_sql[] =
    "WITH seen AS (SELECT c.stream AS stream, max(c.start_ns) AS last_ns,"
    "  max(o.start_ns + o.duration_ns) AS end_ns FROM gpu_op o"
    "  JOIN call c ON c.id = o.call JOIN thread t ON t.id = c.thread WHERE t.process = ?1"
    "  GROUP BY 1)"
    " SELECT min(c.start_ns), min(max(c.start_ns, coalesce(s.end_ns, c.start_ns))) FROM call c"
    "  JOIN thread t ON t.id = c.thread LEFT JOIN seen s ON s.stream IS c.stream"
    " WHERE t.process = ?1 AND c.correlation IS NOT NULL AND c.result = 0"
    "  AND coalesce(c.bytes, 1) > 0 AND c.start_ns > coalesce(s.last_ns, -1)"
    "  AND c.start_ns >= coalesce((SELECT start_ns FROM gpu_interval WHERE process = ?1),"
    "   c.start_ns)"
    "  AND c.api IN (SELECT id FROM api WHERE gpu_work NOT IN (0, CASE WHEN EXISTS (SELECT"
    "   1 FROM meta WHERE key = 'graphs' AND value = 'nodes') THEN 2 ELSE 0 END))"
    /* The last capture of the stream alone: a program may capture in each of its steps. */
    "  AND coalesce((SELECT k.end_ns FROM temp.capture k WHERE k.stream = c.stream"
    "   AND k.start_ns <= c.start_ns ORDER BY k.start_ns DESC LIMIT 1) < c.start_ns, 1)";

/* The first two columns of a query's only row, of a process; *any: there is a first. */
static int gv_gpu_unseen_query(sqlite3 *trace, const char *sql, int64_t process, int64_t values[2],
                               bool *any)
{
    sqlite3_stmt *row = NULL;
    int result = sqlite3_prepare_v2(trace, sql, -1, &row, NULL);

    *any = false;
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(row, 1, process);
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
    int error = gv_gpu_unseen_query(trace, gv_gpu_unseen_next_sql, INT64_MIN, next, &another);

    while (!error && another) {
        unseen.process = next[0];
        error = gv_captured_open(trace, unseen.process);
        if (!error)
            error = gv_gpu_unseen_query(trace, gv_gpu_unseen_sql, unseen.process, first, &any);
        if (!error)
            error = gv_captured_close(trace);
        if (!error && any) {
            unseen.launched_ns = first[0];
            unseen.known_ns = first[1];
            take(context, &unseen);
        }
        if (!error)
            error =
                gv_gpu_unseen_query(trace, gv_gpu_unseen_next_sql, unseen.process, next, &another);
    }
    return error;
}
