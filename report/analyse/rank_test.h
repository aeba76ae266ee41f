/*
 * Whether two small samples differ by more than chance.
 *
 * Mann and Whitney's rank test, exact also where values are equal: the share of all ways to deal
 * the values to the two sides that part them as far as they are parted, or farther.
 */
#ifndef GV_ANALYSE_RANK_TEST_H
#define GV_ANALYSE_RANK_TEST_H

#include <stddef.h>

/* Values of both samples together. */
#define GV_RANK_TEST_MOST 64u

/* Two-sided; from 0 to 1. 1 if a sample is empty, or they are too large. */
double gv_rank_test(const double *left, size_t left_count, const double *right, size_t right_count);

/* The least that the test can give for samples of these sizes: that of two that overlap nowhere. */
double gv_rank_test_least(size_t left_count, size_t right_count);

#endif
