#include "report/collect/drain.h"

#include "report/collect/ingest.h"
#include "report/collect/settle.h"
#include "report/collect/stack_names.h"
#include "report/store/api_meaning.h"
#include "report/store/array.h"
#include "report/store/schema.h"
#include "report/store/trace_file.h"
#include "report/store/trusted_schema.h"
#include "report/unwind/unwind.h"
#include "trace/futex.h"
#include "trace/session_id.h"
#include "trace/settings.h"
#include "trace/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* What the spools leave to the trace, its journal, temporary files and /proc. */
#define DESCRIPTORS_LEFT 8

/* ---- the trace's metadata ---- */

static const char *const clock_names[] = {
    [GV_CLOCK_MONOTONIC] = "monotonic",
    [GV_CLOCK_TSC] = "tsc",
};

/* The process's row has texts ready for printing. */
static int write_first(struct gv_drain *drain, const struct gv_spool_facts *facts)
{
    char host[HOST_NAME_MAX + 1] = "", valid[GV_TEXT_REPAIRED_BYTES(sizeof(host))];
    struct gv_settings settings;
    struct utsname machine;
    int64_t unix_offset_ns =
        (int64_t)((uint64_t)facts->clock.unix_offset_ns + facts->clock.epoch_ns);
    const char *clock = facts->clock.kind < sizeof(clock_names) / sizeof(clock_names[0])
                            ? clock_names[facts->clock.kind]
                            : NULL;

    gv_settings_read(&settings, NULL, NULL);
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    gv_text_repair(valid, sizeof(valid), host, strlen(host));
    if (uname(&machine) < 0)
        machine.machine[0] = '\0';
    int error =
        gv_database_run(&drain->database, GV_STATEMENT_META_FIRST, "itttiit",
                        (int64_t)GV_SCHEMA_VERSION, GV_VERSION, valid, clock ? clock : "unknown",
                        unix_offset_ns, (int64_t)settings.watchdog_ms * 1000000, machine.machine);
    if (!error && !gv_unwind_is_there())
        error = gv_database_set_meta(&drain->database, "native_frames", "no libunwind");
    return error;
}

int gv_drain_write_session(struct gv_database *database, void *drain)
{
    struct gv_drain *of = drain;
    char directory[GV_TEXT_REPAIRED_BYTES(GV_SESSION_PATH_BYTES)];

    of->made_trace = true;
    gv_text_repair(directory, sizeof(directory), of->directory, strlen(of->directory));
    return gv_database_run(database, GV_STATEMENT_META_SESSION, "tt", of->session, directory);
}

int gv_drain_write_meta(struct gv_drain *drain, const struct gv_spool_facts *facts)
{
    char clock[GV_SESSION_ID_BYTES];
    int found = gv_database_get_meta(&drain->database, "clock", clock, sizeof(clock));

    if (found < 0)
        return found;
    int error = found ? 0 : write_first(drain, facts);
    if (!error)
        error = gv_database_set_meta(&drain->database, "state", "recording");
    return error;
}

static int write_driver(struct gv_drain *drain, int32_t driver_version)
{
    int error = 0;

    if (driver_version && !drain->driver_known) {
        error = gv_database_set_meta_number(&drain->database, "driver_version", driver_version);
        drain->driver_known = !error;
    }
    return error;
}

static void default_path(const struct gv_spool_facts *facts, char *out, size_t size)
{
    char program[sizeof(facts->program)];

    snprintf(program, sizeof(program), "%s", facts->program);
    for (char *c = program; *c; c++)
        if (*c == '/')
            *c = '_';
    snprintf(out, size, "%s%sgpuverify-%s-%u.db", facts->directory, facts->directory[0] ? "/" : "",
             program[0] ? program : "program", facts->pid);
}

/* Whether the file of the trace is gone from its path, or empty: its records cannot be
 * recovered. Not by SQLite's own check, which needs an open database. A complete trace may be
 * moved. */
static bool is_gone(const struct gv_drain *drain)
{
    struct stat status;

    return drain->filled && !drain->complete && drain->path[0] &&
           (lstat(drain->path, &status) < 0 || status.st_dev != drain->claimed.st_dev ||
            status.st_ino != drain->claimed.st_ino || status.st_size == 0);
}

bool gv_drain_is_unwanted(const struct gv_drain *drain)
{
    struct stat status;

    return drain->claimed_fd >= 0 && fstat(drain->claimed_fd, &status) == 0 && status.st_nlink == 0;
}

/* ---- the end ---- */

