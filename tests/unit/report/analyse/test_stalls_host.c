/* Host functions: who waits for them, with the GPU side and without it. */
#include "tests/unit/report/stall_fixture.h"

static int setup_inferred(void **state)
{
    int result = fixture_setup(state);

    fixture_mode(INFERRED);
    return result;
}

/* Runs from 1 ms to 51 ms. */
static void busy(int stream)
{
    hosted(900, stream, 1000, 50000);
}

/* Whatever the mode, its end was recorded. */
static void expect_measured(const char *lines)
{
    sqlite3_stmt *row = NULL;

    fixture_mode(BOTH);
    expect(lines);
    assert_int_equal(sqlite3_prepare_v2(fixture_trace,
                                        "SELECT count(*) FROM stalls WHERE confidence <> 'measured'"
                                        " AND cause <> 'lock'",
                                        -1, &row, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(row, 0), 0);
    sqlite3_finalize(row);
}

static void expect_nothing(void)
{
    fixture_mode(BOTH);
    expect("");
}

/* ---- in both modes ---- */

static void a_load_waits_for_a_host_function(void **state)
{
    busy(STREAM_A);
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    expect_measured("2 module-load 0+49000+200 drained 1 host 1\n");
}

static void a_free_waits_for_a_host_function(void **state)
{
    busy(STREAM_A);
    CALL("cuMemFree_v2", 2000, 49100);
    expect_measured("2 free 0+49000+100 drained 1 host 1\n");
}

static void a_synchronisation_waits_as_asked(void **state)
{
    busy(STREAM_A);
    CALL("cuStreamSynchronize", 2000, 49010, .stream = STREAM_A);
    expect_measured("2 explicit-sync 0+49000+10 drained 1 host 1 expected\n");
}

static void a_load_that_ends_before_it_has_not_waited(void **state)
{
    busy(STREAM_A);
    launched(1100, STREAM_B, KERNEL_SPIN, 1200, 10);
    CALL("cuStreamSynchronize", 1300, 5, .stream = STREAM_B);
    CALL("cuMemAlloc_v2", 2000, 300);
    expect_nothing();
}

static void one_that_ended_before_is_not_waited_for(void **state)
{
    launched(800, STREAM_A, KERNEL_SPIN, 850, 100);
    hosted(900, STREAM_A, 1000, 500);
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    expect_nothing();
}

static void one_in_another_context_is_not_waited_for(void **state)
{
    busy(STREAM_OTHER);
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    expect_nothing();
}

static void one_that_was_launched_later_is_not_waited_for(void **state)
{
    CALL("cuModuleUnload", 1000, 50100);
    hosted(2000, STREAM_A, 2100, 49000);
    fixture_sql("UPDATE call SET thread = 2 WHERE id = 2");
    expect_nothing();
}

static void others_wait_behind_the_load(void **state)
{
    busy(STREAM_A);
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    CALL("cuMemAlloc_v2", 3000, 48300, .thread = 2);
    expect_measured("2 module-load 0+49000+200 drained 1 host 1\n"
                    "3 lock 0+48200+100 by 2 host 1\n");
}

static void a_short_one_after_a_kernel_is_not_told(void **state)
{
    launched(800, STREAM_A, KERNEL_SPIN, 1000, 40000);
    hosted(900, STREAM_A, 41000, 10000);
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    fixture_mode(BOTH);
    expect("3 module-load 0+49000+200 for 1 drained 2\n");
}

static void an_event_of_another_stream_is_not_behind_it(void **state)
{
    hosted(800, STREAM_B, 1000, 40000);
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
    CALL("cuEventRecord", 950, 5, .stream = STREAM_A, .object = 77);
    CALL("cuEventSynchronize", 2000, 49010, .object = 77);
    expect("4 explicit-sync 0+49000+10 for 1 drained 2 expected\n");
}

/* ---- with the GPU side ---- */

static void a_kernel_behind_it_is_the_last(void **state)
{
    hosted(800, STREAM_A, 1000, 45000);
    launched(900, STREAM_A, KERNEL_SPIN, 46000, 5000);
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    expect("3 module-load 0+49000+200 for 1 drained 2 host 1\n");
}

static void a_kernel_beside_it_is_what_is_waited_for(void **state)
{
    hosted(800, STREAM_B, 1000, 45000);
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    expect("3 module-load 0+49000+200 for 1 drained 2\n");
}

/* ---- from the calls alone ---- */

static void one_that_is_not_known_to_have_run_is_unfinished_work(void **state)
{
    CALL("cuLaunchHostFunc", 900, 5, .stream = STREAM_A);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("2 module-load 0+50000+150 drained 1 presumed 1\n");
}

/* Its end is known, but most of the wait was for something else, of which only the launch is. */
static void a_short_one_at_the_end_measures_nothing(void **state)
{
    sqlite3_stmt *row = NULL;

    launched(800, STREAM_A, KERNEL_SPIN, 0, 0);
    hosted(900, STREAM_A, 50900, 100);
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    expect("3 module-load 0+49000+200 drained 2 presumed 2\n");
    assert_int_equal(sqlite3_prepare_v2(fixture_trace, "SELECT confidence = 'inferred' FROM stalls",
                                        -1, &row, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_true(sqlite3_column_int(row, 0));
    sqlite3_finalize(row);
}

static void its_end_says_nothing_about_other_streams(void **state)
{
    launched(800, STREAM_B, KERNEL_SPIN, 0, 0);
    hosted(900, STREAM_A, 1000, 500);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("3 module-load 0+50000+150 drained 1 presumed 1\n");
}

static void its_end_says_nothing_about_later_work(void **state)
{
    hosted(800, STREAM_A, 1000, 500);
    launched(900, STREAM_A, KERNEL_SPIN, 0, 0);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("3 module-load 0+50000+150 drained 1 presumed 2\n");
}

#define CASE(name, setup) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
#define BOTH_WAYS(name)   CASE(name, fixture_setup), CASE(name, setup_inferred)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(a_load_waits_for_a_host_function),
        BOTH_WAYS(a_free_waits_for_a_host_function),
        BOTH_WAYS(a_synchronisation_waits_as_asked),
        BOTH_WAYS(a_load_that_ends_before_it_has_not_waited),
        BOTH_WAYS(one_that_ended_before_is_not_waited_for),
        BOTH_WAYS(one_in_another_context_is_not_waited_for),
        BOTH_WAYS(others_wait_behind_the_load),
        CASE(one_that_was_launched_later_is_not_waited_for, fixture_setup),
        CASE(a_short_one_after_a_kernel_is_not_told, fixture_setup),
        CASE(an_event_of_another_stream_is_not_behind_it, fixture_setup),
        CASE(a_kernel_behind_it_is_the_last, fixture_setup),
        CASE(a_kernel_beside_it_is_what_is_waited_for, fixture_setup),
        CASE(one_that_is_not_known_to_have_run_is_unfinished_work, setup_inferred),
        CASE(a_short_one_at_the_end_measures_nothing, setup_inferred),
        CASE(its_end_says_nothing_about_other_streams, setup_inferred),
        CASE(its_end_says_nothing_about_later_work, setup_inferred),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
