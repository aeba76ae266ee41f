/* Sums by minute: the view "minutes", and what is made of it. Times are in seconds. */
#include "report/analyse/minutes/minutes.h"
#include "tests/unit/report/totals_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Process 1 has the devices u and v, process 2 also u. */
static int setup(void **state)
{
    totals_open(state);
    totals_execute(
        "UPDATE process SET start_ns = 0, end_ns = 180000000000, ended = 'exit' WHERE id = 1;"
        "UPDATE process SET start_ns = 30000000000, end_ns = 90000000000, ended = 'exit' WHERE id "
        "= 2;"
        "INSERT INTO gpu_interval SELECT id, 1, start_ns, end_ns FROM process;"
        "INSERT INTO meta VALUES ('start_unix_ns', 1700000000000000000);"
        "INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'),"
        " (2, 'cuGraphLaunch', 'launch'), (3, 'cuMemcpyHtoD_v2', 'copy'),"
        " (4, 'cuModuleLoadData', 'load'), (5, 'cuStreamQuery', 'sync');"
        "INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'k'), (2, 2, 1, 'k');"
        "INSERT INTO device (id, process, device, name, uuid) VALUES"
        " (1, 1, 0, 'd', 'u'), (2, 2, 0, 'd', 'u'), (3, 1, 1, 'e', 'v');"
        "INSERT INTO gpu_name VALUES (1, 1, 1, 'k', 'k'), (2, 1, 2, 'l', 'l'), (3, 2, 1, 'k', 'k');"
        "INSERT INTO gpu_shape (id, process, number, name) VALUES (1, 1, 1, 1), (2, 1, 2, 2),"
        " (3, 1, 3, 1), (4, 2, 1, 3);"
        "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 0, 1, 8), (3, 2, 0, 1, 7),"
        " (4, 1, 1, 2, 7);");
    return 0;
}

static void call(int id, int thread, int api, int start, int duration, const char *rest)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel, bytes)"
             " VALUES (%d, %d, %d, %d000000000, %d000000000, 0, %s)",
             id, thread, api, start, duration, rest);
    totals_execute(sql);
}

/* kind, shape, call, bytes, copy_kind */
static void op(int place, int start, int duration, const char *rest)
{
    char sql[256];

    snprintf(
        sql, sizeof(sql),
        "INSERT INTO gpu_op (place, start_ns, duration_ns, kind, shape, call, bytes, copy_kind)"
        " VALUES (%d, %d000000000, %d000000000, %s)",
        place, start, duration, rest);
    totals_execute(sql);
}

