/* The slices of a page's timeline: what is kept of a trace that is too long for a page. */
#include "report/commands/export/slices.h"
#include "tests/unit/report/cmocka_all.h"

#include <stdbool.h>

#define STEP_NS 1000
#define LONG_NS 50000000

/* Two tracks, in turn; each thousandth of the first track is long. */
static struct gv_slice slice_at(int64_t number)
{
    const bool is_long = number % 2000 == 0;
    struct gv_slice slice = {
        .start_ns = number * STEP_NS,
        .duration_ns = is_long ? LONG_NS : 300,
        .id = number + 1,
        .track = (uint32_t)(number % 2),
        .name = is_long,
        .count = 1,
    };

    slice.busy_ns = (float)slice.duration_ns;
    return slice;
}

static void add(struct gv_slices *slices, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        struct gv_slice slice = slice_at(i);
        assert_int_equal(gv_slices_add(slices, &slice), 0);
    }
    gv_slices_sort(slices);
}

static void a_trace_that_fits_is_complete(void **state)
{
    struct gv_slices slices = {0};

    (void)state;
    add(&slices, 10000);
    assert_int_equal(slices.count, 10000);
    assert_int_equal(slices.merged_shift, 0);
    for (size_t i = 0; i < slices.count; i++) {
        assert_int_equal(slices.list[i].track, i / 5000);
        assert_int_equal(slices.list[i].count, 1);
        assert_true(i % 5000 == 0 || slices.list[i].start_ns > slices.list[i - 1].start_ns);
    }
    gv_slices_free(&slices);
}

/* The short neighbours in a longer one become one, which knows how many they were; long ones stay.
 */
static void of_a_long_trace_neighbours_are_merged(void **state)
{
    const int64_t count = INT64_C(3) * GV_SLICES_MOST;
    struct gv_slices slices = {0};
    uint64_t merged = 0, long_ones = 0;
    double busy_ns = 0;

    (void)state;
    add(&slices, count);
    assert_in_range(slices.count, GV_SLICES_MOST / 4, GV_SLICES_MOST);
    assert_true(slices.merged_shift > 0);
    for (size_t i = 0; i < slices.count; i++) {
        const struct gv_slice *slice = &slices.list[i];
        merged += slice->count;
        busy_ns += (double)slice->busy_ns;
        long_ones += slice->duration_ns == LONG_NS;
        assert_true(slice->duration_ns == LONG_NS ||
                    slice->duration_ns < INT64_C(2) << slices.merged_shift);
    }
    assert_int_equal(merged, count);
    assert_int_equal(long_ones, (count + 1999) / 2000);
    assert_true(busy_ns > 0.999 * 300 * (double)count);
    gv_slices_free(&slices);
}

/* Whatever the times are, merging ends with one slice a track. */
static void merging_ends(void **state)
{
    struct gv_slices slices = {0};
    const int64_t far_ns = INT64_C(1) << 60;

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct gv_slice slice = {.start_ns = i % 3 * far_ns / 2,
                                 .duration_ns = i % 7 * (far_ns / 7),
                                 .track = (uint32_t)i % 2,
                                 .count = 1};
        assert_int_equal(gv_slices_add(&slices, &slice), 0);
    }
    gv_slices_sort(&slices);
    for (int i = 0; i < 100; i++)
        gv_slices_merge(&slices);
    assert_int_equal(slices.count, 2);
    gv_slices_free(&slices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_that_fits_is_complete),
        cmocka_unit_test(of_a_long_trace_neighbours_are_merged),
        cmocka_unit_test(merging_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
