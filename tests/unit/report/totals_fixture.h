/* A trace in memory, of two processes with a thread each, for what is summed up of it. */
#ifndef GV_TESTS_TOTALS_FIXTURE_H
#define GV_TESTS_TOTALS_FIXTURE_H

#include "tests/unit/report/cmocka_all.h"

#include <sqlite3.h>

/* Of the test that runs. */
extern sqlite3 *totals_trace;

/* A test's setup and teardown. */
int totals_open(void **state);
int totals_close(void **state);

/* These fail the test if SQLite refuses. */
void totals_execute(const char *sql);
/* The first cell; -1: no row. */
int64_t totals_number(const char *sql);
/* A sum that was kept; -1: it was not. */
int64_t totals_fact(const char *key);
/* Sums up all that is in the trace. */
void totals_keep(void);

#endif
