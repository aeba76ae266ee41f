/*
 * SQLite's sum() fails on integer overflow, and a trace may have any values. This one saturates, as
 * the commands' own sums do (report/store/time_sum.h). Otherwise it is the same.
 */
#ifndef GV_STORE_SAFE_SUM_H
#define GV_STORE_SAFE_SUM_H

#include <sqlite3.h>

/* Replaces sum() on one connection. 0 or -errno. */
int gv_safe_sum_install(sqlite3 *database);

#endif
