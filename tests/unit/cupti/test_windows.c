/* When windows are open, on a clock of the test's. */
#include "cupti/windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS      UINT64_C(1000000)
#define WINDOW  (100 * MS)
#define EVERY   (5000 * MS)
#define BEGIN   (1234567 * MS)
#define PERIODS 1000u
#define TENTHS  10u

static uint64_t chosen_end_ns;

static int prepare(void **state)
{
    (void)state;
    gv_windows_prepare(100, 5000, BEGIN);
    return 0;
}

static bool is_open(uint64_t now_ns)
{
    return gv_windows_are_open(now_ns, &chosen_end_ns);
}

static void one_begins_at_the_start(void **state)
{
    (void)state;
    assert_true(is_open(BEGIN));
    assert_int_equal(chosen_end_ns, 0); /* its time was not chosen at random */
    assert_int_equal(gv_windows_lasts_ns(BEGIN), WINDOW);
    assert_true(is_open(BEGIN + WINDOW - 1));
}

/* Goes from change to change, as the module's thread does. */
static void each_period_has_one_at_a_random_time(void **state)
{
    uint64_t now_ns = BEGIN + WINDOW, first_ns = now_ns, open_ns = 0;
    unsigned begun = 0, tenths[TENTHS] = {0};

    (void)state;
    while (now_ns < first_ns + PERIODS * EVERY) {
        uint64_t lasts_ns;
        bool open = is_open(now_ns);

        if (chosen_end_ns) {
            assert_int_equal((now_ns - first_ns) / EVERY, begun);
            assert_int_equal(chosen_end_ns, now_ns + WINDOW);
            tenths[(now_ns - first_ns) % EVERY * TENTHS / EVERY]++;
            begun++;
        }
        lasts_ns = gv_windows_lasts_ns(now_ns);
        assert_true(lasts_ns > 0);
        if (open)
            open_ns += lasts_ns;
        now_ns += lasts_ns;
    }
    assert_int_equal(begun, PERIODS);
    assert_int_equal(open_ns, PERIODS * WINDOW);
    for (unsigned i = 0; i < TENTHS; i++)
        assert_in_range(tenths[i], PERIODS / TENTHS / 2, PERIODS / TENTHS * 2);
}

/* One that the thread was too busy for is left out, not made up for: that would not be random. */
static void a_late_one_ends_as_planned(void **state)
{
    uint64_t now_ns = BEGIN + WINDOW, planned_ns;

    (void)state;
    assert_false(is_open(now_ns));
    planned_ns = now_ns + gv_windows_lasts_ns(now_ns);
    assert_true(is_open(planned_ns + WINDOW - 1));
    assert_int_equal(chosen_end_ns, planned_ns + WINDOW);
    assert_int_equal(gv_windows_lasts_ns(planned_ns + WINDOW - 1), 1);
    now_ns = planned_ns + WINDOW;
    assert_false(is_open(now_ns));
    planned_ns = now_ns + gv_windows_lasts_ns(now_ns);
    assert_false(is_open(planned_ns + WINDOW));
    assert_int_equal(chosen_end_ns, 0);
}

/* When a window begins at its random time, not soon after the last one. */
static uint64_t next_chosen(void)
{
    uint64_t now_ns = BEGIN;

    while (is_open(now_ns) || gv_windows_lasts_ns(now_ns) < WINDOW)
        now_ns += gv_windows_lasts_ns(now_ns);
    return now_ns + gv_windows_lasts_ns(now_ns);
}

static void one_begins_after_a_stall_but_not_often(void **state)
{
    uint64_t now_ns = BEGIN + WINDOW, end_ns;

    (void)state;
    assert_false(is_open(now_ns));
    assert_true(gv_windows_after_stall(now_ns));
    assert_true(is_open(now_ns));
    assert_int_equal(chosen_end_ns, 0);
    end_ns = now_ns + 2 * WINDOW;
    if (gv_windows_lasts_ns(now_ns) == 2 * WINDOW)
        assert_false(is_open(end_ns));
    assert_false(gv_windows_after_stall(end_ns));
    assert_false(gv_windows_after_stall(now_ns + EVERY - 1));
    assert_true(gv_windows_after_stall(now_ns + EVERY));
    assert_true(is_open(now_ns + EVERY));
}

static void a_chosen_one_begins_inside_one_after_a_stall(void **state)
{
    uint64_t chosen_ns = next_chosen(), stall_ns = chosen_ns - WINDOW / 2;

    (void)state;
    assert_true(gv_windows_after_stall(stall_ns));
    assert_true(is_open(stall_ns));
    assert_int_equal(chosen_end_ns, 0);
    assert_int_equal(gv_windows_lasts_ns(stall_ns), WINDOW / 2);
    assert_true(is_open(chosen_ns));
    assert_int_equal(chosen_end_ns, chosen_ns + WINDOW);
    assert_true(is_open(stall_ns + 2 * WINDOW - 1));
    assert_false(is_open(stall_ns + 2 * WINDOW));
}

static void one_begins_when_recording_goes_on(void **state)
{
    uint64_t now_ns = BEGIN + 100 * EVERY;

    (void)state;
    gv_windows_begin(now_ns);
    assert_true(is_open(now_ns));
    assert_int_equal(chosen_end_ns, 0);
    assert_false(is_open(now_ns + WINDOW));
}

static void without_windows_it_is_always_open(void **state)
{
    (void)state;
    for (uint64_t window_ms = 0; window_ms <= 5000; window_ms += 5000) {
        gv_windows_prepare(window_ms, 5000, BEGIN);
        assert_true(is_open(BEGIN + 1000 * EVERY));
        assert_int_equal(chosen_end_ns, 0);
        assert_false(gv_windows_after_stall(BEGIN));
        assert_true(gv_windows_lasts_ns(BEGIN) == UINT64_MAX);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, prepare)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(one_begins_at_the_start),
        TEST(each_period_has_one_at_a_random_time),
        TEST(a_late_one_ends_as_planned),
        TEST(one_begins_after_a_stall_but_not_often),
        TEST(a_chosen_one_begins_inside_one_after_a_stall),
        TEST(one_begins_when_recording_goes_on),
        TEST(without_windows_it_is_always_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
