#include "report/collect/snapshot.h"

#include "report/store/database.h"
#include "trace/claim.h"
#include "trace/futex.h"
#include "trace/session_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define GV_SNAPSHOT_PAGES         64
#define GV_SNAPSHOT_PIECE_NS      10000000
#define GV_SNAPSHOT_PIECE_MOST_NS 200000000
#define GV_SNAPSHOT_POLL_NS       5000000
#define GV_SNAPSHOT_WAIT_NS       INT64_C(30000000000)

int gv_snapshot_path(char *out, size_t size, const char *trace_path, const char *session)
{
    int length = snprintf(out, size, "%s.%s.snapshot", trace_path, session);

    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

/* ---- the collector ---- */

/* The trace must not find the disk full because of its copy. */
static int check_room(const char *trace_path)
{
    struct statvfs disk;
    struct stat trace;

    if (stat(trace_path, &trace) < 0 || statvfs(trace_path, &disk) < 0)
        return -errno;
    return (uint64_t)disk.f_bavail * disk.f_frsize < 2 * (uint64_t)trace.st_size ? -ENOSPC : 0;
}

static int begin(struct gv_snapshot *snapshot, sqlite3 *trace, const char *trace_path)
{
    int error = gv_snapshot_path(snapshot->path, sizeof(snapshot->path), trace_path,
                                 snapshot->session->session);

    if (!error)
        error = check_room(trace_path);
    if (error)
        return error;
    unlink(snapshot->path); /* of a collector that was killed */
    int fd = open(snapshot->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    close(fd);
    int result =
        sqlite3_open_v2(snapshot->path, &snapshot->copy,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL);
    error = gv_database_error(snapshot->copy, result);
    if (!error) /* nobody needs half of it */
        error = gv_database_script(snapshot->copy,
                                   "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, 0);
    if (error)
        return error;
    snapshot->piece_end_ns = (int64_t)gv_monotonic_ns();
    snapshot->backup = sqlite3_backup_init(snapshot->copy, "main", trace, "main");
    return snapshot->backup ? 0 : gv_database_error(snapshot->copy, SQLITE_ERROR);
}

/* A pass may be late by the time of a piece. But a trace may grow as fast as its collector can
 * write it, and the copy must be faster: then a fifth of the collector's time is for it. */
static int64_t piece_ns(const struct gv_snapshot *snapshot)
{
    int64_t fifth_ns = ((int64_t)gv_monotonic_ns() - snapshot->piece_end_ns) / 4;

    if (fifth_ns > GV_SNAPSHOT_PIECE_MOST_NS)
        return GV_SNAPSHOT_PIECE_MOST_NS;
    return fifth_ns > GV_SNAPSHOT_PIECE_NS ? fifth_ns : GV_SNAPSHOT_PIECE_NS;
}

/* 1: it is complete; 0: there is more; or -errno. */
static int copy_piece(struct gv_snapshot *snapshot)
{
    int64_t until_ns = (int64_t)gv_monotonic_ns() + piece_ns(snapshot);
    int result = SQLITE_OK;

    while (result == SQLITE_OK && (int64_t)gv_monotonic_ns() < until_ns)
        result = sqlite3_backup_step(snapshot->backup, GV_SNAPSHOT_PAGES);
    atomic_fetch_add(&snapshot->session->snapshot_pieces, 1);
    snapshot->piece_end_ns = (int64_t)gv_monotonic_ns();
    if (result == SQLITE_DONE)
        return 1;
    return gv_database_error(snapshot->copy, result);
}

/* Tells the command, if it still waits. */
static void tell(struct gv_snapshot *snapshot, int error)
{
    uint32_t asked = snapshot->request;

    snapshot->request = (asked & ~GV_CLAIM_STATE) | GV_SNAPSHOT_DONE;
    sqlite3_backup_finish(snapshot->backup);
    sqlite3_close(snapshot->copy);
    snapshot->backup = NULL;
    snapshot->copy = NULL;
    if (error)
        unlink(snapshot->path);
    atomic_store(&snapshot->session->snapshot_error, -error);
    if (!atomic_compare_exchange_strong(&snapshot->session->snapshot, &asked, snapshot->request))
        unlink(snapshot->path); /* it has given up */
}

/* Frees the request of a command that was killed, and forgets one that has been freed. */
static void look_after(struct gv_snapshot *snapshot)
{
    uint32_t word = atomic_load(&snapshot->session->snapshot);

    if (word != snapshot->request) {
        snapshot->session = NULL;
    } else if (gv_claim_is_left(word)) {
        unlink(snapshot->path);
        atomic_compare_exchange_strong(&snapshot->session->snapshot, &word, GV_SNAPSHOT_FREE);
        snapshot->session = NULL;
    }
}

/* The next pass finds all that was recorded before the request. */
static bool take_request(struct gv_snapshot *snapshot, struct gv_session_file *session,
                         sqlite3 *trace, const char *trace_path)
{
    uint32_t word = atomic_load(&session->snapshot);

    if ((word & GV_CLAIM_STATE) != GV_SNAPSHOT_ASKED)
        return false;
    snapshot->session = session;
    snapshot->request = word;
    int error = begin(snapshot, trace, trace_path);
    if (error)
        tell(snapshot, error);
    return !error;
}

bool gv_snapshot_is_wanted(const struct gv_snapshot *snapshot,
                           const struct gv_session_file *session)
{
    return snapshot->copy ||
           (atomic_load(&session->snapshot) & GV_CLAIM_STATE) == GV_SNAPSHOT_ASKED;
}

bool gv_snapshot_work(struct gv_snapshot *snapshot, struct gv_session_file *session, sqlite3 *trace,
                      const char *trace_path, uint64_t seen_ns)
{
    uint32_t word = atomic_load(&session->snapshot);

    if (snapshot->copy && (word != snapshot->request || gv_claim_is_left(word)))
        tell(snapshot, -ECANCELED);
    if (snapshot->session && !snapshot->copy)
        look_after(snapshot);
    if (!snapshot->session)
        return take_request(snapshot, session, trace, trace_path);
    if (!snapshot->copy)
        return false;
    int done = copy_piece(snapshot);
    if (done == 0)
        return true;
    atomic_store(&session->snapshot_seen_ns, seen_ns);
    tell(snapshot, done > 0 ? 0 : done);
    return false;
}

void gv_snapshot_stop(struct gv_snapshot *snapshot)
{
    if (snapshot->copy)
        tell(snapshot, -EAGAIN);
    if (snapshot->session)
        look_after(snapshot);
}

/* ---- the command ---- */

/* Waits until the collector has done what was asked; request 0: until this command can ask. As
 * gv_snapshot_ask(). */
static int await(struct gv_session_file *session, uint32_t request)
{
    uint32_t collector = atomic_load(&session->collector_pid);
    uint64_t pieces = atomic_load(&session->snapshot_pieces), ticks = 0;
    int64_t until_ns = (int64_t)gv_monotonic_ns() + GV_SNAPSHOT_WAIT_NS;

    if (gv_session_read_start_ticks(collector, &ticks) < 0)
        return -EAGAIN;
    for (;;) {
        uint64_t before = pieces;

        if (request ? atomic_load(&session->snapshot) != request
                    : gv_claim_take(&session->snapshot, GV_SNAPSHOT_ASKED))
            return 0;
        if (atomic_load(&session->trace_error))
            return -atomic_load(&session->trace_error);
        if (atomic_load(&session->finishing) ||
            gv_session_process_life(collector, ticks) != GV_SESSION_ALIVE)
            return -EAGAIN;
        pieces = atomic_load(&session->snapshot_pieces);
        if (pieces != before)
            until_ns = (int64_t)gv_monotonic_ns() + GV_SNAPSHOT_WAIT_NS;
        if (request && (int64_t)gv_monotonic_ns() > until_ns)
            return -ETIMEDOUT;
        gv_pause_ns(GV_SNAPSHOT_POLL_NS);
    }
}

int gv_snapshot_ask(struct gv_session_file *session)
{
    uint32_t request = gv_claim_of_ours(GV_SNAPSHOT_ASKED), asked = request;
    int error = await(session, 0); /* for the copies of other commands */

    if (error)
        return error;
    gv_futex_ring(&session->doorbell);
    error = await(session, request);
    if (error && atomic_compare_exchange_strong(&session->snapshot, &asked, GV_SNAPSHOT_FREE))
        return error;
    error = -atomic_load(&session->snapshot_error);
    if (error)
        gv_snapshot_release(session);
    return error;
}

void gv_snapshot_release(struct gv_session_file *session)
{
    uint32_t done = gv_claim_of_ours(GV_SNAPSHOT_DONE);

    atomic_compare_exchange_strong(&session->snapshot, &done, GV_SNAPSHOT_FREE);
}
