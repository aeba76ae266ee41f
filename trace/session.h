/*
 * A session: a program, its children, and the one collector that writes their trace.
 *
 * Every process that carries the library has GPUVERIFY_SESSION in its environment; the first one
 * makes it up. A session that has seen CUDA has a small shared file,
 *
 *     <spool directory>/<session id>.session
 *
 * which tells its processes where the trace goes and what time it is, and whose flock() says
 * whether a collector is alive: the first process takes the lock, and its collector inherits the
 * locked descriptor and holds it for life. A process makes its spool first and looks at the lock
 * second, so that a collector which gives up the lock and looks at the directory again cannot miss
 * it. Spools are <spool directory>/<session id>.<pid>.<identity, 16 hex digits>.spool
 *
 * The spool directory is /dev/shm/gpuverify-<uid>, mode 0700 and ours, or else, where that cannot
 * be had, .gpuverify-<uid> beside the trace.
 */
#ifndef GV_TRACE_SESSION_H
#define GV_TRACE_SESSION_H

#include "trace/spool.h"

#include <stdatomic.h>
#include <stdint.h>

#define GV_SESSION_MAGIC      "GVSESS3"
#define GV_SESSION_SUFFIX     ".session"
#define GV_SESSION_ID_BYTES   64u
#define GV_SESSION_PATH_BYTES 4096u

/* The descriptor on which a collector finds the locked session file when it starts. */
#define GV_SESSION_LOCK_FD 3

/* Things that one process of the session tells its user, and the others then need not. */
enum gv_session_told {
    GV_SESSION_TOLD_TRACE = 1,     /* that the trace cannot be written */
    GV_SESSION_TOLD_SETTINGS = 2,  /* which variables are not obeyed */
    GV_SESSION_TOLD_COLLECTOR = 4, /* that there is no collector */
};

struct gv_session_file {
    char magic[8];
    _Atomic uint32_t ready;    /* 1 when all below is filled in */
    _Atomic uint32_t doorbell; /* futex: counted up by a process that wants to be drained soon */
    _Atomic uint32_t collector_pid;
    uint32_t root_pid;
    uint64_t root_start_ticks; /* the process that made the session up; it outlives its children */
    uint64_t pid_namespace; /* of who made the file; 0: unknown. Pids mean nothing in another one */
    struct gv_clock clock;
    char session[GV_SESSION_ID_BYTES];
    char trace_path[GV_SESSION_PATH_BYTES]; /* absolute */
    _Atomic int32_t trace_error;            /* [collector] errno of the last failure to write; 0 */
    _Atomic uint32_t told;                  /* enum gv_session_told: what a process has said */
    _Atomic uint32_t root_signal; /* [gpuverify run] by which its program ended; 0: unknown */
};

#endif
