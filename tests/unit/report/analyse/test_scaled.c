/* The estimate of GPU times from samples: programs are made of which the truth is known. */
#include "report/analyse/scaled/scaled.h"
#include "report/analyse/totals/totals.h"
#include "tests/unit/report/totals_fixture.h"

#include <math.h>

#define RUNS 60

static uint64_t random_bits;

static double uniform(void)
{
    random_bits ^= random_bits << 13;
    random_bits ^= random_bits >> 7;
    random_bits ^= random_bits << 17;
    return (double)(random_bits >> 11) / 9007199254740992.0;
}

static int setup(void **state)
{
    totals_open(state);
    totals_execute("DELETE FROM process WHERE id = 2; UPDATE process SET gpu = 'sampled';"
                   "INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'),"
                   " (2, 'cuGraphLaunch', 'launch'), (3, 'cuMemcpyHtoDAsync_v2', 'copy'),"
                   " (4, 'cuStreamSynchronize', 'sync');"
                   "INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'one'), (2, 1, "
                   "2, 'two');");
    return 0;
}

/* A call, and its sample, if it stands for some. */
static void add(int64_t id, int api, int kernel, int64_t bytes, int64_t duration_ns, int one_of)
{
    sqlite3_stmt *call = totals_prepare(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel, bytes, stream)"
        " VALUES (?1, 1, ?2, ?1 * 10000, 1000, 0, nullif(?3, 0), nullif(?4, 0), 1)");
    sqlite3_stmt *sample = totals_prepare(
        "INSERT INTO gpu_sample (process, call, start_ns, duration_ns, bias_ns, error_ns, one_of,"
        " queued) VALUES (1, ?1, ?1 * 10000 + 5000, ?2, 2100, 0, ?3, 1)");

    totals_step(call, (const int64_t[]){id, api, kernel, bytes}, 4);
    if (one_of)
        totals_step(sample, (const int64_t[]){id, duration_ns, one_of}, 3);
    sqlite3_finalize(call);
    sqlite3_finalize(sample);
}

static int64_t made(const char *sql)
{
    const struct gv_totals_part all = GV_TOTALS_ALL;

    assert_int_equal(gv_totals_ensure(totals_trace, &all), 0);
    return totals_number(sql);
}

/* One call of each block is measured; blocks get longer, and calls slower meanwhile. */
static void blocks_of_any_length_have_no_bias(void **state)
{
    int64_t truth_ns = 0;

    (void)state;
    random_bits = 7;
    totals_execute("BEGIN");
    for (int id = 1, of = 1, at = 1, in = 0; id <= 4000; id++, in++) {
        int64_t ns = id * 10;
        if (in == of) {
            of = id < 1000 ? 4 : 40;
            at = (int)(uniform() * of);
            in = 0;
        }
        truth_ns += ns;
        add(id, 1, 1, 0, ns, in == at ? of : 0);
    }
    totals_execute("COMMIT");
    double total = (double)made("SELECT total_ns FROM scaled"),
           error = (double)totals_number("SELECT error_ns FROM scaled");
    assert_true(fabs(total - (double)truth_ns) < 3 * error);
    assert_true(error < 0.1 * (double)truth_ns);
}

static bool is_covered(int run)
{
    double truth_ns = 0;

    random_bits = (uint64_t)run * 7919 + 1;
    totals_execute("BEGIN; DELETE FROM call; DELETE FROM gpu_sample");
    for (int id = 1, at = 0; id <= 600; id++) {
        /* Half of the calls take ten times as long as the others. */
        int64_t ns = (int64_t)((uniform() < 0.5 ? 2000 : 20000) * (0.9 + 0.2 * uniform()));
        if (id % 20 == 1)
            at = (int)(uniform() * 20);
        truth_ns += (double)ns;
        add(id, 1, 1, 0, ns, (id - 1) % 20 == at ? 20 : 0);
    }
    totals_execute("COMMIT");
    struct gv_scaled *scaled = NULL;
    struct gv_pass *pass = NULL;
    const struct gv_pass_call *call = NULL;
    struct gv_scaled_sums sums;
    assert_int_equal(gv_pass_open(&pass, totals_trace, 0), 0);
    assert_int_equal(gv_scaled_open(&scaled, totals_trace, pass), 0);
    assert_int_equal(gv_pass_begin_calls(pass), 0);
    while (gv_pass_next_call(pass, &call) == 0 && call)
        gv_scaled_add(scaled, call);
    gv_scaled_sum(scaled, &sums);
    gv_scaled_close(scaled);
    gv_pass_close(pass);
    return fabs((double)sums.kernel_ns - truth_ns) <= 2 * (double)sums.error_ns;
}

static void the_truth_is_within_twice_the_error(void **state)
{
    int covered = 0;

    (void)state;
    for (int run = 0; run < RUNS; run++)
        covered += is_covered(run);
    assert_true(covered >= RUNS * 92 / 100);
}

static void copies_take_as_long_as_their_sizes(void **state)
{
    (void)state;
    for (int id = 1; id <= 40; id++)
        add(id, 3, 0, id % 2 ? 1 << 20 : 3 << 19, id % 2 ? 100000 : 150000, id <= 10);
    assert_int_equal(made("SELECT count FROM scaled WHERE kind = 'copy'"), 40);
    assert_in_range(totals_number("SELECT total_ns FROM scaled"), 4900000, 5100000);
}

static void what_was_never_measured_is_unknown(void **state)
{
    (void)state;
    add(1, 1, 1, 0, 5000, 1);
    add(2, 1, 2, 0, 0, 0);
    add(3, 2, 0, 0, 0, 0);
    add(4, 4, 0, 0, 0, 0);
    assert_int_equal(made("SELECT total_ns FROM scaled WHERE name = 'one'"), 5000);
    assert_int_equal(totals_number("SELECT error_ns FROM scaled WHERE name = 'one'"), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM scaled WHERE total_ns IS NULL"), 2);
    assert_int_equal(totals_number("SELECT value FROM fact WHERE key = 'sampled_unknown'"), 2);
}

/* From one sample nothing is known of how much calls differ. */
static void few_samples_have_an_error_as_large_as_the_estimate(void **state)
{
    (void)state;
    for (int id = 1; id <= 10; id++)
        add(id, 1, 1, 0, 5000, id == 3 ? 10 : 0);
    assert_int_equal(made("SELECT total_ns FROM scaled"), 50000);
    assert_int_equal(totals_number("SELECT error_ns FROM scaled"), 50000);
}

static void what_is_not_known_of_a_lane_goes_to_what_was_launched(void **state)
{
    (void)state;
    totals_execute("UPDATE process SET start_ns = 0, end_ns = 2000000 WHERE id = 1");
    for (int id = 1; id <= 100; id++)
        add(id, 1, id % 2 ? 1 : 2, 0, id % 2 ? 2000 : 6000, 1);
    assert_int_equal(made("SELECT sum(total_ns) FROM ledger WHERE process = 1"), 2000000);
    assert_int_equal(totals_number("SELECT sum(total_ns) FROM ledger WHERE what = 'kernel'"
                                   " AND confidence = 'sampled'"),
                     50 * 2000 + 50 * 6000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, totals_close)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(blocks_of_any_length_have_no_bias),
        TEST(the_truth_is_within_twice_the_error),
        TEST(copies_take_as_long_as_their_sizes),
        TEST(what_was_never_measured_is_unknown),
        TEST(few_samples_have_an_error_as_large_as_the_estimate),
        TEST(what_is_not_known_of_a_lane_goes_to_what_was_launched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
