/* The stalls as commands query them: rows and sums. */
#include "report/analyse/stalls/rows.h"

#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/sums.h"
#include "tests/unit/report/stall_fixture.h"

#include <stdio.h>
#include <string.h>

static void busy(void)
{
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
}

static void time_that_threads_lose_together_is_lost_once(void **state)
{
    struct gv_stall_sums sums;

    busy();
    CALL("cuModuleLoadData", 2000, 50000);
    CALL("cuLaunchKernel", 3000, 49002, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    CALL("cuMemAlloc_v2", 60000, 40000);
    expect("2 module-load 0+49000+1000 for 1 drained 1\n"
           "3 lock 0+49000+0 for 1 by 2\n");
    assert_int_equal(gv_stall_sums_read(fixture_trace, &sums), 0);
    assert_int_equal(sums.count, 2);
    assert_int_equal(sums.lost_ns, 50000000); /* 2 ms to 52 ms */
    assert_int_equal(sums.jit_ns, 0);
    assert_int_equal(sums.run_ns, 99100000);
    assert_false(gv_stall_sums_are_small(&sums));
    /* another process's time is its own */
    fixture_sql("INSERT INTO call (id, thread, api, start_ns, duration_ns) VALUES"
                " (90, 11, 3, 2000000, 1000000000);"
                "INSERT INTO stall VALUES (90, 90, 'free', 0, 0, 40000000, 0, NULL, NULL, NULL,"
                " NULL, 'inferred', NULL, NULL);");
    assert_int_equal(gv_stall_sums_read(fixture_trace, &sums), 0);
    assert_int_equal(sums.lost_ns, 90000000);
    assert_int_equal(sums.run_ns, 1099100000);
}

/* A chain: a launch behind a load that waits for a kernel. */
static void rows_say_what_they_refer_to(void **state)
{
    struct gv_stall_filter filter = {.cause = "lock"};
    struct gv_stall_rows rows;

    busy();
    CALL("cuModuleLoadData", 2000, 50000);
    CALL("cuLaunchKernel", 3000, 49002, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    expect("2 module-load 0+49000+1000 for 1 drained 1\n"
           "3 lock 0+49000+0 for 1 by 2\n");
    assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
    assert_int_equal(rows.count, 1);
    assert_string_equal(rows.rows[0].kernel, "spin");
    assert_string_equal(rows.rows[0].waited_name, "spin");
    assert_int_equal(rows.rows[0].waited_end_ns, 51000000);
    assert_string_equal(rows.rows[0].blocked_name, "cuModuleLoadData");
    assert_int_equal(rows.rows[0].blocked_thread, 1);
    assert_int_equal(rows.rows[0].blocked_stall, 1);
    gv_stall_rows_free(&rows);
}

static void rows_have_the_host_function(void **state)
{
    struct gv_stall_filter filter = {.people = true};
    struct gv_stall_rows rows;

    hosted(900, STREAM_A, 1000, 50000);
    CALL("cuModuleLoadData", 2000, 50000);
    fixture_sql(
        "INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2); INSERT INTO call_stack VALUES (1, 2);"
        "UPDATE host_function SET stack = 1;"
        "INSERT INTO frame (stack, depth, kind, function) VALUES (1, 0, 'native', 'work(void*)')");
    expect("2 module-load 0+49000+1000 drained 1 host 1\n");
    assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
    assert_int_equal(rows.count, 1);
    assert_string_equal(rows.rows[0].host_name, "work");
    assert_int_equal(rows.rows[0].host_ns, 50000000);
    assert_int_equal(rows.rows[0].host_end_ns, 51000000);
    assert_int_equal(rows.rows[0].host_stack, 2);
    gv_stall_rows_free(&rows);
    /* The static runtime's own function is around the program's. */
    fixture_sql("UPDATE frame SET kind = 'runtime'");
    assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
    assert_true(rows.rows[0].host_function != 0);
    assert_null(rows.rows[0].host_name);
    gv_stall_rows_free(&rows);
}

/* A call deep in a package has the program's line, which can be changed. */
static void the_place_is_a_line_of_the_program(void **state)
{
    struct gv_stall_filter filter = {0};
    struct gv_stall_rows rows;
    char text[256];

    busy();
    CALL("cuModuleLoadData", 2000, 50000);
    fixture_sql("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO call_stack VALUES (2, 1);"
                "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                " (1, 0, 'native', 'load', NULL, NULL),"
                " (1, 1, 'python', 'launch', '/v/lib/python3.12/site-packages/n/d.py', 527),"
                " (1, 2, 'python', 'call', '/usr/lib/python3.12/contextlib.py', 137),"
                " (1, 3, 'python', 'step', '/home/u/train.py', 31),"
                " (1, 4, 'python', 'main', '/home/u/train.py', 88);");
    expect("2 module-load 0+49000+1000 for 1 drained 1\n");
    assert_int_equal(gv_stack_text(fixture_trace, 1, 1, text, sizeof(text)), 0);
    assert_string_equal(text, "train.py:31 step");
    assert_int_equal(gv_stack_text(fixture_trace, 1, 2, text, sizeof(text)), 0);
    assert_string_equal(text, "d.py:527 launch <- contextlib.py:137 call <- train.py:31 step");
    assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
    assert_non_null(strstr(rows.rows[0].advice, "cuModuleLoadData at train.py:31 to"));
    assert_false(rows.rows[0].stack_of_other);
    gv_stall_rows_free(&rows);
    fixture_sql("INSERT INTO call_stack_of_other VALUES (2)");
    assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
    assert_true(rows.rows[0].stack_of_other);
    gv_stall_rows_free(&rows);
    fixture_sql("UPDATE frame SET line = NULL, library = '/opt/app/libx.so'");
    expect("2 module-load 0+49000+1000 for 1 drained 1\n");
    assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
    assert_non_null(strstr(rows.rows[0].advice, "cuModuleLoadData at load in libx.so to"));
    gv_stall_rows_free(&rows);
}

/* With its debug information installed, libc has lines, but it is not the program. */
static void the_place_is_not_in_the_c_library(void **state)
{
    struct gv_stall_filter filter = {0};
    struct gv_stall_rows rows;
    char text[256];

    busy();
    CALL("cuModuleLoadData", 2000, 50000);
    fixture_sql("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO call_stack VALUES (2, 1);"
                "INSERT INTO frame (stack, depth, kind, function, library, file, line) VALUES"
                " (1, 0, 'native', 'main', '/home/u/app', NULL, NULL),"
                " (1, 1, 'native', '__libc_start_call_main', '/lib/x86_64-linux-gnu/libc.so.6',"
                "  './csu/libc_start_call_main.h', 58),"
                " (1, 2, 'native', '_start', '/home/u/app', NULL, NULL);");
    expect("2 module-load 0+49000+1000 for 1 drained 1\n");
    assert_int_equal(gv_stack_text(fixture_trace, 1, 1, text, sizeof(text)), 0);
    assert_string_equal(text, "app main");
    assert_int_equal(gv_stack_text(fixture_trace, 1, 9, text, sizeof(text)), 0);
    assert_string_equal(text, "app main");
    assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
    assert_non_null(strstr(rows.rows[0].advice, "cuModuleLoadData at main in app to"));
    gv_stall_rows_free(&rows);
    fixture_sql("UPDATE frame SET file = 'app.c', line = 7 WHERE depth = 0");
    assert_int_equal(gv_stack_text(fixture_trace, 1, 9, text, sizeof(text)), 0);
    assert_string_equal(text, "app.c:7 main");
}

/* Nor are other libraries of the system that have lines. */
static void the_place_is_not_in_a_library_of_the_system(void **state)
{
    static const struct {
        const char *library, *line, *stack;
    } cases[] = {
        {"/lib/x86_64-linux-gnu/libm.so.6", "app.c:7 main", "app.c:7 main"},
        {"/opt/conda/lib/libm.so.6", "app.c:7 main", "app.c:7 main"},
        {"/usr/lib/x86_64-linux-gnu/libz.so.1", "app.c:7 main",
         "s_sin.c:115 do_cos <- app.c:7 main"},
        {"/home/u/lib/libown.so", "s_sin.c:115 do_cos", "s_sin.c:115 do_cos <- app.c:7 main"},
    };
    struct gv_stall_filter filter = {0};
    struct gv_stall_rows rows;
    char text[256], sql[256];

    busy();
    CALL("cuModuleLoadData", 2000, 50000);
    fixture_sql("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO call_stack VALUES (2, 1);"
                "INSERT INTO frame (stack, depth, kind, function, library, file, line) VALUES"
                " (1, 0, 'native', 'do_cos', '', './math/s_sin.c', 115),"
                " (1, 1, 'native', 'main', '/usr/bin/app', 'app.c', 7);");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(sql, sizeof(sql), "UPDATE frame SET library = '%s' WHERE depth = 0",
                 cases[i].library);
        fixture_sql("%s", sql);
        assert_int_equal(gv_stack_text(fixture_trace, 1, 1, text, sizeof(text)), 0);
        assert_string_equal(text, cases[i].line);
        assert_int_equal(gv_stack_text(fixture_trace, 1, 9, text, sizeof(text)), 0);
        assert_string_equal(text, cases[i].stack);
        expect("2 module-load 0+49000+1000 for 1 drained 1\n");
        assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
        snprintf(text, sizeof(text), "cuModuleLoadData at %.*s to",
                 (int)strcspn(cases[i].line, " "), cases[i].line);
        assert_non_null(strstr(rows.rows[0].advice, text));
        gv_stall_rows_free(&rows);
    }
}

static int count_steps(void *steps)
{
    *(int *)steps += 1;
    return 0;
}

/* Reading a few stalls among many operations does not read all of them. */
static void rows_are_looked_up(void **state)
{
    struct gv_stall_filter filter = {0};
    struct gv_stall_rows rows;
    int steps = 0;

    fixture_sql("WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)"
                " INSERT INTO call (id, thread, api, start_ns, duration_ns, kernel)"
                " SELECT i, 1, 1, i, 1, 1 FROM n;"
                "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call)"
                " SELECT id, 1, 1, 1, start_ns, 1, id FROM call;"
                "INSERT INTO stall VALUES (1, 2000, 'free', 0, 0, 500000, 0, 1999, NULL, 1, 1,"
                " 'measured', NULL, NULL), (2, 3000, 'lock', 0, 0, 400000, 0, 1999, 2000, 1, 1,"
                " 'measured', NULL, NULL);");
    sqlite3_progress_handler(fixture_trace, 1000, count_steps, &steps);
    assert_int_equal(gv_stall_rows_read(fixture_trace, &filter, &rows), 0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.rows[1].blocked_stall, 1);
    assert_in_range(steps, 0, 10);
    gv_stall_rows_free(&rows);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(time_that_threads_lose_together_is_lost_once),
        CASE(rows_say_what_they_refer_to),
        CASE(rows_have_the_host_function),
        CASE(the_place_is_a_line_of_the_program),
        CASE(the_place_is_not_in_the_c_library),
        CASE(the_place_is_not_in_a_library_of_the_system),
        CASE(rows_are_looked_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
