/* What the calls in ranges did, summed up by name, in traces of known truth. */
#include "report/analyse/ranges/pass.h"
#include "report/analyse/ranges/totals.h"
#include "report/analyse/totals/totals.h"
#include "tests/unit/report/totals_fixture.h"

#include <stdio.h>

static int setup(void **state)
{
    totals_open(state);
    totals_execute(
        "INSERT INTO thread VALUES (3, 1, 2, 11, 'silent', 0);"
        "INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'),"
        " (2, 'cuStreamSynchronize', 'sync'), (3, 'cuMemAlloc_v2', 'alloc'),"
        " (4, 'cuModuleLoadData', 'load'), (5, 'cuEventQuery', 'query'),"
        " (6, 'cuMemAllocHost_v2', 'alloc');"
        "INSERT INTO device (id, process, device, uuid) VALUES (1, 1, 0, 'u'), (2, 1, 1, 'v');"
        "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 1, 2, 7);"
        "INSERT INTO range_text VALUES (1, 1, 1, 'step'), (2, 1, 2, 'forward'), (3, 1, 3, 'data'),"
        " (4, 2, 1, 'step');");
    return 0;
}

static void range(int64_t id, int64_t thread, int kind, int64_t text, int64_t start_ns,
                  int64_t end_ns, int64_t parent)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO range (id, thread, kind, text, start_ns, duration_ns, parent) VALUES"
             " (%ld, %ld, %d, nullif(%ld, 0), %ld, nullif(%ld, -1), nullif(%ld, 0))",
             (long)id, (long)thread, kind, (long)text, (long)start_ns,
             end_ns < 0 ? -1L : (long)(end_ns - start_ns), (long)parent);
    totals_execute(sql);
}

/* From this call on, the thread is in the range. */
static void in(int64_t thread, int64_t call, int64_t range)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "INSERT INTO call_range VALUES (%ld, %ld, nullif(%ld, 0))",
             (long)thread, (long)call, (long)range);
    totals_execute(sql);
}

static void call(int64_t id, int64_t thread, int64_t api, int64_t start_ns, int64_t bytes)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, bytes) VALUES"
             " (%ld, %ld, %ld, %ld, 5, 0, nullif(%ld, 0))",
             (long)id, (long)thread, (long)api, (long)start_ns, (long)bytes);
    totals_execute(sql);
}

static void operation(int64_t call, int64_t place, int64_t start_ns, int64_t duration_ns)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO gpu_op (place, kind, start_ns, duration_ns, call) VALUES"
             " (%ld, 1, %ld, %ld, %ld)",
             (long)place, (long)start_ns, (long)duration_ns, (long)call);
    totals_execute(sql);
}

