/* Sums, differences and products of times. A trace may have any values, so they saturate. */
#ifndef GV_ANALYSE_TIME_SUM_H
#define GV_ANALYSE_TIME_SUM_H

#include <stdint.h>

static inline int64_t gv_time_sum(int64_t left_ns, int64_t right_ns)
{
    int64_t sum_ns;

    if (!__builtin_add_overflow(left_ns, right_ns, &sum_ns))
        return sum_ns;
    return right_ns > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t gv_time_difference(int64_t left_ns, int64_t right_ns)
{
    int64_t difference_ns;

    if (!__builtin_sub_overflow(left_ns, right_ns, &difference_ns))
        return difference_ns;
    return right_ns < 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t gv_time_product(int64_t ns, int64_t times)
{
    int64_t product_ns;

    if (!__builtin_mul_overflow(ns, times, &product_ns))
        return product_ns;
    return (ns < 0) == (times < 0) ? INT64_MAX : INT64_MIN;
}

#endif
