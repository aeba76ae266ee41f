#include "report/ingest.h"

#include "report/captured.h"

#include <errno.h>

/* ?1 of the texts below is the process. */
static int gv_ingest_gpu_execute(struct gv_ingest *ingest, const char *sql)
{
    sqlite3 *trace = ingest->database->handle;
    int result = SQLITE_OK;

    while (result == SQLITE_OK && sql && *sql) {
        sqlite3_stmt *statement = NULL;

        result = sqlite3_prepare_v2(trace, sql, -1, &statement, &sql);
        if (result == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
            result = sqlite3_bind_int64(statement, 1, ingest->process);
        if (result == SQLITE_OK && statement && sqlite3_step(statement) != SQLITE_DONE)
            result = sqlite3_errcode(trace);
        sqlite3_finalize(statement);
    }
    return gv_database_error(trace, result);
}

/* What was given up, or stored by a collector before us, and never met its call. */
static int gv_ingest_gpu_late(struct gv_ingest *ingest)
{
    static const char sql[] =
        "CREATE TEMP TABLE late AS SELECT c.correlation AS correlation, max(c.id) AS call"
        " FROM call c JOIN thread t ON t.id = c.thread WHERE t.process = ?1 AND c.correlation IN"
        " (SELECT correlation FROM gpu_op UNION SELECT correlation FROM jit"
        " UNION SELECT correlation FROM gpu_module) GROUP BY 1;"
        "CREATE UNIQUE INDEX temp.late_index ON late (correlation);"
        "UPDATE gpu_op SET call = late.call, correlation = NULL FROM late"
        " WHERE gpu_op.correlation = late.correlation AND gpu_op.place IN"
        " (SELECT id FROM gpu_place WHERE process = ?1);"
        "UPDATE jit SET call = late.call, correlation = NULL FROM late"
        " WHERE jit.correlation = late.correlation AND jit.process = ?1;"
        "UPDATE gpu_module SET call = late.call, correlation = NULL FROM late"
        " WHERE gpu_module.correlation = late.correlation AND gpu_module.process = ?1;"
        "DROP TABLE temp.late;";

    return gv_ingest_gpu_execute(ingest, sql);
}

/* Whether there are fewer operations than calls that started some. Counting is cheap beside finding
 * out which. */
static int gv_ingest_gpu_is_short(struct gv_ingest *ingest, bool *is_short)
{
    int error, result;
    sqlite3_stmt *count = gv_database_prepare(ingest->database, GV_STATEMENT_GPU_SHORT, &error);

    if (!count)
        return error;
    result = sqlite3_bind_int64(count, 1, ingest->process);
    if (result == SQLITE_OK)
        result = sqlite3_step(count);
    *is_short = result == SQLITE_ROW && sqlite3_column_int64(count, 0) > 0;
    error = gv_database_error(ingest->database->handle, result);
    sqlite3_reset(count);
    return error;
}

/*
 * Calls whose operations were still with CUPTI when the process ended. It hands over a buffer when
 * every record in it is complete, so that one kernel which runs on keeps back all that were put in
 * beside it: when a process was killed, none of its calls can be taken as seen because it is old.
 * One that ended by itself has fetched all that had run by then; what its threads and exit handlers
 * started after that is behind the last operation that was seen of their streams. What was captured
 * ran in a graph, or never. Records that CUPTI dropped, or that we had no room for, are losses
 * of their own.
 */
static int gv_ingest_gpu_unseen(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    static const char make_seen[] = "CREATE TEMP TABLE seen (stream, last_ns);";
    static const char seen[] =
        "INSERT INTO temp.seen SELECT c.stream, max(c.start_ns) FROM gpu_op o JOIN call c ON"
        " c.id = o.call WHERE o.place IN (SELECT id FROM gpu_place WHERE process = ?1) GROUP BY 1;"
        "CREATE INDEX temp.seen_index ON seen (stream);";
    bool is_short = false;
    int error = 0;

    if (status->gpu == GV_GPU_SEEN)
        error = gv_ingest_gpu_is_short(ingest, &is_short);
    if (error || !is_short)
        return error;
    error = gv_captured_open(ingest->database->handle, ingest->process);
    if (!error)
        error = gv_ingest_gpu_execute(ingest, make_seen);
    if (!error && status->gpu_finished)
        error = gv_ingest_gpu_execute(ingest, seen);
    if (!error)
        error = gv_database_run(ingest->database, GV_STATEMENT_GPU_UNSEEN, "ii", ingest->process,
                                (int64_t)(status->gpu_dropped + status->gpu_lost));
    if (!error)
        error = gv_ingest_gpu_execute(ingest, "DROP TABLE temp.seen;");
    return error ? error : gv_captured_close(ingest->database->handle);
}

int gv_ingest_gpu_end(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    bool late = ingest->resumed || ingest->correlate.given_up;
    int error = late ? gv_ingest_gpu_late(ingest) : 0;

    /* The analysis needs the room. Should anything come still, it is looked up in the trace. */
    ingest->resumed |= ingest->correlate.calls != NULL;
    gv_correlate_free(&ingest->correlate);
    return error ? error : gv_ingest_gpu_unseen(ingest, status);
}
