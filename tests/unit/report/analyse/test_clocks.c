/* How well the clocks of two hosts are aligned by the collectives that they share. The truth is
 * known: the times of both come from one clock, and one of them is then moved. */
#include "tests/unit/report/cmocka_all.h"

#include "report/analyse/jobs/clock_fit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#define SECOND_NS INT64_C(1000000000)
#define MOST      2000

/* The other clock shows the true time t as (t - offset) / (1 + drift). */
struct truth {
    double offset_ns, drift;
};

struct meeting {
    int64_t start[2], end[2]; /* by the reference, and by the other clock */
};

static uint64_t state = 1;

/* From 0 to below 1. */
static double chance(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static int64_t shown(const struct truth *truth, int64_t time_ns)
{
    return (int64_t)(((double)time_ns - truth->offset_ns) / (1 + truth->drift));
}

/* Collectives of two hosts, in a run of so many seconds: ranks arrive up to 20 ms apart, and nobody
 * ends before the last one has begun, plus the transfer. */
static size_t meet(const struct truth *truth, size_t count, double seconds, double transfer_ns,
                   struct meeting *meetings)
{
    for (size_t i = 0; i < count; i++) {
        int64_t at = (int64_t)(seconds * 1e9 * (double)i / (double)count);
        int64_t one = at + (int64_t)(20e6 * chance()), other = at + (int64_t)(20e6 * chance());
        int64_t moved = one > other ? one : other;
        int64_t ends[2];

        for (int side = 0; side < 2; side++)
            ends[side] = moved + (int64_t)(transfer_ns * (1 + chance()));
        meetings[i].start[0] = one;
        meetings[i].end[0] = ends[0];
        meetings[i].start[1] = shown(truth, other);
        meetings[i].end[1] = shown(truth, ends[1]);
    }
    return count;
}

static void fit_of(const struct meeting *meetings, size_t count, int64_t until_ns, bool with_ends,
                   struct gv_clock_fit *fit)
{
    struct gv_clock_bounds bounds = {0};

    for (size_t i = 0; i < count; i++) {
        const struct meeting *m = &meetings[i];
        assert_int_equal(gv_clock_at_least(&bounds, m->end[1], m->start[0] - m->end[1]), 0);
        assert_int_equal(gv_clock_at_most(&bounds, m->start[1], m->end[0] - m->start[1]), 0);
        if (with_ends)
            assert_int_equal(gv_clock_ended(&bounds, m->end[1], m->end[0] - m->end[1]), 0);
    }
    assert_int_equal(gv_clock_fit(&bounds, 0, until_ns, fit), 0);
    gv_clock_bounds_free(&bounds);
}

/* How far the fit is from the truth at a time of the other clock. */
static double off_at(const struct truth *truth, const struct gv_clock_fit *fit, double at_ns)
{
    return (fit->offset_ns + fit->drift * at_ns) - (truth->offset_ns + truth->drift * at_ns);
}

static void assert_contained(const struct truth *truth, const struct gv_clock_fit *fit,
                             double until_ns)
{
    for (int part = 0; part <= 10; part++)
        assert_true(fabs(off_at(truth, fit, until_ns * part / 10)) <= (double)fit->error_ns);
}

static void two_seconds_and_fifty_ppm_are_found(void **unused)
{
    static struct meeting meetings[MOST];
    const struct truth truth = {2e9, 50e-6};
    struct gv_clock_fit fit;

    (void)unused;
    fit_of(meetings, meet(&truth, MOST, 100, 200e3, meetings), 98 * SECOND_NS, true, &fit);
    assert_contained(&truth, &fit, 98e9);
    assert_int_equal(fit.conflict_ns, 0);
    assert_true(fit.error_ns < 500000); /* a few transfers */
    assert_true(fabs(fit.drift - 50e-6) < 5e-6);
}

static void the_error_contains_the_truth_whatever_it_is(void **unused)
{
    static struct meeting meetings[MOST];
    const int64_t until_ns = 30 * SECOND_NS;

    (void)unused;
    for (int i = 0; i < 300; i++) {
        const struct truth truth = {(chance() - 0.5) * 1e12, (chance() - 0.5) * 400e-6};
        size_t count = 1 + (size_t)(chance() * 40);
        struct gv_clock_fit fit;

        meet(&truth, count, 30, 1e3 + 5e6 * chance(), meetings);
        fit_of(meetings, count, until_ns, i % 2 == 0, &fit);
        assert_contained(&truth, &fit, (double)until_ns);
    }
}

/* All lines through all bounds, tried one by one: none leaves the error, and one comes close to it.
 */
static void the_error_is_that_of_all_lines_that_are_possible(void **unused)
{
    static struct meeting meetings[MOST];
    const double until_ns = 10e9;

    (void)unused;
    for (int run = 0; run < 20; run++) {
        const struct truth truth = {chance() * 3e9, (chance() - 0.5) * 200e-6};
        size_t count = meet(&truth, 12, 10, 2e6, meetings);
        struct gv_clock_fit fit;
        double most = 0;

        fit_of(meetings, count, (int64_t)until_ns, false, &fit);
        for (int step = -50000; step <= 50000; step++) {
            double drift = step * (GV_CLOCK_DRIFT_MOST / 50000), least = -INFINITY,
                   highest = INFINITY;
            for (size_t i = 0; i < count; i++) {
                const struct meeting *m = &meetings[i];
                least = fmax(least, (double)(m->start[0] - m->end[1]) - drift * (double)m->end[1]);
                highest =
                    fmin(highest, (double)(m->end[0] - m->start[1]) - drift * (double)m->start[1]);
            }
            if (least > highest)
                continue;
            for (int end = 0; end < 2; end++) {
                double at = end * until_ns, middle = fit.offset_ns + fit.drift * at;
                most = fmax(most, fabs(least + drift * at - middle));
                most = fmax(most, fabs(highest + drift * at - middle));
            }
        }
        assert_true(most <= (double)fit.error_ns);
        assert_true(most >= (double)fit.error_ns * 0.98 - 100);
    }
}

/* Bounds alone cannot tell a host that always comes late from one whose clock is wrong: ends can.
 */
static void a_host_that_is_always_late_does_not_move_its_clock(void **unused)
{
    static struct meeting meetings[MOST];
    const struct truth truth = {2e9, 20e-6};
    const int64_t late_ns = 41000000;
    struct gv_clock_fit fit;

    (void)unused;
    for (size_t i = 0; i < MOST; i++) {
        int64_t at = (int64_t)i * 50000000, end = at + late_ns + 1000000;
        meetings[i].start[0] = at;
        meetings[i].end[0] = end + (int64_t)(100e3 * chance());
        meetings[i].start[1] = shown(&truth, at + late_ns);
        meetings[i].end[1] = shown(&truth, end + (int64_t)(100e3 * chance()));
    }
    fit_of(meetings, MOST, 98 * SECOND_NS, true, &fit);
    assert_contained(&truth, &fit, 98e9);
    for (int part = 0; part <= 10; part++)
        assert_true(fabs(off_at(&truth, &fit, 9.8e9 * part)) < 100e3);
}

/* One collective tells the offset at its time, and no drift: the middle of all that are possible is
 * taken, so the error grows by the limit of drifts, not by twice that. */
static void one_collective_tells_no_drift(void **unused)
{
    struct meeting meeting;
    const struct truth truth = {2e9, 0};
    struct gv_clock_fit fit;

    (void)unused;
    meet(&truth, 1, 1, 1e6, &meeting);
    fit_of(&meeting, 1, 100 * SECOND_NS, true, &fit);
    assert_contained(&truth, &fit, 100e9);
    assert_true(fabs(fit.drift) < GV_CLOCK_DRIFT_MOST / 10);
    assert_true((double)fit.error_ns < 1.5 * GV_CLOCK_DRIFT_MOST * 100e9);
}

static void bounds_that_contradict_make_the_error_larger(void **unused)
{
    struct gv_clock_bounds bounds = {0};
    struct gv_clock_fit fit;

    (void)unused;
    for (int64_t i = 0; i < 10; i++) {
        assert_int_equal(gv_clock_at_least(&bounds, i * SECOND_NS, i == 5 ? 9000 : 1000), 0);
        assert_int_equal(gv_clock_at_most(&bounds, i * SECOND_NS, 2000), 0);
    }
    assert_int_equal(gv_clock_fit(&bounds, 0, 9 * SECOND_NS, &fit), 0);
    gv_clock_bounds_free(&bounds);
    assert_true(fit.conflict_ns >= 3000);
    assert_true(fit.error_ns >= fit.conflict_ns);
}

static void one_sided_bounds_say_nothing(void **unused)
{
    struct gv_clock_bounds bounds = {0};
    struct gv_clock_fit fit;

    (void)unused;
    assert_int_equal(gv_clock_at_least(&bounds, 0, 0), 0);
    assert_int_equal(gv_clock_fit(&bounds, 0, SECOND_NS, &fit), -ENODATA);
    gv_clock_bounds_free(&bounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_seconds_and_fifty_ppm_are_found),
        cmocka_unit_test(the_error_contains_the_truth_whatever_it_is),
        cmocka_unit_test(the_error_is_that_of_all_lines_that_are_possible),
        cmocka_unit_test(a_host_that_is_always_late_does_not_move_its_clock),
        cmocka_unit_test(one_collective_tells_no_drift),
        cmocka_unit_test(bounds_that_contradict_make_the_error_larger),
        cmocka_unit_test(one_sided_bounds_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
