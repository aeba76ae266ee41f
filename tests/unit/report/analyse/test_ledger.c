/* Where the time of a device goes. */
#include "report/analyse/ledger/analysis.h"
#include "tests/unit/report/totals_fixture.h"

#include <stdio.h>
#include <time.h>

#define RUN_NS 100000000

static void begin(void)
{
    totals_execute(
        "DELETE FROM process; DELETE FROM thread;"
        "INSERT INTO process (id, identity, pid, start_ns, end_ns, gpu, ended) VALUES"
        " (1, 1, 100, 0, 100000000, 'cupti', 'exit');"
        "INSERT INTO thread (id, process, serial, tid, records) VALUES (1, 1, 1, 100, 0), (2, 1, "
        "2, 101, 0);"
        "INSERT INTO api (id, name, class) VALUES (71, 'cuLaunchKernel', 'launch'),"
        " (72, 'cuMemcpyHtoD_v2', 'copy'), (73, 'cuEventRecord', 'event'),"
        " (74, 'cuStreamSynchronize', 'sync'), (75, 'cuMemAlloc_v2', 'alloc');"
        "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 0, 1, 8), (3, 1, 1, 2, 9);");
}

static int setup(void **state)
{
    totals_open(state);
    begin();
    return 0;
}

static void call(int64_t id, int64_t thread, int64_t api, int64_t start_ns, int64_t duration_ns)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES (%lld, "
             "%lld, %lld, %lld, %lld, 0)",
             (long long)id, (long long)thread, (long long)api, (long long)start_ns,
             (long long)duration_ns);
    totals_execute(sql);
}

static void operation(int64_t id, int64_t place, int64_t kind, int64_t start_ns,
                      int64_t duration_ns, int64_t of_call)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call) VALUES (%lld, "
             "%lld, %lld, %lld, %lld, %lld)",
             (long long)id, (long long)place, (long long)kind, (long long)start_ns,
             (long long)duration_ns, (long long)of_call);
    totals_execute(sql);
}

static void look_at(int64_t thread, int64_t at_ns, const char *state_and_call, int64_t stack)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO idle_sample (process, thread, at_ns, about, state, system_call, target,"
             " signs, stack) VALUES (1, %lld, %lld, 0, %s, 0, 0, nullif(%lld, 0))",
             (long long)thread, (long long)at_ns, state_and_call, (long long)stack);
    totals_execute(sql);
}

static int64_t booked(const char *what)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT coalesce(sum(total_ns), 0) FROM ledger_row WHERE what = '%s'", what);
    return totals_number(sql);
}

static void make_part(const struct gv_totals_part *part)
{
    totals_execute(
        "DELETE FROM lane; DELETE FROM ledger_row; DELETE FROM ledger_minute; DELETE FROM finding;"
        " DELETE FROM lane_use; DELETE FROM idle_time");
    struct gv_pass *pass;
    assert_int_equal(gv_pass_open(&pass, totals_trace, 0), 0);
    assert_int_equal(gv_ledger_make(totals_trace, part, pass), 0);
    gv_pass_close(pass);
}

static void make_minutes(const struct gv_totals_part *part)
{
    struct gv_pass *pass;

    assert_int_equal(gv_pass_open(&pass, totals_trace, 0), 0);
    assert_int_equal(gv_ledger_minutes_make(totals_trace, part, pass), 0);
    gv_pass_close(pass);
}

static void make(void)
{
    make_part(&GV_TOTALS_ALL);
    assert_int_equal(totals_number("SELECT count(*) FROM lane l WHERE end_ns - begin_ns <>"
                                   " (SELECT sum(total_ns) FROM ledger_row WHERE process = "
                                   "l.process AND device IS l.device)"),
                     0);
    assert_int_equal(
        totals_number("SELECT count(*) FROM ledger_row WHERE total_ns < 0 OR first_half_ns < 0"
                      " OR first_half_ns > total_ns"),
        0);
    /* By minute it is the same time; lines that round together differ by little. */
    assert_int_equal(totals_number("SELECT count(*) FROM lane l WHERE end_ns - begin_ns <>"
                                   " (SELECT sum(total_ns) FROM ledger_minute WHERE process = "
                                   "l.process AND device IS l.device)"),
                     0);
    assert_int_equal(
        totals_number("SELECT count(*) FROM ledger_minute WHERE total_ns < 0 OR first_half_ns < 0"
                      " OR first_half_ns > total_ns OR idle_ns < 0 OR idle_ns > total_ns"),
        0);
    assert_int_equal(totals_number("SELECT coalesce(sum(duration_ns), 0) - (SELECT coalesce("
                                   "sum(idle_ns), 0) FROM ledger_minute) FROM idle_time"),
                     0);
}

/* ---- one gap at a time ---- */

#define MS 1000000

static void work_is_busy_time(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    operation(1, 1, 1, 11 * MS, 20 * MS, 1);
    make();
    assert_int_equal(booked("kernel"), 20 * MS);
}

/* The one that began first has the time that two run at once. */
static void overlapping_work_counts_once(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 11 * MS, 10000);
    operation(1, 1, 1, 12 * MS, 20 * MS, 1);
    operation(2, 2, 4, 22 * MS, 20 * MS, 2);
    make();
    assert_int_equal(booked("kernel"), 20 * MS);
    assert_int_equal(booked("graph"), 10 * MS);
}

/* Each is launched at a line of its own: of 5, no launch was chosen, but its first one has a stack.
 * Nothing is known of 6, so it is like the others, of which most are 4. */
static void graphs_are_told_apart(void **state)
{
    static const int objects[] = {4, 5, 4, 5, 4, 5, 4, 6};
    char sql[128];

    (void)state;
    totals_execute(
        "INSERT INTO api (id, name, class, gpu_work) VALUES (76, 'cuGraphLaunch', 'launch', 2);"
        "INSERT INTO stack VALUES (4, 1, 4), (5, 1, 5);"
        "INSERT INTO frame (stack, depth, kind, function, file, line)"
        " SELECT id, 0, 'python', 'step', 'train.py', id FROM stack WHERE id IN (4, 5)");
    for (int64_t i = 0; i < 8; i++) {
        call(i + 1, 1, 76, 10 * MS + i * MS, 10000);
        operation(i + 1, 1, 4, 10 * MS + i * MS + 20000, MS - 20000, i + 1);
        snprintf(sql, sizeof(sql), "UPDATE call SET object = %d WHERE id = %lld", objects[i],
                 (long long)i + 1);
        totals_execute(sql);
    }
    totals_execute("INSERT INTO call_stack VALUES (2, 5), (3, 4); INSERT INTO call_sample VALUES"
                   " (3, 4)");
    make();
    assert_int_equal(totals_number("SELECT total_ns FROM ledger WHERE what = 'graph' AND line = 5"),
                     3 * (MS - 20000));
    assert_int_equal(totals_number("SELECT total_ns FROM ledger WHERE what = 'graph' AND line = 4"),
                     5 * (MS - 20000));
}

/* Waits 20 ms, then works alone for 30: overlapping would save 20. */
static void wait_and_work(void)
{
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 74, 11 * MS, 20 * MS);
    call(3, 1, 71, 61 * MS, 10000);
    operation(1, 1, 1, 11 * MS, 20 * MS, 1);
    operation(2, 1, 1, 61 * MS, 39 * MS, 3);
    make();
}

static void a_wait_claims_what_it_waited(void **state)
{
    (void)state;
    wait_and_work();
    assert_int_equal(
        totals_number("SELECT sum(total_ns) FROM ledger_row WHERE claimed IS NOT NULL"), 20 * MS);
    assert_int_equal(totals_number("SELECT lost_ns FROM finding WHERE what = 'waits'"), 20 * MS);
    assert_int_equal(booked("host-code"), 10 * MS + 30 * MS);
    /* Not to do it at all saves what the wait claims, too. */
    assert_int_equal(totals_number("SELECT saves_ns FROM finding WHERE what = 'host-code' AND "
                                   "phase = 1 AND lost_ns = 10000000"),
                     30 * MS);
    assert_int_equal(totals_number("SELECT saves_ns FROM finding WHERE what = 'waits'"), 20 * MS);
}

/* What to change is what the host does then, if most of it is in one other function. */
static void a_wait_says_where_the_host_then_works(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3);"
        "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
        " (1, 0, 'python', 'main', 'train.py', 9), (2, 0, 'python', 'update', 'train.py', 42),"
        " (3, 0, 'python', 'other', 'train.py', 50); INSERT INTO call_stack VALUES (2, 1)");
    for (int i = 0; i < 3; i++)
        look_at(1, (34 + 8 * i) * MS, "'R', -1", 2);
    totals_execute("UPDATE idle_sample SET signs = 68");
    wait_and_work();
    assert_int_equal(
        totals_number("SELECT p.line = 9 AND title = 'the host waits in cuStreamSynchronize,"
                      " then the GPU is idle: running Python, mostly at train.py:42"
                      " update' AND fix LIKE 'Do what the host does there %' FROM finding f"
                      " JOIN place p ON p.id = f.place WHERE what = 'waits'"),
        1);
    totals_execute("UPDATE api SET class = 'load' WHERE id = 74"); /* it is to be moved */
    make();
    assert_int_equal(
        totals_number("SELECT title LIKE '% mostly at %' OR fix LIKE 'Do what the host does%'"
                      " FROM finding WHERE what = 'waits'"),
        0);
    totals_execute("UPDATE api SET class = 'sync' WHERE id = 74");
    totals_execute("UPDATE idle_sample SET stack = id");
    make();
    assert_int_equal(
        totals_number("SELECT title LIKE '% mostly at %' FROM finding WHERE what = 'waits'"), 0);
}

/* Autograd reads a value itself; then a node of its graph does. */
static void autograd_that_checks_for_nan(void **state)
{
    totals_execute("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO call_stack VALUES (2, 1);"
                   "INSERT INTO frame (stack, depth, kind, function) VALUES"
                   " (1, 0, 'native', 'bool at::Tensor::item<bool>() const'), (1, 1, 'native',"
                   " 'torch::autograd::Engine::evaluate_function(a)')");
    (void)state;
    wait_and_work();
    assert_int_equal(booked("nan-check"), 20 * MS);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'nan-check' AND "
                                   "title LIKE 'anomaly detection checks each gradient %'"),
                     1);
    totals_execute("UPDATE frame SET depth = 2 WHERE depth = 1; INSERT INTO frame (stack, depth, "
                   "kind, function) VALUES (1, 1, 'native', 'torch::autograd::PyNode::apply(a)')");
    make();
    assert_int_equal(booked("nan-check"), 0);
}

/* The same with its kernels. A node's kernel may look for NaN because the program does. */
static void kernels_that_look_for_nan(void **state)
{
    totals_execute("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO call_stack VALUES (3, 1);"
                   "INSERT INTO frame (stack, depth, kind, function) VALUES"
                   " (1, 0, 'native', 'at::_ops::isnan::call(at::Tensor const&)'), (1, 1, "
                   "'native', 'torch::autograd::Engine::evaluate_function(a)')");
    (void)state;
    wait_and_work();
    assert_int_equal(booked("nan-kernel"), 59 * MS);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'nan-kernel' AND "
                                   "lost_ns >= 59000000 AND fix LIKE 'Turn off anomaly %'"),
                     1);
    totals_execute("UPDATE frame SET depth = 2 WHERE depth = 1; INSERT INTO frame (stack, depth, "
                   "kind, function) VALUES (1, 1, 'native', 'torch::autograd::PyNode::apply(a)')");
    make();
    assert_int_equal(booked("nan-kernel"), 0);
}

/* Only waits shorter than the idle time claim all that they waited; longer ones claim it all. */
static void a_long_wait_claims_all(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 74, 11 * MS, 60 * MS);
    call(3, 1, 71, 81 * MS, 10000);
    operation(1, 1, 1, 11 * MS, 60 * MS, 1);
    operation(2, 1, 1, 81 * MS, 19 * MS, 3);
    make();
    assert_int_equal(
        totals_number("SELECT sum(total_ns) FROM ledger_row WHERE claimed IS NOT NULL"), 10 * MS);
}

static void copies_are_no_idle_time(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 72, 30 * MS, 10 * MS);
    call(3, 1, 71, 50 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 2, 32 * MS, 6 * MS, 2);
    operation(3, 1, 1, 51 * MS, 10 * MS, 3);
    make();
    assert_int_equal(booked("copy"), 6 * MS);
    assert_int_equal(booked("copying"), 4 * MS);
}

/* It waits because it takes memory. */
static void an_allocation_that_waits(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 75, 11 * MS, 20 * MS);
    call(3, 1, 71, 40 * MS, 10000);
    operation(1, 1, 1, 11 * MS, 10 * MS, 1);
    operation(2, 1, 1, 41 * MS, 10 * MS, 3);
    make();
    assert_int_equal(booked("allocating"), 10 * MS);
    assert_int_equal(booked("round-trip"), 0);
}

/* Memory is pinned for 30 ms, and the device ends meanwhile; or the call returns just then. */
static int64_t claimed_by_pinning(int64_t work_ns)
{
    totals_execute("DELETE FROM gpu_op; DELETE FROM call");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 75, 11 * MS, 30 * MS);
    call(3, 1, 71, 61 * MS, 10000);
    operation(1, 1, 1, 11 * MS, work_ns, 1);
    operation(2, 1, 1, 61 * MS + 10000, 20 * MS, 3);
    make();
    return totals_number(
        "SELECT coalesce(sum(total_ns), 0) FROM ledger_row WHERE claimed IS NOT NULL");
}

static void a_call_that_happens_to_end_after_the_device(void **state)
{
    (void)state;
    assert_int_equal(claimed_by_pinning(20 * MS), 0);
    assert_int_equal(booked("allocating"), 10 * MS);
    assert_int_equal(claimed_by_pinning(30 * MS - 100000), 30 * MS - 100000);
}

/* It loads for 10 ms after the device has ended, for which it did not wait. */
static void code_is_loaded_beside_work(void **state)
{
    (void)state;
    totals_execute("UPDATE api SET class = 'load' WHERE id = 75");
    assert_int_equal(claimed_by_pinning(20 * MS), 0);
    assert_int_equal(booked("loading"), 10 * MS);
}

/* Kernels of 8 us, one each 60 us. */
static void launch_100_times(void)
{
    for (int64_t i = 0; i < 100; i++) {
        call(i + 1, 1, 71, 10 * MS + i * 60000, 20000);
        operation(i + 1, 1, 1, 10 * MS + i * 60000 + 22000, 8000, i + 1);
    }
}

/* Less than 100 us between launches is launching; inside of them in any case. */
static void launching(void **state)
{
    (void)state;
    launch_100_times();
    make();
    assert_int_equal(booked("kernel"), 100 * 8000);
    assert_int_equal(booked("launching"), 20000 + 99 * 50000);
    assert_int_equal(booked("between-kernels"), 100 * 2000);
}

