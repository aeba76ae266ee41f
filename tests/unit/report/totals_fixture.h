/* A trace in memory with two processes of one thread each, for tests of the sums. */
#ifndef GV_TESTS_TOTALS_FIXTURE_H
#define GV_TESTS_TOTALS_FIXTURE_H

#include "tests/unit/report/cmocka_all.h"

#include <sqlite3.h>

/* Of the running test. */
extern sqlite3 *totals_trace;

/* A test's setup and teardown. */
int totals_open(void **state);
int totals_close(void **state);

/* These fail the test if SQLite refuses. */
void totals_execute(const char *sql);
/* The first cell; -1: no row. */
int64_t totals_number(const char *sql);
/* A stored sum; -1: none. */
int64_t totals_fact(const char *key);
/* For many rows: step after step with other values, then finalised by the caller. */
sqlite3_stmt *totals_prepare(const char *sql);
void totals_step(sqlite3_stmt *statement, const int64_t *values, int count);
/* Computes all sums of the trace. */
void totals_keep(void);
/* After a change of the trace. */
void totals_keep_with(const char *sql);

#endif