/* What the table says, a name in a row: `columns` are an SQL expression. */
static void expect_text(const char *columns, const char *expected)
{
    char sql[512];
    sqlite3_stmt *row = NULL;

    snprintf(sql, sizeof(sql),
             "SELECT group_concat(words, '; ') FROM (SELECT coalesce(domain || ': ', '') ||"
             " coalesce(message, '') || ' ' || %s AS words FROM range_summary"
             " ORDER BY kind, domain, message)",
             columns);
    assert_int_equal(sqlite3_prepare_v2(totals_trace, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(row, 0), expected);
    sqlite3_finalize(row);
}

static void expect(const char *columns, const char *expected)
{
    totals_keep();
    expect_text(columns, expected);
}

static void a_call_counts_for_all_ranges_that_it_is_in(void **state)
{
    range(1, 1, 1, 1, 10, 100, 0);
    range(2, 1, 1, 2, 20, 60, 1);
    call(1, 1, 1, 5, 0);
    in(1, 2, 1);
    call(2, 1, 1, 12, 0);
    in(1, 3, 2);
    call(3, 1, 1, 22, 0);
    call(4, 1, 2, 30, 0);
    in(1, 5, 1);
    call(5, 1, 3, 70, 1000);
    call(6, 1, 6, 80, 1000);
    in(1, 7, 0);
    call(7, 1, 1, 110, 0);
    operation(1, 1, 8, 1);
    operation(2, 1, 15, 10);
    operation(7, 1, 120, 1000);
    operation(3, 1, 40, 100); /* after the range's end, too */
    expect("count || ' ' || calls || ' ' || launches || ' ' || gpu_ns || ' ' || allocations || ' '"
           " || allocated_bytes",
           "forward 1 2 1 100 0 0; step 1 5 2 110 1 1000");
}

static void times_are_of_those_that_ended(void **state)
{
    range(1, 1, 1, 1, 10, 20, 0);
    range(2, 1, 1, 1, 30, 60, 0);
    range(3, 2, 1, 4, 70, 90, 0); /* the same text in another process */
    range(4, 1, 1, 1, 70, 170, 0);
    range(5, 1, 1, 1, 180, -1, 0);
    range(6, 1, 1, 2, 190, -1, 5);
    range(7, 1, 3, 3, 5, 5, 0);
    expect("kind || ' ' || count || ' ' || unended || ' ' || total_ns || ' ' || coalesce(min_ns || "
           "' ' ||"
           " median_ns || ' ' || max_ns, '')",
           "data mark 1 0 0 0 0 0; forward push 1 1 0 ; step push 5 1 160 10 20 100");
}

static void a_name_counts_once_for_a_call(void **state)
{
    range(1, 1, 1, 1, 10, 100, 0);
    range(2, 1, 1, 1, 20, 90, 1);
    range(3, 1, 1, 1, 30, 80, 2);
    in(1, 1, 3);
    call(1, 1, 1, 40, 0);
    operation(1, 1, 45, 20);
    expect("calls || ' ' || gpu_ns || ' ' || total_ns || ' ' || idle_ns", "step 1 20 210 150");
}

static void domains_are_told_apart(void **state)
{
    range(1, 1, 1, 1, 10, 50, 0);
    range(2, 1, 1, 1, 20, 90, 1);
    totals_execute("UPDATE range SET domain = 3 WHERE id = 2");
    in(1, 1, 2);
    call(1, 1, 1, 40, 0);
    call(2, 1, 1, 60, 0); /* in the one of the domain only: the other one has ended */
    expect("calls", "step 1; data: step 2");
}

static void a_started_range_has_the_calls_of_all_threads(void **state)
{
    range(1, 1, 2, 1, 10, 50, 0);
    range(2, 1, 2, 2, 30, 70, 0);
    range(3, 1, 1, 3, 20, 25, 0);
    in(1, 1, 3);
    call(1, 1, 1, 20, 0);
    in(1, 2, 0);
    call(2, 1, 1, 35, 0);
    call(3, 3, 1, 9, 0);
    call(4, 3, 1, 45, 0);
    call(5, 3, 1, 60, 0);
    call(6, 3, 1, 75, 0);
    call(7, 2, 1, 45, 0); /* another process */
    expect("calls", "data 1; forward 3; step 3");
}

static void a_silent_thread_is_where_the_only_other_one_is(void **state)
{
    range(1, 1, 1, 1, 10, 100, 0);
    range(2, 1, 1, 2, 20, 60, 1);
    in(1, 1, 2);
    call(1, 1, 1, 25, 0);
    call(2, 3, 1, 30, 0);
    call(3, 3, 1, 65, 0);
    call(4, 3, 1, 105, 0);
    operation(2, 1, 35, 7);
    expect("calls || ' ' || gpu_ns", "forward 2 7; step 3 7");
    /* With a second thread that pushes, nobody knows. */
    totals_execute("INSERT INTO thread VALUES (4, 1, 3, 12, 'c', 0)");
    range(3, 4, 1, 3, 10, 100, 0);
    expect("calls", "data 0; forward 1; step 1");
}

static void stalls_and_loads_are_of_the_calls(void **state)
{
    range(1, 1, 1, 1, 10, 1000, 0);
    in(1, 1, 1);
    for (int64_t id = 1; id <= 6; id++)
        call(id, 1, 4, 10 * id, 0);
    call(7, 2, 4, 45, 0);
    totals_execute(
        "UPDATE call SET duration_ns = 100;"
        "INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, confidence) VALUES"
        " (1, 5, 'jit', 0, 30, 20, 0, 'measured'), (2, 1, 'lock', 0, 0, 7, 0, 'measured'),"
        " (3, 3, 'explicit-sync', 1, 0, 1000, 0, 'measured'), (4, 7, 'lock', 0, 0, 9, 0, "
        "'measured');"
        "INSERT INTO load (thread, api, call, start_ns, duration_ns, result, kind) VALUES"
        " (1, 4, 2, 20, 40, 0, 'ptx'), (1, 4, 3, 30, 60, 0, 'ptx'), (1, 4, 3, 30, 80, 0, 'ptx'),"
        " (1, 4, 4, 40, 80, 1, 'ptx'), (2, 4, 7, 45, 5, 0, 'ptx');"
        "INSERT INTO gpu_module (process, number, at_ns, call) VALUES (1, 1, 35, 3), (1, 2, 66, "
        "6);");
    expect("stalls || ' ' || stall_ns || ' ' || max_stall_ns || ' ' || loads || ' ' || load_ns",
           "step 2 57 50 4 240");
}

/* Idle: no device of the process has work. */
static void idle_time_is_that_of_all_devices_at_once(void **state)
{
    range(1, 1, 1, 1, 100, 200, 0);
    range(2, 1, 1, 1, 300, 400, 0);
    range(3, 1, 1, 2, 310, 320, 2);
    range(4, 2, 1, 3, 100, 200, 0);
    operation(0, 1, 50, 60);  /* 100 to 110 */
    operation(0, 2, 105, 15); /* 110 to 120 */
    operation(0, 1, 150, 10);
    operation(0, 1, 152, 2);
    operation(0, 2, 190, 300); /* to the end */
    expect("idle_ns", "data 100; forward 0; step 60");
    /* While another profiler has the GPU side, and until the next operation, nothing is known. */
    totals_execute("INSERT INTO gpu_change VALUES (1, 130, 'other', NULL), (1, 140, 'seen', NULL)");
    expect("idle_ns", "data 100; forward 0; step 40");
}

static void without_a_gpu_side_its_times_are_not_known(void **state)
{
    totals_execute("UPDATE process SET gpu = 'none' WHERE id = 2");
    range(1, 2, 1, 4, 100, 200, 0);
    range(2, 1, 1, 2, 100, 200, 0);
    in(2, 1, 1);
    call(1, 2, 1, 150, 0);
    expect("launches || ' ' || coalesce(gpu_ns, 'unknown') || ' ' || coalesce(idle_ns, 'unknown')",
           "forward 0 0 100; step 1 unknown unknown");
}

static void polls_count_as_calls(void **state)
{
    range(1, 1, 1, 1, 10, 1000, 0);
    in(1, 1, 1);
    call(1, 1, 5, 20, 0);
    totals_execute("UPDATE call SET result = 600; INSERT INTO call_fold VALUES (1, 40, 500)");
    expect("calls || ' ' || launches", "step 40 0");
}

static void numbers_are_one_name_where_most_occur_once(void **state)
{
    totals_execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)"
        "INSERT INTO range_text SELECT 100 + i, 1, 100 + i, 'epoch ' || i || ' of 30' FROM n;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)"
        "INSERT INTO range_text SELECT 200 + i, 1, 200 + i, 'layer ' || i FROM n;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4)"
        "INSERT INTO range_text SELECT 300 + i, 1, 300 + i, 'few ' || i FROM n;"
        "INSERT INTO range (thread, kind, text, start_ns, duration_ns)"
        " SELECT 1, 1, id, id, 1 FROM range_text WHERE id > 100;"
        "INSERT INTO range (thread, kind, text, start_ns, duration_ns)"
        " SELECT 1, 1, id, 1000 + id, 1 FROM range_text WHERE id BETWEEN 201 AND 299 OR id < 103;");
    expect("count || CASE WHEN message LIKE '%#%' THEN '#' ELSE '' END",
           "data 1; epoch # of # 32#; few 1 1; few 2 1; few 3 1; few 4 1; forward 1; layer 1 2;"
           " layer 2 2; layer 3 2; step 2");
    assert_int_equal(totals_number("SELECT count(*) FROM range_total_of"), 41);
    assert_int_equal(totals_number("SELECT is_pattern FROM range_total WHERE text LIKE 'epoch%'"),
                     1);
}

