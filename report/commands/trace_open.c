#include "report/commands/trace_open.h"

#include "report/collect/recovery.h"
#include "report/collect/sessions.h"
#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/store/database.h"
#include "report/store/safe_sum.h"
#include "report/store/schema.h"
#include "report/store/trace_file.h"
#include "report/store/trusted_schema.h"
#include "trace/futex.h"
#include "trace/session_id.h"
#include "trace/shell_word.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GV_TRACE_OPEN_STEP_MS 50
#define GV_TRACE_OPEN_SAY_MS  500
#define GV_TRACE_OPEN_WAIT_MS 30000
#define GV_TRACE_OPEN_BUSY_MS 10000
#define TRACE_OPEN_WAITS      "waiting for the rest of the records"

/* The query ends with the first that does. */
static int trace_open_find_living(void *lives, sqlite3_stmt *row)
{
    *(bool *)lives =
        gv_session_process_life((uint32_t)sqlite3_column_int64(row, 0),
                                (uint64_t)sqlite3_column_int64(row, 1)) == GV_SESSION_ALIVE;
    return *(bool *)lives;
}

int gv_trace_open_lives(sqlite3 *trace, bool *lives)
{
    *lives = false;
    int ended = gv_database_each(
        trace, "SELECT pid, start_ticks FROM process WHERE ended IS NULL LIMIT 1000", NULL, 0,
        trace_open_find_living, lives);
    return ended < 0 ? ended : 0;
}

