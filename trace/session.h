/*
 * A session: a program, its children, and the one collector that writes their trace.
 *
 * Every process with the library has GPUVERIFY_SESSION in its environment; the first one sets it. A
 * session that has used CUDA has a small shared file,
 *
 *     <spool directory>/<session id>.session
 *
 * which says where the trace is and what time it is. Its flock() says whether a collector lives:
 * the first process takes the lock, and its collector inherits the locked descriptor for life. A
 * process makes its spool first and looks at the lock second. So a collector that releases the lock
 * and then looks at the directory again cannot miss the spool. Spools are <spool
 * directory>/<session id>.<pid>.<identity, 16 hex digits>.spool
 *
 * The spool directory is /dev/shm/gpuverify-<uid>, mode 0700 and ours, or if that is impossible
 * .gpuverify-<uid> beside the trace.
 */
#ifndef GV_TRACE_SESSION_H
#define GV_TRACE_SESSION_H

#include "trace/spool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#define GV_SESSION_MAGIC      "GVSESS6"
#define GV_SESSION_SUFFIX     ".session"
#define GV_SESSION_ID_BYTES   64u
#define GV_SESSION_PATH_BYTES 4096u

/* The collector's descriptor of the locked session file when it starts. */
#define GV_SESSION_LOCK_FD 3

/* Messages that one process of the session prints for all. */
enum gv_session_told {
    GV_SESSION_TOLD_TRACE = 1,     /* the trace cannot be written */
    GV_SESSION_TOLD_SETTINGS = 2,  /* variables that are not used */
    GV_SESSION_TOLD_COLLECTOR = 4, /* there is no collector */
};

/* A copy of the trace: report/collect/snapshot.h. */
enum gv_snapshot_state {
    GV_SNAPSHOT_FREE = 0,
    GV_SNAPSHOT_ASKED = 1, /* by a command */
    GV_SNAPSHOT_DONE = 2,  /* for the command, which frees it */
};

/* `trace_error`: somebody has deleted the trace while it was written. */
#define GV_SESSION_UNWANTED ECANCELED

struct gv_session_file {
    char magic[8];
    _Atomic uint32_t ready;    /* 1 when everything below is filled in */
    _Atomic uint32_t doorbell; /* futex: a process that wants to be drained soon increments it */
    _Atomic uint32_t collector_pid;
    uint32_t root_pid;
    _Atomic uint32_t stopped; /* 1: processes that join begin stopped */
    _Atomic uint32_t
        snapshot; /* enum gv_snapshot_state, with its command's claim (trace/claim.h) */
    uint64_t root_start_ticks; /* the root process; it outlives its children */
    uint64_t pid_namespace; /* of the process that made the file; 0: unknown. Pids mean nothing in
                               another one */
    _Alignas(64) struct gv_clock clock; /* read by every call */
    char session[GV_SESSION_ID_BYTES];
    char trace_path[GV_SESSION_PATH_BYTES]; /* absolute */
    _Atomic int32_t trace_error;            /* [collector] errno of the last failure to write; 0 */
    _Atomic uint32_t told;                  /* enum gv_session_told: the messages printed */
    _Atomic uint32_t
        root_signal;            /* [gpuverify run] the signal that ended its program; 0: unknown */
    _Atomic uint32_t finishing; /* [collector] 1: it finishes the trace, and answers nobody */
    _Atomic uint32_t left;      /* [collector] 1: it left processes that only waited for it */
    _Atomic uint32_t crowded;   /* [collector] 1: it has no descriptor for some spools now */
    _Atomic int32_t snapshot_error;   /* [collector] errno; 0: the copy is there */
    _Atomic uint64_t snapshot_pieces; /* [collector] grows while it copies */
    _Atomic uint64_t
        snapshot_seen_ns; /* [collector] of `clock`: what was before it is in the copy */
};

#endif