/* A program waits for a trace with this many calls and GPU operations: about 0.1 s. A program of
 * tens of megabytes takes as long, because its stacks need names. */
#define GV_DRAIN_SMALL_ROWS    50000
#define GV_DRAIN_BYTES_PER_ROW 1000

/* Does everything that needs the whole trace, and marks it as complete. */
static int complete_trace(struct gv_drain *drain)
{
    int error = gv_keep_finish(&drain->keep, &drain->database);

    if (error)
        return error;
    if (!drain->settled) {
        gv_settle(&drain->database, drain->path);
        drain->settled = true;
    }
    error = gv_database_begin(&drain->database);
    /* Those that are still here wait for the end of this. */
    for (size_t i = 0; i < drain->count && !error; i++)
        if (drain->spools[i]->ended)
            error = gv_process_cost_store_wait(&drain->spools[i]->ingest.cost);
    if (!error && drain->root_signal)
        error = gv_database_run(&drain->database, GV_STATEMENT_PROCESS_SIGNAL, "iii",
                                (int64_t)drain->root_pid, (int64_t)drain->root_start_ticks,
                                (int64_t)drain->root_signal);
    if (!error)
        error = gv_database_set_meta(&drain->database, "state", "complete");
    if (!error)
        error = gv_drain_commit(drain);
    if (error)
        gv_database_rollback(&drain->database);
    drain->complete = !error;
    if (!error)
        gv_live_end(drain->live);
    return error;
}

static bool is_small(struct gv_drain *drain)
{
    int64_t operations = 0, bytes = 0;

    return gv_database_find(&drain->database, GV_STATEMENT_LAST_GPU_OP, &operations, "") == 0 &&
           gv_stack_names_bytes(&drain->database, &bytes) == 0 &&
           drain->next_call + operations + bytes / GV_DRAIN_BYTES_PER_ROW <= GV_DRAIN_SMALL_ROWS;
}

/* No other process of the session would add to the trace. */
static bool is_last(const struct gv_drain *drain)
{
    size_t recording = 0;

    for (size_t i = 0; i < drain->count; i++) {
        struct gv_spool_status status;
        gv_spool_reader_status(&drain->spools[i]->reader, &status);
        recording += !status.exiting;
    }
    return recording == 0;
}

/* After an error, call gv_drain_reopen(): it may have learned ids inside the transaction. */
static int end_process(struct gv_drain *drain, struct gv_drain_spool *spool)
{
    int error = gv_database_begin(&drain->database);

    if (!error)
        error = gv_ingest_end(&spool->ingest, false);
    if (!error)
        error = gv_drain_commit(drain);
    spool->ended = !error;
    spool->as_dying = spool->ingest.status.dying;
    return error;
}

/* The files of a session that is over. */
static void take_away(struct gv_drain *drain, const struct gv_drain_spool *spool)
{
    char name[GV_SESSION_ID_BYTES + sizeof(GV_SESSION_SUFFIX)];

    snprintf(name, sizeof(name), "%s%s", drain->session, GV_SESSION_SUFFIX);
    unlinkat(drain->directory_fd, spool->name, 0);
    unlinkat(drain->directory_fd, name, 0);
    gv_live_page_remove(drain->directory, drain->session);
}

/*
 * Finishes a small trace while its first process waits: a script may read it in its next line, copy
 * it, or remove it and start the program again. Writing into a removed file would do damage: its
 * journal has the name of the next trace's.
 *
 * A large trace is finished later, and so are children: there may be thousands. Failure is
 * harmless: the process continues, and it is tried again.
 *
 * The first process of a container kills us when it ends, so we finish before.
 */
static int release(struct gv_drain *drain, struct gv_drain_spool *spool,
                   const struct gv_spool_status *status)
{
    int error = 0;

    if (!drain->complete && is_last(drain) &&
        (spool->pid == 1 || (spool->pid == drain->root_pid && is_small(drain)))) {
        error = end_process(drain, spool);
        if (!error)
            complete_trace(drain); /* after a failure, gv_drain_finish() tries again */
    }
    if (is_gone(drain))
        return -ESTALE;
    if (spool->pid == 1 && drain->complete)
        take_away(drain, spool);
    gv_spool_reader_set_drained(&spool->reader, status);
    return error;
}

/* Inside the transaction that stores the news. */
static int has_news(struct gv_drain *drain, struct gv_drain_spool *spool)
{
    bool complete = drain->complete;

    drain->settled = drain->complete = spool->ended = false;
    return complete ? gv_database_set_meta(&drain->database, "state", "recording") : 0;
}

