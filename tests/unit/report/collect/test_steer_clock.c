/* A clock whose rate is wrong at first, and drifts, for a simulated week. */
#include "report/collect/steer_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND_NS UINT64_C(1000000000)
#define WEEK_S    (7 * 24 * 3600)
#define RIGHT     (UINT64_C(1) << 31) /* two ticks a nanosecond */

/* How many ticks pass in so many nanoseconds, at a rate that changes slowly and suddenly. */
static uint64_t ticks_of(uint64_t ns, uint64_t at_s)
{
    int64_t wrong_ppm = (int64_t)(at_s / 3600 % 21) - 10;

    if (at_s / 50000 % 2)
        wrong_ppm += 490;
    return (uint64_t)((__int128)ns * 2 * (1000000 + wrong_ppm) / 1000000);
}

static void a_week_of_a_wrong_clock(void **state)
{
    struct gv_clock clock = {.kind = GV_CLOCK_TSC};
    struct gv_clock_steering steering = {0};
    uint64_t ticks = 1000000, ns = 5 * SECOND_NS, last_ns = 0, largest_ns = 0;

    for (int i = 0; i < 2; i++)
        gv_clock_set_line(&clock, ticks, ns, RIGHT / 1000000 * 1000500);
    for (uint64_t second = 0; second < WEEK_S; second++) {
        /* The collector is not always in time. */
        uint64_t pause_ns = second % 100 == 7 ? SECOND_NS + SECOND_NS / 3 : SECOND_NS;
        uint64_t noise_ns = second * 2654435761u % 100;

        gv_clock_steer_by(&steering, &clock, ticks, ns + noise_ns);
        /* Around the beginning of the new line, too. */
        for (uint64_t passed_ns = 0; passed_ns <= pause_ns; passed_ns += pause_ns / 1000) {
            uint64_t now_ns = gv_clock_at(&clock, ticks + ticks_of(passed_ns, second));
            uint64_t wrong_ns = (uint64_t)llabs((int64_t)(now_ns - ns - passed_ns));

            if (now_ns < last_ns)
                fail_msg("it goes back after %llu s", (unsigned long long)second);
            last_ns = now_ns;
            if (wrong_ns > largest_ns)
                largest_ns = wrong_ns;
            if (passed_ns >= 5000000 && passed_ns + pause_ns / 50 < pause_ns)
                passed_ns += pause_ns / 50;
        }
        ticks += ticks_of(pause_ns, second);
        ns += pause_ns;
    }
    assert_in_range(largest_ns, 0, 1000000);
}

/* Who reads while a line is replaced waits for nobody. */
static void a_collector_that_died_in_the_middle_stops_nobody(void **state)
{
    struct gv_clock clock = {.kind = GV_CLOCK_TSC};

    gv_clock_set_line(&clock, 0, 0, RIGHT);
    gv_clock_set_line(&clock, 1000, 500, RIGHT);
    atomic_fetch_add(&clock.changes, 1);
    assert_int_equal(gv_clock_at(&clock, 4000), 2000);
    assert_int_equal(gv_clock_at(&clock, 800), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_week_of_a_wrong_clock),
        cmocka_unit_test(a_collector_that_died_in_the_middle_stops_nobody),
    };

    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
