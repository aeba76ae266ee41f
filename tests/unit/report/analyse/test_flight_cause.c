/* The causes of unfinished calls, and the cost of finding them. */
#include "cmocka_all.h"

#include "report/analyse/stalls/in_flight.h"
#include "report/store/schema.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static struct gv_database database;
static int64_t steps;

static int count_steps(void *context)
{
    (void)context;
    steps++;
    return 0;
}

static void execute(const char *sql)
{
    if (sqlite3_exec(database.handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database.handle));
}

static int setup(void **state)
{
    memset(&database, 0, sizeof(database));
    assert_int_equal(sqlite3_open(":memory:", &database.handle), SQLITE_OK);
    sqlite3_progress_handler(database.handle, 100, count_steps, NULL);
    execute(gv_schema_sql);
    execute(
        "INSERT INTO process (id, identity) VALUES (1, 1);"
        "INSERT INTO thread VALUES (1, 1, 1, 10, 'a', 0);"
        "INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch');"
        "INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'old'), (2, 1, 2, 'new');"
        "INSERT INTO flight (process, thread_serial, api, start_ns, kernel) VALUES (1, 1, 1,"
        " 1000000000, 2)");
    return 0;
}

static int teardown(void **state)
{
    sqlite3_close(database.handle);
    return 0;
}

static void add_calls(int count, int kernel)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT"
             " INTO call (thread, api, start_ns, duration_ns, result, kernel) SELECT 1, 1, i, 5, 0,"
             " %d FROM n",
             count, kernel);
    execute(sql);
}

