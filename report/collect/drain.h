/*
 * Moves all spools of a session into its trace: for the collector while programs run, and for
 * `gpuverify recover` afterwards. The caller has the session's lock, or there is none.
 */
#ifndef GV_COLLECT_DRAIN_H
#define GV_COLLECT_DRAIN_H

#include "report/collect/ingest.h"
#include "report/collect/keep.h"
#include "report/collect/snapshot.h"
#include "trace/session.h"

#include <limits.h>
#include <sys/stat.h>

struct gv_drain_spool {
    char name[NAME_MAX + 1];
    struct gv_spool_reader reader;
    struct gv_ingest ingest;
    bool ingesting;     /* `ingest` is open */
    bool draining;      /* its records are being stored */
    bool ended;         /* its end is in the trace */
    bool as_dying;      /* as killed by its own signal */
    uint64_t stored_ns; /* when its records were stored last; 0: never */
    uint32_t pid;
    uint64_t process_start_ticks;
    uint64_t attached_ns;
};

struct gv_drain {
    int directory_fd;
    char directory[GV_SESSION_PATH_BYTES];
    char session[GV_SESSION_ID_BYTES];
    char wanted[GV_SESSION_PATH_BYTES]; /* wanted path of the trace; empty: find it */
    char path[GV_SESSION_PATH_BYTES];   /* path of the trace; empty: unknown yet */
    struct gv_database database;
    uint32_t root_pid; /* of the session, if known: the last process to end */
    uint64_t root_start_ticks;
    uint32_t root_signal;        /* the signal that ended it; 0: unknown */
    bool writing;                /* `database` is open */
    struct gv_snapshot snapshot; /* of `database` */
    bool filled; /* the file at `path`, or earlier at `wanted`, has something of ours */
    bool driver_known;
    bool settled;  /* all that is stored has names and stalls */
    bool complete; /* and the trace says so */
    int64_t next_call;
    struct stat claimed; /* the file at `path` when it was claimed */
    int claimed_fd;      /* of it; -1: none */
    struct gv_drain_spool **spools;
    size_t count;
    size_t room;
    struct gv_keep keep;
    struct gv_live *live;
    bool made_trace;    /* when it was opened, it was empty */
    size_t damaged;     /* cut or damaged spools that were not opened */
    size_t unfinished;  /* spools that a process is still making */
    uint64_t shared_ns; /* when it last looked how much memory there is */
    size_t unopened;    /* spools for which there is no descriptor now */
    bool is_asked;      /* set before a pass: somebody wants all that there is */
    bool put_off; /* the last pass stored nothing, and left looks at an idle process for later */
};

/* Before anything else. */
void gv_drain_start(struct gv_drain *drain);
/* 0 or -errno. `wanted` may be NULL. */
int gv_drain_open(struct gv_drain *drain, const char *directory, const char *session,
                  const char *wanted);
void gv_drain_close(struct gv_drain *drain);

/* Looks for new spools. */
int gv_drain_find(struct gv_drain *drain);

/* Stores everything available, but see put_off, and ends processes that are gone: removes their
 * spools. Makes the trace when there is a first spool. *stored: records; *exiting: processes that
 * wait for their end. After an error everything stored is whole, and the next pass starts anew.
 * -ESTALE: the trace was removed, moved or replaced while it was written; no pass will succeed. */
int gv_drain_pass(struct gv_drain *drain, size_t *stored, size_t *exiting);

/* Between passes: sees that the trace stays as short as GPUVERIFY_KEEP says. `now_ns`: since the
 * session's start. As gv_drain_pass(). */
int gv_drain_keep(struct gv_drain *drain, int64_t now_ns);

/* Between passes: keeps the session's page. `now_ns`: since the session's start. */
void gv_drain_tell(struct gv_drain *drain, int64_t now_ns);

/* Whether somebody has deleted the trace: nobody wants it, nor what is still to be stored. */
bool gv_drain_is_unwanted(const struct gv_drain *drain);

/* For writing between passes. -EBUSY, as from gv_database_commit(), was waited for. After an
 * error in a transaction, call gv_drain_reopen(). */
int gv_drain_commit(struct gv_drain *drain);
void gv_drain_reopen(struct gv_drain *drain);

/* The trace's metadata; the first is a gv_database_begun for a drain. With these, a trace leads
 * to the rest of its records after its collector died. */
int gv_drain_write_session(struct gv_database *database, void *drain);
int gv_drain_write_meta(struct gv_drain *drain, const struct gv_spool_facts *facts);

/* Reads facts of the root from the session's file. */
void gv_drain_note_root(struct gv_drain *drain, const struct gv_session_file *session);
/* Marks the trace as complete and closes it. */
int gv_drain_finish(struct gv_drain *drain);

#endif
