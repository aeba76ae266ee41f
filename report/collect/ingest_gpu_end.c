#include "report/collect/ingest.h"

#include "report/analyse/captured.h"
#include "report/store/id_table.h"

#include <errno.h>
#include <stdlib.h>

int gv_ingest_execute(struct gv_ingest *ingest, const char *sql)
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

    return gv_ingest_execute(ingest, sql);
}

/* ---- launches without an operation ---- */

/*
 * Every launch that succeeded is found on the GPU, or counted here. Of a process that ended by
 * itself all that was launched before its last flush came through has to be there: what is not is
 * `missing`, whatever the reason. What was started later, by its threads and exit handlers, CUPTI
 * still held (`last flush`). It hands over a buffer when every record in it is complete, so that
 * one kernel which runs on keeps back all that were put in beside it: when a process was killed,
 * nothing of its can be taken as seen because it is old, and whatever is not there is the last
 * flush's.
 *
 * Nobody is accused wrongly: what was launched before the GPU's side was on, or while any stream
 * was being captured, is not asked for, nor are launches of graphs where each node is recorded
 * (there may be none that leaves an operation), and copies only by the last flush. Operations
 * without a call, and records that are known to be lost, may be of any of them, and are taken off.
 */
struct gv_ingest_unseen {
    int64_t started_ns, flushed_ns;
    bool finished;
    bool whole_graphs;
    struct gv_id_table works; /* api -> enum gv_gpu_work */
    struct gv_captured_times captured;
    uint8_t *seen; /* one bit for each call: it has an operation */
    int64_t seen_below;
    int64_t orphans; /* kernels and whole graphs whose call is not known */
    int64_t missing;
    int64_t last_flush;
};

typedef int gv_ingest_unseen_row(struct gv_ingest_unseen *unseen, sqlite3_stmt *row);

/* Calls `take` for each row of a query; ?1 is the process. */
static int gv_ingest_unseen_each(struct gv_ingest *ingest, struct gv_ingest_unseen *unseen,
                                 const char *sql, gv_ingest_unseen_row *take)
{
    sqlite3 *trace = ingest->database->handle;
    sqlite3_stmt *rows = NULL;
    int error = 0, result = gv_database_ask(trace, sql, &ingest->process, 1, &rows);

    while (result == SQLITE_OK && !error) {
        int step = sqlite3_step(rows);
        if (step == SQLITE_ROW)
            error = take(unseen, rows);
        else
            result = step;
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(trace, result);
}

static int gv_ingest_unseen_operation(struct gv_ingest_unseen *unseen, sqlite3_stmt *row)
{
    int64_t call = sqlite3_column_int64(row, 0);

    if (sqlite3_column_type(row, 0) == SQLITE_NULL)
        unseen->orphans += sqlite3_column_int(row, 1);
    else if (call > 0 && call < unseen->seen_below)
        unseen->seen[call / 8] |= (uint8_t)(1u << call % 8);
    return 0;
}

static int gv_ingest_unseen_call(struct gv_ingest_unseen *unseen, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0);
    int64_t work = gv_id_table_get(&unseen->works, sqlite3_column_int64(row, 1), 0);
    int64_t start_ns = sqlite3_column_int64(row, 2), end_ns = sqlite3_column_int64(row, 3);
    bool in_time = unseen->finished && end_ns < unseen->flushed_ns;

    if (work == GV_GPU_WORK_NONE || (work == GV_GPU_WORK_GRAPH && !unseen->whole_graphs) ||
        (work == GV_GPU_WORK_MOVE && (in_time || !sqlite3_column_int(row, 4))))
        return 0;
    if (id <= 0 || id >= unseen->seen_below || unseen->seen[id / 8] >> id % 8 & 1)
        return 0;
    if (start_ns < unseen->started_ns ||
        gv_captured_times_meet(&unseen->captured, start_ns, end_ns))
        return 0;
    *(in_time ? &unseen->missing : &unseen->last_flush) += 1;
    return 0;
}