/* What is left of too many names has one sum; it is no step, although it repeats. */
static void the_rest_of_too_many_names_is_no_step(void **state)
{
    totals_keep_with(
        "UPDATE api SET gpu_work = 1 WHERE id = 1;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)"
        "INSERT INTO range_text SELECT 1000 + i, 1, 1000 + i, char(97 + i % 26,"
        " 97 + i / 26 % 26, 97 + i / 676) FROM n;"
        "INSERT INTO range (id, thread, kind, text, start_ns, duration_ns)"
        " SELECT id, 1, 1, id, id * 100, 90 FROM range_text WHERE id > 1000;"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
        " SELECT id, 1, 1, id * 100 + 10, 5, 0 FROM range_text WHERE id > 1000;"
        "INSERT INTO call_range SELECT 1, id, id FROM call;");
    assert_int_equal(totals_number("SELECT count FROM range_total WHERE is_pattern"),
                     12000 - GV_RANGE_NAMES);
    assert_int_equal(totals_number("SELECT count(*) FROM step_series"), 0);
}

/* A library names what it does itself. */
static void a_librarys_ranges_are_no_steps(void **state)
{
    totals_keep_with("UPDATE api SET gpu_work = 1 WHERE id = 1;"
                     "INSERT INTO range_text VALUES (10, 1, 10, 'CCCL'), (11, 1, 11, 'ours');"
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
                     "INSERT INTO range (id, thread, kind, domain, text, start_ns, duration_ns)"
                     " SELECT i, 1, 1, 10, 1, i * 100, 90 FROM n;"
                     "INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
                     " SELECT id, 1, 1, start_ns + 10, 5, 0 FROM range;"
                     "INSERT INTO call_range SELECT 1, id, id FROM call;");
    assert_int_equal(totals_number("SELECT count(*) FROM step_series"), 0);
    totals_keep_with("UPDATE range SET domain = 11");
    assert_int_equal(totals_number("SELECT count(*) FROM step"), 40);
}