bool gv_trace_open_any_lives(const char *path, const char *session)
{
    sqlite3 *trace = NULL;
    uint32_t pid;
    uint64_t ticks;
    bool lives = gv_session_id_parse(session, &pid, &ticks) == 0 &&
                 gv_session_process_life(pid, ticks) == GV_SESSION_ALIVE;

    if (!lives && sqlite3_open_v2(path, &trace, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(trace, GV_TRACE_OPEN_BUSY_MS) == SQLITE_OK &&
        gv_trace_open_lives(trace, &lives) != 0)
        lives = false; /* a damaged trace is found when it is read */
    sqlite3_close(trace);
    return lives;
}

/* Nothing of the session is where the trace says: that may be a folder of a container. */
static void trace_open_say_absent(const char *path, struct gv_trace_probe *probe)
{
    char beside[PATH_MAX], trace[GV_SHELL_WORD_BYTES], folder[GV_SHELL_WORD_BYTES];
    bool is_written = gv_trace_file_is_being_written(path);

    if (gv_trace_file_probe(path, probe) != 0 || probe->complete)
        return; /* meanwhile */
    if (is_written)
        gv_message("its program still runs, in another container: results so far");
    else if (gv_trace_path_beside(beside, sizeof(beside), path) == 0 &&
             gv_trace_file_session_remains(beside, probe->session))
        gv_message("the rest of its records is beside it: gpuverify recover -o %s %s",
                   gv_shell_word(trace, path), gv_shell_word(folder, beside));
    else
        gv_message(
            "the rest of its records was in %s, which is not here: if that was in a container "
            "that has ended, it is lost; if in a volume: gpuverify recover -o %s FOLDER",
            gv_shown_path(probe->spool_directory), gv_shell_word(trace, path));
}

struct trace_wait {
    uint64_t begun_ns;
    bool said;
};

/* Sleeps a little, and says once what for. By the clock: the looks between may take long, if the
 * collector was stopped while it held the trace. False: that was enough. */
static bool trace_open_wait(struct trace_wait *wait, const char *words)
{
    const uint64_t ms = (gv_monotonic_ns() - wait->begun_ns) / 1000000;

    if (ms >= GV_TRACE_OPEN_SAY_MS && !wait->said) {
        gv_message("%s", words);
        wait->said = true;
    }
    usleep(GV_TRACE_OPEN_STEP_MS * 1000);
    return ms < GV_TRACE_OPEN_WAIT_MS;
}

/* A collector that gets hardly any CPU time may keep the trace locked for seconds. */
static int trace_open_probe(const char *path, struct gv_trace_probe *probe, struct trace_wait *wait)
{
    int error;

    do
        error = gv_trace_file_probe(path, probe);
    while (error == -EBUSY && gv_trace_file_is_being_written(path) &&
           trace_open_wait(wait, TRACE_OPEN_WAITS));
    return error;
}

/* Waits while the program has ended and its collector has not. Then stores the records that no
 * collector stored. */
static int trace_open_settle(const char *path, struct gv_trace_probe *probe,
                             struct trace_wait *wait)
{
    struct gv_recovery recovery;
    int error = gv_session_place_confirm(probe->spool_directory, probe->session);

    while (!error && !probe->complete) {
        error = gv_recovery_run(probe->spool_directory, probe->session, path, &recovery);
        if (error == 0 && recovery.spools_left > 0) {
            gv_message(
                "some of its processes still run: results so far, without their source lines");
            return 0;
        }
        if (error == 0 && recovery.damaged > 0)
            gv_message("some of its records are lost: a file in %s is cut or damaged",
                       probe->spool_directory);
        if (error == 0 || error == -ENOENT || error == -EXDEV || error == -EROFS ||
            error == -EACCES)
            break;
        if (error == -EBUSY) {
            if (gv_trace_open_any_lives(path, probe->session)) {
                gv_message(
                    "the program still runs: results so far, without source lines of native code");
                return 0;
            }
            if (!trace_open_wait(wait, TRACE_OPEN_WAITS))
                break;
            error = trace_open_probe(path, probe, wait);
        }
    }
    if (error == -ENOENT || error == -EXDEV) {
        trace_open_say_absent(path, probe);
        return 0;
    }
    return error;
}

int gv_trace_open_bare(const char *path, sqlite3 **trace)
{
    int64_t version = 0;
    int error = 0;

    if (sqlite3_open_v2(path, trace,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        error = -EIO;
    if (!error) {
        sqlite3_busy_timeout(*trace, GV_TRACE_OPEN_BUSY_MS);
        error = gv_database_distrust(*trace);
    }
    if (!error) /* each change of a sum would write and cut off a file of its own */
        error = gv_database_script(*trace, "PRAGMA temp.journal_mode = MEMORY", NULL, 0);
    if (!error)
        error = gv_trace_file_roll_back(*trace);
    if (!error)
        error = gv_safe_sum_install(*trace);
    if (!error)
        error = gv_trusted_schema_ensure(*trace, &version);
    if (error == -ENOTSUP)
        gv_message("%s was written by another version of gpuverify: its schema is %lld, this one "
                   "reads %d to %d",
                   path, (long long)version, GV_SCHEMA_VERSION_OLDEST, GV_SCHEMA_VERSION);
    if (error == -EBADMSG)
        gv_message("the tables of %s are not those of this version of gpuverify", path);
    if (error) {
        sqlite3_close(*trace);
        *trace = NULL;
    }
    return error;
}

static int trace_open_resolved(const char *path, sqlite3 **trace)
{
    struct trace_wait wait = {.begun_ns = gv_monotonic_ns()};
    struct gv_trace_probe probe;
    int error = trace_open_probe(path, &probe, &wait);

    if (!error) /* before anything else is asked of it */
        error = gv_trace_open_bare(path, trace);
    if (error)
        return error;
    if (!probe.complete) {
        sqlite3_close(*trace);
        *trace = NULL;
        error = trace_open_settle(path, &probe, &wait);
        if (error)
            gv_message("cannot write the records still in shared memory to %s: %s", path,
                       strerror(-error));
        error = gv_trace_open_bare(path, trace);
    }
    return error;
}

/* Makes a trace that was never written, if its records still exist; or waits for it, if its
 * collector is about to start writing. */
static void trace_open_make(const char *path)
{
    char directory[PATH_MAX], session[GV_SESSION_ID_BYTES];
    char place[PATH_MAX + GV_SESSION_ID_BYTES + 16], word[GV_SHELL_WORD_BYTES];
    struct trace_wait wait = {.begun_ns = gv_monotonic_ns()};
    struct gv_recovery recovery;
    struct gv_trace_probe probe;

    do {
        int error = gv_trace_file_probe(path, &probe);
        if (error != -ENOENT && error != -ENODATA)
            return;
        if (gv_unwritten_trace_find(path, directory, sizeof(directory), session) != 0)
            return;
        error = gv_recovery_run(directory, session, NULL, &recovery);
        if (error && error != -EBUSY && recovery.path[0]) {
            snprintf(place, sizeof(place), "%s/%s" GV_SESSION_SUFFIX, directory, session);
            gv_message("its records are still in shared memory, but %s cannot be written: %s;"
                       " gpuverify recover -o FILE %s",
                       recovery.path, strerror(-error), gv_shell_word(word, place));
        }
        if (error != -EBUSY)
            return;
    } while (trace_open_wait(&wait, "waiting for the first records"));
}

void gv_trace_open_say(const char *path, int error)
{
    if (error == -EPROTO || error == -ENODATA)
        gv_message("%s is not a gpuverify trace", path);
    else if (error == -EUCLEAN)
        gv_message("%s is a gpuverify trace that is cut off or damaged", path);
    else if (error == -EMEDIUMTYPE)
        gv_message("next to %s, a file with that name plus -journal, -wal or -shm is not a regular"
                   " file, or names other files: move it away",
                   path);
    else if (error == -EBUSY)
        gv_message("%s is locked by another program", path);
    else
        gv_message("cannot read %s: %s", path, strerror(-error));
}

int gv_trace_open_settled(const char *path, sqlite3 **trace)
{
    char resolved[PATH_MAX];
    int error;

    trace_open_make(path);
    error = realpath(path, resolved) ? trace_open_resolved(resolved, trace) : -errno;
    if (error && error != -ENOTSUP && error != -EBADMSG)
        gv_trace_open_say(path, error);
    return error;
}

const char *gv_trace_open_why(sqlite3 *trace, int error)
{
    switch (sqlite3_errcode(trace) & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return error == -EPROTO ? "it holds impossible numbers" : strerror(-error);
    default:
        return sqlite3_errmsg(trace);
    }
}