static void expect_cause(const char *cause)
{
    sqlite3_stmt *row = NULL;

    steps = 0;
    assert_int_equal(gv_flight_causes(&database, 1), 0);
    assert_int_equal(
        sqlite3_prepare_v2(database.handle, "SELECT cause FROM flight", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(row, 0), cause);
    sqlite3_finalize(row);
}

static void the_first_launch_of_a_kernel_loads_it(void **state)
{
    expect_cause("lazy-load");
    add_calls(3, 1);
    expect_cause("lazy-load");
    add_calls(1, 2);
    expect_cause("unknown");
    add_calls(3, 1);
    expect_cause("unknown");
    execute("DELETE FROM call WHERE kernel = 2; UPDATE flight SET kernel = 1");
    expect_cause("unknown");
}

static void expect_told(const char *state, const char *advice)
{
    sqlite3_stmt *row = NULL;

    assert_int_equal(gv_flight_causes(&database, 1), 0);
    assert_int_equal(
        sqlite3_prepare_v2(database.handle, "SELECT state, advice FROM in_flight", -1, &row, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(row, 0), state);
    if (advice)
        assert_string_equal((const char *)sqlite3_column_text(row, 1), advice);
    else
        assert_int_equal(sqlite3_column_type(row, 1), SQLITE_NULL);
    sqlite3_finalize(row);
}

static void a_host_function_that_runs_is_unfinished(void **state)
{
    execute("INSERT INTO api (id, name, class) VALUES (3, 'cuLaunchHostFunc', 'launch');"
            "UPDATE api SET name = 'cuMemFree_v2', class = 'free' WHERE id = 1;"
            "INSERT INTO context VALUES (1, 1, 1);"
            "INSERT INTO stream VALUES (1, 1, 1, NULL, 5, 'created');"
            "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream) VALUES"
            " (90, 1, 3, 100, 5, 0, 1), (91, 1, 3, 200, 5, 0, 1);"
            "INSERT INTO host_function (process, number, call, start_ns, duration_ns) VALUES"
            " (1, 1, 90, 300, 5), (1, 2, 91, NULL, NULL)");
    expect_told(
        "It waits for a host function, launched 0.000 s into the run, which is not known to "
        "have ended.",
        NULL);
    execute(
        "INSERT INTO stack VALUES (1, 1, 1); UPDATE host_function SET stack = 1;"
        "INSERT INTO frame (stack, depth, kind, function) VALUES (1, 0, 'native', 'work(void*)')");
    expect_told(
        "It waits for host function work, launched 0.000 s into the run, which is not known "
        "to have ended.",
        NULL);
    execute("UPDATE host_function SET start_ns = 400, duration_ns = 5");
    expect_told("No launch is known to be unfinished.", NULL);
}

/* What the call waits for and what to do are separate texts. */
static void advice_is_only_what_can_be_done(void **state)
{
    expect_told("No launch is known to be unfinished.", NULL);
    execute("UPDATE kernel SET name = 'a. Load b' WHERE id = 1");
    add_calls(1, 1);
    expect_told("It waits for a. Load b, launched 0.000 s into the run, which is not known to have "
                "ended. If it waits for new in turn, this is a deadlock.",
                "Load new at the program's start: call cudaFuncGetAttributes or "
                "cuKernelGetFunction for it, or set CUDA_MODULE_LOADING=EAGER.");
    execute("UPDATE api SET name = 'cuMemFree_v2', class = 'free' WHERE id = 1;"
            "INSERT INTO api (id, name, class) VALUES (2, 'cuLaunchKernel', 'launch');"
            "UPDATE call SET api = 2");
    expect_told("It waits for a. Load b, launched 0.000 s into the run, which is not known to have "
                "ended.",
                NULL);
}

static void a_blocking_launch_waits_for_its_own_kernel(void **state)
{
    execute("INSERT INTO variable VALUES (1, 'CUDA_LAUNCH_BLOCKING', '1')");
    expect_cause("launch-blocking");
    expect_told(
        "It waits for its own work, as CUDA_LAUNCH_BLOCKING asks.",
        "Find out why new does not end: CUDA_LAUNCH_BLOCKING only makes its launch wait for "
        "it.");
    execute("UPDATE api SET name = 'cuMemFree_v2', class = 'free'");
    expect_cause("free");
}

/* Each stream has a queue of its own. */
static void a_queue_is_full_of_its_streams_launches(void **state)
{
    execute("INSERT INTO stream VALUES (1, 1, 1, NULL, 100, 'created'), (2, 1, 1, NULL, 200,"
            " 'created'); UPDATE flight SET kernel = 1, stream_handle = 100");
    add_calls(1200, 1);
    execute("UPDATE call SET stream = 1 + id % 2");
    expect_cause("unknown");
    execute("UPDATE call SET stream = 1 WHERE id % 10");
    expect_cause("queue-full");
    execute("UPDATE flight SET stream_handle = 200");
    expect_cause("unknown");
    execute("UPDATE flight SET stream_handle = NULL"); /* its owner is unknown */
    expect_cause("queue-full");
}

/* Whatever a stream is given, sets too. */
static void a_set_waits_for_a_full_queue(void **state)
{
    execute("INSERT INTO api (id, name, class) VALUES (2, 'cuMemsetD8Async', 'set');"
            "UPDATE flight SET api = 2, kernel = NULL");
    add_calls(800, 1);
    expect_cause("unknown");
    add_calls(400, 1);
    expect_cause("queue-full");
}

/* Code that cuModuleLoad put onto the GPU is not loaded again. */
static void code_that_is_there_leaves_local_memory(void **state)
{
    execute("INSERT INTO api (id, name, class) VALUES (2, 'cuModuleLoadData', 'load');"
            "INSERT INTO module (id, process, number) VALUES (1, 1, 1);"
            "UPDATE kernel SET module = 1 WHERE id = 2;"
            "INSERT INTO load (thread, api, start_ns, duration_ns, kind, module) VALUES"
            " (1, 2, 0, 5, 'module', 1)");
    expect_cause("local-memory");
    add_calls(1, 2);
    expect_cause("unknown");
}

/* Operations of a stream end in their order. */
static void an_operation_that_ended_ends_those_before_it(void **state)
{
    execute("INSERT INTO stream (id, process, context, handle, kind) VALUES (1, 1, 1, 100,"
            " 'created')");
    add_calls(4, 1);
    execute("UPDATE call SET stream = 1");
    execute("INSERT INTO gpu_op (place, kind, start_ns, duration_ns, call) VALUES (1, 1, 2, 3, 3)");
    expect_told("It waits for old, launched 0.000 s into the run, which is not known to have ended."
                " If it waits for new in turn, this is a deadlock.",
                "Load new at the program's start: call cudaFuncGetAttributes or "
                "cuKernelGetFunction for it, or set CUDA_MODULE_LOADING=EAGER.");
    execute("INSERT INTO gpu_op (place, kind, start_ns, duration_ns, call) VALUES (1, 1, 6, 3, 4)");
    expect_told("No launch is known to be unfinished.", NULL);
}

/* A call that holds the lock keeps out those that began later. */
static void the_call_that_began_first_holds_the_lock(void **state)
{
    execute(
        "INSERT INTO thread (id, process, serial, tid, name, records) VALUES (2, 1, 2, 11, 'b',"
        " 0); INSERT INTO api (id, name, class) VALUES (2, 'cuMemFree_v2', 'free'),"
        " (3, 'cuMemAlloc_v2', 'alloc');"
        "UPDATE flight SET api = 2, kernel = NULL;"
        "INSERT INTO flight (process, thread_serial, api, start_ns) VALUES (1, 2, 3, 2000000000)");
    expect_cause("free");
    execute(
        "DELETE FROM flight WHERE thread_serial = 1;" /* and again, as the second row */
        "INSERT INTO flight (process, thread_serial, api, start_ns) VALUES (1, 1, 2, 3000000000)");
    expect_cause("unknown");
    execute("UPDATE flight SET start_ns = 1000000000 WHERE thread_serial = 1");
    expect_cause("lock");
}

static void a_look_reads_only_what_came_since_the_last(void **state)
{
    int64_t few;

    add_calls(30000, 1); /* farther back than the search for other causes goes */
    expect_cause("lazy-load");
    expect_cause("lazy-load");
    few = steps;
    assert_true(few > 0);
    add_calls(300000, 1);
    expect_cause("lazy-load");
    expect_cause("lazy-load");
    assert_true(steps < few + few / 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_launch_of_a_kernel_loads_it),
        TEST(advice_is_only_what_can_be_done),
        TEST(a_blocking_launch_waits_for_its_own_kernel),
        TEST(a_host_function_that_runs_is_unfinished),
        TEST(a_queue_is_full_of_its_streams_launches),
        TEST(a_set_waits_for_a_full_queue),
        TEST(code_that_is_there_leaves_local_memory),
        TEST(an_operation_that_ended_ends_those_before_it),
        TEST(the_call_that_began_first_holds_the_lock),
        TEST(a_look_reads_only_what_came_since_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
