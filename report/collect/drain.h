/*
 * All spools of one session into its trace: what the collector does while programs run, and what
 * `gpuverify recover` does afterwards. The caller holds the session's lock, or there is none.
 */
#ifndef GV_COLLECT_DRAIN_H
#define GV_COLLECT_DRAIN_H

#include "report/collect/ingest.h"
#include "trace/session.h"

#include <limits.h>
#include <sys/stat.h>

struct gv_drain_spool {
    char name[NAME_MAX + 1];
    struct gv_spool_reader reader;
    struct gv_ingest ingest;
    bool ingesting; /* `ingest` is open */
    bool ended;     /* its end is in the trace */
    bool as_dying;  /* as that of one that died of its own signal */
    uint32_t pid;
    uint64_t process_start_ticks;
    uint64_t attached_ns;
};

struct gv_drain {
    int directory_fd;
    char directory[GV_SESSION_PATH_BYTES];
    char session[GV_SESSION_ID_BYTES];
    char wanted[GV_SESSION_PATH_BYTES]; /* where the trace should go; empty: found out */
    char path[GV_SESSION_PATH_BYTES];   /* where it goes; empty: not known yet */
    struct gv_database database;
    uint32_t root_pid; /* of the session, as far as known: the last that should end */
    uint64_t root_start_ticks;
    uint32_t root_signal; /* by which it ended; 0: unknown */
    bool writing;         /* `database` is open */
    bool filled;          /* what is at `path`, or was at `wanted`, has something of ours */
    bool driver_known;
    bool settled;  /* stacks are named and stalls found, of all that is stored */
    bool complete; /* and the trace says so */
    int64_t next_call;
    struct stat claimed; /* the file that was at `path` when it was claimed */
    struct gv_drain_spool **spools;
    size_t count;
    size_t room;
    size_t damaged; /* spools that the last look found cut or damaged, and did not open */
};

/* 0 or -errno. `wanted` may be NULL. */
int gv_drain_open(struct gv_drain *drain, const char *directory, const char *session,
                  const char *wanted);
void gv_drain_close(struct gv_drain *drain);

/* Looks for spools that are not known yet. */
int gv_drain_find(struct gv_drain *drain);

/* Stores all that is there now, and ends the processes that are gone: their spools are removed. The
 * trace is made when there is a first spool. *stored: records, *exiting: processes that wait for
 * their end. After an error everything stored is whole, and the next pass starts anew. -ESTALE: the
 * trace was removed, moved or replaced while it was written, and no pass will succeed. */
int gv_drain_pass(struct gv_drain *drain, size_t *stored, size_t *exiting);

/* For writing between passes: -EBUSY, as of gv_database_commit(), was waited for. After an error in
 * a transaction, gv_drain_reopen(). */
int gv_drain_commit(struct gv_drain *drain);
void gv_drain_reopen(struct gv_drain *drain);

/* The trace's rows about itself; the first is a gv_database_begun with a drain. By these a trace
 * whose collector has died leads to the rest of its records. */
int gv_drain_write_session(struct gv_database *database, void *drain);
int gv_drain_write_meta(struct gv_drain *drain, const struct gv_spool_facts *facts);

/* What the session's file says of its root. */
void gv_drain_note_root(struct gv_drain *drain, const struct gv_session_file *session);
/* Marks the trace as complete and closes it. */
int gv_drain_finish(struct gv_drain *drain);

#endif
