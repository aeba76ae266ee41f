/* Why devices were idle, for small traces. */
#include "report/analyse/totals/totals.h"
#include "tests/unit/report/totals_fixture.h"

#include <stdio.h>

#define MS 1000000

static int setup(void **state)
{
    totals_open(state);
    totals_execute("UPDATE process SET start_ns = 0, end_ns = 10000000000 WHERE id = 1;"
                   "DELETE FROM process WHERE id = 2; DELETE FROM thread WHERE id = 2;"
                   "INSERT INTO meta VALUES ('machine', 'x86_64');"
                   "INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'),"
                   " (2, 'cuStreamSynchronize', 'sync'), (3, 'cuMemAlloc_v2', 'alloc');"
                   "UPDATE api SET gpu_work = 1 WHERE id = 1;"
                   "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 1, 2, 7);");
    return 0;
}

/* The thread 1 launches a kernel that runs from start_ms to end_ms, 1 ms after the call began. */
static void kernel(int id, int place, int start_ms, int end_ms)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
             " (%d, 1, 1, %d * 1000000, 1000000, 0);"
             "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call) VALUES"
             " (%d, %d, 1, %d * 1000000, %d * 1000000, %d)",
             id, start_ms - 1, id, place, start_ms, end_ms - start_ms, id);
    totals_execute(sql);
}

/* Looks at thread 1, 20 ms apart in [from_ms, to_ms). columns: from "state" on, see below. */
static void looks(int from_ms, int to_ms, const char *columns)
{
    char sql[512];

    for (int at_ms = from_ms; at_ms < to_ms; at_ms += 20) {
        snprintf(sql, sizeof(sql),
                 "INSERT INTO idle_sample (process, thread, at_ns, span_ns, about, state,"
                 " system_call, target, signs, pid_or_tid, stack, other_stack, delay_ns, text)"
                 " VALUES (1, 1, %d * 1000000, 20000000, %s)",
                 at_ms, columns);
        totals_execute(sql);
    }
}

static void stack(int id, const char *frames)
{
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "INSERT INTO stack VALUES (%d, 1, %d);"
             "INSERT INTO frame (depth, kind, function, file, line, stack)"
             " SELECT *, %d FROM (VALUES %s)",
             id, id, id, frames);
    totals_execute(sql);
}

static int64_t reason_ms(const char *reason)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT coalesce(sum(duration_ns), 0) / 1000000 FROM idle WHERE reason = '%s'"
             " AND start_ns > 0",
             reason);
    return totals_number(sql);
}