/* More operations are late than the pass knows calls, in another order. */
static void late_operations_find_their_calls(void **state)
{
    range(1, 1, 1, 1, 0, 300000, 0);
    in(1, 1, 1);
    totals_execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
        " SELECT i, 1, 1, i, 1, 0 FROM n;"
        "INSERT INTO gpu_op (place, kind, start_ns, duration_ns, call)"
        " SELECT 1, 1, id + 5, 3, id FROM call ORDER BY id DESC;");
    assert_true(200000 > GV_RANGE_PASS_CALLS);
    expect("calls || ' ' || gpu_ns", "step 200000 600000");
}

static void a_range_counts_in_the_part_in_which_it_starts(void **state)
{
    const struct gv_totals_part part = {.device = -1, .from_ns = 100, .to_ns = 200};

    range(1, 1, 1, 1, 50, 150, 0);
    range(2, 1, 1, 2, 150, 250, 0);
    in(1, 1, 1);
    call(1, 1, 1, 110, 0);
    in(1, 2, 2);
    call(2, 1, 1, 160, 0);
    call(3, 1, 1, 210, 0);
    operation(2, 1, 170, 10);
    assert_int_equal(gv_totals_ensure(totals_trace, &part), 0);
    expect_text("calls || ' ' || gpu_ns || ' ' || idle_ns", "forward 1 10 40");
}

static void a_trace_without_ranges_has_no_sums(void **state)
{
    call(1, 1, 1, 10, 0);
    totals_keep();
    assert_int_equal(totals_number("SELECT count(*) FROM range_total"), 0);
    assert_int_equal(
        totals_number("SELECT count(*) FROM temp.sqlite_master WHERE name LIKE 'range%'"), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, totals_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_call_counts_for_all_ranges_that_it_is_in),
        CASE(times_are_of_those_that_ended),
        CASE(a_name_counts_once_for_a_call),
        CASE(domains_are_told_apart),
        CASE(a_started_range_has_the_calls_of_all_threads),
        CASE(a_silent_thread_is_where_the_only_other_one_is),
        CASE(stalls_and_loads_are_of_the_calls),
        CASE(idle_time_is_that_of_all_devices_at_once),
        CASE(without_a_gpu_side_its_times_are_not_known),
        CASE(polls_count_as_calls),
        CASE(numbers_are_one_name_where_most_occur_once),
        CASE(the_rest_of_too_many_names_is_no_step),
        CASE(a_librarys_ranges_are_no_steps),
        CASE(late_operations_find_their_calls),
        CASE(a_range_counts_in_the_part_in_which_it_starts),
        CASE(a_trace_without_ranges_has_no_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