void gv_drain_note_root(struct gv_drain *drain, const struct gv_session_file *session)
{
    drain->root_pid = session->root_pid;
    drain->root_start_ticks = session->root_start_ticks;
    drain->root_signal = atomic_load(&session->root_signal);
}

/* ---- spools ---- */

/* Records per transaction: enough to be fast, few enough to return memory soon. */
#define GV_DRAIN_BATCH 32768u
/* Looks at an idle process are stored at most this often: stored in each pass, they wrote 0.5 MB a
 * second to the disk. With the next pass, the page and the look itself, it must be less than `top`
 * takes for fresh (DRAW_FRESH_NS). */
#define GV_DRAIN_LOOKS_NS UINT64_C(300000000)
/* How often it looks how much memory there is for spools. */
#define GV_DRAIN_SHARE_NS UINT64_C(1000000000)

void gv_drain_start(struct gv_drain *drain)
{
    memset(drain, 0, sizeof(*drain));
    drain->directory_fd = drain->claimed_fd = -1;
}

int gv_drain_open(struct gv_drain *drain, const char *directory, const char *session,
                  const char *wanted)
{
    gv_drain_start(drain);
    drain->directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (drain->directory_fd < 0)
        return -errno;
    snprintf(drain->directory, sizeof(drain->directory), "%s", directory);
    snprintf(drain->session, sizeof(drain->session), "%s", session);
    snprintf(drain->wanted, sizeof(drain->wanted), "%s", wanted ? wanted : "");
    gv_keep_open(&drain->keep, drain->directory, drain->session);
    return gv_live_open(&drain->live, drain->directory, drain->session);
}

/* Forgets everything that mirrors the database. */
static void stop_writing(struct gv_drain *drain)
{
    gv_keep_stop(&drain->keep);
    for (size_t i = 0; i < drain->count; i++) {
        if (drain->spools[i]->ingesting)
            gv_ingest_close(&drain->spools[i]->ingest);
        drain->spools[i]->ingesting = drain->spools[i]->ended = false;
        drain->spools[i]->stored_ns = 0;
    }
    gv_snapshot_stop(&drain->snapshot);
    if (drain->live)
        gv_live_again(drain->live);
    if (drain->writing)
        gv_database_close(&drain->database);
    drain->writing = false;
    drain->driver_known = drain->settled = drain->complete = false;
}

void gv_drain_close(struct gv_drain *drain)
{
    stop_writing(drain);
    for (size_t i = 0; i < drain->count; i++) {
        gv_spool_reader_close(&drain->spools[i]->reader);
        free(drain->spools[i]);
    }
    free(drain->spools);
    gv_live_close(drain->live);
    if (drain->directory_fd >= 0)
        close(drain->directory_fd);
    if (drain->claimed_fd >= 0)
        close(drain->claimed_fd);
    gv_drain_start(drain);
}

static bool is_spool(const struct gv_drain *drain, const char *name)
{
    size_t session = strlen(drain->session), length = strlen(name);
    size_t suffix = strlen(GV_SPOOL_SUFFIX);

    return length > session + suffix && strncmp(name, drain->session, session) == 0 &&
           name[session] == '.' && strcmp(name + length - suffix, GV_SPOOL_SUFFIX) == 0;
}

static bool knows_spool(const struct gv_drain *drain, const char *name)
{
    for (size_t i = 0; i < drain->count; i++)
        if (strcmp(drain->spools[i]->name, name) == 0)
            return true;
    return false;
}

/* The first spool may take whatever there is. Asked before one is opened, which tells its process
 * that it is read. */
