/*
 * From when on the GPU's side of a process is not known. CUPTI hands operations over some time
 * after they ended, all of a buffer together: of a program that was killed, the last ones are
 * missing, and what waited for them would look like a call that took its own time.
 */
#include "report/stall_run.h"

#include "report/captured.h"

static const char gv_stall_lost_sql[] =
    "SELECT process FROM loss WHERE what = 'GPU operation' AND class = 'last flush' AND count > 0";

/* As in GPU_UNSEEN of trace/statements.def, which counts them; here always what is behind the last
 * one that was seen of its stream. */
static const char gv_stall_unseen_sql[] =
    "WITH seen AS (SELECT c.stream AS stream, max(c.start_ns) AS last_ns FROM gpu_op o"
    "  JOIN call c ON c.id = o.call JOIN thread t ON t.id = c.thread WHERE t.process = ?1"
    "  GROUP BY 1)"
    " SELECT min(c.start_ns) FROM call c JOIN thread t ON t.id = c.thread"
    "  LEFT JOIN seen s ON s.stream IS c.stream"
    " WHERE t.process = ?1 AND c.correlation IS NOT NULL AND c.result = 0"
    "  AND coalesce(c.bytes, 1) > 0 AND c.start_ns > coalesce(s.last_ns, -1)"
    "  AND c.api IN (SELECT id FROM api WHERE class IN ('launch', 'copy', 'set')"
    "   AND name NOT LIKE 'cu%LaunchHostFunc%' AND name NOT LIKE 'cu%MemPrefetch%')"
    "  AND NOT EXISTS (SELECT 1 FROM temp.capture k WHERE k.stream = c.stream"
    "   AND c.start_ns BETWEEN k.start_ns AND k.end_ns)";

static int gv_stall_unseen_of(struct gv_stall_run *run, int64_t id,
                              struct gv_stall_process *process)
{
    sqlite3_stmt *row = NULL;
    int result = sqlite3_prepare_v2(run->trace, gv_stall_unseen_sql, -1, &row, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(row, 1, id);
    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    if (result == SQLITE_ROW && sqlite3_column_type(row, 0) != SQLITE_NULL)
        process->unseen_ns = gv_stall_ns(row, 0);
    sqlite3_finalize(row);
    return gv_stall_error(run->trace, result);
}

static int gv_stall_unseen_lost(struct gv_stall_run *run)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(run->trace, gv_stall_lost_sql, -1, &rows, NULL);

    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(rows);
        int64_t id = result == SQLITE_ROW ? sqlite3_column_int64(rows, 0) : 0;
        struct gv_stall_process *process = GV_STALL_ROW(run->processes, run->process_count, id);
        if (process)
            process->lost = true;
    }
    sqlite3_finalize(rows);
    return gv_stall_error(run->trace, result);
}

int gv_stall_unseen_read(struct gv_stall_run *run)
{
    int error = gv_stall_unseen_lost(run);

    for (size_t i = 1; i < run->process_count && !error; i++) {
        if (!run->processes[i].lost)
            continue;
        error = gv_captured_open(run->trace, (int64_t)i);
        if (!error)
            error = gv_stall_unseen_of(run, (int64_t)i, &run->processes[i]);
        if (!error)
            error = gv_captured_close(run->trace);
    }
    return error;
}
