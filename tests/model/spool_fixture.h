/* A spool for the cases, its writing threads, and a reader that takes records as the collector
 * does. */
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
    void (*exited)(void); /* instead of the system call that ends the process */
};

extern struct fixture fixture;

/* In prepare(): a spool of so many segments, `fresh` of which have been in use, open for reading;
 * the threads of a case are all that is shared. */
void fixture_open(uint64_t limit_mb, uint32_t segments, uint32_t fresh);
/* The first one is what gv_call_begin() finds as its own: one thread of a case may call it. */
struct gv_thread *fixture_thread(int writer);

/* In prepare(), after it: a thread that is ready to record, with so many records behind it. */
void fixture_join(int writer, uint64_t records);

/* Writes the next record of a thread. False: it is lost, for want of a segment. */
bool fixture_write(int writer);
/* The thread ends. */
void fixture_leave(int writer);
/* Of each poll, see fixture_read(). */
#define POLL_NS 10u

/* One look at all the segments, as gv_ingest_scan() and gv_ingest_step() do it. Fails the case when
 * a record is not the next one, or not whole. `final`: nobody writes any more. */
void fixture_read(bool final);
/* Records that a thread has written. */
uint64_t fixture_written(int writer);

#endif
