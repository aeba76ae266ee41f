#include "report/collect/drain.h"

#include "report/show/message.h"
#include "report/store/trace_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* What later records lean on: it is small, and kept. The rest is only counted. */
#define GV_KEPT_TABLES(each)                                                                       \
    each("api") each("process") each("thread") each("context") each("stream") each("kernel")       \
        each("module") each("stack") each("frame") each("object") each("device") each("gpu_name")  \
            each("gpu_shape") each("gpu_place") each("gpu_interval") each("sample")
#define GV_COPY(table)       "CREATE TABLE kept." table " AS SELECT * FROM main." table ";"
#define GV_CARRY_OVER(table) "INSERT INTO fresh." table " SELECT * FROM main." table ";"
#define GV_TAKEN             "'trace taken away'"
#define GV_UNIX_NS_NOW       "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000000"

static const char *const gv_drain_keep_sql[] = {
    "ATTACH '' AS kept",
    "BEGIN",
    GV_KEPT_TABLES(GV_COPY),
    GV_COPY("loss"),
    "INSERT INTO kept.loss SELECT t.process, 'call', " GV_TAKEN ", count(*) FROM main.call c"
    " JOIN main.thread t ON t.id = c.thread GROUP BY t.process",
    "INSERT INTO kept.loss SELECT t.process, 'load', " GV_TAKEN ", count(*) FROM main.load l"
    " JOIN main.thread t ON t.id = l.thread GROUP BY t.process",
    "INSERT INTO kept.loss SELECT process, 'GPU record', " GV_TAKEN ", count(*) FROM"
    " (SELECT p.process AS process FROM main.gpu_op o JOIN main.gpu_place p ON p.id = o.place"
    " UNION ALL SELECT process FROM main.jit UNION ALL SELECT process FROM main.overhead)"
    " GROUP BY process",
    "CREATE TABLE kept.meta AS SELECT key, value FROM main.meta WHERE key NOT IN"
    " ('state', 'totals', 'stalls', 'stall_threshold_ns', 'taken_away_ns')",
    "INSERT INTO kept.meta SELECT 'taken_away_ns', " GV_UNIX_NS_NOW " - value FROM main.meta"
    " WHERE key = 'unix_offset_ns'",
    "COMMIT",
    NULL,
};

static const char *const gv_drain_carry_sql[] = {
    "PRAGMA fresh.synchronous = OFF",
    "BEGIN",
    GV_KEPT_TABLES(GV_CARRY_OVER),
    "INSERT INTO fresh.loss SELECT process, what, class, sum(count) FROM main.loss"
    " GROUP BY process, what, class",
    "INSERT OR REPLACE INTO fresh.meta SELECT key, value FROM main.meta",
    "COMMIT",
    NULL,
};

/* One after the other. */
static int gv_drain_execute(struct gv_database *database, const char *const *sql)
{
    int error = 0;

    for (; *sql && !error; sql++)
        error = gv_database_error(database->handle,
                                  sqlite3_exec(database->handle, *sql, NULL, NULL, NULL));
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

/* From a file without a name into memory, and not straight into the next trace: there may be no
 * room for that one before this one's blocks are free. What is too much for memory, such as the
 * samples of weeks, goes to a temporary file. */
static int gv_drain_copy_taken(struct gv_drain *drain, struct gv_database *from)
{
    struct gv_database *taken = &drain->taken;
    int result =
        sqlite3_open_v2("", &taken->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    int error = gv_database_error(taken->handle, result);

    if (!error)
        error = gv_drain_execute(from, gv_drain_keep_sql);
    gv_database_rollback(from);
    if (!error) {
        sqlite3_backup *copy = sqlite3_backup_init(taken->handle, "main", from->handle, "kept");
        if (copy)
            sqlite3_backup_step(copy, -1);
        result = copy ? sqlite3_backup_finish(copy) : sqlite3_errcode(taken->handle);
        error = gv_database_error(taken->handle, result);
    }
    if (error)
        gv_database_close(taken);
    return error;
}

void gv_drain_set_aside(struct gv_drain *drain)
{
    gv_database_close(&drain->before);
    drain->before = drain->database;
    memset(&drain->database, 0, sizeof(drain->database));
    drain->writing = false;
}

void gv_drain_keep_taken(struct gv_drain *drain)
{
    bool filled = drain->filled;

    if (drain->writing)
        gv_drain_set_aside(drain);
    drain->times_gone++;
    drain->filled = false;
    /* One that had nothing of its own yet would have had what the first one has. */
    if (!drain->taken.handle && filled) {
        int error = drain->before.handle ? gv_drain_copy_taken(drain, &drain->before) : 0;
        /* Nothing can be read of a file that was emptied. The records are counted in any case. */
        if (error && gv_drain_is_elsewhere(drain))
            gv_message("nothing of %s can be kept: %s", drain->path, strerror(-error));
        drain->was_taken = true;
    }
    gv_database_close(&drain->before);
}

int gv_drain_claim(struct gv_drain *drain)
{
    struct stat status = {0};
    int error =
        gv_trace_file_claim(drain->wanted, drain->session, drain->path, sizeof(drain->path));

    if (error) {
        drain->path[0] = '\0';
        return error;
    }
    if (lstat(drain->path, &status) < 0)
        error = -errno;
    /* It has been taken away since an error. */
    if (drain->before.handle &&
        (status.st_dev != drain->claimed.st_dev || status.st_ino != drain->claimed.st_ino))
        gv_drain_keep_taken(drain);
    drain->claimed = status;
    return error;
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
    sqlite3_stmt *attach = NULL;

    if (!taken->handle)
        return 0;
    int result = sqlite3_prepare_v2(taken->handle, "ATTACH ? AS fresh", -1, &attach, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(attach, 1, drain->path, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_step(attach);
    int error = gv_database_error(taken->handle, result);
    sqlite3_finalize(attach);
    if (error)
        return error;
    error = gv_drain_execute(taken, gv_drain_carry_sql);
    gv_database_rollback(taken);
    if (error)
        sqlite3_exec(taken->handle, "DETACH fresh", NULL, NULL, NULL);
    else
        gv_database_close(taken);
    return error;
}
