#include "report/analyse/rank_test.h"

#include <stdlib.h>
#include <string.h>

static double rank_distance(double one, double other)
{
    return one > other ? one - other : other - one;
}

/* Twice the rank of each value, which makes it an integer. Equal values get the mean of their
 * ranks. */
static void rank_find(const double *values, size_t count, size_t *ranks)
{
    for (size_t i = 0; i < count; i++) {
        size_t less = 0, equal = 0;
        for (size_t j = 0; j < count; j++) {
            less += values[j] < values[i];
            equal += values[j] == values[i];
        }
        ranks[i] = 2 * less + equal + 1;
    }
}

/* ways[k * sums + s]: the number of sets of k ranks with the sum s. */
static double *rank_count(const size_t *ranks, size_t count, size_t taken, size_t sums)
{
    double *ways = calloc((taken + 1) * sums, sizeof(*ways));

    if (!ways)
        return NULL;
    ways[0] = 1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = taken; k > 0; k--)
            for (size_t sum = sums; sum-- > ranks[i];)
                ways[k * sums + sum] += ways[(k - 1) * sums + sum - ranks[i]];
    return ways;
}

double gv_rank_test(const double *left, size_t left_count, const double *right, size_t right_count)
{
    size_t count = left_count + right_count, ranks[GV_RANK_TEST_MOST], found = 0;
    size_t sums = count * (count + 1) + 1;
    double values[GV_RANK_TEST_MOST], all = 0, as_far = 0;

    if (left_count == 0 || right_count == 0 || left_count > GV_RANK_TEST_MOST ||
        right_count > GV_RANK_TEST_MOST - left_count)
        return 1;
    memcpy(values, left, left_count * sizeof(*left));
    memcpy(values + left_count, right, right_count * sizeof(*right));
    rank_find(values, count, ranks);
    for (size_t i = 0; i < left_count; i++)
        found += ranks[i];
    double *ways = rank_count(ranks, count, left_count, sums);
    if (!ways)
        return 1;
    /* The mean of the sum of doubled ranks. */
    double mean = (double)(left_count * (count + 1)), far = rank_distance((double)found, mean);
    for (size_t sum = 0; sum < sums; sum++) {
        double how_many = ways[left_count * sums + sum];
        all += how_many;
        if (rank_distance((double)sum, mean) >= far)
            as_far += how_many;
    }
    free(ways);
    return as_far / all;
}

double gv_rank_test_least(size_t left_count, size_t right_count)
{
    double ways = 1;

    if (left_count == 0 || right_count == 0)
        return 1;
    for (size_t i = 1; i <= left_count; i++)
        ways = ways * (double)(right_count + i) / (double)i;
    return ways > 2 ? 2 / ways : 1;
}
