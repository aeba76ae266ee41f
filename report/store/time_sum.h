/*
 * Times of a trace, which may have any values: reading them, and sums, differences and products,
 * which saturate.
 */
#ifndef GV_STORE_TIME_SUM_H
#define GV_STORE_TIME_SUM_H

#include <sqlite3.h>
#include <stdint.h>

/* A time from an untrusted file, limited so that the sum of two cannot overflow. */
static inline int64_t gv_time_limited(int64_t ns)
{
    const int64_t most = INT64_C(1) << 60;

    return ns > most ? most : ns < -most ? -most : ns;
}

/* The same of a duration, which is not below 0. */
static inline int64_t gv_time_limited_duration(int64_t ns)
{
    return ns > 0 ? gv_time_limited(ns) : 0;
}

static inline int64_t gv_time_column(sqlite3_stmt *row, int column)
{
    return gv_time_limited(sqlite3_column_int64(row, column));
}

static inline int64_t gv_time_column_duration(sqlite3_stmt *row, int column)
{
    return gv_time_limited_duration(sqlite3_column_int64(row, column));
}

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

/* What two intervals have in common, at least 0. */
static inline int64_t gv_time_overlap(int64_t start_ns, int64_t end_ns, int64_t other_start_ns,
                                      int64_t other_end_ns)
{
    int64_t from_ns = start_ns > other_start_ns ? start_ns : other_start_ns;
    int64_t to_ns = end_ns < other_end_ns ? end_ns : other_end_ns;

    return to_ns > from_ns ? to_ns - from_ns : 0;
}

#endif