/* A line that launches 100 times and waits 50 times, of which every tenth was chosen, waits too
 * much. */
static void say_launching(int waits, int at_stack)
{
    char sql[128];

    totals_execute("UPDATE api SET gpu_work = 1 WHERE id = 71; INSERT INTO stack VALUES (1, 1, 1);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line)"
                   " VALUES (1, 0, 'python', 'watch', 'train.py', 62);");
    launch_100_times();
    for (int64_t i = 0; i < waits; i++)
        call(i + 201, 1, 74, 10 * MS + i * 60000 + 21000, 10000);
    snprintf(sql, sizeof(sql),
             "INSERT INTO call_stack SELECT id, CASE WHEN id > 200 THEN %d ELSE 1 END FROM call"
             " WHERE id %% 10 = 1",
             at_stack);
    totals_execute(sql);
    totals_execute("INSERT INTO call_sample SELECT call, 10 FROM call_stack");
    make();
}

/* Autograd launches as much again as line 10, and line 11 a little. */
static void a_backward_pass(void **state)
{
    (void)state;
    totals_execute(
        "UPDATE api SET gpu_work = 1 WHERE id = 71; INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2),"
        " (3, 1, 3); INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
        " (1, 0, 'python', 'forward', '/home/a/model.py', 10),"
        " (2, 0, 'python', '_engine_run_backward', '/p/site-packages/torch/autograd/graph.py', 9),"
        " (2, 1, 'python', 'main', '/home/a/train.py', 20),"
        " (3, 0, 'python', 'head', '/home/a/head.py', 11)");
    launch_100_times();
    totals_execute("INSERT INTO call_stack SELECT id, CASE WHEN id % 10 < 4 THEN 1 WHEN id % 10 < 8"
                   " THEN 2 ELSE 3 END FROM call;"
                   " INSERT INTO call_sample SELECT call, 1 FROM call_stack");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE title LIKE '%; it is mostly "
                                   "the backward pass of model.py:10 forward'"),
                     1);
}

static void a_line_that_launches_and_waits(void **state)
{
    (void)state;
    say_launching(50, 1);
    assert_int_equal(
        totals_number("SELECT count(*) FROM finding WHERE what = 'launching' AND title "
                      "= 'the GPU waits for the next launch; kernels take 8.0 us on "
                      "average, and about 100 % of the launches are here, with a wait "
                      "for the GPU for each 2.0 of them' AND fix LIKE 'Wait %' AND fix NOT LIKE "
                      "'%graph%'"),
        1);
}

/* A hook waits for the GPU after each layer: at the line of the layers it is the same. */
static void a_line_whose_hooks_wait(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (2, 1, 2);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (2, 0, 'python', 'after', '/home/a/timer.py', 84),"
                   " (2, 1, 'python', 'watch', 'train.py', 62)");
    say_launching(50, 2);
    assert_int_equal(
        totals_number("SELECT count(*) FROM finding WHERE what = 'launching' AND title LIKE '%for "
                      "each 2.0 of them (timer.py:84 after)' AND fix LIKE 'Wait %often there (%'"),
        1);
}

/* Waits at three lines, of which none has most. */
static void a_line_whose_waits_are_at_several(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO stack VALUES (2, 1, 2), (3, 1, 3), (4, 1, 4);"
        "INSERT INTO frame (stack, depth, kind, function, file, line)"
        " SELECT id, 0, 'python', 'after', 'timer.py', id FROM stack UNION ALL"
        " SELECT id, 1, 'python', 'watch', 'train.py', 62 FROM stack;"
        "CREATE TRIGGER temp.spread AFTER INSERT ON call_stack WHEN NEW.stack = 9 BEGIN"
        " UPDATE call_stack SET stack = 2 + NEW.call / 10 % 3 WHERE call = NEW.call; END");
    say_launching(50, 9);
    assert_int_equal(
        totals_number("SELECT count(*) FROM finding WHERE what = 'launching' AND title LIKE '%for "
                      "each 2.0 of them' AND fix LIKE 'Wait %often here (%'"),
        1);
}

/* A damaged trace may have any ids: the first thread is then not known. */
static void a_thread_that_is_none_of_ours(void **state)
{
    (void)state;
    totals_execute("INSERT INTO thread (id, process, serial, records) VALUES (-5, 1, 3, 0)");
    say_launching(50, 1);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'launching'"), 1);
}

static void a_line_that_only_launches(void **state)
{
    (void)state;
    say_launching(0, 1);
    assert_int_equal(
        totals_number("SELECT count(*) FROM finding WHERE what = 'launching' AND title "
                      "LIKE '%about 100 % of the launches are here' AND fix LIKE "
                      "'Launch fewer%'"),
        1);
}

/* To ask for a function is a part of launching, unless that loads code. */
static void asking_for_functions(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO api (id, name, class) VALUES (76, 'cuFuncGetAttribute', 'function')");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 76, 20 * MS + 10000, 20000);
    call(3, 1, 76, 20 * MS + 40000, 5 * MS);
    call(4, 1, 71, 25 * MS + 50000, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 25 * MS + 60000, 10 * MS, 4);
    make();
    assert_int_equal(booked("loading"), 5 * MS);
}

/* The runtime makes the context in the first call that needs one, whatever it is for. */
static void the_call_that_starts_cuda(void **state)
{
    (void)state;
    totals_execute("INSERT INTO api (id, name, class) VALUES (81, 'cudaGetDeviceCount', 'init'),"
                   " (82, 'cudaStreamIsCapturing', 'stream'), (83, 'cudaMemGetInfo', 'ask')");
    call(1, 1, 81, 0, 10 * MS);
    call(2, 1, 82, 10 * MS, 1000);
    call(3, 1, 83, 11 * MS, 30 * MS);
    call(4, 1, 71, 50 * MS, 10000);
    call(5, 1, 83, 60 * MS, 25 * MS);
    operation(1, 1, 1, 50 * MS, 50 * MS, 4);
    make();
    assert_int_equal(booked("starting-cuda"), 10 * MS + 30 * MS);
}

/* What a thread does while it captures makes the graph, in calls and between them. */
static void capturing(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO api (id, name, class) VALUES"
        " (77, 'cuStreamBeginCapture_v2', 'stream'), (78, 'cuStreamEndCapture', 'stream')");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 77, 20 * MS, MS);
    call(3, 1, 71, 25 * MS, MS);
    call(4, 1, 78, 30 * MS, MS);
    call(5, 1, 71, 40 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 40 * MS + 10000, 10 * MS, 5);
    make();
    assert_int_equal(booked("instantiating"), 11 * MS);
}

/* The thread that launches got its work from another one: until then it is that one's time. */
static void another_threads_time(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 75, 21 * MS, 9 * MS);
    call(3, 2, 71, 40 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 41 * MS, 10 * MS, 3);
    make();
    assert_int_equal(booked("allocating"), 9 * MS);
}

/* A library's thread works for the line at which the first one waits: what is lost there is one
 * finding. */
static void a_borrowed_line(void **state)
{
    (void)state;
    call(1, 2, 71, 10 * MS, 10000);
    call(2, 2, 75, 21 * MS, 9 * MS);
    call(3, 2, 71, 40 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 40 * MS, 10 * MS, 3);
    totals_execute("INSERT INTO stack VALUES (1, 1, 1);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'train_step', '/home/a/train.py', 76);");
    look_at(1, 30 * MS, "'S', 202", 1); /* in futex */
    make();
    assert_int_equal(totals_number("SELECT lost_ns FROM finding f JOIN place p ON p.id = f.place "
                                   "WHERE phase = 1 AND line = 76 AND saves_ns > 0"),
                     20 * MS);
}

/* Of a program that allocates managed memory, what the host's own code does may move its pages. */
static void pages_of_managed_memory(void **state)
{
    (void)state;
    totals_execute("INSERT INTO api (id, name, class, kind) VALUES (76, 'cuMemAllocManaged', "
                   "'alloc', 'alloc-managed')");
    for (int has = 0; has <= 1; has++) {
        call(1, 1, 71, 10 * MS, 10000);
        call(2, 1, 74, 11 * MS, 20 * MS);
        call(3, 1, 71, 61 * MS, 10000);
        operation(1, 1, 1, 11 * MS, 20 * MS, 1);
        operation(2, 1, 1, 61 * MS, 39 * MS, 3);
        look_at(1, 45 * MS, "'R', -1", 0);
        if (has)
            totals_execute("INSERT INTO api_total VALUES (76, 1, 0, 0, 0, 0, 0, 0)");
        make();
        assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'waits' AND title"
                                       " LIKE '%native code%' AND phase = 1"),
                         1);
        assert_int_equal(
            totals_number("SELECT count(*) FROM finding WHERE what = 'waits' AND title LIKE '%; it "
                          "may touch managed memory, %' AND fix LIKE 'If %PrefetchAsync). Wait %'"),
            has);
        totals_execute("DELETE FROM call; DELETE FROM gpu_op; DELETE FROM idle_sample");
    }
}

static int64_t has_finding(const char *condition)
{
    char sql[512];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM finding WHERE phase = 1 AND %s", condition);
    return totals_number(sql);
}

/* A library's thread copies an argument of the call in which the first one waits: it prepares that
 * for 20 ms before. */
static void a_thread_that_waits_for_copies(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 2, 72, 39 * MS, 10000);
    call(3, 1, 71, 51 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 2, 40 * MS, 2 * MS, 2);
    operation(3, 1, 1, 51 * MS, 10 * MS, 3);
    totals_execute("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO frame (stack, depth, kind, "
                   "function, file, line, library) VALUES"
                   " (1, 0, 'native', 'Call', NULL, NULL, '/p/site-packages/jaxlib/jax.so'),"
                   " (1, 1, 'python', 'fit', '/home/a/train.py', 99, NULL)");
    look_at(1, 30 * MS, "'S', 202", 1);
    look_at(1, 45 * MS, "'S', 202", 1);
    make();
    assert_int_equal(has_finding("title = 'waiting for another thread'"), 1);
    totals_execute("UPDATE gpu_op SET copy_kind = 33 WHERE id = 2"); /* to the device */
    make();
    assert_int_equal(has_finding("title LIKE '%thread, which prepares data for copies to the GPU'"
                                 " AND fix LIKE 'Copy % once, %keep it there (jax.device_put)%'"),
                     1);
}

static void a_look_tells_it(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 50 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 51 * MS, 10 * MS, 2);
    look_at(1, 30 * MS, "'S', 35", 0); /* in nanosleep */
    make();
    assert_int_equal(booked("sleep"),
                     30 * MS + 10 * MS); /* and before the first launch, which is like it */
}

/* Ten milliseconds between two launches, and 300 between others: what is seen of these is not said
 * of those. */
static void long_pieces_are_told_by_their_like(void **state)
{
    static const int64_t at_ms[] = {10, 22, 34, 334, 634, 934};

    (void)state;
    totals_execute("UPDATE process SET end_ns = 940000000");
    for (int i = 0; i < 6; i++) {
        call(i + 1, 1, 71, at_ms[i] * MS, 10000);
        operation(i + 1, 1, 1, at_ms[i] * MS, 2 * MS, i + 1);
    }
    look_at(1, 17 * MS, "'R', -1", 0);
    look_at(1, 28 * MS, "'R', -1", 0);
    look_at(1, 200 * MS, "'S', 35", 0); /* in nanosleep */
    make();
    assert_int_equal(booked("sleep"), 3 * 298 * MS);
}

/* A launch that nothing explains, of a thread that mostly waits for a CPU where looks see it. */
static void a_thread_without_a_cpu(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO frame (stack, depth, kind, "
                   "function, file, line) VALUES (1, 0, 'python', 'train', '/home/a/train.py', 7)");
    for (int with = 0; with <= 1; with++) {
        call(1, 1, 71, 10 * MS, 10000);
        call(2, 1, 71, 50 * MS, 10 * MS);
        operation(1, 1, 1, 10 * MS, 10 * MS, 1);
        operation(2, 1, 1, 61 * MS, 10 * MS, 2);
        totals_execute("INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, "
                       "confidence) VALUES (3, 2, 'unknown', 0, 0, 10000000, 0, 'measured')");
        for (int i = 0; i < 3; i++)
            look_at(1, (25 + 10 * i) * MS, "'R', NULL", 1);
        totals_execute("UPDATE idle_sample SET cpu_ns = 4000000, delay_ns = 400000");
        if (with)
            totals_execute("UPDATE idle_sample SET delay_ns = 40000000 WHERE id < 3");
        make();
        assert_int_equal(booked("unknown"), with ? 0 : 10 * MS);
        if (with)
            assert_in_range(booked("no-cpu"), 30 * MS, 42 * MS);
        assert_int_equal(totals_number("SELECT total(lost_ns) FROM finding WHERE what = 'no-cpu'"),
                         booked("no-cpu")); /* and nothing else of its line */
        totals_execute("DELETE FROM call; DELETE FROM gpu_op; DELETE FROM stall;"
                       " DELETE FROM idle_sample");
    }
}

/* The line waits for others in turn with what it does itself, which is more. */
static void a_line_that_works_and_waits(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'check', '/usr/lib/python3.12/site-packages/lib/c.py', 59),"
                   " (1, 1, 'python', 'train', '/home/a/train.py', 76)");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 80 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 80 * MS, 10 * MS, 2);
    for (int i = 0; i < 7; i++)
        look_at(1, (25 + 8 * i) * MS, i < 3 ? "'S', 202" : "'R', -1", 1);
    totals_execute("UPDATE idle_sample SET signs = 68 WHERE id > 5"); /* with the GIL */
    make();
    assert_int_equal(totals_number("SELECT title = 'running Python, mostly check in lib/c.py'"
                                   " AND lost_ns >= 60000000 FROM finding WHERE id = 1"),
                     1);
}

/* A loader's workers, for which one line waits, have too few CPUs, and so has the program. */
static void workers_without_a_cpu(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', '_BaseDataLoaderIter.__next__', "
                   "'/p/site-packages/torch/utils/data/dataloader.py', 630),"
                   " (1, 1, 'python', 'train', '/home/a/train.py', 109),"
                   " (2, 0, 'python', 'augment', '/home/a/data.py', 66),"
                   " (3, 0, 'python', 'forward', '/home/a/model.py', 96)");
    for (int64_t i = 0; i < 2; i++) {
        call(2 * i + 1, 1, 71, (10 + 40 * i) * MS, 10000);
        operation(2 * i + 1, 1, 1, (10 + 40 * i) * MS, 10 * MS, 2 * i + 1);
    }
    call(5, 1, 71, 80 * MS, 10000);
    operation(5, 1, 1, 80 * MS, 10 * MS, 5);
    for (int i = 0; i < 7; i++)
        look_at(1, (21 + 4 * i) * MS, "'R', -1", 1);
    totals_execute("UPDATE idle_sample SET about = 2, signs = 6, pid_or_tid = 77, other_stack = 2");
    for (int i = 0; i < 4; i++)
        look_at(1, (61 + 4 * i) * MS, "'R', -1", 3);
    totals_execute("UPDATE idle_sample SET signs = 18, text = '2 of 16 CPUs' WHERE about = 0;"
                   "UPDATE idle_sample SET span_ns = 4000000, delay_ns = 3900000");
    make();
    assert_int_equal(has_finding("what = 'data' AND phase = 1 AND lost_ns >= 49000000"), 1);
    assert_int_equal(has_finding("what = 'no-cpu' AND phase = 1"), 0);
}