static void assert_text(const char *sql, const char *expected)
{
    sqlite3_stmt *row = NULL;

    if (sqlite3_prepare_v2(totals_trace, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(totals_trace));
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    if (expected)
        assert_string_equal(sqlite3_column_text(row, 0), expected);
    else
        assert_null(sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

/* One gap of a second between two kernels, and looks in it. */
static void gap_with(const char *columns)
{
    kernel(1, 1, 1000, 2000);
    kernel(2, 1, 3000, 10000);
    looks(2010, 2999, columns);
    totals_keep();
}

struct decision {
    const char *columns, *reason, *detail;
};

/* about, state, system_call, target, signs, pid_or_tid, stack, other_stack, delay_ns, text */
static const struct decision decisions[] = {
    {"0, 'R', -1, 0, 6, NULL, NULL, NULL, 0, NULL", "python", NULL},
    {"0, 'R', -1, 0, 68, NULL, NULL, NULL, 0, NULL", "python", NULL}, /* has the GIL, no frames */
    {"0, 'R', -1, 0, 66, NULL, NULL, NULL, 0, NULL", "native", NULL}, /* frames, not the GIL */
    {"0, 'R', -1, 0, 0, NULL, NULL, NULL, 0, NULL", "native", NULL},
    {"1, 'S', 202, 0, 2, 99, NULL, NULL, 0, NULL", "gil", "thread 99"},
    {"1, 'S', 202, 0, 2, 10, NULL, 4, 0, NULL", "gil",
     "Dataset.__getitem__, data.py:41 (thread 10, a)"},
    {"0, 'R', -1, 0, 7, NULL, NULL, NULL, 0, NULL", "gc", NULL},
    {"0, 'R', -1, 0, 6, NULL, 1, NULL, 0, NULL", "import", NULL},
    {"0, 'R', -1, 0, 6, NULL, 2, NULL, 0, NULL", "compile", NULL},
    {"2, 'R', -1, 0, 0, 77, NULL, NULL, 0, 'ptxas'", "compile", "ptxas"},
    {"2, 'R', -1, 0, 0, 77, NULL, NULL, 0, 'sleep'", "child", "sleep"},
    {"0, 'S', 61, 0, 0, NULL, NULL, NULL, 0, NULL", "child", NULL},
    {"0, 'R', -1, 0, 6, NULL, 3, NULL, 0, NULL", "data", NULL},
    {"2, 'R', -1, 0, 6, 77, 3, 4, 0, NULL", "data",
     "Dataset.__getitem__, data.py:41 (100 % of the samples of 1 worker)"},
    {"2, 'R', -1, 0, 6, 77, 3, 4, 19000000, NULL", "data",
     "Dataset.__getitem__, data.py:41 (100 % of the samples of 1 worker), which wait for a CPU"},
    {"2, 'S', 7, 2, 2, 77, 5, NULL, 0, 'nvidia-smi'", "child", "nvidia-smi"},
    {"0, 'S', 7, 2, 2, NULL, 5, NULL, 0, NULL", "child", NULL},
    {"0, 'S', 7, 3, 2, NULL, 6, NULL, 0, NULL", "no-request", NULL},
    {"0, 'S', 0, 1, 0, NULL, NULL, NULL, 0, '/data/big'", "io", "/data/big"},
    {"0, 'D', -1, 0, 0, NULL, NULL, NULL, 0, 'folio_wait'", "io", "folio_wait"},
    {"0, 'S', 0, 3, 0, NULL, NULL, NULL, 0, NULL", "network", NULL},
    {"0, 'S', 0, 2, 0, NULL, NULL, NULL, 0, NULL", "child", NULL},
    {"0, 'S', 202, 0, 0, NULL, NULL, NULL, 0, NULL", "thread-lock", NULL},
    {"0, 'S', 230, 0, 0, NULL, NULL, NULL, 0, NULL", "sleep", NULL},
    {"0, 'R', -1, 0, 10, NULL, NULL, NULL, 19000000, NULL", "no-cpu", "CPU quota"},
    {"0, 'R', -1, 0, 18, NULL, NULL, NULL, 19000000, '2 of 16 CPUs'", "no-cpu",
     "pinned to 2 of 16 CPUs"},
    {"2, 'S', 7, 3, 2, 77, 8, NULL, 0, 'python3'", "network", NULL}, /* a server of its own */
    /* A TCP connection, whoever works; a Unix socket may lead to a child. */
    {"2, 'S', 45, 6, 2, 77, NULL, NULL, 0, 'python3'", "network", NULL},
    {"2, 'S', 0, 6, 0, 77, NULL, 4, 0, 'ptxas'", "network", NULL},
    {"2, 'S', 7, 6, 0, 77, NULL, NULL, 0, 'python3'", "network", NULL}, /* with a time limit */
    {"2, 'S', 232, 6, 0, 77, NULL, NULL, 0, 'python3'", "no-request", NULL},
    {"2, 'S', 43, 6, 0, 77, NULL, NULL, 0, 'python3'", "no-request", NULL},
    {"2, 'S', 45, 3, 2, 77, NULL, NULL, 0, 'python3'", "child", "python3"},
    {"0, 'S', 0, 6, 0, NULL, NULL, NULL, 0, NULL", "network", NULL},
    {"0, 'S', 7, 6, 0, NULL, NULL, NULL, 0, NULL", "no-request", NULL},
    /* For one of Python's threads, and what another of them does; not in a library's lock; that one
     * waits as well. */
    {"3, 'S', 230, 0, 2, 77, 7, 4, 0, NULL", "thread-lock",
     "Dataset.__getitem__, data.py:41 (sleeping)"},
    {"3, 'R', -1, 0, 70, 77, 7, 4, 0, NULL", "thread-lock",
     "Dataset.__getitem__, data.py:41 (running Python)"},
    {"3, 'S', 230, 0, 2, 77, 4, 4, 0, NULL", "thread-lock", NULL},
    {"3, 'S', 232, 3, 2, 77, 7, 4, 0, NULL", "thread-lock", NULL},
    {"0, 'S', 9999, 0, 0, NULL, NULL, NULL, 0, NULL", "unknown", NULL},
    {"77, x'00', NULL, 9, -1, NULL, 12345, -5, -1, x'00'", "gc", NULL},
};

static void a_sample_has_one_reason(void **state)
{
    for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++) {
        const struct decision *decision = &decisions[i];
        stack(1, "(0, 'python', '_call', '<frozen importlib._bootstrap>', 241)");
        stack(2, "(0, 'python', 'f', '/usr/lib/python3/re.py', 1),"
                 " (1, 'python', 'compile', '/p/site-packages/numba/core/compiler.py', 9),"
                 " (2, 'python', 'main', '/home/me/train.py', 5)");
        stack(5, "(0, 'python', '_PollLikeSelector.select', '/usr/lib/python3.12/selectors.py', 1),"
                 " (1, 'python', 'run', '/usr/lib/python3.12/subprocess.py', 9),"
                 " (2, 'python', 'main', '/home/me/train.py', 5)");
        stack(6, "(0, 'python', 'EpollSelector.select', '/usr/lib/python3.12/selectors.py', 1),"
                 " (1, 'python', 'main', '/home/me/serve.py', 5)");
        stack(3, "(0, 'python', 'get', '/usr/lib/python3/queue.py', 1),"
                 " (1, 'python', '__next__', '/p/site-packages/torch/utils/data/dataloader.py', 9),"
                 " (2, 'python', 'main', '/home/me/train.py', 88)");
        stack(7, "(0, 'python', 'Condition.wait', '/usr/lib/python3.12/threading.py', 355),"
                 " (1, 'python', 'Queue.get', '/usr/lib/python3.12/queue.py', 171),"
                 " (2, 'python', 'main', '/home/me/serve.py', 9)");
        stack(8, "(0, 'python', 'readinto', '/usr/lib/python3.12/socket.py', 707),"
                 " (1, 'python', 'getresponse', '/usr/lib/python3.12/http/client.py', 9),"
                 " (2, 'python', 'main', '/home/me/train.py', 70)");
        stack(4, "(0, 'python', 'Dataset.__getitem__', '/home/me/data.py', 41)");
        gap_with(decision->columns);
        if (reason_ms(decision->reason) < 990)
            fail_msg("%s: not %s", decision->columns, decision->reason);
        char sql[128];
        snprintf(sql, sizeof(sql),
                 "SELECT detail FROM idle WHERE reason = '%s' AND start_ns = 2000000000",
                 decision->reason);
        assert_text(sql, decision->detail);
        totals_close(state);
        setup(state);
    }
}

/* A worker of a data loader, which does what stack 1 says in three of four looks. */
static void worker(int pid, int from_ms)
{
    char columns[128];

    for (int i = 0; i < 4; i++) {
        snprintf(columns, sizeof(columns), "2, 'R', -1, 0, 6, %d, 3, %d, 0, NULL", pid,
                 i < 3 ? 1 : 2);
        looks(from_ms + 20 * i, from_ms + 20 * i + 1, columns);
    }
}

/* That one is started after another has worked is seen; of several at a time, it is not. */
static void workers_that_are_started_again(void **state)
{
    (void)state;
    stack(1, "(0, 'python', '_load', '<frozen importlib._bootstrap>', 241),"
             " (1, 'python', '<module>', '/home/me/train.py', 3)");
    stack(2, "(0, 'python', 'loop', '/p/site-packages/torch/utils/data/_utils/worker.py', 9)");
    stack(3, "(0, 'python', '__next__', '/p/site-packages/torch/utils/data/dataloader.py', 9),"
             " (1, 'python', 'main', '/home/me/train.py', 88)");
    for (int again = 0; again <= 1; again++) {
        worker(77, 2010);
        worker(78, again ? 2210 : 2030);
        gap_with("2, 'R', -1, 0, 6, 79, 3, 1, 0, NULL");
        assert_text("SELECT iif(detail LIKE '<module>, train.py:3 (%), which were started 2 times, "
                    "and mostly import modules', 'again', detail LIKE '<module>, train.py:3 (%)')"
                    " FROM idle WHERE reason = 'data' AND start_ns = 2000000000",
                    again ? "again" : "1");
        assert_int_equal(totals_number("SELECT sum(fix LIKE '%persistent_workers=True%') FROM "
                                       "findings WHERE what = 'data'"),
                         again);
        totals_execute("DELETE FROM idle_sample; DELETE FROM call; DELETE FROM gpu_op");
    }
}

/* It waits about once for each start of workers, of which there were this many. */
static void waits_for_workers_to_start(void **state)
{
    (void)state;
    stack(1, "(0, 'python', 'Clips._open', '/home/me/data.py', 41)");
    stack(2, "(0, 'python', 'loop', '/p/site-packages/torch/utils/data/_utils/worker.py', 9)");
    stack(3, "(0, 'python', '__next__', '/p/site-packages/torch/utils/data/dataloader.py', 9),"
             " (1, 'python', 'main', '/home/me/train.py', 88)");
    for (int starts = 2; starts <= 3; starts++) {
        for (int i = 0; i < starts; i++) {
            worker(77 + i, 2010 + 1000 * i);
            kernel(1 + i, 1, 1000 * (1 + i) + 80, 1000 * (2 + i));
        }
        kernel(9, 1, 1000 * (1 + starts) + 80, 10000);
        totals_keep();
        assert_int_equal(
            totals_number("SELECT sum(title LIKE '%; mostly for workers to start, which "
                          "happened 3 times' AND fix LIKE '%persistent_workers=True%') "
                          "FROM findings WHERE what = 'data'"),
            starts == 3);
        totals_execute("DELETE FROM idle_sample; DELETE FROM call; DELETE FROM gpu_op");
    }
}

/* Workers inherit the CPUs of the process, which says how many it may use. */
static void workers_on_few_cpus(void **state)
{
    (void)state;
    stack(1, "(0, 'python', 'Clips.augment', '/home/me/data.py', 41)");
    stack(3, "(0, 'python', '__next__', '/p/site-packages/torch/utils/data/dataloader.py', 9),"
             " (1, 'python', 'main', '/home/me/train.py', 88)");
    looks(1500, 1501, "0, 'R', -1, 0, 22, NULL, 3, NULL, 0, '2 of 16 CPUs'");
    gap_with("2, 'R', -1, 0, 22, 77, 3, 1, 19000000, NULL");
    assert_text("SELECT detail FROM idle WHERE reason = 'data' AND start_ns = 2000000000",
                "Clips.augment, data.py:41 (100 % of the samples of 1 worker), which wait for a "
                "CPU: pinned to 2 of 16 CPUs");
}

/* The whole run without the time in which the device was busy. */
static void the_times_of_a_device_add_up(void **state)
{
    kernel(1, 1, 1000, 2000);
    kernel(2, 1, 1500, 1700); /* inside the other */
    kernel(3, 2, 1000, 9000);
    for (int i = 0; i < 333; i++)
        kernel(10 + i, 1, 3000 + 7 * i, 3003 + 7 * i);
    looks(2005, 6000, "0, 'R', -1, 0, 6, NULL, NULL, NULL, 0, NULL");
    looks(2007, 6000, "0, 'S', 202, 0, 0, NULL, NULL, NULL, 0, NULL");
    totals_keep();
    assert_int_equal(
        totals_number("SELECT sum(duration_ns) FROM idle WHERE device = 0"),
        totals_number(
            "SELECT 10000000000 - 1000000000 - sum(duration_ns) FROM gpu_op WHERE id > 9"));
    assert_int_equal(totals_number("SELECT sum(duration_ns) FROM idle WHERE device = 1"),
                     INT64_C(2000000000));
    assert_int_equal(totals_number("SELECT count(*) FROM idle WHERE duration_ns <= 0"), 0);
    /* Between two operations: with the small parts that have no row, and the host's start is none.
     */
    assert_int_equal(totals_number("SELECT max(gap_ns) FROM idle WHERE is_inner"),
                     INT64_C(1000000000));
    assert_int_equal(totals_number("SELECT min(start_ns) FROM idle WHERE is_inner"),
                     INT64_C(2000000000));
}

/* The longest have rows of their own, the others one for each account and line. */
static void many_times_are_one_row(void **state)
{
    for (int i = 0; i < 9000; i++)
        kernel(1 + i, 1, 1000 + i, 1000 + i);
    totals_execute(
        "UPDATE gpu_op SET duration_ns = 500000; UPDATE call SET start_ns = start_ns + 900000,"
        " duration_ns = 100000");
    looks(1007, 9000, "0, 'R', -1, 0, 6, NULL, NULL, NULL, 0, NULL");
    totals_keep_with("UPDATE idle_sample SET at_ns = at_ns + 700000");
    assert_in_range(totals_number("SELECT max(gaps) FROM idle WHERE reason = 'python'"), 4000,
                    5000);
    assert_in_range(totals_number("SELECT count(DISTINCT gap) FROM idle_time"), 4000, 4096);
    assert_in_range(reason_ms("python"), 8998 * 4 / 10, 8999 * 4 / 10 + 10);
    assert_in_range(reason_ms("launching"), 899, 901);
    assert_text("SELECT confidence FROM idle WHERE reason = 'python' AND gaps > 1", "grouped");
    assert_int_equal(totals_number("SELECT sum(samples) FROM idle"),
                     totals_number("SELECT count(*) FROM idle_sample s WHERE NOT EXISTS (SELECT 1"
                                   " FROM gpu_op o WHERE s.at_ns >= o.start_ns"
                                   " AND s.at_ns < o.start_ns + o.duration_ns)"));
}

/* A wait that is longer than the gap claims all of it: what the gap was stays what was seen. */
static void claimed_times_are_what_was_seen(void **state)
{
    char sql[256];

    for (int i = 0; i < 500; i++) {
        kernel(1 + i, 1, 1000 + 10 * i, 1006 + 10 * i);
        snprintf(sql, sizeof(sql),
                 "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                 " (%d, 1, 2, %d * 1000000, 6000000, 0)",
                 1000 + i, 1000 + 10 * i);
        totals_execute(sql);
    }
    looks(1007, 6000, "0, 'R', -1, 0, 6, NULL, NULL, NULL, 0, NULL");
    totals_keep();
    assert_in_range(reason_ms("python"), 499 * 3 - 5, 499 * 3);
    assert_int_equal(totals_number("SELECT count(*) FROM idle WHERE reason = 'host-code'"
                                   " AND next_call IS NOT NULL AND start_ns > 0"),
                     0);
}

/* As where each round launches a kernel that it has just compiled. */
static void a_time_without_a_look_is_like_those_before_the_same_function(void **state)
{
    for (int i = 0; i < 20; i++)
        kernel(1 + i, 1, 1000 + 10 * i, 1005 + 10 * i);
    kernel(99, 1, 2000, 10000);
    totals_execute("UPDATE call SET kernel = 100 + id");
    looks(1007, 1090, "0, 'R', -1, 0, 6, NULL, NULL, NULL, 0, NULL");
    looks(1200, 1980, "0, 'S', 230, 0, 0, NULL, NULL, NULL, 0, NULL"); /* once, for long */
    totals_keep();
    assert_int_equal(totals_number("SELECT sum(gaps) FROM idle WHERE reason = 'python'"), 19);
    assert_int_equal(reason_ms("python"), 19 * 4);
    assert_int_equal(reason_ms("unknown"), 0);
}

static void the_beginning_and_the_end_are_idle_too(void **state)
{
    stack(1, "(0, 'python', 'main', '/home/me/train.py', 5)");
    kernel(1, 1, 5000, 6000);
    looks(1, 3000, "0, 'R', -1, 0, 6, NULL, 1, NULL, 0, NULL");
    looks(3000, 5000, "0, 'S', 230, 0, 0, NULL, 1, NULL, 0, NULL");
    looks(6010, 10000, "0, 'R', -1, 0, 6, NULL, 1, NULL, 0, NULL");
    totals_keep();
    assert_in_range(totals_number("SELECT duration_ns / 1000000 FROM idle WHERE start_ns = 0"),
                    2980, 3020);
    assert_in_range(reason_ms("sleep"), 1980, 2020);
    assert_int_equal(reason_ms("python"), 4000);
    assert_int_equal(
        totals_number("SELECT count(*) FROM idle WHERE next_call IS NULL AND reason = 'python'"),
        1);
    assert_int_equal(
        totals_number("SELECT count(*) FROM idle WHERE stack IS NOT 1 AND reason <> 'launching'"),
        0);
}

static void time_inside_calls_is_the_calls(void **state)
{
    kernel(1, 1, 1000, 2000);
    totals_execute("INSERT INTO call (id, thread, api, start_ns, duration_ns) VALUES"
                   " (2, 1, 3, 2100000000, 700000000)");
    kernel(3, 1, 3000, 10000);
    looks(2010, 2100, "0, 'R', -1, 0, 6, NULL, NULL, NULL, 0, NULL");
    totals_keep();
    assert_int_equal(reason_ms("allocating"), 700);
    assert_int_equal(reason_ms("python"), 100);
    assert_text("SELECT detail || start_ns FROM idle WHERE reason = 'allocating'",
                "cuMemAlloc_v22100000000");
}

static void queued_work_is_not_the_hosts_fault(void **state)
{
    kernel(1, 1, 1000, 2000);
    kernel(2, 1, 3000, 10000);
    totals_execute("UPDATE call SET start_ns = 1500000000 WHERE id = 2");
    looks(2010, 3000, "0, 'R', -1, 0, 6, NULL, NULL, NULL, 0, NULL");
    totals_keep();
    assert_int_equal(reason_ms("queued"), 1000);
}

static void unseen_time_is_not_idle(void **state)
{
    kernel(1, 1, 1000, 2000);
    kernel(2, 1, 4000, 10000);
    totals_keep_with("INSERT INTO gpu_change VALUES (1, 2500000000, 'host-only', 'nsys'),"
                     " (1, 3500000000, 'cupti', NULL)");
    assert_int_equal(totals_number("SELECT sum(duration_ns) / 1000000 FROM idle"
                                   " WHERE start_ns >= 2000000000"),
                     500);
}

static void without_a_gpu_side_the_calls_tell(void **state)
{
    totals_execute("UPDATE process SET gpu = 'host-only'; DELETE FROM gpu_place;"
                   "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                   " (1, 1, 1, 1000000000, 1000000, 0), (2, 1, 2, 1100000000, 900000000, 0),"
                   " (3, 1, 1, 3000000000, 1000000, 0)");
    looks(2010, 3000, "0, 'S', 230, 0, 0, NULL, NULL, NULL, 0, NULL");
    totals_keep();
    assert_int_equal(reason_ms("sleep"), 1000);
    assert_int_equal(totals_number("SELECT duration_ns FROM idle WHERE start_ns = 0"), 1000000000);
    assert_int_equal(totals_number("SELECT count(*) FROM idle WHERE device IS NOT NULL"), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM idle WHERE confidence <> 'inferred'"), 0);
}

static void numbers_may_be_anything(void **state)
{
    kernel(1, 1, 1000, 2000);
    kernel(2, 2, 3000, 10000);
    totals_keep_with(
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call) VALUES"
        " (10, 1, 1, -9223372036854775808, 9223372036854775807, 77),"
        " (11, 1, 1, 9223372036854775807, 9223372036854775807, -1), (12, 1, 1, 5, -7, 1),"
        " (13, 99, 1, 5, 5, 1), (14, 2, 1, NULL, 5, 1), (15, -3, -1, 'x', 'y', 'z');"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns) VALUES"
        " (-5, -1, -1, -9223372036854775808, 9223372036854775807),"
        " (90, 1, 1, 9223372036854775807, -1), (91, 1, 99, 0, 9223372036854775807);"
        "INSERT INTO idle_sample (process, thread, at_ns, about, target, signs, stack) VALUES"
        " (7, 1, -9223372036854775808, 77, 77, 77, -9223372036854775808),"
        " (1, -9, 9223372036854775807, 0, 0, 0, NULL),"
        " (1, 1, 9223372036854775807, 2, 0, 0, 9223372036854775807);"
        "INSERT INTO process (id, identity, start_ns, end_ns, gpu) VALUES"
        " (8, 8, 9223372036854775807, -9223372036854775808, 'off'), (9, 9, NULL, NULL, NULL)");
    assert_int_equal(totals_number("SELECT count(*) FROM idle WHERE duration_ns <= 0"), 0);
}

/* A trace that was not finished, or an earlier one. */
static void a_view_of_a_trace_finds_what_is_missing(void **state)
{
    const struct gv_totals_part all = GV_TOTALS_ALL;

    gap_with("0, 'S', 202, 0, 0, NULL, NULL, NULL, 0, NULL");
    totals_execute("DELETE FROM meta WHERE key = 'totals'; DELETE FROM idle_time");
    assert_int_equal(gv_totals_ensure(totals_trace, &all), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM main.idle_time"), 0);
    assert_in_range(reason_ms("thread-lock"), 990, 1000);
    assert_int_equal(gv_totals_ensure(totals_trace, &all), 0);
    assert_in_range(reason_ms("thread-lock"), 990, 1000);
}

/* Ready at the look, without any time on a CPU or in wait of one since the look before. */
static void a_thread_that_has_not_run_does_what_it_did(void **state)
{
    kernel(1, 1, 1000, 2000);
    looks(2010, 3000, "0, 'S', 230, 0, 0, NULL, NULL, NULL, 0, NULL");
    kernel(2, 1, 3000, 4000);
    looks(4010, 5000, "0, 'R', -1, 0, 6, NULL, NULL, NULL, 0, NULL");
    totals_execute("UPDATE idle_sample SET state = 'R', system_call = -1, cpu_ns = 0"
                   " WHERE id % 2 = 0");
    kernel(3, 1, 5000, 10000);
    totals_keep();
    assert_in_range(reason_ms("sleep"), 999, 1000);
    assert_in_range(reason_ms("no-cpu"), 450, 550);
    assert_in_range(reason_ms("python"), 450, 550);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sample_has_one_reason, setup, totals_close),
        cmocka_unit_test_setup_teardown(workers_that_are_started_again, setup, totals_close),
        cmocka_unit_test_setup_teardown(waits_for_workers_to_start, setup, totals_close),
        cmocka_unit_test_setup_teardown(workers_on_few_cpus, setup, totals_close),
        cmocka_unit_test_setup_teardown(the_times_of_a_device_add_up, setup, totals_close),
        cmocka_unit_test_setup_teardown(many_times_are_one_row, setup, totals_close),
        cmocka_unit_test_setup_teardown(claimed_times_are_what_was_seen, setup, totals_close),
        cmocka_unit_test_setup_teardown(
            a_time_without_a_look_is_like_those_before_the_same_function, setup, totals_close),
        cmocka_unit_test_setup_teardown(the_beginning_and_the_end_are_idle_too, setup,
                                        totals_close),
        cmocka_unit_test_setup_teardown(time_inside_calls_is_the_calls, setup, totals_close),
        cmocka_unit_test_setup_teardown(queued_work_is_not_the_hosts_fault, setup, totals_close),
        cmocka_unit_test_setup_teardown(unseen_time_is_not_idle, setup, totals_close),
        cmocka_unit_test_setup_teardown(without_a_gpu_side_the_calls_tell, setup, totals_close),
        cmocka_unit_test_setup_teardown(a_thread_that_has_not_run_does_what_it_did, setup,
                                        totals_close),
        cmocka_unit_test_setup_teardown(numbers_may_be_anything, setup, totals_close),
        cmocka_unit_test_setup_teardown(a_view_of_a_trace_finds_what_is_missing, setup,
                                        totals_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
