/* Of which calls the GPU's work is left out. */
#include "cupti/unrecorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void what_was_called_between_a_stop_and_a_start(void **state)
{
    gv_unrecorded_note(1, 100);
    gv_unrecorded_note(1, 200);
    assert_false(gv_unrecorded_has(99)); /* called before the stop, may run after the start */
    assert_true(gv_unrecorded_has(100));
    assert_true(gv_unrecorded_has(150));
    assert_true(gv_unrecorded_has(200));
    assert_false(gv_unrecorded_has(201));
}

static void threads_note_in_any_order(void **state)
{
    gv_unrecorded_note(3, 350);
    gv_unrecorded_note(3, 300);
    gv_unrecorded_note(3, 320);
    assert_false(gv_unrecorded_has(299));
    assert_true(gv_unrecorded_has(300));
    assert_true(gv_unrecorded_has(350));
    assert_false(gv_unrecorded_has(351));
}

static void what_was_called_between_two_stops_is_recorded(void **state)
{
    assert_true(gv_unrecorded_has(150));
    assert_false(gv_unrecorded_has(250));
}

static void a_stop_is_forgotten_before_numbers_come_again(void **state)
{
    uint32_t number = 350;

    for (int i = 0; i < 8; i++) { /* once around */
        assert_false(gv_unrecorded_has(number + 1));
        number += 1u << 29;
    }
    assert_false(gv_unrecorded_has(150));
    assert_false(gv_unrecorded_has(300));
}

static void numbers_may_pass_zero(void **state)
{
    gv_unrecorded_note(5, UINT32_MAX - 10);
    gv_unrecorded_note(5, 10);
    assert_false(gv_unrecorded_has(UINT32_MAX - 11));
    assert_true(gv_unrecorded_has(UINT32_MAX));
    assert_true(gv_unrecorded_has(0));
    assert_false(gv_unrecorded_has(11));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_called_between_a_stop_and_a_start),
        cmocka_unit_test(threads_note_in_any_order),
        cmocka_unit_test(what_was_called_between_two_stops_is_recorded),
        cmocka_unit_test(a_stop_is_forgotten_before_numbers_come_again),
        cmocka_unit_test(numbers_may_pass_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
