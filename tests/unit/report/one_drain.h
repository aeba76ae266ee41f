/* The collector of the session of tests/unit/report/one_spool.h, pass by pass. */
#ifndef GV_TESTS_UNIT_REPORT_ONE_DRAIN_H
#define GV_TESTS_UNIT_REPORT_ONE_DRAIN_H

#include "report/collect/drain.h"
#include "tests/unit/report/one_spool.h"

static struct gv_drain drain;
static size_t stored, exiting; /* by its last pass */

/* root_pid: of the session's first process; 0: it is not known. */
static inline void open_drain(uint32_t root_pid)
{
    assert_int_equal(gv_drain_open(&drain, fixture.spools, fixture.session, fixture.trace), 0);
    drain.root_pid = root_pid;
    assert_int_equal(gv_drain_find(&drain), 0);
}

static inline void pass(void)
{
    assert_int_equal(gv_drain_pass(&drain, &stored, &exiting), 0);
}

#endif
