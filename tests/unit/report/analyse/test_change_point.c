/* Where a series changed its level. */
#include "report/analyse/minutes/change_point.h"
#include "tests/unit/report/cmocka_all.h"

/* `count` values near a level; no two are equal. */
static void add(double *values, size_t *filled, size_t count, double level)
{
    for (; count > 0; count--, ++*filled)
        values[*filled] = level * (1 + (double)(*filled * 37 % 101) / 1000);
}

static void a_step_is_found_where_it_is(void **state)
{
    double values[GV_CHANGE_POINT_MOST];
    size_t at[] = {8, 30, 57};

    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        size_t filled = 0;
        add(values, &filled, at[i], 10);
        add(values, &filled, 60 - at[i], 13);
        assert_int_equal(gv_change_point_find(values, filled), at[i]);
        for (size_t j = 0; j < filled; j++) /* downwards too */
            values[j] = 20 - values[j];
        assert_int_equal(gv_change_point_find(values, filled), at[i]);
    }
}

static void what_began_lately_is_found(void **state)
{
    double values[GV_CHANGE_POINT_MOST] = {0};
    size_t filled = 61;

    add(values, &filled, 3, 1);
    assert_int_equal(gv_change_point_find(values, filled), 61);
}

static void chance_is_no_change(void **state)
{
    double values[GV_CHANGE_POINT_MOST] = {0};
    size_t filled = 0;

    assert_int_equal(gv_change_point_find(values, 0), 0);
    add(values, &filled, 60, 10);
    assert_int_equal(gv_change_point_find(values, filled), 0);
    values[20] = 1000; /* once */
    assert_int_equal(gv_change_point_find(values, filled), 0);
    for (size_t i = 0; i < filled; i++)
        values[i] = 5;
    assert_int_equal(gv_change_point_find(values, filled), 0);
    filled = 0; /* too few to know */
    add(values, &filled, 3, 10);
    add(values, &filled, 3, 20);
    assert_int_equal(gv_change_point_find(values, filled), 0);
}

static void an_outlier_does_not_move_it(void **state)
{
    double values[GV_CHANGE_POINT_MOST];
    size_t filled = 0;

    add(values, &filled, 40, 10);
    add(values, &filled, 20, 20);
    values[11] = 35;
    values[50] = 1;
    assert_int_equal(gv_change_point_find(values, filled), 40);
}

static void it_is_placed_among_values_of_which_most_are_none(void **state)
{
    double values[40] = {0};

    for (size_t i = 22; i < 40; i += 3)
        values[i] = 3;
    assert_in_range(gv_change_point_place(values, 40, 0, 1), 20, 22);
    assert_int_equal(gv_change_point_place(values, 0, 0, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_found_where_it_is),
        cmocka_unit_test(what_began_lately_is_found),
        cmocka_unit_test(chance_is_no_change),
        cmocka_unit_test(an_outlier_does_not_move_it),
        cmocka_unit_test(it_is_placed_among_values_of_which_most_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
