/* The session's clock follows CLOCK_MONOTONIC and never goes back. */
#include "preload/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

enum { AUTO, TSC, MONOTONIC };

static struct gv_clock session;

/* The session's clock, and what CLOCK_MONOTONIC was before and after: however long that took. */
struct look {
    uint64_t before, ours, after;
};

static struct look look(void)
{
    struct look look = {.before = gv_monotonic_ns()};

    look.ours = gv_clock_now_ns();
    look.after = gv_monotonic_ns();
    return look;
}

static void goes_like_monotonic_time(void **state)
{
    struct timespec pause = {.tv_nsec = 50000000};

    (void)state;
    for (int64_t choice = AUTO; choice <= MONOTONIC; choice++) {
        struct look first, second;
        uint64_t passed;

        gv_clock_calibrate(&session, choice);
        gv_clock_use(&session);
        first = look();
        nanosleep(&pause, NULL);
        second = look();
        assert_in_range(first.ours, first.before - 1000000, first.after + 1000000);
        passed = second.ours - first.ours;
        assert_in_range(passed, (second.before - first.after) / 100 * 99,
                        (second.after - first.before) / 100 * 101);
    }
}

static void never_goes_back(void **state)
{
    uint64_t last = 0;

    (void)state;
    gv_clock_calibrate(&session, AUTO);
    gv_clock_use(&session);
    for (int i = 0; i < 1000000; i++) {
        uint64_t now = gv_clock_now_ns();

        assert_true(now >= last);
        last = now;
    }
}

static void the_choice_is_obeyed(void **state)
{

    (void)state;
    gv_clock_calibrate(&session, MONOTONIC);
    assert_int_equal(session.kind, GV_CLOCK_MONOTONIC);
    assert_true(session.unix_offset_ns > 0);
    assert_true(session.epoch_ns <= gv_monotonic_ns());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_like_monotonic_time),
        cmocka_unit_test(never_goes_back),
        cmocka_unit_test(the_choice_is_obeyed),
    };

    gv_clock_note_load();
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
