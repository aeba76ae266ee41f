/* A session with one process's spool, made anew for each test that includes this file: pass setup
 * and teardown to cmocka. */
#ifndef GV_TESTS_UNIT_REPORT_ONE_SPOOL_H
#define GV_TESTS_UNIT_REPORT_ONE_SPOOL_H

#include "tests/unit/report/cmocka_all.h"
#include "tests/unit/report/spool_fixture.h"

static struct fixture fixture;
static struct fixture_spool spool;

static int setup(void **state)
{
    (void)state;
    fixture_open(&fixture);
    fixture_spool_open(&fixture, &spool, 1, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

#endif
