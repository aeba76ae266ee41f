/*
 * Tests whether two small samples differ by more than chance.
 *
 * It is Mann and Whitney's rank test, exact also with equal values: the share of all ways to deal
 * the values to the two sides that separate them at least as far.
 */
#ifndef GV_ANALYSE_RANK_TEST_H
#define GV_ANALYSE_RANK_TEST_H

#include <stddef.h>

/* Most values of both samples together. */
#define GV_RANK_TEST_MOST 64u

/* Two-sided p, from 0 to 1. 1 if a sample is empty, or the samples are too large. */
double gv_rank_test(const double *left, size_t left_count, const double *right, size_t right_count);

/* The least p for samples of these sizes: that of two that do not overlap. */
double gv_rank_test_least(size_t left_count, size_t right_count);

#endif
