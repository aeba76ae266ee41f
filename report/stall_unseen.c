/*
 * From when on the GPU's side of a process is not known. CUPTI hands operations over some time
 * after they ended, all of a buffer together: of a program that was killed, the last ones are
 * missing, and what waited for them would look like a call that took its own time.
 */
#include "report/stall_run.h"

/* As in GPU_UNSEEN of trace/statements.def, which counts them; here always what is behind the last
 * one that was seen of its stream. Where there was a capture, a stream of which nothing was seen
 * may have been part of it. */
static const char gv_stall_unseen_sql[] =
    "WITH lost AS (SELECT process AS id FROM loss WHERE what = 'GPU operation'"
    "  AND class = 'last flush' AND count > 0),"
    " started AS (SELECT id FROM api WHERE class IN ('launch', 'copy', 'set')"
    "  AND name NOT LIKE 'cu%LaunchHostFunc%' AND name NOT LIKE 'cu%MemPrefetch%'),"
    " captured AS (SELECT DISTINCT t.process AS process FROM call c"
    "  JOIN thread t ON t.id = c.thread WHERE t.process IN (SELECT id FROM lost)"
    "  AND c.api IN (SELECT id FROM api WHERE name LIKE 'cu%StreamBeginCapture%')),"
    " seen AS (SELECT t.process AS process, c.stream AS stream, max(c.start_ns) AS last_ns"
    "  FROM gpu_op o JOIN call c ON c.id = o.call JOIN thread t ON t.id = c.thread"
    "  WHERE t.process IN (SELECT id FROM lost) GROUP BY 1, 2),"
    " put AS (SELECT t.process AS process, c.stream AS stream, c.start_ns AS start_ns"
    "  FROM call c JOIN thread t ON t.id = c.thread WHERE t.process IN (SELECT id FROM lost)"
    "  AND c.correlation IS NOT NULL AND c.result = 0 AND coalesce(c.bytes, 1) > 0"
    "  AND c.api IN (SELECT id FROM started))"
    " SELECT p.process, min(p.start_ns) FROM put p LEFT JOIN seen s ON s.process = p.process"
    "  AND s.stream IS p.stream WHERE p.start_ns > coalesce(s.last_ns, -1)"
    "  AND (s.last_ns IS NOT NULL OR p.process NOT IN (SELECT process FROM captured))"
    " GROUP BY 1";

int gv_stall_unseen_read(struct gv_stall_run *run)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(run->trace, gv_stall_unseen_sql, -1, &rows, NULL);

    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(rows);
        int64_t id = result == SQLITE_ROW ? sqlite3_column_int64(rows, 0) : 0;
        struct gv_stall_process *process = GV_STALL_ROW(run->processes, run->process_count, id);
        if (process)
            process->unseen_ns = gv_stall_ns(rows, 1);
    }
    sqlite3_finalize(rows);
    return gv_stall_error(run->trace, result);
}
