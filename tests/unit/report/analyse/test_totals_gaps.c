/* What the host did in the short gaps between GPU operations. */
#include "tests/unit/report/totals_fixture.h"

static int setup(void **state)
{
    totals_open(state);
    totals_execute(
        "INSERT INTO api (id, name, class) VALUES (71, 'cuLaunchKernel', 'launch'),"
        " (72, 'cuMemcpyHtoD_v2', 'copy'), (73, 'cuEventRecord', 'event'),"
        " (74, 'cuStreamSynchronize', 'sync');"
        "INSERT INTO thread (id, process, serial, records) VALUES (8, 1, 8, 0), (9, 1, 9, 0);"
        "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);");
    return 0;
}

/* Gaps of 100 ns, each ended by an operation of the given call. */
static void gap_before(const char *calls, const char *operation)
{
    totals_execute(calls);
    totals_execute("INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, copy_kind, call)"
                   " VALUES (1, 1, 1, 900, 100, NULL, NULL)");
    totals_execute(operation);
    totals_keep();
    assert_int_equal(totals_number("SELECT short_gap_ns FROM device_total"), 100);
}

#define TEST_CALL "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES "
#define TEST_OP                                                                                    \
    "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, copy_kind, call) VALUES "
#define TEST_KERNEL TEST_OP "(2, 1, 1, 1100, 100, NULL, 3)"
#define TEST_COPY   TEST_OP "(2, 1, 2, 1100, 100, 17, 3)"

static void gap_in_a_launch(void **state)
{
    (void)state;
    gap_before(TEST_CALL "(2, 8, 74, 800, 220, 0), (3, 8, 71, 1030, 50, 0)", TEST_KERNEL);
    assert_int_equal(totals_fact("launch_gap_ns"), 50);
    assert_int_equal(totals_fact("launch_gaps"), 1);
    assert_int_equal(totals_fact("launch_gaps_ns"), 100);
    assert_int_equal(totals_fact("copy_gap_ns"), 0);
}

static void gap_between_launches(void **state)
{
    (void)state;
    gap_before(TEST_CALL "(1, 8, 71, 950, 20, 0), (2, 8, 73, 980, 10, 0), (3, 8, 71, 1090, 50, 0)",
               TEST_KERNEL);
    assert_int_equal(totals_fact("launch_gap_ns"), 100);
}

static void gap_between_a_wait_and_a_launch(void **state)
{
    (void)state;
    gap_before(TEST_CALL "(1, 8, 71, 800, 20, 0), (2, 8, 74, 830, 200, 0), (3, 8, 71, 1090, 50, 0)",
               TEST_KERNEL);
    assert_int_equal(totals_fact("launch_gap_ns"), 10);
    assert_int_equal(totals_fact("launch_gaps"), 0);
    assert_int_equal(totals_fact("launch_gaps_ns"), 0);
}

static void gap_in_copies(void **state)
{
    (void)state;
    gap_before(TEST_CALL "(1, 8, 71, 800, 20, 0), (2, 8, 72, 830, 230, 0), (3, 8, 72, 1065, 50, 0)",
               TEST_COPY);
    assert_int_equal(totals_fact("launch_gap_ns"), 0);
    assert_int_equal(totals_fact("copy_gap_ns"), 60 + 35);
}

/* Copies inside the device are no transfers. */
static void gap_in_a_copy_beside_no_transfer(void **state)
{
    (void)state;
    gap_before(TEST_CALL "(2, 8, 72, 830, 230, 0), (3, 8, 71, 1065, 50, 0)", TEST_KERNEL);
    assert_int_equal(totals_fact("copy_gap_ns"), 0);
    assert_int_equal(totals_fact("launch_gap_ns"), 35);
}

/* Another thread's calls do not explain the gap. */
static void gap_while_another_thread_launches(void **state)
{
    (void)state;
    gap_before(TEST_CALL "(1, 9, 71, 950, 100, 0), (3, 8, 71, 1090, 50, 0)", TEST_KERNEL);
    assert_int_equal(totals_fact("launch_gap_ns"), 10);
}

/* The host is ahead, so the time between two kernels is the GPU's. */
static void gap_before_what_was_launched_long_ago(void **state)
{
    (void)state;
    gap_before(TEST_CALL "(3, 8, 71, 700, 50, 0), (4, 8, 71, 760, 500, 0)", TEST_KERNEL);
    assert_int_equal(totals_fact("launch_gap_ns"), 0);
}

/* Far more than are stored, every fourth in a launch: the pattern is found. */
static void some_gaps_stand_for_all(void **state)
{
    int64_t launch_ns;

    (void)state;
    totals_execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999)"
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, copy_kind, call) SELECT"
        " i + 1, 1, iif(i % 4, 2, 1), i * 1000, 600, iif(i % 4, 17, NULL), i + 1 FROM n;"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) SELECT id, 8,"
        " iif(kind = 1, 71, 72), start_ns - 400, 400, 0 FROM gpu_op;");
    totals_keep();
    launch_ns = totals_fact("launch_gap_ns");
    assert_in_range(launch_ns, INT64_C(50000) * 390, INT64_C(50000) * 410);
    assert_in_range(totals_fact("launch_gaps"), 48500, 51500);
    assert_int_equal(totals_fact("launch_gaps_ns") / totals_fact("launch_gaps"), 400);
    assert_in_range(totals_fact("copy_gap_ns"), INT64_C(150000) * 396, INT64_C(150000) * 404);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, totals_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gap_in_a_launch),
        TEST(gap_between_launches),
        TEST(gap_between_a_wait_and_a_launch),
        TEST(gap_in_copies),
        TEST(gap_in_a_copy_beside_no_transfer),
        TEST(gap_while_another_thread_launches),
        TEST(gap_before_what_was_launched_long_ago),
        TEST(some_gaps_stand_for_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
