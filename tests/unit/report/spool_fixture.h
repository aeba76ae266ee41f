/*
 * A session made by hand: a directory, a session file, and spools filled as by the library, of
 * processes that live or are gone.
 */
#ifndef GV_TESTS_SPOOL_FIXTURE_H
#define GV_TESTS_SPOOL_FIXTURE_H

#include "trace/session.h"
#include "trace/spool.h"
#include "trace/spool_writer.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Numbers of the calls in a fixture's name table. */
enum fixture_api {
    FIXTURE_LAUNCH,        /* cuLaunchKernel, launch */
    FIXTURE_LAUNCH_PTSZ,   /* cuLaunchKernel_ptsz, launch */
    FIXTURE_MODULE_LOAD,   /* cuModuleLoadData, load */
    FIXTURE_UNLOAD,        /* cuModuleUnload, unload */
    FIXTURE_SYNC,          /* cuCtxSynchronize, sync */
    FIXTURE_BEGIN_CAPTURE, /* cuStreamBeginCapture_v2, stream */
    FIXTURE_END_CAPTURE,   /* cuStreamEndCapture, stream */
    FIXTURE_ALLOC,         /* cuMemAlloc_v2, alloc */
    FIXTURE_FREE,          /* cuMemFree_v2, free */
    FIXTURE_API_COUNT
};

#define FIXTURE_EPOCH_NS 1000000000u
#define FIXTURE_THREADS  8

struct fixture_thread {
    struct gv_spool_segment *segment;
    uint64_t records;
    uint32_t used;
    uint32_t sequence;
};

/* One process's spool. */
struct fixture_spool {
    struct gv_spool_writer writer;
    struct fixture_thread threads[FIXTURE_THREADS];
};

struct fixture {
    char directory[256]; /* temporary; holds the trace and the spools */
    char spools[512];
    char trace[512];
    char session[GV_SESSION_ID_BYTES];
    char session_path[1024];
};

/* Makes a temporary directory, and a session whose root is gone. */
void fixture_open(struct fixture *fixture);
/* Removes the directory with everything in it. */
void fixture_close(struct fixture *fixture);

/* Opens the session's file, without a lock. */
int fixture_session_file(const struct fixture *fixture);

/* Makes a spool of a process that is gone or, if `alive`, of this one. */
void fixture_spool_open(const struct fixture *fixture, struct fixture_spool *spool,
                        uint64_t identity, bool alive);
/* Unmaps it; the file stays. */
void fixture_spool_close(struct fixture_spool *spool);
void fixture_spool_name(const struct fixture *fixture, uint64_t identity, char *out, size_t size);

/* Appends a record of thread `thread` (from 1). False: the spool is full. */
bool fixture_append(struct fixture_spool *spool, uint32_t thread, const union gv_record *record);
bool fixture_call(struct fixture_spool *spool, uint32_t thread, enum fixture_api api,
                  uint64_t start_ns, uint64_t duration_ns, int32_t result);
/* A launch on a stream of a context. */
bool fixture_launch(struct fixture_spool *spool, uint32_t thread, enum fixture_api api,
                    uint64_t start_ns, uint32_t kernel, uint64_t context, uint64_t stream);
/* The TEXT records of `text`; the last one ends the group unless `more`. */
void fixture_text(struct fixture_spool *spool, uint32_t thread, const char *text, bool more);
/* A kernel's name: NAME and its text. */
void fixture_name(struct fixture_spool *spool, uint32_t thread, uint32_t kernel, uint32_t module,
                  const char *text, bool more);
/* Ends a thread: closes its segment. */
void fixture_thread_end(struct fixture_spool *spool, uint32_t thread);

/* Lists the objects of this very process, as generation 1. */
void fixture_objects(struct fixture_spool *spool);
/* A stack in the ring, of some bytes of this process's memory. Sets the record's `copy`, `serial`.
 */
struct gv_stack_copy *fixture_copy(struct fixture_spool *spool, uint64_t pc, uint64_t sp,
                                   uint32_t bytes, uint32_t *chunk, uint64_t *serial);
/* A code object of Python whose lines are all `line`, in a group that continues. */
void fixture_python_code(struct fixture_spool *spool, uint32_t thread, uint32_t number,
                         const char *file, const char *function, int32_t line);

/* The number that a query returns; fails the test if the query fails. */
int64_t fixture_number(const char *trace, const char *sql);
/* Fails the test unless the query returns this text. */
void fixture_expect_text(const char *trace, const char *sql, const char *expected);

#endif
