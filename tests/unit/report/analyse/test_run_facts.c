/* The numbers of a run with several processes: simultaneous time counts once. */
#include "report/analyse/facts/run_facts.h"
#include "tests/unit/report/totals_fixture.h"

static struct gv_run_facts facts;

/* Two processes of one thread each; calls of a second, one after the start of the other. */
static int setup(void **state)
{
    totals_open(state);
    totals_execute(
        "UPDATE process SET ended = 'exit';"
        "INSERT INTO api (id, name, class) VALUES (1, 'cuInit', 'init'), (2, "
        "'cuMemcpyHtoD_v2', 'copy'),"
        " (3, 'cuLaunchKernel', 'launch');"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
        " (1, 1, 1, 0, 1000, 0), (2, 2, 1, 500, 1000, 0), (3, 1, 2, 2000, 6000, 0),"
        " (4, 2, 2, 3000, 6000, 0), (5, 1, 3, 9000, 400, 0), (6, 2, 3, 9100, 900, 209);");
    return 0;
}

/* As if it was another trace each time: the totals are not made again for the same part of one. */
static void read_part(struct gv_totals_part part)
{
    totals_execute("DROP TABLE IF EXISTS temp.totals_part");
    assert_int_equal(gv_run_facts_read(totals_trace, &part, &facts), 0);
}

static void no_part_is_larger_than_the_whole(void **state)
{
    read_part(GV_TOTALS_ALL);
    assert_int_equal(facts.start_ns, 1500);
    assert_int_equal(gv_run_facts_device_ns(&facts), 10000);
}

static void loads_that_failed_are_known(void **state)
{
    totals_execute("INSERT INTO api (id, name, class) VALUES (4, 'cuModuleLoadData', 'load');"
                   "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                   " (7, 1, 4, 9500, 10, 209), (8, 1, 4, 9600, 10, 0);");
    read_part(GV_TOTALS_ALL);
    assert_int_equal(facts.load_calls, 2);
    assert_int_equal(facts.load_failed, 1);
    assert_int_equal(facts.copy_failed, 0);
}

static void records_that_found_no_room_are_known(void **state)
{
    totals_execute(
        "INSERT INTO loss VALUES (1, 'call', 'event', 1000), (1, 'GPU record', '', 5),"
        " (1, 'GPU record', 'missing', 10), (2, 'GPU record', 'dropped by CUPTI', 7),"
        " (2, 'GPU operation', 'last flush', 3), (2, 'record', 'missing in the spool', 4);");
    read_part(GV_TOTALS_ALL);
    assert_int_equal(facts.lost, 1029);
    assert_int_equal(facts.gpu_lost, 29);
    assert_int_equal(facts.operations_lost, 3);
    assert_int_equal(facts.launches_missing, 10);
    assert_int_equal(facts.full, 1005);
    assert_int_equal(facts.gpu_full, 5);
}

static void launches_that_failed_are_known(void **state)
{
    totals_execute("INSERT INTO api (id, name, class) VALUES (4, 'cuLaunchHostFunc', 'launch');"
                   "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                   " (7, 1, 4, 9500, 10, 0);");
    read_part(GV_TOTALS_ALL);
    assert_int_equal(facts.launch_calls, 2); /* the host's work is not a launch */
    assert_int_equal(facts.launch_failed, 1);
    assert_int_equal(facts.launch_result, 209);
    assert_string_equal(facts.launch_failed_most, "cuLaunchKernel");
    assert_false(gv_run_facts_launches_failed(&facts));
    assert_true(gv_run_facts_not_run(&facts));
    totals_execute("DELETE FROM call WHERE id = 5");
    read_part(GV_TOTALS_ALL);
    assert_true(gv_run_facts_launches_failed(&facts));
}

/* Frees in exit handlers, after the driver has ended. */
static void calls_after_the_drivers_end_are_no_failures(void **state)
{
    totals_execute("INSERT INTO api (id, name, class) VALUES (4, 'cuLibraryUnload', 'load');"
                   "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                   " (7, 1, 4, 9500, 10, 4), (8, 1, 4, 9600, 10, 4);");
    read_part(GV_TOTALS_ALL);
    assert_int_equal(facts.failed, 1);
    assert_string_equal(facts.failed_most, "cuLaunchKernel");
}

/* Process 1 was killed: its copies were seen, its launches not. */
static void what_is_missing_is_not_known(void **state)
{
    read_part(GV_TOTALS_ALL);
    assert_true(facts.gpu_seen && facts.gpu_whole);
    totals_execute("UPDATE process SET ended = 'killed' WHERE id = 1;"
                   "UPDATE call SET stream = 1, correlation = id WHERE id IN (3, 5);"
                   "INSERT INTO loss VALUES (1, 'GPU operation', 'last flush', 2)");
    read_part(GV_TOTALS_ALL);
    assert_false(facts.gpu_seen || facts.gpu_whole); /* nothing was seen */
    totals_execute("INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);"
                   "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call) VALUES"
                   " (1, 1, 2, 3000, 4500, 3)");
    read_part(GV_TOTALS_ALL);
    assert_true(facts.gpu_seen);
    assert_false(facts.gpu_whole);
    assert_int_equal(facts.known_ns, 9000);
    assert_int_equal(facts.busy_ns, 4500);
    read_part(
        (struct gv_totals_part){2, 0, -1, INT64_MIN, INT64_MAX, NULL}); /* the other process */
    assert_true(facts.gpu_whole);
}

/* A call counts if its process was killed in it or still is in it, not if another thread's exit
 * or exec cut it short. */
static void a_call_is_unfinished_if_its_process_did_not_end_by_itself(void **state)
{
    totals_execute("INSERT INTO flight (process, thread_serial, api, start_ns, seen_ns) VALUES"
                   " (1, 1, 2, 9000, 9800);");
    read_part(GV_TOTALS_ALL); /* exit */
    assert_string_equal(facts.flight, "");
    totals_execute("UPDATE process SET ended = 'exec' WHERE id = 1");
    read_part(GV_TOTALS_ALL);
    assert_string_equal(facts.flight, "");
    assert_int_equal(facts.flight_ns, 0);
    totals_execute("UPDATE process SET ended = 'killed' WHERE id = 1");
    read_part(GV_TOTALS_ALL);
    assert_string_equal(facts.flight, "cuMemcpyHtoD_v2");
    assert_int_equal(facts.flight_ns, 800);
    assert_int_equal(facts.flight_running, 0);
    totals_execute("UPDATE process SET ended = NULL WHERE id = 1");
    read_part(GV_TOTALS_ALL);
    assert_string_equal(facts.flight, "cuMemcpyHtoD_v2");
    assert_int_equal(facts.flight_running, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, totals_close)
        TEST(what_is_missing_is_not_known),
        TEST(a_call_is_unfinished_if_its_process_did_not_end_by_itself),
        TEST(no_part_is_larger_than_the_whole),
        TEST(loads_that_failed_are_known),
        TEST(records_that_found_no_room_are_known),
        TEST(launches_that_failed_are_known),
        TEST(calls_after_the_drivers_end_are_no_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
