/* A new trace that is open for writing, for each test that includes this file: pass setup and
 * teardown to cmocka. */
#ifndef GV_TESTS_UNIT_REPORT_ONE_DATABASE_H
#define GV_TESTS_UNIT_REPORT_ONE_DATABASE_H

#include "tests/unit/report/cmocka_all.h"

#include "report/store/database.h"
#include "tests/unit/report/spool_fixture.h"

#include <fcntl.h>
#include <unistd.h>

static struct fixture fixture;
static struct gv_database database;

static inline int setup(void **state)
{
    fixture_open(&fixture);
    assert_int_equal(close(creat(fixture.trace, 0600)), 0);
    return gv_database_open(&database, fixture.trace, NULL, NULL);
}

static inline int teardown(void **state)
{
    gv_database_close(&database);
    fixture_close(&fixture);
    return 0;
}

#endif
