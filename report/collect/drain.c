#include "report/collect/drain.h"

#include "report/collect/session_place.h"
#include "report/store/trace_file.h"
#include "trace/session_id.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Records in one transaction: enough to be fast, few enough to give memory back soon. */
#define GV_DRAIN_BATCH        32768u
#define GV_DRAIN_COMMIT_TRIES 5

int gv_drain_open(struct gv_drain *drain, const char *directory, const char *session,
                  const char *wanted)
{
    memset(drain, 0, sizeof(*drain));
    drain->directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (drain->directory_fd < 0)
        return -errno;
    snprintf(drain->directory, sizeof(drain->directory), "%s", directory);
    snprintf(drain->session, sizeof(drain->session), "%s", session);
    snprintf(drain->wanted, sizeof(drain->wanted), "%s", wanted ? wanted : "");
    return 0;
}

/* Forgets all that mirrors the database. */
void gv_drain_stop_writing(struct gv_drain *drain)
{
    for (size_t i = 0; i < drain->count; i++) {
        if (drain->spools[i]->ingesting)
            gv_ingest_close(&drain->spools[i]->ingest);
        drain->spools[i]->ingesting = drain->spools[i]->ended = false;
    }
    if (drain->writing)
        gv_database_close(&drain->database);
    drain->writing = false;
    drain->driver_known = drain->settled = drain->complete = false;
}

void gv_drain_close(struct gv_drain *drain)
{
    gv_drain_stop_writing(drain);
    gv_database_close(&drain->before);
    gv_database_close(&drain->taken);
    for (size_t i = 0; i < drain->count; i++) {
        gv_spool_reader_close(&drain->spools[i]->reader);
        free(drain->spools[i]);
    }
    free(drain->spools);
    if (drain->directory_fd >= 0)
        close(drain->directory_fd);
    memset(drain, 0, sizeof(*drain));
    drain->directory_fd = -1;
}

static bool gv_drain_is_spool(const struct gv_drain *drain, const char *name)
{
    size_t session = strlen(drain->session), length = strlen(name);
    size_t suffix = strlen(GV_SPOOL_SUFFIX);

    return length > session + suffix && strncmp(name, drain->session, session) == 0 &&
           name[session] == '.' && strcmp(name + length - suffix, GV_SPOOL_SUFFIX) == 0;
}

static bool gv_drain_knows(const struct gv_drain *drain, const char *name)
{
    for (size_t i = 0; i < drain->count; i++)
        if (strcmp(drain->spools[i]->name, name) == 0)
            return true;
    return false;
}