/* Another thread has the GIL, at two of its lines: one cause. */
static void a_thread_that_has_the_gil(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'decode', '/home/a/text.py', 113),"
                   " (1, 1, 'python', 'run', '/home/a/text.py', 142),"
                   " (2, 0, 'python', 'run', '/home/a/text.py', 143)");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 80 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 80 * MS, 10 * MS, 2);
    for (int i = 0; i < 7; i++)
        look_at(1, (25 + 8 * i) * MS, "'S', 202", 0);
    totals_execute("UPDATE idle_sample SET about = 1, signs = 2, pid_or_tid = 101, other_stack = "
                   "1 + (id % 3 = 0)");
    make();
    assert_int_equal(has_finding("what = 'gil' AND lost_ns >= 59000000"), 1);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'gil' AND phase = 1"),
                     1);
}

/* Stacks of threads that run are taken with GPUVERIFY_IDLE_STACKS=native. */
static void native_code_says_what_it_calls(void **state)
{
    (void)state;
    totals_execute(
        "UPDATE process SET executable = '/home/a/app'; INSERT INTO stack VALUES (1, 1, 1);"
        "INSERT INTO frame (stack, depth, kind, function, library) VALUES"
        " (1, 0, 'native', '__printf_fp', '/lib/x86_64-linux-gnu/libc.so.6'),"
        " (1, 1, 'native', 'fprintf', '/lib/x86_64-linux-gnu/libc.so.6'),"
        " (1, 2, 'native', 'main', '/home/a/app'),"
        " (1, 3, 'native', '__libc_start_main', '/lib/x86_64-linux-gnu/libc.so.6')");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 80 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 80 * MS, 10 * MS, 2);
    for (int i = 0; i < 7; i++)
        look_at(1, (25 + 8 * i) * MS, "'R', -1", 1);
    make();
    assert_int_equal(totals_number("SELECT title = 'running native code on the CPU, mostly fprintf "
                                   "in libc.so.6' FROM finding WHERE id = 1"),
                     1);
}

/* What the process used of the CPUs, in the first so many looks; used 0: not known. */
static void cpus_of_looks(int looks, double used, int cpus)
{
    char sql[384];

    totals_execute("DELETE FROM idle_sample_cpu; UPDATE idle_sample SET span_ns = 8000000, cpu_ns ="
                   " iif(about = 0, 7800000, 0), delay_ns = 0");
    if (used <= 0)
        return;
    snprintf(sql, sizeof(sql),
             "INSERT INTO idle_sample_cpu SELECT id, iif(about = 0, cpu_ns, span_ns) * %.2f, %d "
             "FROM idle_sample WHERE id <= %d",
             used, cpus, looks);
    totals_execute(sql);
}

static void native_code_on_one_cpu_of_many(void **state)
{
    static const struct {
        double used;
        int cpus, signs, looks;
        const char *title;
    } cases[] = {
        {1.04, 16, 0, 16, "running native code on the CPU; the process uses 1.0 of 16 CPUs"},
        {1.42, 4, 0, 8, "running native code on the CPU; the process uses 1.4 of 4 CPUs"},
        {1.04, 16, 0, 7, "running native code on the CPU"},
        {1.60, 16, 0, 16, "running native code on the CPU"},
        {1.04, 3, 0, 16, "running native code on the CPU"},
        {0, 0, 0, 16, "running native code on the CPU"},
        {1.04, 16, 68, 16, "running Python"}, /* with the GIL */
    };

    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'step', '/home/a/train.py', 80)");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 160 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 160 * MS, 10 * MS, 2);
    for (int i = 0; i < 16; i++)
        look_at(1, (25 + 8 * i) * MS, "'R', -1", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sql[512];
        snprintf(sql, sizeof(sql), "UPDATE idle_sample SET signs = %d", cases[i].signs);
        totals_execute(sql);
        cpus_of_looks(cases[i].looks, cases[i].used, cases[i].cpus);
        make();
        snprintf(
            sql, sizeof(sql),
            "SELECT title = '%s' AND (fix LIKE '%%OMP_NUM_THREADS%%') = (title LIKE '%% of %%')"
            " FROM finding WHERE phase = 1",
            cases[i].title);
        if (totals_number(sql) != 1)
            fail_msg("%zu: not %s", i, cases[i].title);
    }
    /* Native code is less than half of the phase. */
    totals_execute("UPDATE idle_sample SET signs = iif(id > 6, 68, 0)");
    cpus_of_looks(16, 1.04, 16);
    make();
    assert_int_equal(has_finding("what = 'native' AND title LIKE '% of 16 CPUs'"), 0);
}

/* A pool's threads run at one line, each seen there in some looks, under a lock of Python's. */
static void threads_that_take_turns(void **state)
{
    static const struct {
        double used;
        int cpus;
        const char *tid, *words, *state_and_call;
    } cases[] = {
        {1.02, 16, "id % 8",
         "; 8 threads run that line, one at a time (the process uses 1.0 of 16 CPUs)",
         "state = 'R', system_call = NULL"},
        {1.02, 16, "id % 3",
         "; 3 threads run that line, one at a time (the process uses 1.0 of 16 CPUs)",
         "state = 'R', system_call = NULL"},
        {1.02, 16, "id % 2", "", "state = 'R', system_call = NULL"},
        {1.60, 16, "id % 8", "", "state = 'R', system_call = NULL"},
        {1.02, 2, "id % 8", "", "state = 'R', system_call = NULL"},
        {0, 0, "id % 8", "", "state = 'R', system_call = NULL"},
        {1.02, 16, "id / 2", "", "state = 'R', system_call = NULL"}, /* made anew, one by one */
        {0.10, 16, "id % 8", "", "state = 'D', system_call = 0, target = 1"}, /* they read a file */
    };

    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'wait', '/usr/lib/python3.12/threading.py', 355),"
                   " (1, 1, 'python', 'next_batch', '/home/a/tiles.py', 106),"
                   " (2, 0, 'python', 'read', '/home/a/tiles.py', 72)");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 160 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 160 * MS, 10 * MS, 2);
    for (int i = 0; i < 16; i++)
        look_at(1, (25 + 8 * i) * MS, "'R', NULL", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sql[512];
        snprintf(sql, sizeof(sql),
                 "UPDATE idle_sample SET about = 3, other_stack = 2, target = 0, pid_or_tid = 200 +"
                 " %s, %s",
                 cases[i].tid, cases[i].state_and_call);
        totals_execute(sql);
        cpus_of_looks(16, cases[i].used, cases[i].cpus);
        make();
        snprintf(
            sql, sizeof(sql),
            "SELECT title LIKE 'waiting for another thread: read, tiles.py:72 (%%)%s' AND"
            " (fix LIKE 'Let them work at once%%') = (title LIKE '%%one at a time%%') FROM finding"
            " WHERE what = 'thread-lock' AND phase = 1",
            cases[i].words);
        if (totals_number(sql) != 1)
            fail_msg("%zu: not %s", i, cases[i].words);
    }
}

/* Four times a library works, then loads what lies in no file: a compiler without Python's frames.
 */
static void a_library_builds_code(int64_t ms)
{
    for (int64_t i = 0; i < 4; i++) {
        call(3 * i + 1, 1, 71, (10 + 20 * i) * ms, 10000);
        call(3 * i + 2, 1, 76, (25 + 20 * i) * ms, 10000);
        operation(i + 1, 1, 1, (11 + 20 * i) * ms, MS, 3 * i + 1);
        look_at(1, (18 + 20 * i) * ms, "'R', -1", 0);
    }
    make();
    assert_int_equal(booked("compile"), 0);
    totals_execute(
        "INSERT INTO load (thread, api, call, start_ns, duration_ns, kind, hash) SELECT"
        " thread, api, id, start_ns, duration_ns, 'library', 5 FROM call WHERE api = 76");
    make();
    assert_in_range(booked("compile"), 50 * ms, 60 * ms); /* to the loads: 15 less 1 or 2 each */
}

static void a_library_that_builds_code(void **state)
{
    (void)state;
    totals_execute("INSERT INTO api (id, name, class) VALUES (76, 'cuLibraryLoadData', 'load')");
    a_library_builds_code(MS);
    totals_execute(
        "DELETE FROM call; DELETE FROM gpu_op; DELETE FROM idle_sample; DELETE FROM load;"
        "UPDATE process SET end_ns = 1000000000");
    a_library_builds_code(10 * MS); /* more than 0.1 s each */
}

/* One of three threads does what the others wait to do: the lock is about too much. */
static void work_under_a_lock(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO thread (id, process, serial, tid, records) VALUES (3, 1, 3, 102, 0);"
        "INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3);"
        "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
        " (1, 0, 'python', 'prepare', '/home/a/serve.py', 59),"
        " (1, 1, 'python', 'handle', '/home/a/serve.py', 76),"
        " (2, 0, 'python', 'handle', '/home/a/serve.py', 75),"
        " (3, 0, 'python', 'get', '/usr/lib/python3.12/queue.py', 171),"
        " (3, 1, 'python', 'handle', '/home/a/serve.py', 70)");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 80 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 80 * MS, 10 * MS, 2);
    for (int64_t i = 0; i < 5; i++) {
        look_at(1, (25 + 10 * i) * MS, "'R', NULL", 1);
        look_at(2, (25 + 10 * i) * MS, "'S', 202", 3);
        look_at(3, (25 + 10 * i) * MS, "'S', 202", 2);
    }
    make();
    assert_int_equal(totals_number("SELECT title LIKE '%, while 1.0 threads wait for a lock that "
                                   "this thread holds (serve.py:75 handle)' AND fix LIKE '%lock%'"
                                   " FROM finding WHERE what = 'native' AND phase = 1"),
                     1);
}

/* Of the thread with this tid; `others` wait, at the line of the stack 2. signs: 128: so does it.
 */
static void look_for_lock(int64_t thread, int64_t at_ns, int64_t owner, int others, int signs)
{
    char sql[384];

    snprintf(sql, sizeof(sql),
             "INSERT INTO idle_sample (process, thread, at_ns, about, state, target, signs, "
             "pid_or_tid, other_stack, text) VALUES (1, %lld, %lld, 4, 'R', 0, %d, "
             "nullif(%lld, 0), 2, '%d threads')",
             (long long)thread, (long long)at_ns, signs, (long long)owner, others);
    totals_execute(sql);
}

/* A thread waits for another one, or runs, while others wait for a lock. */
static void a_lock_that_others_wait_for(void **state)
{
    static const struct {
        const char *state_and_call;
        int64_t stack, owner;
        int others[2], signs; /* of every second look each */
        const char *what, *title, *fix;
    } cases[] = {
        {"'S', 202",
         1,
         105,
         {9, 8},
         0,
         "thread-lock",
         "waiting for another thread, while 9 other threads wait for a lock (a.cpp:41 decode); "
         "its holder: running native code on the CPU",
         "The threads take turns%"},
        {"'S', 202",
         1,
         105,
         {1, 1},
         128,
         "thread-lock",
         "waiting for another thread, while it and 1 other thread wait for a lock (a.cpp:41 "
         "decode); its holder: running native code on the CPU",
         "The threads take turns%"},
        {"'S', 202",
         1,
         105,
         {0, 0},
         128,
         "thread-lock",
         "waiting for another thread, for a lock (a.cpp:41 decode); its holder: "
         "running native code on the CPU",
         "The threads take turns%"},
        /* on average less than one */
        {"'S', 202", 1, 105, {1, 0}, 0, "thread-lock", "waiting for another thread", "Find what%"},
        {"'R', NULL",
         0,
         100,
         {5, 5},
         0,
         "native",
         "running native code on the CPU, between a.cpp:8 serve (cuStreamSynchronize) and here, "
         "while 5 other threads wait for a lock (a.cpp:41 decode) that this thread holds",
         "Do it without the lock%"},
        /* another thread has it */
        {"'R', NULL",
         0,
         105,
         {5, 5},
         0,
         "native",
         "running native code on the CPU, between a.cpp:8 serve (cuStreamSynchronize) and here",
         "Do it on the GPU%"},
    };

    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line, library) VALUES"
                   " (1, 0, 'native', 'main', '/home/a/a.cpp', 94, 'a'),"
                   " (2, 0, 'native', 'decode', '/home/a/a.cpp', 41, 'a'),"
                   " (3, 0, 'native', 'serve', '/home/a/a.cpp', 6, 'a'),"
                   " (4, 0, 'native', 'serve', '/home/a/a.cpp', 8, 'a');");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sql[512];
        call(1, 1, 71, 10 * MS, 10000);
        call(2, 1, 74, 10 * MS + 20000, 20000); /* it asks, and waits for little */
        call(3, 1, 71, 80 * MS, 10000);
        totals_execute("INSERT INTO call_stack (call, stack) VALUES (1, 3), (2, 4), (3, 3);"
                       "INSERT INTO call_sample (call, one_of) VALUES (1, 1), (2, 1), (3, 1)");
        operation(1, 1, 1, 10 * MS + 10000, 10000, 1);
        operation(2, 1, 1, 80 * MS, 10 * MS, 3);
        for (int64_t j = 0; j < 6; j++) {
            look_at(1, (15 + 10 * j) * MS, cases[i].state_and_call, cases[i].stack);
            look_for_lock(1, (15 + 10 * j) * MS, cases[i].owner, cases[i].others[j % 2],
                          cases[i].signs);
        }
        make();
        snprintf(sql, sizeof(sql),
                 "SELECT title = '%s' AND fix LIKE '%s' FROM finding WHERE what = '%s' AND phase "
                 "= 1",
                 cases[i].title, cases[i].fix, cases[i].what);
        if (totals_number(sql) != 1)
            fail_msg("%zu: not %s", i, cases[i].title);
        totals_execute("DELETE FROM call; DELETE FROM gpu_op; DELETE FROM idle_sample;"
                       "DELETE FROM call_stack; DELETE FROM call_sample");
    }
}

