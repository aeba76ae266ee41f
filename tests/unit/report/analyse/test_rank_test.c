/* Whether two samples differ by more than chance. */
#include "report/analyse/rank_test.h"
#include "tests/unit/report/cmocka_all.h"

#include "report/analyse/rank_test.h"

static void near(double found, double expected)
{
    double apart = found > expected ? found - expected : expected - found;

    if (apart > 1e-9)
        fail_msg("%.12g, not %.12g", found, expected);
}

static void test_samples_that_overlap_nowhere(void **state)
{
    const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};

    (void)state;
    near(gv_rank_test(low, 2, high, 2), 1.0 / 3);
    near(gv_rank_test(low, 4, high, 4), 2.0 / 70);
    near(gv_rank_test(high, 4, low, 4), 2.0 / 70);
    near(gv_rank_test(low, 5, high, 5), 2.0 / 252);
    near(gv_rank_test(low, 1, high, 5), 2.0 / 6);
    for (size_t i = 1; i <= 5; i++)
        near(gv_rank_test(low, i, high, 6 - i), gv_rank_test_least(i, 6 - i));
}

/* U is 6, 4 and 1 of 16: as in the tables of the test's distribution. */
static void test_samples_that_overlap(void **state)
{
    const double odd[] = {1, 3, 5, 7}, even[] = {2, 4, 6, 8};
    const double left[] = {1, 2, 3, 5}, right[] = {4, 6, 7, 8};

    (void)state;
    near(gv_rank_test(odd, 4, even, 4), 48.0 / 70);
    near(gv_rank_test(left, 4, right, 4), 4.0 / 70);
}

/* Equal values share their ranks. */
static void test_equal_values(void **state)
{
    const double same[] = {3, 3, 3, 3}, other[] = {4, 4, 4, 4}, mixed[] = {3, 3, 3, 4};

    (void)state;
    near(gv_rank_test(same, 4, same, 4), 1);
    near(gv_rank_test(same, 4, other, 4), 2.0 / 70);
    near(gv_rank_test(same, 4, mixed, 4), 1);
}

static void test_sizes_that_it_does_not_take(void **state)
{
    double many[GV_RANK_TEST_MOST] = {0};

    (void)state;
    for (size_t i = 0; i < GV_RANK_TEST_MOST; i++)
        many[i] = (double)i;
    near(gv_rank_test(many, 0, many, 3), 1);
    near(gv_rank_test(many, 3, many, 0), 1);
    near(gv_rank_test(many, GV_RANK_TEST_MOST, many, 1), 1);
    near(gv_rank_test_least(0, 3), 1);
    near(gv_rank_test_least(1, 1), 1);
    assert_true(gv_rank_test(many, 32, many + 32, 32) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_that_overlap_nowhere),
        cmocka_unit_test(test_samples_that_overlap),
        cmocka_unit_test(test_equal_values),
        cmocka_unit_test(test_sizes_that_it_does_not_take),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
