#include "report/drain.h"

#include "trace/trace_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Only what can be counted is lost: everything that later records lean on is small, and kept. */
#define GV_KEEP(table) "INSERT INTO fresh." table " SELECT * FROM main." table ";"
#define GV_TAKEN       "'trace taken away'"

static const char gv_drain_keep_sql[] =
    "BEGIN;"
    "INSERT OR REPLACE INTO fresh.meta SELECT key, value FROM main.meta WHERE key NOT IN"
    " ('state', 'totals', 'stalls', 'stall_threshold_ns');" GV_KEEP("api") GV_KEEP("process")
        GV_KEEP("thread") GV_KEEP("context") GV_KEEP("stream") GV_KEEP("kernel") GV_KEEP("module")
            GV_KEEP("stack") GV_KEEP("frame") GV_KEEP("object") GV_KEEP("device")
                GV_KEEP("gpu_name") GV_KEEP("gpu_shape") GV_KEEP("gpu_place") GV_KEEP("sample");

static const char gv_drain_count_sql[] =
    "INSERT INTO fresh.loss SELECT process, what, class, sum(count) FROM ("
    "SELECT process, what, class, count FROM main.loss UNION ALL"
    " SELECT t.process, 'call', " GV_TAKEN ", count(*) FROM main.call c JOIN main.thread t"
    " ON t.id = c.thread GROUP BY t.process UNION ALL"
    " SELECT t.process, 'load', " GV_TAKEN ", count(*) FROM main.load l JOIN main.thread t"
    " ON t.id = l.thread GROUP BY t.process UNION ALL"
    " SELECT process, 'GPU record', " GV_TAKEN ", count(*) FROM ("
    "SELECT p.process AS process FROM main.gpu_op o JOIN main.gpu_place p ON p.id = o.place"
    " UNION ALL SELECT process FROM main.jit UNION ALL SELECT process FROM main.overhead)"
    " GROUP BY process) GROUP BY process, what, class;";

static int gv_drain_execute(struct gv_database *taken, const char *sql)
{
    int result = sqlite3_exec(taken->handle, sql, NULL, NULL, NULL);

    return gv_database_error(taken->handle, result);
}

/* A statement with one value. */
static int gv_drain_execute_with(struct gv_database *taken, const char *sql, const char *text,
                                 int64_t number)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(taken->handle, sql, -1, &statement, NULL);

    if (result == SQLITE_OK)
        result = text ? sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC)
                      : sqlite3_bind_int64(statement, 1, number);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    int error = gv_database_error(taken->handle, result);
    sqlite3_finalize(statement);
    return error;
}

int gv_drain_claim(struct gv_drain *drain)
{
    int error =
        gv_trace_file_claim(drain->wanted, drain->session, drain->path, sizeof(drain->path));

    memset(&drain->claimed, 0, sizeof(drain->claimed));
    if (error)
        drain->path[0] = '\0';
    else if (lstat(drain->path, &drain->claimed) < 0)
        error = -errno;
    return error;
}

/* Not by SQLite's own look, which needs an open database: the file may be gone before that. */
static bool gv_drain_is_elsewhere(const struct gv_drain *drain)
{
    struct stat status;

    return drain->path[0] &&
           (lstat(drain->path, &status) < 0 || status.st_dev != drain->claimed.st_dev ||
            status.st_ino != drain->claimed.st_ino);
}

bool gv_drain_is_gone(const struct gv_drain *drain)
{
    struct stat status;

    return gv_drain_is_elsewhere(drain) ||
           (drain->writing && stat(drain->path, &status) == 0 && status.st_size == 0);
}

void gv_drain_keep_taken(struct gv_drain *drain)
{
    bool filled = drain->filled;
    struct timespec now;

    drain->times_gone++;
    drain->filled = false;
    /* One that had nothing of its own yet would have had what the first one has. */
    if (drain->taken.handle || !filled)
        return;
    drain->was_taken = true;
    if (!drain->writing || !gv_drain_is_elsewhere(drain))
        return; /* there is nothing to read */
    clock_gettime(CLOCK_REALTIME, &now);
    drain->taken_unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    drain->taken = drain->database;
    memset(&drain->database, 0, sizeof(drain->database));
    drain->writing = false;
}

void gv_drain_look_for_trace(struct gv_drain *drain)
{
    /* One that is complete may go where its user wants it. */
    if (drain->count > 0 && drain->writing && !drain->complete && gv_drain_is_gone(drain))
        gv_drain_start_afresh(drain);
    /* Before a process goes to its end, which tells its user where the trace is now. */
    if (drain->taken.handle && !drain->path[0])
        gv_drain_claim(drain);
}

int gv_drain_carry_over(struct gv_drain *drain)
{
    struct gv_database *taken = &drain->taken;
    int error;

    if (!taken->handle)
        return 0;
    error = gv_drain_execute_with(taken, "ATTACH ? AS fresh", drain->path, 0);
    if (error)
        return error;
    error = gv_drain_execute(taken, "PRAGMA fresh.synchronous = OFF");
    if (!error)
        error = gv_drain_execute(taken, gv_drain_keep_sql);
    if (!error)
        error = gv_drain_execute(taken, gv_drain_count_sql);
    if (!error)
        error = gv_drain_execute_with(taken,
                                      "INSERT OR REPLACE INTO fresh.meta SELECT 'taken_away_ns',"
                                      " ?1 - value FROM main.meta WHERE key = 'unix_offset_ns'",
                                      NULL, drain->taken_unix_ns);
    if (!error)
        error = gv_drain_execute(taken, "COMMIT");
    gv_database_rollback(taken);
    if (error)
        gv_drain_execute(taken, "DETACH fresh");
    else
        gv_database_close(taken);
    return error;
}
