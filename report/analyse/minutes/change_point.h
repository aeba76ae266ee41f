/*
 * Finds where a series of values changed its level for good.
 *
 * It is the split whose two sides differ most, for their sizes, by the ranks of their values. Mann
 * and Whitney's rank test of these sides, corrected for the number of splits, says whether chance
 * would do it. A few outliers change nothing. Of several changes it finds the largest, of a cycle
 * perhaps a part.
 */
#ifndef GV_ANALYSE_MINUTES_CHANGE_POINT_H
#define GV_ANALYSE_MINUTES_CHANGE_POINT_H

#include "report/analyse/rank_test.h"

#define GV_CHANGE_POINT_MOST GV_RANK_TEST_MOST

/* The first value after the change; 0: there is no change that chance would not make. count: at
 * most GV_CHANGE_POINT_MOST. */
size_t gv_change_point_find(const double *values, size_t count);

/* The split of values whose levels before and after it are known, 0 to `count`: the one before
 * which most is on the one side of the middle between them, and after which on the other. Values
 * may be 0 in most minutes: only their means count. */
size_t gv_change_point_place(const double *values, size_t count, double before, double after);

#endif