/* "minute process what name count total longest bytes", in the order of the text. */
static char *rows(const char *where)
{
    sqlite3_stmt *row = NULL;
    char sql[1024], *found;

    snprintf(sql, sizeof(sql),
             "SELECT group_concat(line, '; ') FROM (SELECT (minute_ns / 60000000000) || ' ' ||"
             " coalesce(process, 'all') || ' ' || what || ' ' || name || ' ' || count || ' ' ||"
             " printf('%%g', total_ns / 1e9) || ' ' || CASE WHEN max_ns IS NULL THEN '-' ELSE "
             "printf('%%g', max_ns / 1e9) END ||"
             " coalesce(' ' || bytes, '') AS line FROM minutes WHERE %s ORDER BY 1)",
             where);
    if (sqlite3_prepare_v2(totals_trace, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(totals_trace));
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(row, 0);
    found = strdup(text ? text : "");
    sqlite3_finalize(row);
    return found;
}

static void expect(const char *where, const char *lines)
{
    char *found = rows(where);

    assert_string_equal(found, lines);
    free(found);
}

static void times_are_cut_at_the_ends_of_minutes(void **state)
{
    op(1, 50, 30, "1, 1, NULL, NULL, NULL");
    op(2, 70, 20, "1, 2, NULL, NULL, NULL");  /* at once, of another stream */
    op(3, 85, 100, "1, 4, NULL, NULL, NULL"); /* and of another process */
    op(4, 10, 5, "1, 3, NULL, NULL, NULL");
    expect("what = 'busy'", "0 all busy u 1 10 10; 0 all busy v 1 5 5; 1 all busy u 2 60 30;"
                            " 2 all busy u 0 60 60; 3 all busy u 0 5 5");
    /* A kernel counts in the minute in which it began. */
    expect("what = 'kernel'", "0 1 kernel k 2 35 30; 1 1 kernel l 1 20 20; 1 2 kernel k 1 100 100");
    expect("what = 'recorded' AND name = 'calls'",
           "0 1 recorded calls 1 60 60; 0 2 recorded calls 1 30 30; 0 all recorded calls 1 "
           "60 60;"
           " 1 1 recorded calls 0 60 60; 1 2 recorded calls 0 30 30; 1 all recorded calls "
           "0 60 60;"
           " 2 1 recorded calls 0 60 60; 2 all recorded calls 0 60 60");
}

static void time_that_was_not_recorded_is_left_out(void **state)
{
    totals_execute("INSERT INTO recording_change VALUES (1, 1, 40000000000), (1, 2, 100000000000);"
                   "INSERT INTO gpu_change VALUES (1, 40000000000, 'stopped', NULL), (1, "
                   "110000000000, 'seen', NULL)");
    expect("what = 'recorded' AND process = 1", "0 1 recorded calls 1 40 40; 0 1 recorded gpu "
                                                "1 40 40; 1 1 recorded calls 1 20 20;"
                                                " 1 1 recorded gpu 1 10 10; 2 1 recorded calls "
                                                "0 60 60; 2 1 recorded gpu 0 60 60");
}

static void each_kind_has_its_sums(void **state)
{
    call(1, 1, 1, 1, 2, "1, NULL");
    call(2, 1, 1, 5, 4, "1, NULL");
    call(3, 2, 1, 61, 1, "2, NULL");
    call(4, 1, 2, 62, 1, "NULL, NULL");
    call(5, 1, 3, 63, 1, "NULL, 1000");
    call(6, 1, 4, 64, 9, "NULL, NULL");
    call(7, 1, 5, 75, 6, "NULL, NULL");
    op(1, 63, 1, "2, NULL, 5, 1000, 17");
    op(1, 65, 2, "2, NULL, NULL, 500, 33");
    op(1, 68, 1, "3, NULL, NULL, 64, NULL");
    op(1, 70, 3, "4, NULL, 4, NULL, NULL");
    totals_execute(
        "INSERT INTO call_fold VALUES (7, 3, 8000000000);"
        "INSERT INTO load (thread, api, call, start_ns, duration_ns, kind, bytes)"
        " VALUES (1, 4, 6, 64000000000, 8000000000, 'cubin', 4096);"
        "INSERT INTO stall (call, cause, expected, jit_ns, wait_ns, work_ns, confidence) VALUES"
        " (6, 'module-load', 0, 1000000000, 3000000000, 5000000000, 'measured'),"
        " (5, 'explicit-sync', 1, 0, 1000000000, 0, 'measured')");
    expect("what = 'launch'", "0 1 launch k 2 6 4; 1 1 launch graph 1 1 1; 1 2 launch k 1 1 1");
    /* The longest of several polls is not known. */
    expect("what = 'call' AND process = 1",
           "0 1 call cuLaunchKernel 2 6 4; 1 1 call cuGraphLaunch 1 1 1;"
           " 1 1 call cuMemcpyHtoD_v2 1 1 1 1000; 1 1 call cuModuleLoadData 1 9 9;"
           " 1 1 call cuStreamQuery 3 6 -");
    expect("what IN ('copy', 'set', 'graph')", "1 1 copy host to device 2 3 2 1500; 1 1 graph "
                                               "graph 1 3 3; 1 1 set memset 1 1 1 64");
    expect("what = 'load'", "1 1 load cubin 1 8 8 4096");
    expect("what = 'stall'", "1 1 stall module-load 1 4 4"); /* none that was asked for */
}

/* Of several lines and phases together; a benchmark may also be work. */
static void idle_times_are_those_of_the_ledger(void **state)
{
    totals_execute(
        "INSERT INTO ledger_minute (minute, process, device, phase, what, total_ns, count, "
        "error_ns, first_half_ns, idle_ns, confidence) VALUES"
        " (0, 1, 0, 1, 'python', 20000000000, 100, 0, 0, 20000000000, 'sampled'),"
        " (1, 1, 0, 1, 'python', 9000000000, 60, 0, 0, 9000000000, 'sampled'),"
        " (1, 1, 0, 2, 'python', 1000000000, 40, 0, 0, 1000000000, 'sampled'),"
        " (1, 1, 0, 1, 'benchmark', 5000000000, 10, 0, 0, 2000000000, 'measured'),"
        " (1, 1, 0, 1, 'kernel', 5000000000, 10, 0, 0, 0, 'measured')");
    expect("what = 'idle'",
           "0 1 idle python 100 20 -; 1 1 idle benchmark 10 2 -; 1 1 idle python 100 10 -");
}

/* A chosen call stands for others; together the lines have all of the GPU's time. */
static void lines_share_the_time_of_the_gpu(void **state)
{
    for (int i = 1; i <= 5; i++)
        call(i, 1, 1, i, 0, "1, NULL");
    op(1, 1, 2, "1, 1, 1, NULL, NULL");
    op(1, 3, 2, "1, 1, 2, NULL, NULL");
    op(1, 5, 2, "1, 1, 3, NULL, NULL");
    op(1, 7, 4, "1, 2, 4, NULL, NULL");
    op(1, 11, 10, "1, 2, 5, NULL, NULL");
    totals_execute(
        "INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2);"
        "INSERT INTO place VALUES (1, 'a.py', 7, 'f', NULL), (2, NULL, NULL, 'g', 'libg.so');"
        "INSERT INTO stack_place VALUES (1, 1), (2, 2);"
        "INSERT INTO call_stack VALUES (1, 1), (4, 2), (5, 2);"
        "INSERT INTO call_sample VALUES (1, 3), (4, 1)"); /* 5: because it took long */
    expect("what = 'line'", "0 1 line a.py:7 3 12 2; 0 1 line g 1 8 4");
}

/* What GPUVERIFY_KEEP does: the sums of the first minutes become rows, and theirs are not read. */
static void sums_stay_when_their_rows_go(void **state)
{
    char *before, *after;

    for (int i = 0; i < 30; i++) {
        call(1 + i, 1 + i % 2, 1, 6 * i, 1, i % 2 ? "2, NULL" : "1, NULL");
        op(i % 2 ? 3 : 1, 6 * i + 1, 7,
           i % 2 ? "1, 4, NULL, NULL, NULL" : "1, 1, NULL, NULL, NULL");
    }
    totals_execute(
        "INSERT INTO ledger_minute (minute, process, device, phase, what, total_ns, count, "
        "error_ns, first_half_ns, idle_ns, confidence) VALUES"
        " (1, 1, 0, 1, 'data', 30000000000, 1, 0, 0, 30000000000, 'sampled');"
        "INSERT INTO stall (call, cause, expected, jit_ns, wait_ns, work_ns, confidence) VALUES"
        " (3, 'module-load', 0, 0, 1000000000, 0, 'measured'), (13, 'free', 0, 0, 1000000000, 0, "
        "'measured')");
    before = rows("1");
    totals_execute(
        "INSERT INTO older_name (text) SELECT DISTINCT name FROM minutes;"
        "INSERT INTO older SELECT m.minute_ns / 60000000000, coalesce(m.process, 0), w.id, n.id, "
        "m.count,"
        " m.total_ns, m.max_ns, m.bytes FROM minutes m JOIN minute_what w ON w.name = m.what"
        " JOIN older_name n ON n.text = m.name WHERE m.minute_ns < 60000000000;"
        "INSERT INTO meta VALUES ('full_from_ns', 60000000000)");
    after = rows("1");
    assert_string_equal(before, after);
    free(after);
    /* The rest is stored when the trace is finished, and then not read. */
    assert_int_equal(gv_minutes_keep(totals_trace), 0);
    after = rows("1");
    assert_string_equal(before, after);
    free(after);
    free(before);
    totals_execute("DELETE FROM call; DELETE FROM gpu_op; DELETE FROM ledger_minute");
    expect("what = 'launch'", "0 1 launch k 5 5 1; 0 2 launch k 5 5 1; 1 1 launch k 5 5 1;"
                              " 1 2 launch k 5 5 1; 2 1 launch k 5 5 1; 2 2 launch k 5 5 1");
    /* A session that goes on has more to read, and what is stored at its next end is of all that.
     */
    totals_execute("UPDATE meta SET value = 'recording' WHERE key = 'state'");
    expect("what = 'launch'", "0 1 launch k 5 5 1; 0 2 launch k 5 5 1");
    call(40, 1, 1, 70, 1, "1, NULL");
    assert_int_equal(gv_minutes_keep(totals_trace), 0);
    totals_execute("UPDATE meta SET value = 'complete' WHERE key = 'state'");
    expect("what = 'launch'", "0 1 launch k 5 5 1; 0 2 launch k 5 5 1; 1 1 launch k 1 1 1");
}

static void most_traces_store_none(void **state)
{
    struct gv_minutes_older older;

    call(1, 1, 1, 1, 2, "1, NULL");
    assert_int_equal(gv_minutes_keep(totals_trace), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM minute_total"), 0);
    assert_int_equal(gv_minutes_older_read(totals_trace, INT64_MIN, INT64_MAX, &older), 0);
    assert_int_equal(older.minutes, 0);
    totals_execute("INSERT INTO older VALUES (3, 1, 3, 1, 1, 1, 1, 1), (9, 1, 3, 1, 1, 1, 1, 1)");
    assert_int_equal(gv_minutes_older_read(totals_trace, INT64_MIN, INT64_MAX, &older), 0);
    assert_int_equal(older.minutes, 7);
    assert_int_equal(gv_minutes_older_read(totals_trace, 300000000000, 420000000000, &older), 0);
    assert_int_equal(older.minutes, 2);
    assert_int_equal(gv_minutes_older_read(totals_trace, 600000000000, INT64_MAX, &older), 0);
    assert_int_equal(older.minutes, 0);
}

/* Minutes in which a device was idle for data: 6 s, from minute 40 on 12 s. */
static void buckets_and_changes_are_of_the_part(void **state)
{
    struct gv_totals_part part = GV_TOTALS_ALL;

    totals_execute(
        "UPDATE process SET end_ns = 5400000000000; UPDATE gpu_interval SET end_ns = 5400000000000;"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 89)"
        " INSERT INTO ledger_minute (minute, process, phase, what, total_ns, count, error_ns, "
        "first_half_ns, idle_ns, confidence)"
        " SELECT i, 1, 1, 'data', 0, 1, 0, 0,"
        " (6 + 6 * (i >= 40)) * 1000000000 + i * 37 % 101 * 1000000, 'sampled' FROM n"
        " UNION ALL SELECT i, 2, 1, 'python', 0, 1, 0, 0, 3000000000, 'sampled' FROM n");
    part.process = 1;
    assert_int_equal(gv_minutes_make(totals_trace, &part, 15, true), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM minute_bucket"),
                     7); /* quarters of the hour */
    assert_int_equal(totals_number("SELECT sum(length_ns) FROM minute_bucket"), 5400000000000);
    assert_int_equal(totals_number("SELECT sum(time_ns) FROM minute_bucket"), 5400000000000);
    assert_int_equal(
        totals_number("SELECT count(*) FROM minute_bucket WHERE idle_reason <> 'data'"), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM minute_change"), 1);
    assert_int_equal(
        totals_number(
            "SELECT at_ns / 60000000000 FROM minute_change WHERE what = 'idle' AND name = 'data'"),
        40);
    assert_int_equal(totals_number("SELECT 1000 * before FROM minute_change"), 100);
    assert_int_equal(totals_number("SELECT 1000 * after FROM minute_change"), 200);
    totals_execute("DROP TABLE minute_all; DROP TABLE minute_row; DROP TABLE minute_bucket; DROP "
                   "TABLE minute_change");
    part.from_ns = 2700000000000; /* it is the same all the time */
    part.to_ns = 3300000000000;
    assert_int_equal(gv_minutes_make(totals_trace, &part, -1, true), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM minute_bucket"), 10);
    assert_int_equal(totals_number("SELECT min(start_ns) / 60000000000 FROM minute_bucket"), 45);
    assert_int_equal(totals_number("SELECT count(*) FROM minute_change"), 0);
    totals_execute("DROP TABLE minute_all; DROP TABLE minute_row; DROP TABLE minute_bucket; DROP "
                   "TABLE minute_change");
    part.thread = 1; /* there are no sums by thread */
    assert_int_equal(gv_minutes_make(totals_trace, &part, -1, true), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM minute_bucket"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(times_are_cut_at_the_ends_of_minutes, setup, totals_close),
        cmocka_unit_test_setup_teardown(time_that_was_not_recorded_is_left_out, setup,
                                        totals_close),
        cmocka_unit_test_setup_teardown(each_kind_has_its_sums, setup, totals_close),
        cmocka_unit_test_setup_teardown(idle_times_are_those_of_the_ledger, setup, totals_close),
        cmocka_unit_test_setup_teardown(lines_share_the_time_of_the_gpu, setup, totals_close),
        cmocka_unit_test_setup_teardown(sums_stay_when_their_rows_go, setup, totals_close),
        cmocka_unit_test_setup_teardown(most_traces_store_none, setup, totals_close),
        cmocka_unit_test_setup_teardown(buckets_and_changes_are_of_the_part, setup, totals_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
