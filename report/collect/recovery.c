#include "report/collect/recovery.h"

#include "report/collect/drain.h"
#include "report/collect/sessions.h"
#include "report/store/trace_file.h"
#include "trace/session_id.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes the session's lock, so that no collector starts meanwhile. *fd is -1 without a session
 * file: then only the spools' own locks show work in progress. */
static int recovery_lock(const char *directory, const char *session, int *fd,
                         struct gv_session_file **file)
{
    struct stat status;

    *file = NULL;
    *fd = gv_session_place_open(directory, session);
    if (*fd == -ENOENT) {
        *fd = -1;
        return 0;
    }
    if (*fd < 0)
        return *fd;
    /* Root may open everybody's files, and must not mistake those for unfinished ones. */
    if (fstat(*fd, &status) < 0)
        return -errno;
    if (status.st_uid != geteuid())
        return -EPERM;
    if (flock(*fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    /* An unfinished session file says nothing, and is in nobody's way. */
    if (gv_session_place_map(*fd, file) == 0)
        (*file)->trace_path[GV_SESSION_PATH_BYTES - 1] = '\0';
    return 0;
}

static int recovery_drain(struct gv_drain *drain, struct gv_recovery *recovery)
{
    size_t stored, exiting;
    int error = gv_drain_find(drain);

    recovery->damaged = drain->damaged;
    if (!error && drain->count == 0)
        return 0;
    if (!error)
        error = gv_drain_pass(drain, &stored, &exiting);
    if (!error) {
        recovery->records = stored;
        recovery->spools_left = drain->count;
        snprintf(recovery->path, sizeof(recovery->path), "%s", drain->path);
    } else {
        snprintf(recovery->path, sizeof(recovery->path), "%s", drain->wanted);
    }
    return error;
}

/* A collector that was killed after it had stored and removed all spools leaves a trace that lacks
 * only its end. 0 or -EBUSY. */
static int recovery_find_trace(struct gv_drain *drain, struct gv_recovery *recovery)
{
    struct gv_trace_probe probe;
    int error = gv_trace_file_probe(drain->wanted, &probe);

    if (!error && !probe.complete && strcmp(probe.session, drain->session) == 0) {
        strcpy(drain->path, drain->wanted);
        strcpy(recovery->path, drain->wanted);
    }
    return error == -EBUSY ? error : 0;
}

/* Nothing more can come: the trace is complete. */
static int recovery_finish(struct gv_drain *drain, struct gv_recovery *recovery,
                           bool has_session_file)
{
    char session_path[GV_SESSION_PATH_BYTES * 2];
    int error = drain->path[0] ? 0 : recovery_find_trace(drain, recovery);

    if (error)
        return error;
    /* Of a collector and a command that were killed. */
    if (gv_snapshot_path(session_path, sizeof(session_path),
                         drain->path[0] ? drain->path : drain->wanted, drain->session) == 0)
        unlink(session_path);
    error = gv_drain_finish(drain);
    if (error == -ENOENT)
        error = 0;
    /* Also an unfinished one, whose process was killed while it made it. */
    if (!error && has_session_file) {
        snprintf(session_path, sizeof(session_path), "%s/%s%s", drain->directory, drain->session,
                 GV_SESSION_SUFFIX);
        unlink(session_path);
    }
    if (!error)
        gv_live_page_remove(drain->directory, drain->session);
    gv_trace_path_leave(drain->directory);
    return error;
}

int gv_recovery_run(const char *directory, const char *session, const char *wanted,
                    struct gv_recovery *recovery)
{
    struct gv_drain *drain = calloc(1, sizeof(*drain));
    struct gv_session_file *file = NULL;
    int fd = -1, error;
    uint64_t ticks;
    uint32_t pid;

    memset(recovery, 0, sizeof(*recovery));
    if (!drain)
        return -ENOMEM;
    /* It may come from an untrusted trace, and is about to become part of file names. */
    if (gv_session_id_parse(session, &pid, &ticks) < 0) {
        free(drain);
        return -EPROTO;
    }
    /* Seen from outside its container, a session may have neither a file nor a live process. */
    if (wanted && !gv_trace_file_session_remains(directory, session) &&
        gv_trace_file_is_being_written(wanted)) {
        free(drain);
        return -EXDEV;
    }
    gv_drain_start(drain);
    error = recovery_lock(directory, session, &fd, &file);
    if (!error)
        error = gv_drain_open(drain, directory, session,
                              wanted ? wanted : (file ? file->trace_path : NULL));
    if (!error)
        error = recovery_drain(drain, recovery);
    if (file)
        gv_drain_note_root(drain, file);
    if (!error && drain->count == 0 && drain->damaged == 0 && !gv_session_place_root_lives(session))
        error = recovery_finish(drain, recovery, fd >= 0);
    gv_drain_close(drain);
    free(drain);
    gv_session_place_unmap(file);
    if (fd >= 0)
        close(fd);
    return error;
}
