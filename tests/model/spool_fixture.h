/* A spool for the cases, its writing threads, and a reader like the collector. */
#ifndef GV_TESTS_MODEL_SPOOL_FIXTURE_H
#define GV_TESTS_MODEL_SPOOL_FIXTURE_H

#include "preload/base/own_process.h"
#include "preload/base/thread.h"
#include "tests/model/checker.h"
#include "trace/spool_reader.h"

#define WRITERS 2

struct fixture {
    struct gv_spool_header *header;
    struct gv_spool_reader reader;
    uint64_t position[WRITERS]; /* records read of each writer */
    uint32_t first_segment;     /* the reader looks at these only */
    uint32_t segments;
    uint64_t polls;       /* read, in POLL records */
    uint64_t polls_ns;    /* inside them */
    uint64_t now_ns;      /* what every clock says */
    void (*exited)(void); /* replaces the system call that ends the process */
};

extern struct fixture fixture;

/* In prepare(): makes a spool with this many segments, `fresh` of them used before, open for
 * reading. The threads of a case share nothing else. */
void fixture_open(uint64_t limit_mb, uint32_t segments, uint32_t fresh);
/* gv_call_begin() uses the first one as the current thread: only one thread of a case may call
 * it. */
struct gv_thread *fixture_thread(int writer);

/* In prepare(), after that: a thread that is ready to record, with this many records behind it. */
void fixture_join(int writer, uint64_t records);

/* Writes a thread's next record. False: it is lost because there is no segment. */
bool fixture_write(int writer);
/* The thread ends. */
void fixture_leave(int writer);
/* Of each poll, see fixture_read(). */
#define POLL_NS 10u

/* One pass over all segments, as in gv_ingest_scan() and gv_ingest_step(). Fails the case if a
 * record is not the expected one, or incomplete. `final`: nobody writes any more. */
void fixture_read(bool final);
/* Records that a thread has written. */
uint64_t fixture_written(int writer);

#endif