/* Ten steps, between the same calls as before them: what was seen before them is not theirs. */
static void what_was_seen_before_the_loop(void **state)
{
    (void)state;
    totals_execute("INSERT INTO step_series (id, process, thread, source, kinds) VALUES (1, 1, 1, "
                   "'launches', 1)");
    for (int64_t i = 0; i < 20; i++) {
        char sql[256];
        call(i + 1, 1, 71, i * 5 * MS, 10000);
        operation(i + 1, 1, 1, i * 5 * MS, MS, i + 1);
        /* In wait4, and asleep. */
        look_at(1, i * 5 * MS + 3 * MS, i < 10 ? "'S', 61" : "'S', 230", 0);
        snprintf(sql, sizeof(sql),
                 "INSERT INTO step (series, number, kind, warmup, start_ns, duration_ns, gpu_ns)"
                 " VALUES (1, %lld, 1, 0, %lld, 5000000, 1000000)",
                 (long long)i - 9, (long long)(i * 5 * MS));
        if (i >= 10)
            totals_execute(sql);
    }
    totals_execute("DELETE FROM idle_sample WHERE id > 12");
    make();
    assert_int_equal(
        totals_number("SELECT count(*) FROM ledger_row WHERE phase = 1 AND what = 'child'"), 0);
    assert_true(booked("child") > 30 * MS && booked("sleep") > 30 * MS);
    assert_int_equal(
        totals_number("SELECT count(*) FROM ledger_minutes WHERE what IN ('child', 'sleep')"), 2);
}

static void queued_beside_another_process(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO device (id, process, device, uuid) VALUES (1, 1, 0, 'GPU-a');"
        "INSERT INTO other_process VALUES (1, 'GPU-a', 42, 'app', 11000000, 90000000, 0, 0)");
    call(1, 1, 71, 1 * MS, 10000);
    call(2, 1, 71, 20 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 60 * MS, 10 * MS, 2);
    make();
    assert_int_equal(totals_number("SELECT title LIKE '%another process also used the GPU: app, "
                                   "process 42' FROM finding WHERE what = 'queued' AND phase = 1"),
                     1);
    assert_int_equal(totals_number("SELECT title LIKE '%another process%' FROM finding"
                                   " WHERE what = 'queued' AND phase = 0"),
                     0);
    totals_execute("UPDATE other_process SET name = 'nvidia-cuda-mps'");
    make();
    assert_int_equal(totals_number("SELECT title LIKE '%another process%' FROM finding"
                                   " WHERE what = 'queued' AND phase = 1"),
                     0);
}

static void queued_behind_a_host_function(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO api (id, name, class) VALUES (76, 'cuLaunchHostFunc', 'other');"
        "INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2);"
        "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
        " (1, 0, 'native', 'step', 'step.cu', 7), (2, 0, 'native', 'pack', 'step.cu', 3);"
        "INSERT INTO call_stack VALUES (3, 1);"
        "INSERT INTO host_function VALUES (1, 1, 1, 3, 2, 2, 22000000, 34000000)");
    call(1, 1, 71, 1 * MS, 10000);
    call(3, 1, 76, 19 * MS, 10000);
    call(2, 1, 71, 20 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 60 * MS, 10 * MS, 2);
    make();
    assert_int_equal(
        totals_number("SELECT p.line = 7 AND title = 'work that was queued waited while its"
                      " stream ran pack on the CPU' FROM finding f JOIN place p ON"
                      " p.id = f.place WHERE what = 'queued' AND phase = 1"),
        1);
    totals_execute("UPDATE host_function SET duration_ns = 9000000");
    make();
    assert_int_equal(
        totals_number("SELECT title LIKE '% something else' FROM finding WHERE what = 'queued'"
                      " AND phase = 1"),
        1);
}

static void no_request_is_nobodys_fault(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 50 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 51 * MS, 10 * MS, 2);
    look_at(1, 30 * MS, "'S', 232", 0); /* in epoll_wait */
    make();
    assert_int_equal(booked("no-request"), 30 * MS);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'no-request'"), 0);
}

/* Its phases are those of the whole run. */
static void of_a_part(void **state)
{
    struct gv_totals_part part = GV_TOTALS_ALL;

    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 50 * MS, 10000);
    operation(1, 1, 1, 10 * MS, 10 * MS, 1);
    operation(2, 1, 1, 51 * MS, 10 * MS, 2);
    part.from_ns = 15 * MS;
    part.to_ns = 56 * MS;
    make_part(&part);
    assert_int_equal(booked("kernel"), 5 * MS + 5 * MS);
    assert_int_equal(totals_number("SELECT sum(total_ns) FROM ledger_row"), 41 * MS);
    part.process = 2;
    make_part(&part);
    assert_int_equal(totals_number("SELECT count(*) FROM finding"), 0);
}

static clock_t time_for_lines(int count)
{
    char sql[1024];

    totals_execute("DELETE FROM call; DELETE FROM call_stack; DELETE FROM gpu_op; DELETE FROM "
                   "stack; DELETE FROM frame; DELETE FROM stack_place; DELETE FROM place");
    snprintf(sql, sizeof(sql),
             "INSERT INTO stack WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
             " WHERE i < %d) SELECT i, 1, i FROM n;"
             "INSERT INTO frame (stack, depth, kind, function, file, line)"
             " SELECT id, 0, 'python', 'f' || id, 'train.py', id FROM stack;"
             "INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
             " SELECT 2 * id, 1, 75, id * 4000000, 2000000, 0 FROM stack UNION ALL"
             " SELECT 2 * id + 1, 1, 71, id * 4000000 + 3000000, 10000, 0 FROM stack;"
             "INSERT INTO call_stack SELECT 2 * id, id FROM stack;"
             "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call)"
             " SELECT id, 1, 1, id * 4000000 + 3020000, 100000, 2 * id + 1 FROM stack;"
             "UPDATE process SET end_ns = (%d + 2) * 4000000",
             count, count);
    totals_execute(sql);
    clock_t begin = clock();
    make();
    return clock() - begin;
}

/* A program may lose time at each of thousands of lines. */
static void many_lines_are_compared_in_linear_time(void **state)
{
    (void)state;
    assert_true(time_for_lines(20000) < 8 * time_for_lines(5000));
}

/* A collective has what kernels beside it leave, each time once; also of a part of the run. */
static void kernels_beside_a_collective(void **state)
{
    struct gv_totals_part part = GV_TOTALS_ALL;

    (void)state;
    for (int64_t i = 1; i <= 4; i++)
        call(i, 1, 71, i * MS, 10000);
    operation(1, 1, 1, 10 * MS, 40 * MS, 1);
    operation(2, 2, 1, 20 * MS, 20 * MS, 2);
    operation(3, 2, 1, 22 * MS, 22 * MS, 3);
    operation(4, 2, 1, 30 * MS, 15 * MS, 4);
    totals_execute("INSERT INTO gpu_name (id, process, number, name) VALUES (9, 1, 9, "
                   "'ncclDevKernel_AllReduce');"
                   "INSERT INTO gpu_shape (id, process, number, name) VALUES (9, 1, 9, 9); UPDATE "
                   "gpu_op SET shape = 9 WHERE id = 1");
    make();
    assert_int_equal(booked("collective"), 15 * MS);
    assert_int_equal(booked("kernel"), 25 * MS);
    part.from_ns = 30 * MS;
    make_part(&part);
    assert_int_equal(booked("collective"), 5 * MS);
    assert_int_equal(booked("kernel"), 15 * MS);
    totals_execute("DELETE FROM gpu_shape; DELETE FROM gpu_name");
}

static void by_minute(void **state)
{
    const int64_t minute_ns = INT64_C(60000) * MS;
    struct gv_totals_part part = GV_TOTALS_ALL;

    (void)state;
    totals_execute("UPDATE process SET end_ns = 180000000000");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 2 * minute_ns, 10000);
    operation(1, 1, 1, 10 * MS, minute_ns, 1);
    operation(2, 1, 1, 2 * minute_ns + MS, 10 * MS, 2);
    part.from_ns = minute_ns;
    make_minutes(&part);
    assert_int_equal(totals_number("SELECT min(minute) FROM ledger_minutes"), 1);
    assert_int_equal(
        totals_number("SELECT count(*) FROM (SELECT sum(total_ns) AS ns FROM ledger_minutes"
                      " GROUP BY minute) WHERE ns <> 60000000000"),
        0);
    assert_int_equal(totals_number("SELECT total_ns FROM ledger_minutes WHERE what = 'kernel'"
                                   " AND minute = 1"),
                     10 * MS);
    assert_int_equal(totals_number("SELECT count(*) FROM finding"), 0);
}

/* The same minute has both; the time that a wait claims is where it was. */
static void lines_by_minute(void **state)
{

    (void)state;
    totals_execute("UPDATE process SET end_ns = 180000000000");
    for (int64_t i = 0; i < 100; i++) {
        call(2 * i + 1, 1, 71, i * 1200 * MS, 10000);
        operation(2 * i + 1, 1, 1, i * 1200 * MS + MS, 600 * MS, 2 * i + 1);
        call(2 * i + 2, 1, 74, i * 1200 * MS + 2 * MS, 600 * MS);
    }
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM (SELECT minute FROM ledger_minutes WHERE "
                                   "claimed_by_function IS NOT NULL GROUP BY minute HAVING "
                                   "sum(total_ns) BETWEEN 29000000000 AND 31000000000)"),
                     2);
    assert_int_equal(totals_number("SELECT count(DISTINCT phase) FROM ledger_minutes"), 3);
    assert_true(totals_number("SELECT min(ns) = max(ns) FROM (SELECT sum(total_ns) AS ns FROM "
                              "ledger_minutes GROUP BY minute)") == 1);
    /* Also if a wait claims all of a time that began in the minute before. */
    totals_execute("UPDATE gpu_op SET duration_ns = 1190 * 1000000 WHERE id = 50;"
                   "UPDATE call SET duration_ns = 1190 * 1000000 WHERE id = 100");
    make();
    /* Of older time there are sums already. */
    totals_execute("INSERT INTO meta VALUES ('full_from_ns', 60000000000)");
    totals_execute("UPDATE process SET end_ns = 180000000000");
    make_part(&GV_TOTALS_ALL);
    assert_int_equal(totals_number("SELECT min(minute) FROM ledger_minutes"), 1);
}

/* What is busy for sure goes to calls that were measured, in the minutes in which it was. */
static void measured_calls_by_minute(void **state)
{
    (void)state;
    totals_execute("UPDATE process SET gpu = 'sampled', end_ns = 180000000000;"
                   "DELETE FROM gpu_place; UPDATE api SET gpu_work = 1 WHERE id = 71");
    for (int64_t i = 0; i < 100; i++) {
        call(2 * i + 1, 1, 71, i * 1200 * MS, 10000);
        call(2 * i + 2, 1, 74, i * 1200 * MS + 2 * MS, 600 * MS);
    }
    totals_execute(
        "UPDATE call SET kernel = 1 WHERE api = 71;"
        "INSERT INTO gpu_sample (process, call, start_ns, duration_ns, bias_ns, error_ns,"
        " one_of, queued) SELECT 1, id, start_ns + 1000000, 600000000, 0, 0, 10, 1"
        " FROM call WHERE id % 20 = 1");
    make();
    assert_true(booked("kernel") > 59000 * INT64_C(1000000));
}

static void without_a_gpu_side(void **state)
{
    (void)state;
    totals_execute("UPDATE process SET gpu = 'off'; DELETE FROM gpu_place");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 74, 20 * MS, 30 * MS);
    call(3, 1, 71, 70 * MS, 10000);
    make();
    assert_int_equal(totals_number("SELECT device IS NULL FROM lane"), 1);
    assert_int_equal(booked("kernel"), 30 * MS);
    assert_int_equal(booked("unknown"), 10 * MS + 30 * MS);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'unknown'"), 0);
    assert_int_equal(totals_number("SELECT sum(total_ns) FROM ledger_row WHERE claimed NOT NULL"),
                     20 * MS); /* from the wait's end to the next launch */
}

/* Code can be loaded only when the context has no work: from then on it is idle. */
static void a_load_that_waits_without_a_gpu_side(void **state)
{
    (void)state;
    totals_execute("UPDATE process SET gpu = 'off'; DELETE FROM gpu_place;"
                   "INSERT INTO api (id, name, class) VALUES (77, 'cuModuleLoadData', 'load');"
                   "INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, "
                   "confidence) VALUES (1, 2, 'module-load', 0, 0, 30000000, 0, 'inferred')");
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 77, 20 * MS, 31 * MS);
    call(3, 1, 71, 90 * MS, 10000);
    make();
    assert_int_equal(booked("kernel"), 30 * MS);
    assert_int_equal(booked("unknown"), 10 * MS + 10 * MS); /* before the wait; at the end */
    assert_int_equal(totals_number("SELECT sum(total_ns) FROM ledger_row WHERE claimed NOT NULL"),
                     30 * MS); /* of the 40 to the next launch, as long as it waited */
}

/* Each works 30 ms of its 100, and the next one begins 20 ms later. */
static void tasks(int count, const char *third)
{
    char sql[512];

    totals_execute("DELETE FROM process; DELETE FROM thread; DELETE FROM gpu_place");
    for (int i = 1; i <= count; i++) {
        const int64_t begin_ns = (i - 1) * 120 * MS;
        snprintf(sql, sizeof(sql),
                 "INSERT INTO process (id, identity, pid, parent_pid, executable, arguments, "
                 "start_ns, end_ns, gpu, ended) VALUES (%d, %d, %d, 7, 'python3', '%s --seed %d', "
                 "%lld, %lld, 'cupti', 'exit');"
                 "INSERT INTO thread (id, process, serial, tid, records) VALUES (%d, %d, 1, 100, "
                 "0); INSERT INTO gpu_place VALUES (%d, %d, 0, 1, 7)",
                 i, i, 100 + i, i == 3 ? third : "task.py", i, (long long)begin_ns,
                 (long long)(begin_ns + 100 * MS), i, i, i, i);
        totals_execute(sql);
        call(i, i, 71, begin_ns + 60 * MS, 10000);
        operation(i, i, 1, begin_ns + 60 * MS, 30 * MS, i);
    }
    make();
    totals_execute("DELETE FROM call; DELETE FROM gpu_op");
}

static void a_program_started_for_each_task(void **state)
{
    const char *const restarts = "SELECT total(lost_ns) FROM finding WHERE what = 'restarts'";

    (void)state;
    tasks(2, "");
    assert_int_equal(totals_number(restarts), 0);
    totals_execute("UPDATE process SET end_ns = start_ns"); /* this ends, too */
    make();
    tasks(3, "other.py");
    assert_int_equal(totals_number(restarts), 0);
    tasks(3, "task.py");
    assert_int_equal(totals_number(restarts), 2 * (70 + 20) * MS);
    assert_int_equal(totals_number("SELECT id = 1 AND title LIKE '3 processes of the same program "
                                   "ran one after the other: starting and ending them took 180 "
                                   "ms of 340 ms' "
                                   "FROM finding WHERE what = 'restarts'"),
                     1);
}

/* ---- what is in no account ---- */

static int64_t found(const char *what)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT lost_ns FROM finding WHERE what = '%s' AND saves_ns IS NULL",
             what);
    return totals_number(sql);
}