static int gv_drain_add(struct gv_drain *drain, const char *name)
{
    struct gv_drain_spool *spool = calloc(1, sizeof(*spool));
    struct gv_spool_facts *facts = malloc(sizeof(*facts));
    int error = spool && facts ? 0 : -ENOMEM;

    if (!error && drain->count == drain->room) {
        size_t room = drain->room ? drain->room * 2 : 8;
        void *larger = realloc(drain->spools, room * sizeof(struct gv_drain_spool *));
        if (larger) {
            drain->spools = larger;
            drain->room = room;
        } else {
            error = -ENOMEM;
        }
    }
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

/* A spool without contents, whose process was killed while it made it. */
static bool gv_drain_is_abandoned(const struct gv_drain *drain, const char *name)
{
    unsigned long pid = strtoul(name + strlen(drain->session) + 1, NULL, 10);

    return pid > 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Ours to tell, and not the file's fault. Other spools' end makes room for the next descriptor. */
static bool gv_drain_is_in_want(const struct gv_drain *drain, int error)
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
    drain->damaged = 0;
    while (!gv_drain_is_in_want(drain, error) && (entry = readdir(stream))) {
        if (!gv_drain_is_spool(drain, entry->d_name) || gv_drain_knows(drain, entry->d_name))
            continue;
        error = gv_drain_add(drain, entry->d_name);
        drain->damaged += error == -EUCLEAN;
        if (error == -EAGAIN && gv_drain_is_abandoned(drain, entry->d_name))
            unlinkat(drain->directory_fd, entry->d_name, 0);
    }
    closedir(stream);
    /* A file that is no spool, or not yet, is somebody else's trouble. */
    return gv_drain_is_in_want(drain, error) ? error : 0;
}

static int gv_drain_find_place(struct gv_drain *drain, const struct gv_spool_facts *facts)
{
    struct gv_trace_probe probe;

    if (drain->path[0])
        return 0;
    if (!drain->wanted[0])
        gv_drain_default_path(facts, drain->wanted, sizeof(drain->wanted));
    /* Somebody keeps our own file locked: it is waited for, since the rest of the run in another
     * one would make two halves that both look whole. */
    if (drain->afresh && gv_trace_file_probe(drain->wanted, &probe) == -EBUSY)
        return -EBUSY;
    return gv_drain_claim(drain);
}

int gv_drain_commit(struct gv_drain *drain)
{
    int error = -EBUSY;

    for (int tries = 0; tries < GV_DRAIN_COMMIT_TRIES && error == -EBUSY; tries++)
        error = gv_database_commit(&drain->database);
    return error;
}

static int gv_drain_next_call(struct gv_drain *drain)
{
    int error;
    sqlite3_stmt *next = gv_database_prepare(&drain->database, GV_STATEMENT_CALL_NEXT, &error);

    if (!next)
        return error;
    int result = sqlite3_step(next);
    if (result == SQLITE_ROW)
        drain->next_call = sqlite3_column_int64(next, 0);
    error = gv_database_error(drain->database.handle, result);
    sqlite3_reset(next);
    return error;
}

/* SQLite puts temporary tables, and what it sorts, into the first of its folders that can be
 * written to. Where none can, as in a container whose root is read-only, they go where the trace
 * does. */
static int gv_drain_choose_temporary(const struct gv_drain *drain)
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

int gv_drain_open_trace(struct gv_drain *drain)
{
    int error = gv_drain_choose_temporary(drain);

    if (!error)
        error = gv_database_open(&drain->database, drain->path, gv_drain_write_session, drain);
    drain->writing = !error;
    return error;
}

/* Opens the trace, and what it knows of this spool. In a transaction of its own. */
static int gv_drain_start_ingest(struct gv_drain *drain, struct gv_drain_spool *spool)
{
    struct gv_spool_facts *facts = malloc(sizeof(*facts));
    int error = 0;

    if (!facts)
        return -ENOMEM;
    gv_spool_reader_facts(&spool->reader, facts);
    if (!drain->writing) {
        error = gv_drain_find_place(drain, facts);
        if (!error)
            error = gv_drain_open_trace(drain);
        if (!error)
            error = gv_drain_carry_over(drain);
        if (!error)
            gv_database_close(&drain->before);
        drain->filled |= !error;
        if (!error)
            error = gv_drain_next_call(drain);
    }
    if (!error)
        error = gv_database_begin(&drain->database);
    if (!error) {
        spool->ingesting = true;
        error = gv_ingest_open(&spool->ingest, &drain->database, &spool->reader, &drain->next_call);
    }
    if (!error)
        error = gv_drain_write_meta(drain, facts);
    if (!error)
        error = gv_drain_commit(drain);
    free(facts);
    return error;
}

/* It has outlived a signal that it sent itself, and ends now in another way. */
static bool gv_drain_ends_anew(const struct gv_drain_spool *spool)
{
    struct gv_spool_status status;

    gv_spool_reader_status(&spool->reader, &status);
    return spool->ended && spool->as_dying && status.exiting && !status.dying;
}

static int gv_drain_batch(struct gv_drain *drain, struct gv_drain_spool *spool, bool gone,
                          bool *done, size_t *stored)
{
    size_t before = *stored;
    int error = gv_database_begin(&drain->database);

    if (!error)
        error = gv_ingest_step(&spool->ingest, GV_DRAIN_BATCH, gone, done, stored);
    if (!error && (*stored > before || gv_drain_ends_anew(spool)))
        error = gv_drain_has_news(drain, spool);
    if (!error && *done && !gone)
        error = gv_ingest_status(&spool->ingest);
    if (!error && *done && gone && !spool->ended)
        error = gv_ingest_end(&spool->ingest);
    if (!error)
        error = gv_drain_write_driver(drain, spool->ingest.status.driver_version);
    if (!error)
        error = gv_drain_commit(drain);
    if (!error)
        gv_ingest_committed(&spool->ingest);
    return error;
}

static int gv_drain_spool(struct gv_drain *drain, struct gv_drain_spool *spool, bool gone,
                          size_t *stored, size_t *exiting)
{
    struct gv_spool_status status;
    bool done = false;
    int error = 0;

    if (!spool->ingesting)
        error = gv_drain_start_ingest(drain, spool);
    /* Looked at before the records: what an exiting process published is then all there. */
    gv_spool_reader_status(&spool->reader, &status);
    if (!error)
        error = gv_ingest_scan(&spool->ingest);
    while (!error && !done)
        error = gv_drain_batch(drain, spool, gone, &done, stored);
    if (!error && status.exiting) {
        error = gv_drain_release(drain, spool, &status);
        (*exiting)++;
    }
    return error;
}

/* The records are safe; the spool of a process that is gone is not needed any more. */
static void gv_drain_drop(struct gv_drain *drain, size_t index)
{
    struct gv_drain_spool *spool = drain->spools[index];

    unlinkat(drain->directory_fd, spool->name, 0);
    if (spool->ingesting)
        gv_ingest_close(&spool->ingest);
    gv_spool_reader_close(&spool->reader);
    free(spool);
    drain->spools[index] = drain->spools[--drain->count];
}

void gv_drain_start_afresh(struct gv_drain *drain)
{
    if (drain->writing)
        gv_database_rollback(&drain->database);
    if (gv_drain_is_gone(drain))
        gv_drain_keep_taken(drain);
    else if (drain->writing)
        gv_drain_set_aside(drain);
    gv_drain_stop_writing(drain);
    /* Find the file again, or make another one should it have been taken away. */
    if (drain->path[0]) {
        strcpy(drain->wanted, drain->path);
        drain->afresh = true;
    }
    drain->path[0] = '\0';
}

/* Its process is the same one still, but has become another program by exec, and recorded anew. */
static bool gv_drain_is_replaced(const struct gv_drain *drain, const struct gv_drain_spool *spool)
{
    for (size_t i = 0; i < drain->count; i++) {
        const struct gv_drain_spool *other = drain->spools[i];

        if (other->pid == spool->pid && other->process_start_ticks == spool->process_start_ticks &&
            other->attached_ns > spool->attached_ns)
            return true;
    }
    return false;
}

int gv_drain_pass(struct gv_drain *drain, size_t *stored, size_t *exiting)
{
    int error = 0;

    *stored = *exiting = 0;
    for (size_t i = drain->count; i-- > 0 && !error;) {
        struct gv_drain_spool *spool = drain->spools[i];
        bool gone =
            gv_session_process_life(spool->pid, spool->process_start_ticks) != GV_SESSION_ALIVE ||
            gv_drain_is_replaced(drain, spool);

        if (!spool->ingesting && gv_spool_reader_is_discarded(&spool->reader)) {
            gv_drain_drop(drain, i);
            continue;
        }
        error = gv_drain_spool(drain, spool, gone, stored, exiting);
        if (!error && !gone)
            gv_ingest_delay_look(&spool->ingest, spool->pid);
        if (!error && gone)
            gv_drain_drop(drain, i);
    }
    if (error)
        gv_drain_start_afresh(drain);
    return error;
}
