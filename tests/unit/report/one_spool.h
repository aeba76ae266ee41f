/* A session with one process's spool, made anew for each test that includes this file: pass setup
 * and teardown to cmocka. What it lacks is what few need: they call these from their own. */
#ifndef GV_TESTS_UNIT_REPORT_ONE_SPOOL_H
#define GV_TESTS_UNIT_REPORT_ONE_SPOOL_H

#include "tests/unit/report/cmocka_all.h"

#include "report/collect/recovery.h"
#include "tests/unit/report/spool_fixture.h"

static struct fixture fixture;
static struct fixture_spool spool;

static inline int setup(void **state)
{
    fixture_open(&fixture);
    fixture_spool_open(&fixture, &spool, 1, false);
    return 0;
}

static inline int teardown(void **state)
{
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

static inline void recover(void)
{
    static struct gv_recovery recovery;

    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
}

static inline int64_t number(const char *sql)
{
    return fixture_number(fixture.trace, sql);
}

static inline void expect_text(const char *sql, const char *expected)
{
    fixture_expect_text(fixture.trace, sql, expected);
}

#endif