/* 40 steps of a launch each; how long each takes is told. */
static void steps(int (*takes_ns)(int number))
{
    char sql[256];

    totals_execute("INSERT INTO step_series (id, process, thread, source, kinds) VALUES (1, 1, 1, "
                   "'launches', 1)");
    for (int i = 1, at_ns = 0; i <= 40; i++) {
        int ns = takes_ns(i);
        call(i, 1, 71, at_ns, 10000);
        operation(i, 1, 1, at_ns + 20000, 500000, i);
        snprintf(sql, sizeof(sql),
                 "INSERT INTO step (series, number, kind, warmup, start_ns, duration_ns, gpu_ns)"
                 " VALUES (1, %d, 1, 0, %d, %d, 500000)",
                 i, at_ns, ns);
        totals_execute(sql);
        at_ns += ns;
    }
    make();
}

static int one_long(int number)
{
    return number == 20 ? 60 * MS : 800000;
}

static void what_happens_once_is_no_part_of_each_step(void **state)
{
    (void)state;
    steps(one_long);
    assert_int_equal(
        totals_number("SELECT times = 1 AND afterwards IS NULL AND title LIKE '%; most of "
                      "it in one idle time, not in each step' FROM finding WHERE id = 1"),
        1);
}

static int two_long(int number)
{
    return number == 10 || number == 20 ? 30 * MS : 800000;
}

static void what_happens_twice_is_no_part_of_each_step(void **state)
{
    (void)state;
    steps(two_long);
    assert_int_equal(
        totals_number("SELECT times = 2 AND title LIKE '%; most of it in 2 idle times, "
                      "not in each step' FROM finding WHERE id = 1"),
        1);
}

static int always_alike(int number)
{
    (void)number;
    return MS;
}

/* In each step of 1 ms, but one perhaps, the device is idle for 0.5 ms, and a wait claims 0.45 of
 * that. */
static void mostly_claimed(int (*takes_ns)(int number))
{
    for (int i = 1, at_ns = 0; i <= 40; at_ns += takes_ns(i++))
        call(100 + i, 1, 74, at_ns + 70000, 455000);
    steps(takes_ns);
}

static void what_waits_claim_of_each_step(void **state)
{
    (void)state;
    mostly_claimed(always_alike);
    assert_int_equal(has_finding("what = 'waits' AND lost_ns > 15000000 AND times IS NULL"), 1);
    assert_int_equal(
        has_finding("what = 'host-code' AND phase = 1 AND lost_ns < 3000000 AND times IS NULL"), 1);
}

static int one_of_20_ms(int number)
{
    return number == 20 ? 20 * MS : MS;
}

static void what_waits_claim_of_a_long_step(void **state)
{
    (void)state;
    mostly_claimed(one_of_20_ms);
    assert_int_equal(has_finding("what = 'waits' AND times IS NULL"), 1);
    assert_int_equal(has_finding("what = 'host-code' AND phase = 1 AND times = 1"), 1);
}

static int the_last_is_long(int number)
{
    return number == 40 ? 60 * MS : 800000;
}

/* What comes after the loop, such as the wait for all that was queued, is no slow step. */
static void the_last_step_is_no_slow_one(void **state)
{
    (void)state;
    steps(the_last_is_long);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'slow-steps'"), 0);
}

static int short_ones(int number)
{
    (void)number;
    return 800000;
}

static void steps_of_less_than_a_millisecond(void **state)
{
    (void)state;
    steps(short_ones);
    assert_int_equal(totals_number("SELECT afterwards = 'at best 520 us a step instead of 800 us'"
                                   " AND times IS NULL"
                                   " FROM finding WHERE what = 'host-code' AND phase = 1"),
                     1);
}

static int longer_and_longer(int number)
{
    return MS + (number - 1) * 50000;
}

/* Each tenth takes 0.2 ms longer than the one before. */
static void steps_that_grow(void **state)
{
    (void)state;
    steps(longer_and_longer);
    assert_int_equal(found("growth"), 36 * MS);
    assert_int_equal(totals_number("SELECT id FROM finding WHERE what = 'growth'"), 1);
    assert_int_equal(totals_number("SELECT title GLOB '*, most in host-code' FROM finding "
                                   "WHERE what = 'growth'"),
                     1);
    assert_int_equal(found("slow-steps"), -1);
}

/* Most of them become longer, all of them together do not. */
static int in_turn(int number)
{
    return number > 20 ? 2 * MS : number % 4 ? MS : 5 * MS;
}

static void steps_of_two_lengths_in_turn(void **state)
{
    (void)state;
    steps(in_turn);
    assert_int_equal(found("growth"), -1);
}

static int one_is_slow(int number)
{
    return number == 31 ? 11 * MS : MS;
}

static void single_slow_steps(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO call_stack VALUES (32, 1);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'save', '/home/a/train.py', 12)");
    steps(one_is_slow);
    assert_int_equal(found("slow-steps"), 10 * MS);
    assert_int_equal(totals_number("SELECT line FROM finding f JOIN place p ON p.id = f.place "
                                   "WHERE f.what = 'slow-steps'"),
                     12);
    assert_int_equal(found("growth"), -1);
}

/* Each step of 1 ms takes memory for 0.4 ms. */
static void what_is_done_again(void **state)
{
    (void)state;
    totals_execute("UPDATE api SET kind = 'alloc' WHERE id = 75; INSERT INTO api_total VALUES (75, "
                   "40, 0, 0, 0, 0, 0, 0)");
    for (int i = 1; i <= 40; i++)
        call(100 + i, 1, 75, i * MS - 450000, 400000);
    steps(always_alike);
    assert_int_equal(
        totals_number("SELECT count(*) FROM finding WHERE what = 'allocating' AND title "
                      "= 'allocates memory again: 1.0 cuMemAlloc_v2 a step'"),
        1);
    /* A stall's advice is for one call. */
    totals_execute("INSERT INTO stall_advice (id, text) VALUES (1, 'Load it earlier.');"
                   "INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, "
                   "confidence, advice) SELECT id, id, 'module-load', 0, 0, duration_ns, 0, "
                   "'measured', 1 FROM call WHERE api = 75; UPDATE api SET kind = 'module-load' "
                   "WHERE id = 75");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'module-load' AND "
                                   "stall NOT NULL AND title LIKE 'loads code again: %' AND fix "
                                   "LIKE 'Load it once, before the loop, %'"),
                     1);
}

/* Each step of 1 ms takes memory twice, for plans of a library that two functions ask for; or for
 * themselves. */
static void what_a_library_does_again(void **state)
{
    (void)state;
    totals_execute("UPDATE api SET kind = 'alloc' WHERE id = 75; INSERT INTO api_total VALUES (75, "
                   "80, 0, 0, 0, 0, 0, 0); INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'native', 'cufftMakePlanMany', NULL, NULL), (1, 1, 'python', "
                   "'compress', '/home/a/pulse.py', 71), (2, 0, 'native', 'cufftMakePlanMany', "
                   "NULL, NULL), (2, 1, 'python', 'doppler', '/home/a/pulse.py', 76)");
    for (int i = 1; i <= 40; i++) {
        call(100 + 2 * i, 1, 75, i * MS - 450000, 250000);
        call(101 + 2 * i, 1, 74, i * MS - 190000, 10000);
        call(301 + i, 1, 75, i * MS - 170000, 150000);
    }
    totals_execute("INSERT INTO call_stack SELECT id, 1 + (id > 300) FROM call WHERE api = 75");
    steps(always_alike);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE title LIKE 'makes a plan "
                                   "again: 2.0 %' AND lost_ns >= 16000000"),
                     1);
    assert_int_equal(has_finding("title LIKE 'makes a plan again: %' AND lost_ns < 16000000"), 0);
    totals_execute("UPDATE frame SET function = 'make' WHERE depth = 0");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE title LIKE 'allocates "
                                   "memory again: %'"),
                     2);
    /* If no steps are known, a library's plans are; allocating as often may be needed. */
    totals_execute("DELETE FROM step; DELETE FROM step_series");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE title LIKE '% again: %'"),
                     0);
    totals_execute("UPDATE frame SET function = 'cufftMakePlanMany' WHERE depth = 0");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE title = 'makes a plan "
                                   "again and again'"),
                     1);
    /* One plan, and many other calls. */
    totals_execute("UPDATE frame SET function = 'make' WHERE depth = 0 AND stack = 1;"
                   "UPDATE call_stack SET stack = 1 WHERE call > 301");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE title LIKE '% again%'"), 0);
}

/* Each step of 1 ms frees for 0.4 ms, to make room. */
static void freeing_again(const char *because)
{
    totals_execute("INSERT INTO api (id, name, class, kind) VALUES (76, 'cudaFree', 'free', "
                   "'free'); INSERT INTO api_total VALUES (76, 40, 0, 0, 0, 0, 0, 0);"
                   "INSERT INTO stack VALUES (1, 1, 1)");
    for (int i = 1; i <= 40; i++)
        call(100 + i, 1, 76, i * MS - 450000, 400000);
    totals_execute(because);
    steps(always_alike);
}

static int64_t says_freeing(const char *what)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM finding WHERE what = 'freeing' AND title = 'frees memory and "
             "allocates it again: 1.0 cudaFree a step%s' AND fix LIKE '%s%%'",
             what, *what ? "Find the size that fits once" : "Keep the memory");
    return totals_number(sql);
}

/* Before the free, the host waits: freeing is still what it does again. */
static void freeing_again_after_a_wait(void **state)
{
    (void)state;
    for (int i = 1; i <= 40; i++)
        call(200 + i, 1, 74, (i - 1) * MS + 30000, 505000);
    freeing_again("");
    assert_int_equal(says_freeing(""), 1);
}

/* Before the free, an allocation fails. */
static void memory_that_runs_out(void **state)
{
    (void)state;
    freeing_again("INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
                  " SELECT id + 100, 1, 75, start_ns - 20000, 10000, 2 FROM call WHERE id > 110;"
                  "INSERT INTO call_stack SELECT id, 1 FROM call WHERE result = 2");
    assert_int_equal(says_freeing(", as memory runs out in 30 of 40 steps"), 1);
}

static void a_cache_that_makes_room(void **state)
{
    (void)state;
    freeing_again("INSERT INTO frame (stack, depth, kind, function) VALUES (1, 0, 'native', "
                  "'a::DeviceCachingAllocator::release_cached_blocks(b)'), (1, 1, 'native', 'a::"
                  "DeviceCachingAllocator::malloc(b)');"
                  "INSERT INTO call_stack SELECT id, 1 FROM call WHERE id > 100");
    assert_int_equal(says_freeing(", as memory runs out in 40 of 40 steps"), 1);
    totals_execute("UPDATE frame SET function = 'a::DeviceCachingAllocator::emptyCache(b)' "
                   "WHERE depth = 1");
    make();
    assert_int_equal(
        totals_number("SELECT count(*) FROM finding WHERE title LIKE '%memory runs out%'"), 0);
}

/* Four allocations in one of so many steps, as often as there are steps, from the first on. */
static void allocating_in_bunches(int apart, bool again)
{
    totals_execute("UPDATE api SET kind = 'alloc' WHERE id = 75; INSERT INTO api_total VALUES (75, "
                   "40, 0, 0, 0, 0, 0, 0)");
    for (int i = 0; i < 40; i++)
        call(101 + i, 1, 75, (i / 4 * apart + 1) * MS - 450000 + i % 4 * 100000, 100000);
    steps(always_alike);
    assert_int_equal(totals_number("SELECT count(*) FROM finding WHERE what = 'allocating' AND "
                                   "title LIKE '%again%'"),
                     again);
}

static void what_is_done_in_the_first_steps(void **state)
{
    (void)state;
    allocating_in_bunches(1, false);
}

static void what_is_done_for_several_steps_at_once(void **state)
{
    (void)state;
    allocating_in_bunches(4, true);
}

/* Each step of 1 ms copies 20 times, for 20 us each. */
static void many_copies(void **state)
{
    (void)state;
    totals_execute("UPDATE api SET kind = 'copy' WHERE id = 72; INSERT INTO api_total VALUES (72, "
                   "800, 0, 0, 0, 0, 0, 0)");
    for (int i = 0; i < 800; i++)
        call(100 + i, 1, 72, (i / 20 + 1) * MS - 450000 + i % 20 * 20000, 20000);
    steps(always_alike);
    assert_int_equal(totals_number("SELECT title = 'copies piece by piece: 20 cuMemcpyHtoD_v2 a "
                                   "step' FROM finding WHERE what = 'copying' AND phase = 1"),
                     1);
}

/* Each step of 1 ms copies for 0.4 ms to the device; then each other one back, too. */
static void copies_to_the_device_and_back(void **state)
{
    (void)state;
    totals_execute(
        "INSERT INTO stack VALUES (1, 1, 1); INSERT INTO frame (stack, depth, kind, function, file,"
        " line) VALUES (1, 0, 'python', 'call', '/p/site-packages/numba/cuda/dispatcher.py', 9),"
        " (1, 1, 'python', 'smooth', '/home/a/filter.py', 77);"
        "INSERT INTO gpu_stack (process, stack, kind, copy_kind, launches, samples)"
        " VALUES (1, 1, 2, 17, 40, 40), (1, 1, 2, 18, 19, 19)");
    for (int i = 1; i <= 40; i++) {
        call(100 + i, 1, 72, i * MS - 450000, 400000);
        operation(100 + i, 1, 2, i * MS - 450000, 400000, 100 + i);
    }
    totals_execute("UPDATE gpu_op SET copy_kind = 17 WHERE kind = 2;"
                   "INSERT INTO call_stack SELECT id, 1 FROM call WHERE id > 100");
    steps(always_alike);
    assert_int_equal(
        has_finding(
            "title LIKE 'only copies%' AND fix LIKE 'Keep on the GPU what % pinned memory%'"),
        1);
    totals_execute("UPDATE gpu_stack SET launches = 20 WHERE copy_kind = 18");
    make();
    assert_int_equal(
        has_finding("title LIKE 'copies to the GPU and back again and again, %' AND fix "
                    "LIKE 'Copy % once, %keep it there (cuda.to_device);%' AND saves_ns = "
                    "lost_ns"),
        1);
}

/* Each step of 1 ms runs Python at a line that launches 20 times; a library's thread copies as
 * often to the host, for so long each. */
