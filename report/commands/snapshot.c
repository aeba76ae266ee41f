/*
 * gpuverify snapshot: a copy of a trace. While its program runs, the collector makes the copy
 * (report/collect/snapshot.h); what needs the whole of it, such as stalls, is found out here.
 */
#include "report/collect/snapshot.h"

#include "report/collect/recovery.h"
#include "report/collect/sessions.h"
#include "report/collect/settle.h"
#include "report/commands/commands.h"
#include "report/commands/control.h"
#include "report/commands/output_trace.h"
#include "report/commands/trace_open.h"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/show/output_file.h"
#include "report/show/shown_path.h"
#include "report/store/database.h"
#include "report/store/trace_file.h"
#include "report/store/trusted_schema.h"
#include "trace/clock.h"
#include "trace/futex.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define SNAPSHOT_PAUSE_NS    50000000
#define SNAPSHOT_TRIES       600
#define SNAPSHOT_WRITE_BYTES (1 << 20)

struct snapshot {
    const char *operand;
    struct gv_control_target target;
    struct gv_session_file *file; /* NULL: the session is over */
    char trace[PATH_MAX];
    struct gv_output_file output;
    int64_t seen_ns; /* 0: the trace was complete; else all from before is in it */
    int64_t end_ns;  /* nothing from after is */
};

/* ---- the copy ---- */

/* Of a file to which nobody writes. */
static int snapshot_copy(const char *from, const char *to)
{
    sqlite3 *source = NULL, *copy = NULL;
    sqlite3_backup *backup = NULL;
    int result = sqlite3_open_v2(from, &source, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW, NULL);
    int error = gv_database_error(source, result);

    if (!error) {
        sqlite3_busy_timeout(source, 10000);
        result = sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE, NULL);
        error = gv_database_error(copy, result);
    }
    if (!error)
        error = gv_database_script(copy, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF",
                                   NULL, 0);
    if (!error && !(backup = sqlite3_backup_init(copy, "main", source, "main")))
        error = gv_database_error(copy, SQLITE_ERROR);
    if (!error) {
        result = sqlite3_backup_step(backup, -1);
        error = result == SQLITE_OK ? -EIO : gv_database_error(copy, result);
    }
    sqlite3_backup_finish(backup);
    sqlite3_close(copy);
    sqlite3_close(source);
    return error;
}

static int snapshot_copy_to_output(struct snapshot *snapshot, const char *from)
{
    int error = snapshot_copy(from, snapshot->output.part);

    if (error)
        gv_message("cannot copy %s to %s: %s", from, snapshot->output.path, strerror(-error));
    return error;
}

/* Since the session's start. */
static int64_t snapshot_now_ns(const struct snapshot *snapshot)
{
    return (int64_t)(gv_clock_read(&snapshot->file->clock) - snapshot->file->clock.epoch_ns);
}

/* To another disk, which may be slow. */
static int snapshot_write(struct snapshot *snapshot, int from)
{
    ssize_t count;

    do
        count = sendfile(fileno(snapshot->output.out), from, NULL, SNAPSHOT_WRITE_BYTES);
    while (count > 0);
    if (count == 0)
        return 0;
    int error = -errno;
    gv_message("cannot write %s: %s", snapshot->output.path, strerror(-error));
    return error;
}

/* Moves the collector's copy to the output. Nothing is held that other commands wait for, once it
 * is ours. */
static int snapshot_take(struct snapshot *snapshot)
{
    char path[GV_SESSION_PATH_BYTES];
    int error =
        gv_snapshot_path(path, sizeof(path), snapshot->file->trace_path, snapshot->target.session);
    int from = error ? -1 : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool moved = from >= 0 && rename(path, snapshot->output.part) == 0;

    unlink(path);
    snapshot->seen_ns =
        (int64_t)(atomic_load(&snapshot->file->snapshot_seen_ns) - snapshot->file->clock.epoch_ns);
    snapshot->end_ns = snapshot_now_ns(snapshot);
    gv_snapshot_release(snapshot->file);
    if (from < 0)
        return error ? error : -EAGAIN;
    if (!moved)
        error = snapshot_write(snapshot, from);
    close(from);
    return error;
}

/* While the program runs. -EAGAIN: look again. */
static int snapshot_ask(struct snapshot *snapshot)
{
    int error = snapshot->file ? gv_snapshot_ask(snapshot->file) : -EAGAIN;

    if (!error)
        return snapshot_take(snapshot);
    if (error == -ENOSPC)
        gv_message("the disk of %s has no room for a copy", snapshot->trace);
    else if (error != -EAGAIN && error != -ETIMEDOUT)
        gv_message("the collector cannot copy %s: %s", snapshot->trace, strerror(-error));
    return error;
}

/* Nobody collects: stores what is left, and copies the trace itself. -EBUSY: somebody does. */
static int snapshot_of_left(struct snapshot *snapshot)
{
    struct gv_recovery recovery;
    struct gv_trace_probe probe;
    int error = gv_recovery_run(snapshot->target.directory, snapshot->target.session,
                                snapshot->trace, &recovery);

    if (error == -EBUSY)
        return error;
    if (error && error != -ENOENT)
        gv_message("cannot write the records still in shared memory to %s: %s", snapshot->trace,
                   strerror(-error));
    else if (recovery.records > 0)
        gv_message("its collector has ended: %s now has what it left", snapshot->trace);
    if (recovery.damaged > 0)
        gv_message("some of its records are lost: a file in %s is cut or damaged",
                   snapshot->target.directory);
    error = gv_trace_file_probe(snapshot->trace, &probe);
    if (error) {
        gv_trace_open_say(snapshot->trace, error);
        return error == -EBUSY ? -EIO : error;
    }
    if (!probe.complete && snapshot->file)
        snapshot->seen_ns = snapshot->end_ns = snapshot_now_ns(snapshot);
    return snapshot_copy_to_output(snapshot, snapshot->trace);
}