static int gv_ingest_unseen_find(struct gv_ingest *ingest, struct gv_ingest_unseen *unseen)
{
    static const char operations[] =
        "SELECT call, kind IN (1, 4) AND graph_node IS NULL FROM gpu_op"
        " WHERE place IN (SELECT id FROM gpu_place WHERE process = ?1)";
    static const char calls[] =
        "SELECT id, api, start_ns, start_ns + duration_ns, correlation IS NOT NULL FROM call"
        " WHERE result = 0 AND coalesce(bytes, 1) > 0"
        " AND thread IN (SELECT id FROM thread WHERE process = ?1)";
    sqlite3 *trace = ingest->database->handle;
    int error;

    unseen->seen_below = *ingest->next_call;
    unseen->seen = calloc((size_t)unseen->seen_below / 8 + 1, 1);
    if (!unseen->seen)
        return -ENOMEM;
    error = gv_id_table_read(&unseen->works, trace, "SELECT id, gpu_work FROM api");
    if (!error)
        error = gv_captured_open(trace, ingest->process);
    if (!error)
        error = gv_captured_times_read(&unseen->captured, trace);
    if (!error)
        error = gv_captured_close(trace);
    if (!error)
        error = gv_ingest_unseen_each(ingest, unseen, operations, gv_ingest_unseen_operation);
    if (!error)
        error = gv_ingest_unseen_each(ingest, unseen, calls, gv_ingest_unseen_call);
    return error;
}

/* Takes off what is known to be lost, and may be the same: each lost record once. Where calls are
 * lost that may have begun a capture, nothing is known to be missing. */
static int gv_ingest_unseen_known(struct gv_ingest_unseen *unseen, sqlite3_stmt *row)
{
    int64_t lost = sqlite3_column_int64(row, 0);
    int64_t missing = unseen->missing - unseen->orphans - lost;

    lost = missing < 0 ? -missing : 0;
    if (lost > unseen->last_flush)
        lost = unseen->last_flush;
    unseen->last_flush -= lost;
    unseen->missing = missing > 0 && !sqlite3_column_int(row, 1) ? missing : 0;
    return 0;
}

static int gv_ingest_unseen_store(struct gv_ingest *ingest, struct gv_ingest_unseen *unseen)
{
    static const char lost[] =
        "SELECT coalesce(sum(CASE WHEN what <> 'call' THEN count END), 0),"
        " coalesce(max(what <> 'GPU record' AND class IN ('stream', 'trace taken away')), 0)"
        " FROM loss WHERE process = ?1 AND what IN ('GPU record', 'record', 'call') AND count > 0";
    int error = gv_ingest_unseen_each(ingest, unseen, lost, gv_ingest_unseen_known);

    if (!error && unseen->missing > 0)
        error = gv_database_run(ingest->database, GV_STATEMENT_LOSS_SET, "itti", ingest->process,
                                "GPU record", "missing", unseen->missing);
    if (!error && unseen->last_flush > 0)
        error = gv_database_run(ingest->database, GV_STATEMENT_LOSS_SET, "itti", ingest->process,
                                "GPU operation", "last flush", unseen->last_flush);
    return error;
}

/* Whether anything can be unseen: counting is cheap beside finding out what. */
static bool gv_ingest_unseen_any(const struct gv_ingest *ingest,
                                 const struct gv_spool_status *status)
{
    const struct gv_ingest_work *work = &ingest->work;
    uint64_t graphs = status->gpu_whole_graphs ? work->asked[GV_GPU_WORK_GRAPH] : 0;

    return status->gpu == GV_GPU_SEEN &&
           (ingest->inherited || !status->gpu_finished ||
            work->asked[GV_GPU_WORK_KERNEL] + graphs > work->launched ||
            work->moves_until_ns >= status->gpu_flushed_ns);
}

static int gv_ingest_gpu_unseen(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    struct gv_ingest_unseen unseen = {
        .started_ns =
            status->gpu_started_ns ? gv_ingest_time(ingest, status->gpu_started_ns) : INT64_MIN,
        .flushed_ns =
            status->gpu_flushed_ns ? gv_ingest_time(ingest, status->gpu_flushed_ns) : INT64_MIN,
        .finished = status->gpu_finished,
        .whole_graphs = status->gpu_whole_graphs,
    };
    int error =
        gv_database_run(ingest->database, GV_STATEMENT_GPU_LOSS_CLEAR, "i", ingest->process);

    if (error || !gv_ingest_unseen_any(ingest, status))
        return error;
    error = gv_ingest_unseen_find(ingest, &unseen);
    if (!error)
        error = gv_ingest_unseen_store(ingest, &unseen);
    gv_id_table_free(&unseen.works);
    gv_captured_times_free(&unseen.captured);
    free(unseen.seen);
    return error;
}

int gv_ingest_gpu_end(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    bool late = ingest->resumed || ingest->correlate.given_up;
    int error = late ? gv_ingest_gpu_late(ingest) : 0;

    /* The analysis needs the room. Should anything come still, it is looked up in the trace. */
    ingest->resumed |= ingest->correlate.calls != NULL;
    gv_correlate_free(&ingest->correlate);
    if (!error)
        error = gv_ingest_gpu_rename(ingest, status);
    return error ? error : gv_ingest_gpu_unseen(ingest, status);
}