static void reading_one_by_one(int64_t copy_ns, bool says)
{
    char sql[512];

    totals_execute("INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2); INSERT INTO frame (stack, depth,"
                   " kind, function, file, line) VALUES (1, 0, 'python', 'collect',"
                   " '/home/a/train.py', 118);"
                   "INSERT INTO place (id, function, library) VALUES (99, 'Memcpy', "
                   "'/p/site-packages/xla.so'); INSERT INTO stack_place VALUES (2, 99)");
    snprintf(sql, sizeof(sql),
             "INSERT INTO gpu_stack (process, stack, kind, copy_kind, gpu_ns, launches, samples) "
             "VALUES (1, 1, 1, NULL, 800000, 800, 80), (1, 2, 2, 34, %lld, 800, 80)",
             (long long)(800 * copy_ns));
    totals_execute(sql);
    for (int i = 1; i <= 40; i++)
        look_at(1, i * MS - 200000, "'R', -1", 1);
    totals_execute("UPDATE idle_sample SET signs = 68"); /* with the GIL */
    steps(always_alike);
    assert_int_equal(has_finding("what = 'python' AND title LIKE '%; it reads from the GPU piece by"
                                 " piece: 20 small copies to the host a step' AND fix LIKE "
                                 "'Copy all of it to the host at once,%'"),
                     says);
    totals_execute("UPDATE place SET file = '/home/a/log.py' WHERE id = 99");
    make();
    assert_int_equal(has_finding("title LIKE '%piece by piece%'"), 0);
}

static void a_line_that_reads_one_by_one(void **state)
{
    (void)state;
    reading_one_by_one(2000, true);
}

static void large_copies_are_no_pieces(void **state)
{
    (void)state;
    reading_one_by_one(20000, false);
}

/* Ten kernels of 5 ms and, between them, nine copies of 3 ms from pinned memory in another stream,
 * all queued at once; the host waits for them. At the line 78, or at 79. */
static void copies_between_kernels(void)
{
    totals_execute(
        "DELETE FROM call; DELETE FROM gpu_op; DELETE FROM stream;"
        "INSERT INTO stream (id, process, context, handle, kind) VALUES (1, 1, 1, 10, 'created'),"
        " (2, 1, 1, 11, 'created');"
        "INSERT OR IGNORE INTO api (id, name, class, gpu_work, awaits_event) VALUES"
        " (78, 'cuStreamWaitEvent', 'stream', 0, 1)");
    for (int64_t i = 1; i <= 10; i++) {
        call(10 * i, 1, 71, i * 100000, 10000);
        operation(10 * i, 1, 1, 8 * i * MS, 5 * MS, 10 * i);
        if (i == 10)
            continue;
        call(10 * i + 2, 1, 72, i * 100000 + 60000, 10000);
        operation(10 * i + 2, 2, 2, 8 * i * MS + 5 * MS, 3 * MS, 10 * i + 2);
    }
    call(200, 1, 74, 2 * MS, 90 * MS);
    totals_execute(
        "UPDATE gpu_op SET copy_kind = 33 WHERE kind = 2;"
        "UPDATE call SET stream = CASE api WHEN 72 THEN 2 ELSE 1 END;"
        "INSERT OR IGNORE INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3);"
        "INSERT OR IGNORE INTO frame (stack, depth, kind, function, file, line) VALUES"
        " (1, 0, 'python', 'fetch', '/home/a/train.py', 78), (2, 0, 'python', 'fetch',"
        " '/home/a/train.py', 79), (3, 0, 'python', 'fetch', '/home/a/train.py', 76);"
        "INSERT OR IGNORE INTO call_stack SELECT id, 1 + (id > 20) FROM call WHERE api = 72;"
        "INSERT OR IGNORE INTO gpu_stack (id, process, stack, kind, copy_kind, gpu_ns, launches,"
        " samples) VALUES (1, 1, 1, 2, 33, 26000000, 9, 9), (2, 1, 2, 2, 33, 1000000, 9, 9)");
}

static void copies_that_kernels_wait_for(void **state)
{
    (void)state;
    copies_between_kernels();
    make();
    assert_int_equal(booked("copy-exposed"), 27 * MS);
    assert_int_equal(has_finding("what = 'copy-exposed' AND lost_ns = 27000000 AND saves_ns = "
                                 "27000000 AND title NOT LIKE '%stream%' AND fix LIKE '% the rest "
                                 "can be copied ahead,%while kernels run.'"),
                     1);
    assert_int_equal(totals_number("SELECT line FROM finding f JOIN place p ON p.id = f.place WHERE"
                                   " f.id = 1"),
                     78);
    /* A library's thread copies, for the line at which the first one is. */
    totals_execute("UPDATE call SET thread = 2 WHERE api = 72;"
                   "UPDATE frame SET kind = 'native', file = NULL, line = NULL, library ="
                   " '/p/site-packages/xla.so' WHERE stack IN (1, 2);"
                   "DELETE FROM stack_place; DELETE FROM place; INSERT INTO stack VALUES (4, 1, 4);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (4, 0, 'python', 'main', '/home/a/train.py', 106)");
    for (int64_t i = 0; i < 16; i++)
        look_at(1, (50 + i) * MS, "'R', -1", 4);
    make();
    assert_int_equal(totals_number("SELECT line FROM finding f JOIN place p ON p.id = f.place WHERE"
                                   " f.id = 1"),
                     106);
    /* A few looks at which it waits for that thread say more; one may be by chance. */
    look_at(1, 70 * MS, "'S', 202", 3);
    make();
    assert_int_equal(totals_number("SELECT line FROM finding f JOIN place p ON p.id = f.place WHERE"
                                   " f.id = 1"),
                     106);
    look_at(1, 71 * MS, "'S', 202", 3);
    make();
    assert_int_equal(totals_number("SELECT line FROM finding f JOIN place p ON p.id = f.place WHERE"
                                   " f.id = 1"),
                     76);
    /* At most the kernels' time is saved. */
    totals_execute("UPDATE gpu_op SET duration_ns = 1000000 WHERE kind = 1");
    make();
    assert_int_equal(has_finding("what = 'copy-exposed' AND lost_ns = 27000000 AND saves_ns"
                                 " BETWEEN 9999000 AND 10000000 AND fix LIKE '%Also copy less:%'"),
                     1);
}

/* Two at once, to the device and back, are beside a kernel once; also in a part of the run. */
static void copies_both_ways(void **state)
{
    struct gv_totals_part part = GV_TOTALS_ALL;

    (void)state;
    copies_between_kernels();
    for (int back = 0; back < 2; back++)
        totals_execute(
            "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call, copy_kind)"
            " SELECT (SELECT max(id) FROM gpu_op) + id, 2, 2, start_ns + 1000000, 2000000, 0, 33"
            " FROM gpu_op WHERE kind = 1");
    make();
    assert_int_equal(has_finding("what = 'copy-exposed' AND saves_ns = 27000000"), 1);
    part.from_ns = 40 * MS;
    make_part(&part);
    assert_int_equal(has_finding("what = 'copy-exposed' AND saves_ns = 15000000"), 1);
}

/* The copies' stream waits for the kernels' one, as it was told to at the line 76. */
static void copies_whose_stream_waits(void **state)
{
    (void)state;
    copies_between_kernels();
    totals_execute("INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream)"
                   " SELECT id - 1, 1, 78, start_ns - 30000, 1000, 0, 2 FROM call WHERE api = 72;"
                   "INSERT INTO call_stack VALUES (31, 3)");
    make();
    assert_int_equal(
        has_finding("what = 'copy-exposed' AND title LIKE '%; their stream first waits"
                    " for other streams, at train.py:76 fetch' AND fix LIKE 'Let that stream"
                    " wait only for%'"),
        1);
}

/* Within the device; beside kernels, too; by a host that never waits, or works meanwhile. */
static void copies_that_cost_nothing(void **state)
{
    (void)state;
    copies_between_kernels();
    totals_execute("UPDATE gpu_op SET copy_kind = 56 WHERE kind = 2");
    make();
    assert_int_equal(booked("copy"), 27 * MS);
    assert_int_equal(has_finding("what LIKE 'copy%'"), 0);
    copies_between_kernels();
    totals_execute("INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call, copy_kind)"
                   " SELECT id + 1, 2, 2, start_ns, 4900000, 0, 33 FROM gpu_op WHERE kind = 1");
    make();
    assert_int_equal(booked("copy-exposed"), 0);
    assert_int_equal(has_finding("what LIKE 'copy%'"), 0);
    copies_between_kernels();
    totals_execute("DELETE FROM call WHERE id = 200");
    make();
    assert_int_equal(has_finding("what LIKE 'copy%'"), 0);
    copies_between_kernels();
    totals_execute(
        "UPDATE call SET start_ns = (SELECT start_ns - 10000 FROM gpu_op o WHERE o.id ="
        " call.id) WHERE api = 71 AND id > 10; UPDATE call SET thread = 2 WHERE id = 200");
    make();
    assert_int_equal(booked("copy-exposed"), 0);
}

/* Each step of 1 ms makes such a call for 0.4 ms. */
static void says_again(const char *class, const char *kind, const char *name, const char *does)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "INSERT INTO api (id, name, class, kind) VALUES (76, '%s', '%s', '%s');"
             "INSERT INTO api_total VALUES (76, 40, 0, 0, 0, 0, 0, 0)",
             name, class, kind);
    totals_execute(sql);
    for (int i = 1; i <= 40; i++)
        call(100 + i, 1, 76, i * MS - 450000, 400000);
    steps(always_alike);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM finding WHERE title = '%s: 1.0 %s a step'",
             does, name);
    assert_int_equal(totals_number(sql), 1);
}

static void streams_made_again(void **state)
{
    (void)state;
    says_again("stream", "stream-create", "cuStreamCreate", "makes streams again");
}

/* Who copies or updates one makes none. */
static void graphs_made_again(void **state)
{
    (void)state;
    says_again("graph", "graph", "cuGraphInstantiateWithFlags", "makes graphs again");
}

static void a_graph_that_is_copied_again(void **state)
{
    (void)state;
    says_again("graph", "graph", "cuGraphClone", "copies a graph again");
}

static void a_graph_that_is_updated_again(void **state)
{
    (void)state;
    says_again("graph", "graph", "cuGraphExecUpdate_v2", "updates a whole graph again");
}

static void nodes_that_are_updated_again(void **state)
{
    (void)state;
    says_again("graph", "graph", "cuGraphExecKernelNodeSetParams_v2",
               "updates a graph node by node");
}

/* Each step of 1 ms compiles for 0.5 ms, and loads the same code. */
static void code_that_is_compiled_again(void **state)
{
    char sql[512];

    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'compile', '/lib/site-packages/cupy/cuda/compiler.py', 5),"
                   " (1, 1, 'python', 'build', '/home/a/train.py', 12)");
    for (int i = 1; i <= 40; i++) {
        snprintf(sql, sizeof(sql),
                 "INSERT INTO load (thread, api, start_ns, duration_ns, kind, hash) VALUES (1, 75,"
                 " %d, 1, 'cubin', 77);"
                 "INSERT INTO idle_sample (process, thread, at_ns, about, state, target, signs,"
                 " stack) VALUES (1, 1, %d, 0, 'R', 0, 0, 1)",
                 i * MS - 100, i * MS - 200000);
        totals_execute(sql);
    }
    steps(always_alike);
    assert_int_equal(totals_number("SELECT count(*) FROM finding f JOIN place p ON p.id = f.place "
                                   "WHERE what = 'compile' AND line = 12 AND title = 'compiling, "
                                   "again in 40 of 40 steps, 39 of 40 compilations "
                                   "repeat earlier ones'"),
                     1);
}

/* Its stream is free, but the other one's work takes all of the device. */
static void an_operation_that_starts_late(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 71, 12 * MS, 10000);
    operation(1, 1, 1, 11 * MS, 30 * MS, 1);
    operation(2, 2, 1, 41 * MS, 10 * MS, 2);
    make();
    assert_int_equal(found("late-start"), 41 * MS - 12 * MS - 10000);
}

/* Ten times, 6 ms of two streams, in each of which the device does 3 ms; in the first one,
 * something in the legacy default stream comes between. */
static void two_streams(int64_t default_api, int64_t default_stream)
{
    char sql[128];

    totals_execute(
        "INSERT INTO stream (id, process, context, handle, kind) VALUES (1, 1, 1, 10, 'created'),"
        " (2, 1, 1, 11, 'created'), (3, 1, 1, 0, 'legacy default');"
        "INSERT INTO gpu_place VALUES (4, 1, 0, 1, 10);"
        "INSERT INTO api (id, name, class, gpu_work, awaits_event) VALUES (76, 'cuMemsetD8_v2',"
        " 'set', 3, 0), (77, 'cuMemsetD8_v2_ptds', 'set', 3, 0),"
        " (78, 'cuStreamWaitEvent', 'event', 0, 1)");
    for (int64_t i = 0, at_ns = 10 * MS; i < 10; i++, at_ns += 7 * MS) {
        for (int64_t j = 0; j < 4; j++)
            call(4 * i + j + 1, 1, j == 1 ? default_api : 71, at_ns + j * 10000, 5000);
        operation(4 * i + 1, 1, 1, at_ns + 20000, 3 * MS, 4 * i + 1);
        operation(4 * i + 2, 4, 3, at_ns + 22000 + 3 * MS, 2000, 4 * i + 2);
        operation(4 * i + 3, 1, 1, at_ns + 26000 + 3 * MS, 2000, 4 * i + 3);
        operation(4 * i + 4, 2, 1, at_ns + 40000 + 3 * MS, 3 * MS, 4 * i + 4);
    }
    snprintf(sql, sizeof(sql),
             "UPDATE call SET stream = CASE id %% 4 WHEN 0 THEN 2 WHEN 2 THEN %lld ELSE 1 END",
             (long long)default_stream);
    totals_execute(sql);
}

static void a_default_stream_that_others_wait_for(void **state)
{
    (void)state;
    two_streams(71, 3);
    totals_execute("UPDATE call SET kernel = 1 WHERE id % 4 = 2; INSERT INTO kernel (id, process,"
                   " number, name) VALUES (1, 1, 1, 'scale')");
    make();
    assert_int_equal(found("serialised"), 10 * (3 * MS + 24000 - 35000));
    assert_int_equal(totals_number("SELECT title = 'work of other streams waits for scale, which is"
                                   " in the default stream' FROM finding WHERE id = 1"),
                     1);
}

/* A call without a stream works in the default one, unless that is its thread's own. */
static void a_call_that_names_no_stream(void **state)
{
    (void)state;
    two_streams(76, 0);
    make();
    assert_int_equal(found("serialised"), 10 * (3 * MS + 24000 - 35000));
    assert_int_equal(totals_number("SELECT title GLOB '*waits for cuMemsetD8_v2, *' FROM finding "
                                   "WHERE id = 1"),
                     1);
    totals_execute("UPDATE call SET api = 77 WHERE api = 76");
    make();
    assert_int_equal(found("serialised"), -1);
}

