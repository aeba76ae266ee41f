/*
 * A copy of a trace that is being written. The collector makes it for `gpuverify snapshot`, in
 * pieces between its passes, on the connection that it writes with: SQLite then brings what it
 * has copied up to date with each commit. A copy by another process would hold up the commits, or
 * begin anew after each.
 *
 * The copy is beside the trace, so that a slow or hanging disk elsewhere holds up only the
 * command, which moves the copy to where it was asked for. The request is in the session's file.
 */
#ifndef GV_COLLECT_SNAPSHOT_H
#define GV_COLLECT_SNAPSHOT_H

#include "trace/session.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

struct gv_snapshot {
    struct gv_session_file *session; /* NULL: no request is in hand */
    uint32_t request;                /* its claim */
    sqlite3 *copy;                   /* NULL: done */
    sqlite3_backup *backup;
    int64_t piece_end_ns; /* of the last one */
    char path[GV_SESSION_PATH_BYTES];
};

/* ---- the collector ---- */

/* Copies the next piece, if a command has asked. Outside of transactions. seen_ns: the trace has
 * everything from before. True: there is more to copy. */
bool gv_snapshot_work(struct gv_snapshot *snapshot, struct gv_session_file *session, sqlite3 *trace,
                      const char *trace_path, uint64_t seen_ns);
/* Whether a command has asked for a copy that is not complete: then passes store all that there is.
 */
bool gv_snapshot_is_wanted(const struct gv_snapshot *snapshot,
                           const struct gv_session_file *session);
/* Before the trace is closed: gives the copy up. The command asks again. */
void gv_snapshot_stop(struct gv_snapshot *snapshot);

/* ---- the command ---- */

/* The copy's path. 0 or -ENAMETOOLONG. */
int gv_snapshot_path(char *out, size_t size, const char *trace_path, const char *session);
/* Has the collector make it; waits. 0: the copy is there, call gv_snapshot_release() after taking
 * it; -EAGAIN: the collector finishes the trace, or has ended: look again; -ETIMEDOUT: it does not
 * answer; or -errno. */
int gv_snapshot_ask(struct gv_session_file *session);
void gv_snapshot_release(struct gv_session_file *session);

#endif
