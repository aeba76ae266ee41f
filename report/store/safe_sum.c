#include "report/store/safe_sum.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* Integers are added exactly, so that a window can subtract them again. */
struct gv_safe_sum {
    /* SQLite aligns its memory for 8 bytes. */
    __int128 whole __attribute__((packed, aligned(8)));
    double real;
    int64_t count;
    int64_t reals; /* non-integers; any makes the sum a real number */
};

static void safe_sum_change(sqlite3_context *context, sqlite3_value *value, int sign)
{
    struct gv_safe_sum *sum = sqlite3_aggregate_context(context, sizeof(*sum));
    int type = sqlite3_value_numeric_type(value);

    if (!sum || type == SQLITE_NULL)
        return;
    sum->count += sign;
    if (type == SQLITE_INTEGER) {
        sum->whole += (__int128)sign * sqlite3_value_int64(value);
    } else {
        sum->reals += sign;
        sum->real += sign * sqlite3_value_double(value);
    }
}

static void safe_sum_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    safe_sum_change(context, values[0], 1);
}

static void safe_sum_inverse(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    safe_sum_change(context, values[0], -1);
}

static void safe_sum_value(sqlite3_context *context)
{
    const struct gv_safe_sum *sum = sqlite3_aggregate_context(context, 0);

    if (!sum || sum->count == 0)
        return; /* NULL */
    if (sum->reals)
        sqlite3_result_double(context, (double)sum->whole + sum->real);
    else if (sum->whole > INT64_MAX)
        sqlite3_result_int64(context, INT64_MAX);
    else if (sum->whole < INT64_MIN)
        sqlite3_result_int64(context, INT64_MIN);
    else
        sqlite3_result_int64(context, (int64_t)sum->whole);
}

int gv_safe_sum_install(sqlite3 *database)
{
    return sqlite3_create_window_function(database, "sum", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL,
                                          safe_sum_step, safe_sum_value, safe_sum_value,
                                          safe_sum_inverse, NULL) == SQLITE_OK
               ? 0
               : -EIO;
}