/* Streams wait for an event, or have once worked beside the default stream. */
static void a_default_stream_that_others_do_not_wait_for(void **state)
{
    (void)state;
    two_streams(71, 3);
    totals_execute(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream)"
        " SELECT 100 + id, 1, 78, start_ns - 4000, 1000, 0, 2 FROM call WHERE id % 4 = 0");
    make();
    assert_int_equal(found("serialised"), -1);
    totals_execute("DELETE FROM call WHERE id > 100");
    make();
    assert_int_not_equal(found("serialised"), -1);
    totals_execute("UPDATE gpu_op SET start_ns = start_ns - 17000 WHERE id = 4");
    make();
    assert_int_equal(found("serialised"), -1);
}

/* ---- what limits the device ---- */

/* Ten samples of 9 ms each. */
static void samples_say(const char *values)
{
    char sql[512];

    totals_execute(
        "DELETE FROM sample; DELETE FROM sample_gpm; DELETE FROM device; DELETE FROM lane_use;"
        "INSERT INTO device (process, device, uuid) VALUES (1, 0, 'GPU-a');"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)"
        " INSERT INTO sample (id, uuid, at_ns) SELECT i, 'GPU-a', i * 9000000 FROM n");
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO sample_gpm (sample, duration_ns, sm_tenths, occupancy_tenths, tensor_tenths, "
        "dram_tenths, fp32_tenths, pcie_tenths, clock_reasons) SELECT id, 9000100, %s FROM sample",
        values);
    totals_execute(sql);
}

/* What limited the device, in its main phase. */
static int64_t says(const char *words)
{
    char sql[512];

    make();
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM lane_use WHERE phase = 1 AND words = '%s'",
             words);
    return totals_number(sql);
}

/* Launches of one kernel, or of two in turn, that keep the device busy from 9 to 90 ms. */
static void busy_with(int64_t kernels, int64_t kind, int64_t busy_ns)
{
    totals_execute("DELETE FROM call; DELETE FROM gpu_op");
    for (int64_t i = 0; i < 27; i++) {
        char sql[96];
        call(i + 1, 1, 71, (6 + 3 * i) * MS, MS);
        operation(i + 1, 1, kind, (9 + 3 * i) * MS, busy_ns, i + 1);
        snprintf(sql, sizeof(sql), "UPDATE call SET kernel = %lld WHERE id = %lld",
                 (long long)(1 + i % kernels), (long long)i + 1);
        totals_execute(sql);
    }
    totals_execute("UPDATE api SET gpu_work = 1 WHERE id = 71");
}

static void what_the_device_is_full_of(void **state)
{
    (void)state;
    busy_with(1, 1, 3 * MS);
    samples_say("980, 500, 31, 840, 100, 0, 0");
    assert_int_equal(says("memory-bound: DRAM 84 %, tensor cores 3 %"), 1);
    samples_say("980, 500, 612, 400, 100, 0, 1");
    assert_int_equal(says("tensor cores 61 %"), 1);
    samples_say("980, 500, 0, 400, 700, 0, 4");
    assert_int_equal(says("FP32 units 70 %; slowed down by the power limit"), 1);
    samples_say("20, 10, 0, 10, 0, 918, 64");
    assert_int_equal(says("PCIe 92 % of its speed; slowed down by heat"), 1);
    samples_say("410, 120, 0, 300, 0, 0, 0");
    assert_int_equal(says("half empty: SMs active 41 %, occupancy 12 %"), 1);
    samples_say("950, 120, 0, 300, 0, 0, 0");
    assert_int_equal(says("no unit is full: SMs active 95 %, DRAM 30 %, tensor cores 0 %"), 1);
    samples_say("900, NULL, NULL, 840, NULL, NULL, NULL");
    assert_int_equal(says("memory-bound: DRAM 84 %"), 1);
    samples_say("NULL, NULL, NULL, 840, NULL, NULL, NULL");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM lane_use"), 0);
}

/* Values of an idle device say nothing of its work; of one that is busy most of the time they are
 * scaled to that. */
static void only_samples_of_a_busy_device(void **state)
{
    (void)state;
    busy_with(1, 1, 2400000);
    samples_say("800, 500, 40, 560, 0, 0, 0");
    assert_int_equal(says("memory-bound: DRAM 70 %, tensor cores 5 %"), 1);
    assert_int_equal(totals_number("SELECT samples FROM lane_use WHERE phase = 1"), 8);
    busy_with(1, 1, 1800000);
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM lane_use"), 0);
}

/* Without kernels the multiprocessors are empty: that is no fault of kernels. */
static void copies_leave_multiprocessors_empty(void **state)
{
    (void)state;
    busy_with(1, 2, 3 * MS);
    samples_say("10, 0, 0, 20, 0, 220, 0");
    assert_int_equal(says("copying: PCIe 22 % of its speed"), 1);
    /* Two thirds kernels, one third copies. */
    busy_with(1, 1, 3 * MS);
    totals_execute("UPDATE gpu_op SET kind = 2 WHERE id % 3 = 0; UPDATE call SET api = 72 WHERE id "
                   "% 3 = 0; UPDATE api SET gpu_work = 3 WHERE id = 72");
    samples_say("600, 300, 400, 20, 0, 220, 0");
    assert_int_equal(says("tensor cores 60 %, in a mix of work"), 1);
}

static void collectives_may_wait(void **state)
{
    (void)state;
    busy_with(1, 1, 3 * MS);
    totals_execute("INSERT INTO gpu_name (id, process, number, name) VALUES (9, 1, 9, "
                   "'ncclDevKernel_AllReduce');"
                   "INSERT INTO gpu_shape (id, process, number, name) VALUES (9, 1, 9, 9); UPDATE "
                   "gpu_op SET shape = 9");
    samples_say("150, 100, 0, 20, 0, 0, 0");
    assert_int_equal(says("in collectives, which may wait for other ranks: SMs active 15 %"), 1);
    /* Beside kernels they take no time of their own. */
    for (int64_t i = 0; i < 9; i++) {
        call(101 + i, 1, 71, (8 + 9 * i) * MS, MS / 2);
        operation(101 + i, 2, 1, (9 + 9 * i) * MS + 1000, 8990000, 101 + i);
    }
    assert_int_equal(says("half empty: SMs active 15 %, occupancy 10 %, in a mix of work"), 1);
    totals_execute("DELETE FROM gpu_shape; DELETE FROM gpu_name");
}

/* Then nobody knows which of them the values are of. */
static void several_kernels_in_a_sample(void **state)
{
    (void)state;
    busy_with(2, 1, 3 * MS);
    samples_say("950, 500, 340, 450, 0, 0, 0");
    assert_int_equal(says("a mix: SMs active 95 %, DRAM 45 %, tensor cores 34 %"), 1);
    /* Much of it without the tensor cores. */
    samples_say("950, 500, 120, 180, 520, 0, 0");
    assert_int_equal(says("a mix: SMs active 95 %, DRAM 18 %, FP32 units 52 %"), 1);
    samples_say("950, 500, 30, 840, 0, 0, 0");
    assert_int_equal(says("memory-bound: DRAM 84 %, tensor cores 3 %, in a mix of work"), 1);
    busy_with(1, 4, 3 * MS);
    assert_int_equal(says("memory-bound: DRAM 84 %, tensor cores 3 %, in a mix of work"), 1);
    /* Those of a graph, each by itself. */
    busy_with(1, 1, 3 * MS);
    totals_execute(
        "UPDATE api SET gpu_work = 2 WHERE id = 71; UPDATE call SET kernel = NULL, object "
        "= 7");
    assert_int_equal(says("memory-bound: DRAM 84 %, tensor cores 3 %, in a mix of work"), 1);
}

static void others_work_is_in_the_samples(void **state)
{
    (void)state;
    busy_with(1, 1, 3 * MS);
    samples_say("980, 500, 31, 840, 100, 0, 0");
    totals_execute("INSERT INTO other_process (uuid, first_ns, last_ns, started, ended) VALUES "
                   "('GPU-a', 40000000, 60000000, 1, 1)");
    assert_int_equal(
        says("memory-bound: DRAM 84 %, tensor cores 3 %; other processes were on the GPU, too"), 1);
    totals_execute("UPDATE other_process SET uuid = 'GPU-b'");
    assert_int_equal(says("memory-bound: DRAM 84 %, tensor cores 3 %"), 1);
    /* The server's work is the program's. */
    totals_execute("UPDATE other_process SET uuid = 'GPU-a', name = 'nvidia-cuda-mps'");
    assert_int_equal(says("memory-bound: DRAM 84 %, tensor cores 3 %"), 1);
    totals_execute("DELETE FROM other_process");
}

/* The main phase is from 9 to 90 ms. */
static void others_of_a_device_count_together(void **state)
{
    static const struct {
        const char *others; /* (first, last) in ms */
        int64_t is_told;
    } cases[] = {
        {"(10, 14), (20, 24)", 0},           {"(10, 14), (20, 24), (22, 26)", 1},
        {"(0, 17), (82, 200)", 1},           {"(0, 12), (85, 200)", 0},
        {"(-5, 9), (90, 500)", 0},           {"(10, 14), (10, 14), (10, 14)", 1},
        {"(60, 20), (40, 44), (50, 54)", 0}, {"(0, 300)", 1},
    };

    (void)state;
    busy_with(1, 1, 3 * MS);
    samples_say("980, 500, 31, 840, 100, 0, 0");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sql[512];
        snprintf(sql, sizeof(sql),
                 "DELETE FROM other_process; WITH o(first, last) AS (VALUES %s)"
                 " INSERT INTO other_process (uuid, first_ns, last_ns, started, ended)"
                 " SELECT 'GPU-a', first * 1000000, last * 1000000, 1, 1 FROM o",
                 cases[i].others);
        totals_execute(sql);
        make();
        assert_int_equal(totals_number("SELECT count(*) FROM lane_use WHERE phase = 1 AND words "
                                       "LIKE '%; other processes%'"),
                         cases[i].is_told);
    }
    totals_execute("DELETE FROM other_process");
}

/* They are in nobody's list of others. */
static void work_of_the_session_s_others_is_in_the_samples(void **state)
{
    (void)state;
    busy_with(1, 1, 3 * MS);
    samples_say("980, 500, 31, 840, 100, 0, 0");
    totals_execute(
        "INSERT INTO process (id, identity, pid, start_ns, end_ns, gpu, ended) VALUES"
        " (2, 2, 200, 0, 100000000, 'cupti', 'exit');"
        "INSERT INTO thread (id, process, serial, tid, records) VALUES (3, 2, 1, 200, 0);"
        "INSERT INTO gpu_place VALUES (20, 2, 1, 1, 7);"
        "INSERT INTO device (process, device, uuid) VALUES (2, 1, 'GPU-a'), (2, 0, 'GPU-b')");
    call(101, 3, 71, 30 * MS, MS);
    operation(101, 20, 1, 32 * MS, 20 * MS, 101);
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM lane_use WHERE process = 1 AND phase = 1 "
                                   "AND words LIKE 'memory-bound: %; %other processes%'"),
                     1);
    assert_int_equal(
        totals_number("SELECT count(*) FROM finding WHERE title LIKE '%other processes%'"), 1);
    totals_execute("UPDATE device SET device = 2 WHERE process = 2 AND uuid = 'GPU-a'");
    make();
    assert_int_equal(
        totals_number("SELECT count(*) FROM lane_use WHERE words LIKE '%other processes%'"), 0);
}

/* It is a finding of its own, unless one says already that the device computes. */
static void findings_of_a_full_device(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO frame (stack, depth, kind, "
                   "function, file, line)"
                   " VALUES (1, 0, 'python', 'train', 'train.py', 62)");
    busy_with(1, 1, 3 * MS);
    totals_execute("INSERT INTO call_stack SELECT id, 1 FROM call");
    samples_say("980, 500, 31, 840, 100, 0, 4");
    make();
    assert_int_equal(
        totals_number(
            "SELECT title GLOB 'the GPU computes for * begins here; memory-bound: DRAM 84 %*'"
            " AND fix LIKE 'Move fewer bytes%' FROM finding WHERE what = 'computing'"),
        1);
    assert_int_equal(found("use"), -1);
    assert_int_equal(
        totals_number(
            "SELECT title = 'the GPU is slowed down by the power limit for 100 % of the time"
            " that it is busy' FROM finding WHERE what = 'clocks'"),
        1);
    busy_with(1, 1, 2400000);
    make();
    assert_int_equal(found("computing"), -1);
    assert_int_equal(
        totals_number(
            "SELECT f.title GLOB 'memory-bound: *' AND p.line = 62 FROM finding f JOIN place p"
            " ON p.id = f.place WHERE what = 'use'"),
        1);
}

/* That the GPU computes for 85 % of the time is told before what the host loses. */
static void a_device_that_computes_comes_first(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 30; i++) {
        call(i + 1, 1, 71, i * 3 * MS, 10000);
        operation(i + 1, 1, 1, i * 3 * MS, 2560000, i + 1);
    }
    totals_execute("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO frame (stack, depth, kind, "
                   "function, file, line) VALUES (1, 0, 'python', 'train', 'train.py', 62);"
                   "INSERT INTO call_stack SELECT id, 1 FROM call;"
                   "UPDATE api SET gpu_work = 1 WHERE id = 71");
    make();
    assert_int_equal(totals_number("SELECT id FROM finding WHERE what = 'computing'"), 1);
    assert_int_equal(totals_number("SELECT lost_ns FROM finding WHERE id = 2") >= 12 * MS, 1);
}

/* What the GPU waited for once says little of the steps; what it waited for in each of them does.
 */
static void a_pause_in_a_loop_that_computes(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1); INSERT INTO frame (stack, depth, kind, "
                   "function, file, line) VALUES (1, 0, 'python', 'train', 'train.py', 62);"
                   "INSERT INTO step_series (id, process, thread, source, kinds) VALUES (1, 1, 1, "
                   "'launches', 1)");
    for (int64_t i = 0; i < 20; i++) {
        char sql[256];
        int64_t at_ns = i * 3 * MS + (i < 10 ? 0 : 10 * MS);
        call(i + 1, 1, 71, at_ns, 10000);
        operation(i + 1, 1, 1, at_ns, 2900000, i + 1);
        snprintf(sql, sizeof(sql),
                 "INSERT INTO step (series, number, kind, warmup, start_ns, duration_ns, gpu_ns)"
                 " VALUES (1, %lld, 1, 0, %lld, %d, 2900000)",
                 (long long)i, (long long)at_ns, i == 9 ? 13 * MS : 3 * MS);
        totals_execute(sql);
    }
    totals_execute("INSERT INTO call_stack SELECT id, 1 FROM call;"
                   "UPDATE api SET gpu_work = 1 WHERE id = 71");
    make();
    assert_int_equal(found("computing") >= 0, 1);
    totals_execute("UPDATE gpu_op SET duration_ns = 2300000");
    make();
    assert_int_equal(found("computing"), -1);
}

/* What limits the device is told of the line whose kernel ran then, not of the one that has most.
 */