static bool would_be_too_many(const struct gv_drain *drain)
{
    struct rlimit limit;
    int next;

    if (drain->count == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    next = fcntl(drain->directory_fd, F_DUPFD_CLOEXEC, 0);
    if (next >= 0)
        close(next);
    return next < 0 || (rlim_t)next + DESCRIPTORS_LEFT >= limit.rlim_cur;
}

static int add_spool(struct gv_drain *drain, const char *name)
{
    struct gv_drain_spool *spool = calloc(1, sizeof(*spool));
    struct gv_spool_facts *facts = malloc(sizeof(*facts));
    int error = spool && facts ? 0 : -ENOMEM;

    if (!error)
        error = gv_array_room(&drain->spools, drain->count, &drain->room, sizeof(drain->spools[0]));
    if (!error && would_be_too_many(drain))
        error = -EMFILE;
    if (!error)
        error = gv_spool_reader_open(&spool->reader, drain->directory_fd, name);
    if (!error) {
        gv_spool_reader_facts(&spool->reader, facts);
        snprintf(spool->name, sizeof(spool->name), "%s", name);
        spool->pid = facts->pid;
        spool->process_start_ticks = facts->process_start_ticks;
        spool->attached_ns = facts->attached_ns;
        drain->spools[drain->count++] = spool;
        spool = NULL;
    }
    free(spool);
    free(facts);
    return error;
}

/* Of an unfinished spool: whether the process that makes it was killed. Its parent may not have
 * waited for it yet. */
static bool is_abandoned(const struct gv_drain *drain, const char *name)
{
    unsigned long pid = strtoul(name + strlen(drain->session) + 1, NULL, 10);
    uint64_t ticks = 0;

    if (pid == 0 || pid > INT32_MAX)
        return false;
    gv_session_read_start_ticks((uint32_t)pid, &ticks);
    return gv_session_process_life((uint32_t)pid, ticks) != GV_SESSION_ALIVE;
}

/* Our own problem, not the file's. The end of other spools frees descriptors. */
static bool is_in_want(const struct gv_drain *drain, int error)
{
    return error == -ENOMEM || ((error == -EMFILE || error == -ENFILE) && drain->count == 0);
}

int gv_drain_find(struct gv_drain *drain)
{
    int error = 0, again = openat(drain->directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = again < 0 ? NULL : fdopendir(again);
    struct dirent *entry;

    if (!stream) {
        error = -errno;
        if (again >= 0)
            close(again);
        return error;
    }
    drain->damaged = drain->unfinished = drain->unopened = 0;
    while (!is_in_want(drain, error) && (entry = readdir(stream))) {
        if (!is_spool(drain, entry->d_name) || knows_spool(drain, entry->d_name))
            continue;
        error = add_spool(drain, entry->d_name);
        drain->damaged += error == -EUCLEAN;
        drain->unopened += error == -EMFILE || error == -ENFILE;
        if (error != -EAGAIN)
            continue;
        if (is_abandoned(drain, entry->d_name))
            unlinkat(drain->directory_fd, entry->d_name, 0);
        else
            drain->unfinished++;
    }
    closedir(stream);
    /* Ignores a file that is not a spool, or not yet. */
    return is_in_want(drain, error) ? error : 0;
}

static int find_place(struct gv_drain *drain, const struct gv_spool_facts *facts)
{
    struct gv_trace_probe probe;
    struct stat status;
    int error;

    if (drain->path[0])
        return 0;
    if (!drain->wanted[0])
        default_path(facts, drain->wanted, sizeof(drain->wanted));
    /* Another process keeps our file locked. Wait, because continuing in another file would make
     * two halves that both look whole. */
    error = drain->filled ? gv_trace_file_probe(drain->wanted, &probe) : 0;
    if (error == -EBUSY)
        return error;
    if (drain->filled && (error || strcmp(probe.session, drain->session) != 0))
        return -ESTALE;
    error = gv_trace_file_claim(drain->wanted, drain->session, drain->path, sizeof(drain->path));
    if (!error && lstat(drain->path, &status) < 0)
        error = -errno;
    if (error) {
        drain->path[0] = '\0';
        return error;
    }
    drain->claimed = status;
    if (drain->claimed_fd >= 0)
        close(drain->claimed_fd);
    /* O_PATH, because closing another descriptor would drop SQLite's locks. */
    drain->claimed_fd = open(drain->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return 0;
}

int gv_drain_commit(struct gv_drain *drain)
{
    return gv_database_commit_patiently(&drain->database);
}

/* SQLite writes temporary tables and sorts into the first writable folder of its list. If there
 * is none, as in a container with a read-only root, they go to the trace's folder. */
static int choose_temporary(const struct gv_drain *drain)
{
    const char *const folders[] = {
        getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp", "."};
    const char *slash = strrchr(drain->path, '/');

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (folders[i] && access(folders[i], W_OK | X_OK) == 0)
            return 0;
    if (!slash)
        return 0;
    sqlite3_free(sqlite3_temp_directory);
    sqlite3_temp_directory = sqlite3_mprintf("%.*s", (int)(slash - drain->path + 1), drain->path);
    return sqlite3_temp_directory ? 0 : -ENOMEM;
}

static int open_trace(struct gv_drain *drain)
{
    int error = choose_temporary(drain);
    int64_t version;

    drain->made_trace = false;
    if (!error)
        error = gv_database_open(&drain->database, drain->path, gv_drain_write_session, drain);
    if (!error) {
        if (!drain->made_trace) /* it may be anybody's */
            error = gv_trusted_schema_ensure(drain->database.handle, &version);
        if (!error)
            error = gv_api_meaning_fill(drain->database.handle);
        if (error)
            gv_database_close(&drain->database);
    }
    drain->writing = !error;
    drain->live->trace = error ? NULL : drain->database.handle;
    return error;
}

/* Opens the trace, and what it knows of this spool, in a transaction of its own. */
static int start_ingest(struct gv_drain *drain, struct gv_drain_spool *spool)
{
    struct gv_spool_facts *facts = malloc(sizeof(*facts));
    int error = 0;

    if (!facts)
        return -ENOMEM;
    gv_spool_reader_facts(&spool->reader, facts);
    if (!drain->writing) {
        error = find_place(drain, facts);
        if (!error)
            error = open_trace(drain);
        drain->filled |= !error;
        if (!error)
            error =
                gv_database_find(&drain->database, GV_STATEMENT_CALL_NEXT, &drain->next_call, "");
    }
    if (!error)
        error = gv_database_begin(&drain->database);
    if (!error) {
        spool->ingesting = true;
        error = gv_ingest_open(&spool->ingest, &drain->database, &spool->reader, &drain->next_call,
                               drain->live);
    }
    if (!error)
        error = gv_drain_write_meta(drain, facts);
    if (!error)
        error = gv_drain_commit(drain);
    free(facts);
    return error;
}

/* It has survived a signal to itself, and now ends in another way. */
static bool ends_anew(const struct gv_drain_spool *spool)
{
    struct gv_spool_status status;

    gv_spool_reader_status(&spool->reader, &status);
    return spool->ended && spool->as_dying && status.exiting && !status.dying;
}

/* It is the same process, but has become another program by exec, and started a new recording. */
static bool is_replaced(const struct gv_drain *drain, const struct gv_drain_spool *spool)
{
    for (size_t i = 0; i < drain->count; i++) {
        const struct gv_drain_spool *other = drain->spools[i];

        if (other->pid == spool->pid && other->process_start_ticks == spool->process_start_ticks &&
            other->attached_ns > spool->attached_ns)
            return true;
    }
    return false;
}

static int store_batch(struct gv_drain *drain, struct gv_drain_spool *spool, bool gone, bool *done,
                       size_t *stored)
{
    size_t before = *stored;
    int error = gv_database_begin(&drain->database);

    if (!error)
        error = gv_ingest_step(&spool->ingest, GV_DRAIN_BATCH, gone, done, stored);
    if (!error && (*stored > before || ends_anew(spool)))
        error = has_news(drain, spool);
    /* A process that has ended still counts what its end cost. Its trace may be read already. */
    if (!error && *done && !gone && !spool->ended)
        error = gv_ingest_status(&spool->ingest);
    if (!error && *done && gone && !spool->ended)
        error = gv_ingest_end(&spool->ingest, is_replaced(drain, spool));
    if (!error)
        error = write_driver(drain, spool->ingest.status.driver_version);
    if (!error)
        error = gv_drain_commit(drain);
    if (!error) {
        gv_ingest_committed(&spool->ingest);
        gv_live_committed(drain->live);
    }
    return error;
}

static int drain_spool(struct gv_drain *drain, struct gv_drain_spool *spool, bool gone,
                       size_t *stored, size_t *exiting);

static bool can_be_put_off(const struct gv_drain *drain, const struct gv_drain_spool *spool,
                           const struct gv_spool_status *status)
{
    return !drain->is_asked && !status->exiting && spool->stored_ns &&
           gv_monotonic_ns() - spool->stored_ns < GV_DRAIN_LOOKS_NS &&
           !gv_ingest_has_news(&spool->ingest);
}

/* Those that wait for their own records do not wait for another process's as well. */
static int serve_ending(struct gv_drain *drain, size_t *stored, size_t *exiting)
{
    int error = gv_drain_find(drain);

    for (size_t i = 0; i < drain->count && !error; i++)
        if (!drain->spools[i]->draining && gv_spool_reader_is_waiting(&drain->spools[i]->reader))
            error = drain_spool(drain, drain->spools[i], false, stored, exiting);
    return error;
}

static int drain_spool(struct gv_drain *drain, struct gv_drain_spool *spool, bool gone,
                       size_t *stored, size_t *exiting)
{
    struct gv_spool_status status;
    bool done = false;
    int error = 0;

    if (!gone)
        gv_spool_reader_prepare(&spool->reader);
    if (!spool->ingesting)
        error = start_ingest(drain, spool);
    /* Read before the records: then everything that an exiting process published is there. */
    gv_spool_reader_status(&spool->reader, &status);
    if (!error)
        error = gv_ingest_scan(&spool->ingest);
    if (!error && !gone && can_be_put_off(drain, spool, &status)) {
        drain->put_off = true;
        return 0;
    }
    spool->stored_ns = gv_monotonic_ns();
    spool->draining = true;
    while (!error && !done) {
        error = store_batch(drain, spool, gone, &done, stored);
        if (!error && !done)
            error = serve_ending(drain, stored, exiting);
    }
    spool->draining = false;
    if (!error && status.exiting) {
        error = release(drain, spool, &status);
        (*exiting)++;
    }
    return error;
}

/* The records are safe, so the spool of an ended process can go. */
static void drop_spool(struct gv_drain *drain, size_t index)
{
    struct gv_drain_spool *spool = drain->spools[index];

    unlinkat(drain->directory_fd, spool->name, 0);
    if (spool->ingesting)
        gv_ingest_close(&spool->ingest);
    gv_spool_reader_close(&spool->reader);
    free(spool);
    drain->spools[index] = drain->spools[--drain->count];
}

void gv_drain_reopen(struct gv_drain *drain)
{
    if (drain->writing)
        gv_database_rollback(&drain->database);
    stop_writing(drain);
    /* The next pass finds the file again. */
    if (drain->path[0])
        strcpy(drain->wanted, drain->path);
    drain->path[0] = '\0';
}

static void share_room(struct gv_drain *drain)
{
    uint64_t now_ns = gv_monotonic_ns();
    struct gv_spool_memory memory;

    if (now_ns - drain->shared_ns < GV_DRAIN_SHARE_NS)
        return;
    drain->shared_ns = now_ns;
    if (gv_spool_memory_look(drain->directory_fd, &memory) < 0)
        return;
    for (size_t i = 0; i < drain->count; i++)
        gv_spool_reader_share(&drain->spools[i]->reader, &memory);
}

int gv_drain_pass(struct gv_drain *drain, size_t *stored, size_t *exiting)
{
    int error = is_gone(drain) ? -ESTALE : 0;

    *stored = *exiting = 0;
    drain->put_off = false;
    share_room(drain);
    for (size_t i = drain->count; i-- > 0 && !error;) {
        struct gv_drain_spool *spool = drain->spools[i];
        bool gone = !gv_spool_reader_process_lives(&spool->reader) || is_replaced(drain, spool);

        if (!spool->ingesting && gv_spool_reader_is_discarded(&spool->reader)) {
            drop_spool(drain, i);
            continue;
        }
        error = drain_spool(drain, spool, gone, stored, exiting);
        if (!error && !gone)
            gv_ingest_delay_look(&spool->ingest, spool->pid);
        if (!error && gone)
            drop_spool(drain, i);
    }
    drain->put_off &= *stored == 0;
    if (error && is_gone(drain))
        error = -ESTALE;
    if (error)
        gv_drain_reopen(drain);
    return error;
}

int gv_drain_keep(struct gv_drain *drain, int64_t now_ns)
{
    int error = drain->writing && !drain->complete && !is_gone(drain)
                    ? gv_keep_look(&drain->keep, &drain->database, drain->next_call, now_ns)
                    : 0;

    if (error)
        gv_drain_reopen(drain);
    return error;
}

void gv_drain_tell(struct gv_drain *drain, int64_t now_ns)
{
    if (!gv_live_is_due(drain->live, now_ns))
        return;
    gv_live_settle(drain->live);
    for (size_t i = 0; i < drain->count; i++)
        if (drain->spools[i]->ingesting && !drain->spools[i]->ended)
            gv_live_flights(&drain->spools[i]->ingest.live, &drain->spools[i]->reader,
                            drain->spools[i]->ingest.epoch_ns);
    gv_live_write(drain->live);
}

int gv_drain_finish(struct gv_drain *drain)
{
    int error = 0;

    if (!drain->path[0] || is_gone(drain))
        return 0;
    if (!drain->writing)
        error = open_trace(drain);
    if (!error && !drain->complete)
        error = complete_trace(drain);
    stop_writing(drain);
    drain->filled = false;
    return error;
}