/* Waits for a collector that finishes the trace, however long that takes. */
static int snapshot_fill(struct snapshot *snapshot)
{
    struct gv_trace_probe probe;
    int error = -EAGAIN;

    for (int tries = 0; error == -EAGAIN && tries < SNAPSHOT_TRIES; tries++) {
        if (tries > 0)
            gv_pause_ns(SNAPSHOT_PAUSE_NS);
        if (snapshot->file && atomic_load(&snapshot->file->finishing))
            tries = 0;
        if (gv_trace_file_probe(snapshot->trace, &probe) == 0 && probe.complete)
            return snapshot_copy_to_output(snapshot, snapshot->trace);
        error = snapshot_of_left(snapshot);
        if (error == -EBUSY)
            error = snapshot_ask(snapshot);
    }
    if (error == -EAGAIN || error == -ETIMEDOUT)
        gv_message("%s: its collector does not answer", snapshot->operand);
    return error;
}

/* ---- the snapshot ---- */

/* Processes that run are recorded until now, as far as this trace goes. */
static const char sql_mark[] = "UPDATE process SET end_ns = ?1 WHERE ended IS NULL;"
                               "DELETE FROM meta WHERE key IN ('session', 'spool_directory')";

/* Makes the copy a trace of its own, which leads nobody to the session. */
static int snapshot_mark(struct snapshot *snapshot)
{
    struct gv_database database;
    int64_t version;
    int error = gv_database_open_output(&database, snapshot->output.part);

    if (error)
        return error;
    error = gv_trusted_schema_ensure(database.handle, &version);
    if (!error)
        error = gv_database_script(database.handle, sql_mark, &snapshot->end_ns, 1);
    if (!error)
        error = gv_database_set_meta(&database, "state", "complete");
    if (!error)
        error = gv_database_set_meta_number(&database, "snapshot_ns", snapshot->seen_ns);
    if (!error)
        gv_settle(&database, snapshot->output.path);
    gv_database_close(&database);
    return error;
}

/* The session's trace, and its file. */
static int snapshot_find(struct snapshot *snapshot)
{
    int error = gv_control_find(snapshot->operand, &snapshot->target);
    struct stat here;

    if (error) {
        gv_control_say(snapshot->operand, snapshot->target.is_pid, error);
        return error;
    }
    (void)gv_session_place_find(snapshot->target.directory, snapshot->target.session,
                                &snapshot->file);
    if (snapshot->file && stat("/proc/self/ns/pid", &here) == 0 && snapshot->file->pid_namespace &&
        snapshot->file->pid_namespace != here.st_ino) {
        gv_message("%s: its program is in another container: run gpuverify there",
                   snapshot->operand);
        return -EXDEV;
    }
    if (!snapshot->target.is_pid && realpath(snapshot->operand, snapshot->trace))
        return 0;
    if (snapshot->file)
        snprintf(snapshot->trace, sizeof(snapshot->trace), "%.*s",
                 (int)sizeof(snapshot->file->trace_path) - 1, snapshot->file->trace_path);
    else
        gv_control_say(snapshot->operand, snapshot->target.is_pid, error = -ENOENT);
    return error;
}

static void snapshot_say(const struct snapshot *snapshot)
{
    char seen[GV_FORMAT_BYTES];

    if (snapshot->seen_ns)
        gv_message_result("%s: the first %s of %s", snapshot->output.path,
                          gv_format_duration(seen, snapshot->seen_ns), snapshot->trace);
    else
        gv_message_result("%s: all of %s, whose program has ended", snapshot->output.path,
                          snapshot->trace);
}

/* A trace that has ended meanwhile would be replaced by its older copy. */
static int snapshot_refuse_itself(const struct snapshot *snapshot, const char *path)
{
    if (!gv_output_file_is_same(path, snapshot->trace))
        return 0;
    gv_message("%s is the trace itself: name another file", gv_shown_path(path));
    return -EEXIST;
}

static int snapshot_run(struct snapshot *snapshot, const char *path)
{
    int error = snapshot_find(snapshot);

    if (!error)
        error = snapshot_refuse_itself(snapshot, path);
    if (!error)
        error = gv_output_trace_open(&snapshot->output, path);
    if (error)
        return error;
    /* It may be beside a service, and a timer does not mind. */
    setpriority(PRIO_PROCESS, 0, 10);
    error = snapshot_fill(snapshot);
    if (!error && snapshot->seen_ns) {
        error = snapshot_mark(snapshot);
        if (error)
            gv_message("cannot write %s: %s", path, strerror(-error));
    }
    if (!error)
        error = snapshot_refuse_itself(snapshot, path);
    if (error) {
        gv_output_file_drop(&snapshot->output);
        return error;
    }
    error = gv_output_trace_close(&snapshot->output);
    if (!error)
        snapshot_say(snapshot);
    return error;
}

int gv_command_snapshot(const struct gv_arguments *arguments)
{
    const char *path = gv_arguments_text(arguments, GV_OPTION_snapshot_output, NULL);
    struct snapshot *snapshot;

    if (!path || gv_output_file_is_stdout(path))
        return gv_arguments_refuse(arguments->command, "-o FILE is missing: where to write it");
    snapshot = calloc(1, sizeof(*snapshot));
    if (!snapshot)
        return GV_EXIT_FAILED;
    snapshot->operand = arguments->operands[0];
    int error = snapshot_run(snapshot, path);
    gv_session_place_unmap(snapshot->file);
    free(snapshot);
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