static void a_device_that_is_full_of_one_kernel(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'train', 'train.py', 62), (2, 0, 'python', 'train', "
                   "'train.py', 63), (3, 0, 'python', 'train', 'train.py', 64)");
    busy_with(1, 1, 3 * MS);
    totals_execute("UPDATE call SET kernel = 2 WHERE id > 10;"
                   "INSERT INTO call_stack SELECT id, CASE WHEN id <= 10 THEN 1 WHEN id <= 19 THEN "
                   "2 ELSE 3 END FROM call");
    samples_say("980, 500, iif(id < 5, 800, 30), iif(id < 5, 200, 840), 0, 0, 4");
    totals_execute("UPDATE sample SET sm_clock_mhz = 1980 - 10 * id");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM finding f JOIN place p ON p.id = f.place "
                                   "WHERE f.what = 'computing' AND p.line = 62 AND f.title NOT "
                                   "LIKE '%memory%' AND f.fix LIKE 'The host loses little%'"),
                     1);
    assert_int_equal(totals_number("SELECT count(*) FROM finding f JOIN place p ON p.id = f.place "
                                   "WHERE f.what = 'use' AND p.line IN (63, 64) AND f.title LIKE "
                                   "'memory-bound: DRAM 84 %'"),
                     1);
    /* At the power limit, but hardly slower for it. */
    assert_int_equal(found("clocks"), -1);
    totals_execute("UPDATE sample SET sm_clock_mhz = iif(id = 1, 1980, 1600)");
    make();
    assert_int_equal(has_finding("what = 'clocks' AND title LIKE '%, to 1___ of 1980 MHz'"), 1);
}

/* NVML's utilisation is of all processes: without operations, it says nothing of this one. */
static void a_host_only_process_beside_another(void **state)
{
    (void)state;
    busy_with(1, 1, 3 * MS);
    totals_execute("UPDATE process SET gpu = 'off'; DELETE FROM gpu_op; DELETE FROM gpu_place");
    samples_say("980, 500, 31, 840, 100, 0, 4");
    totals_execute("UPDATE sample SET gpu_percent = 100");
    make();
    assert_true(totals_number("SELECT count(*) FROM lane_use WHERE words LIKE 'memory%'") > 0);
    totals_execute("INSERT INTO other_process (uuid, first_ns, last_ns, started, ended) VALUES "
                   "('GPU-a', 0, 100000000, 1, 1)");
    make();
    assert_int_equal(totals_number("SELECT count(*) FROM lane_use WHERE words NOT NULL"), 0);
    totals_execute("DELETE FROM other_process");
}

/* Two lines launch; one of them gives the device most of what keeps it busy. */
static void a_device_that_computes(void **state)
{
    (void)state;
    totals_execute("INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2);"
                   "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                   " (1, 0, 'python', 'train', 'train.py', 62),"
                   " (2, 0, 'python', 'train', 'train.py', 63)");
    for (int64_t i = 0; i < 8; i++) {
        call(i + 1, 1, 71, (10 + 10 * i) * MS, 2 * MS);
        operation(i + 1, 1, 1, (12 + 10 * i) * MS, (i % 4 ? 9 : 8) * MS, i + 1);
    }
    totals_execute("INSERT INTO call_stack SELECT id, CASE WHEN id % 4 = 1 THEN 2 ELSE 1 END FROM"
                   " call; UPDATE api SET gpu_work = 1 WHERE id = 71");
    make();
    assert_int_equal(totals_number("SELECT f.what = 'computing' AND p.line = 62 AND saves_ns IS "
                                   "NULL AND f.title GLOB 'the GPU computes for 8? % of the time; "
                                   "7? % of that begins here' FROM finding f"
                                   " JOIN place p ON p.id = f.place WHERE f.id = 1"),
                     1);
    totals_execute("INSERT OR REPLACE INTO fact VALUES ('underfilled_ns', 60), ('kernel_time_ns', "
                   "100); INSERT INTO kernel_total (rank, name, count, total_ns, min_ns, median_ns,"
                   " max_ns, shapes) VALUES (1, 'step', 1, 9, 1, 1, 1, 1)");
    make();
    assert_int_equal(totals_number("SELECT title GLOB '*, mostly step; 7? % *fewer blocks *' AND "
                                   "fix LIKE '%more blocks%' FROM finding WHERE id = 1"),
                     1);
    /* Where a library begins most, the line that one can change comes after it. */
    totals_execute(
        "DELETE FROM stack_place; DELETE FROM place;"
        "UPDATE frame SET kind = 'native', function = 'MmBackward0', file = NULL, line = "
        "NULL, library = 'libtorch_cpu.so' WHERE stack = 1;"
        "INSERT INTO kernel_total (rank, name, count, total_ns, min_ns, median_ns,"
        " max_ns, shapes) VALUES (2, 'loss', 1, 8, 1, 1, 1, 1), (3, 'norm', 1, 8, 1, 1, "
        "1, 1)");
    make();
    assert_int_equal(
        totals_number(
            "SELECT title GLOB '*, first of all step (36 %); 7? % of that begins here, 2? "
            "% at train.py:63 train;*' FROM finding WHERE id = 1"),
        1);
    totals_execute("UPDATE fact SET value = 0 WHERE key = 'underfilled_ns';"
                   "INSERT INTO api (id, name, class, kind) VALUES (76, 'cuMemAllocManaged', "
                   "'alloc', 'alloc-managed');"
                   "INSERT INTO api_total VALUES (76, 1, 0, 0, 0, 0, 0, 0)");
    make();
    assert_int_equal(totals_number("SELECT fix LIKE 'If %managed memory%). The host loses little%'"
                                   " FROM finding WHERE id = 1"),
                     1);
}

/* It waited while the device worked: nothing is lost, but one line says so. */
static void an_unexpected_wait(void **state)
{
    (void)state;
    call(1, 1, 71, 10 * MS, 10000);
    call(2, 1, 75, 11 * MS, 20 * MS);
    operation(1, 1, 1, 10 * MS, 80 * MS, 1);
    totals_execute("INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, "
                   "confidence) VALUES (3, 2, 'lock', 0, 0, 15000000, 0, 'measured')");
    make();
    assert_int_equal(found("unexpected-waits"), 0);
    assert_int_equal(totals_number("SELECT stall FROM finding WHERE what = 'unexpected-waits' AND "
                                   "title = '1 call waited 15.0 ms in all; the worst 15.0 ms: "
                                   "lock'"),
                     3);
}

/* ---- anything ---- */

static uint64_t random_state = 88172645463325252u;

static int64_t any(int64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)below);
}

/* Of calls, operations and looks in no order that a program could make. */
static clock_t time_for_processes(int count)
{
    char sql[1024];

    totals_execute("DELETE FROM call; DELETE FROM thread; DELETE FROM process");
    snprintf(
        sql, sizeof(sql),
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO process (id, identity, pid, start_ns, gpu) SELECT i, i, i, 0, 'off' FROM n;"
        "INSERT INTO thread (id, process, serial, tid, records) SELECT id, id, 1, id, 0 FROM "
        "process;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
        " INSERT INTO call (thread, api, start_ns, duration_ns, result)"
        " SELECT t.id, 71, n.i * 100000, 1000, 0 FROM thread t CROSS JOIN n",
        count);
    totals_execute(sql);
    clock_t begin = clock();
    make_part(&GV_TOTALS_ALL);
    return clock() - begin;
}

/* As those of a job that was killed, or is still running. */
static void processes_without_an_end_are_read_in_linear_time(void **state)
{
    (void)state;
    totals_execute("UPDATE api SET gpu_work = 1 WHERE id = 71");
    assert_true(time_for_processes(160) < 10 * time_for_processes(40));
    assert_int_equal(totals_number("SELECT max(end_ns - begin_ns) FROM lane"), 300 * 100000 + 1000);
}

static void generate(void)
{
    int64_t calls = any(30), operations = any(30), looks = any(10);

    totals_execute(
        "DELETE FROM call; DELETE FROM gpu_op; DELETE FROM idle_sample; DELETE FROM stall; DELETE "
        "FROM step;"
        " DELETE FROM step_series; DELETE FROM call_stack; UPDATE process SET gpu = 'cupti'");
    if (any(5) == 0)
        totals_execute("UPDATE process SET gpu = 'off'");
    for (int64_t i = 1; i <= calls; i++) {
        call(i, 1 + any(2), 71 + any(5), any(RUN_NS), any(2) ? any(20 * MS) : any(100000));
        if (any(4) == 0) {
            char sql[256];
            snprintf(
                sql, sizeof(sql),
                "INSERT INTO stall (call, cause, expected, jit_ns, wait_ns, work_ns, confidence)"
                " VALUES (%lld, 'lock', 0, 0, %lld, 0, 'measured')",
                (long long)i, (long long)any(20 * MS));
            totals_execute(sql);
        }
    }
    for (int64_t i = 1; i <= operations; i++)
        operation(i, 1 + any(3), (const int64_t[]){1, 2, 3, 4}[any(4)],
                  any(RUN_NS + 10 * MS) - 5 * MS, any(3) ? any(10 * MS) : any(10000),
                  any(calls + 5));
    for (int64_t i = 0; i < looks; i++) {
        char sql[256];
        snprintf(sql, sizeof(sql),
                 "INSERT INTO idle_sample (process, thread, at_ns, about, state, system_call, "
                 "target, signs)"
                 " VALUES (1, %lld, %lld, 0, 'S', %lld, 0, 0)",
                 (long long)(1 + any(2)), (long long)any(RUN_NS), (long long)any(300));
        totals_execute(sql);
    }
    if (any(2)) {
        totals_execute("INSERT INTO step_series (id, process, thread, source, kinds) VALUES (1, 1, "
                       "1, 'launches', 1)");
        for (int64_t i = 0, at_ns = any(50 * MS); i < 6; i++) {
            char sql[256];
            int64_t took_ns = any(10 * MS);
            snprintf(
                sql, sizeof(sql),
                "INSERT INTO step (series, number, kind, warmup, start_ns, duration_ns, gpu_ns)"
                " VALUES (1, %lld, 1, %d, %lld, %lld, 100000000)",
                (long long)i + 1, i == 0, (long long)at_ns, (long long)took_ns);
            totals_execute(sql);
            at_ns += took_ns;
        }
    }
}

static void it_always_adds_up(void **state)
{
    (void)state;
    for (int i = 0; i < 1500; i++) {
        generate();
        make();
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, totals_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(work_is_busy_time),
        TEST(overlapping_work_counts_once),
        TEST(graphs_are_told_apart),
        TEST(a_wait_claims_what_it_waited),
        TEST(a_wait_says_where_the_host_then_works),
        TEST(autograd_that_checks_for_nan),
        TEST(kernels_that_look_for_nan),
        TEST(a_long_wait_claims_all),
        TEST(copies_are_no_idle_time),
        TEST(an_allocation_that_waits),
        TEST(a_call_that_happens_to_end_after_the_device),
        TEST(code_is_loaded_beside_work),
        TEST(launching),
        TEST(a_backward_pass),
        TEST(a_line_that_launches_and_waits),
        TEST(a_line_whose_hooks_wait),
        TEST(a_line_whose_waits_are_at_several),
        TEST(a_thread_that_is_none_of_ours),
        TEST(a_line_that_only_launches),
        TEST(asking_for_functions),
        TEST(the_call_that_starts_cuda),
        TEST(capturing),
        TEST(another_threads_time),
        TEST(a_borrowed_line),
        TEST(pages_of_managed_memory),
        TEST(a_thread_that_waits_for_copies),
        TEST(a_look_tells_it),
        TEST(long_pieces_are_told_by_their_like),
        TEST(a_thread_without_a_cpu),
        TEST(a_library_that_builds_code),
        TEST(a_line_that_works_and_waits),
        TEST(work_under_a_lock),
        TEST(a_lock_that_others_wait_for),
        TEST(what_was_seen_before_the_loop),
        TEST(queued_beside_another_process),
        TEST(queued_behind_a_host_function),
        TEST(no_request_is_nobodys_fault),
        TEST(of_a_part),
        TEST(many_lines_are_compared_in_linear_time),
        TEST(kernels_beside_a_collective),
        TEST(by_minute),
        TEST(lines_by_minute),
        TEST(measured_calls_by_minute),
        TEST(without_a_gpu_side),
        TEST(a_load_that_waits_without_a_gpu_side),
        TEST(a_program_started_for_each_task),
        TEST(workers_without_a_cpu),
        TEST(a_thread_that_has_the_gil),
        TEST(native_code_says_what_it_calls),
        TEST(native_code_on_one_cpu_of_many),
        TEST(threads_that_take_turns),
        TEST(what_waits_claim_of_each_step),
        TEST(what_waits_claim_of_a_long_step),
        TEST(the_last_step_is_no_slow_one),
        TEST(steps_of_less_than_a_millisecond),
        TEST(what_happens_once_is_no_part_of_each_step),
        TEST(what_happens_twice_is_no_part_of_each_step),
        TEST(steps_that_grow),
        TEST(steps_of_two_lengths_in_turn),
        TEST(single_slow_steps),
        TEST(what_is_done_again),
        TEST(what_a_library_does_again),
        TEST(freeing_again_after_a_wait),
        TEST(memory_that_runs_out),
        TEST(a_cache_that_makes_room),
        TEST(what_is_done_in_the_first_steps),
        TEST(what_is_done_for_several_steps_at_once),
        TEST(many_copies),
        TEST(copies_to_the_device_and_back),
        TEST(a_line_that_reads_one_by_one),
        TEST(large_copies_are_no_pieces),
        TEST(copies_that_kernels_wait_for),
        TEST(copies_both_ways),
        TEST(copies_whose_stream_waits),
        TEST(copies_that_cost_nothing),
        TEST(streams_made_again),
        TEST(graphs_made_again),
        TEST(a_graph_that_is_copied_again),
        TEST(a_graph_that_is_updated_again),
        TEST(nodes_that_are_updated_again),
        TEST(code_that_is_compiled_again),
        TEST(an_operation_that_starts_late),
        TEST(a_default_stream_that_others_wait_for),
        TEST(a_call_that_names_no_stream),
        TEST(a_default_stream_that_others_do_not_wait_for),
        TEST(a_device_that_is_full_of_one_kernel),
        TEST(a_host_only_process_beside_another),
        TEST(a_device_that_computes_comes_first),
        TEST(a_pause_in_a_loop_that_computes),
        TEST(a_device_that_computes),
        TEST(what_the_device_is_full_of),
        TEST(only_samples_of_a_busy_device),
        TEST(copies_leave_multiprocessors_empty),
        TEST(collectives_may_wait),
        TEST(several_kernels_in_a_sample),
        TEST(others_work_is_in_the_samples),
        TEST(others_of_a_device_count_together),
        TEST(work_of_the_session_s_others_is_in_the_samples),
        TEST(findings_of_a_full_device),
        TEST(an_unexpected_wait),
        TEST(processes_without_an_end_are_read_in_linear_time),
        TEST(it_always_adds_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
