/* GPUVERIFY_KEEP: what stays of a trace, and that nothing counts twice or not at all. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/one_drain.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS  INT64_C(1000000000)
#define MINUTE_NS  (60 * SECOND_NS)
#define PER_MINUTE 60 /* launches */
#define OFTEN      12 /* times as many: their idle times are short ones */

#define CALLER 1
#define LOADER 2
#define GPU    3

static uint32_t correlation, changes;
static int64_t launched_until; /* the next minute */
static int times;              /* as many launches as usual */

static void put(uint32_t thread, union gv_record record)
{
    assert_true(fixture_append(&spool, thread, &record));
}

static void put_call(uint32_t thread, enum fixture_api api, int64_t start_ns, int64_t duration_ns)
{
    put(thread,
        (union gv_record){.call = {.head = {.kind = GV_RECORD_CALL,
                                            .flags = GV_RECORD_HAS_STREAM | GV_RECORD_HAS_CONTEXT,
                                            .api = (uint16_t)api},
                                   .start_ns = FIXTURE_EPOCH_NS + (uint64_t)start_ns,
                                   .duration_ns = (uint64_t)duration_ns,
                                   .stream = 0x10,
                                   .context = 0xc0,
                                   .kernel = api == FIXTURE_LAUNCH,
                                   .correlation = api == FIXTURE_LAUNCH ? ++correlation : 0}});
}

static void put_operation(int64_t start_ns, int64_t duration_ns)
{
    put(GPU, (union gv_record){.gpu_op = {.head = {.kind = GV_RECORD_GPU_OP, .api = GV_GPU_KERNEL},
                                          .start_ns = FIXTURE_EPOCH_NS + (uint64_t)start_ns,
                                          .duration_ns = (uint64_t)duration_ns,
                                          .context = 1,
                                          .stream = 7,
                                          .correlation = correlation}});
}

/* A minute of the program: launches, each of which runs for a tenth of the time until the next; a
 * wait for the first; and in every third minute a load of code that waits for the second. */
static void put_minute(void)
{
    bool stalls = launched_until % 3 == 2;
    int64_t minute_ns = launched_until++ * MINUTE_NS, apart_ns = SECOND_NS / times;

    for (int i = 0; i < PER_MINUTE * times; i++) {
        int64_t at_ns = minute_ns + i * apart_ns;

        put_call(CALLER, FIXTURE_LAUNCH, at_ns, 5000);
        put_operation(at_ns + 10000, apart_ns / 10);
        if (i == 0)
            put_call(CALLER, FIXTURE_SYNC, at_ns + 10000, apart_ns / 10);
        if (i == 1 && stalls)
            put_call(LOADER, FIXTURE_MODULE_LOAD, at_ns + 20000, apart_ns / 10);
    }
    atomic_store(&spool.writer.header->gpu.flushed_ns,
                 FIXTURE_EPOCH_NS + (uint64_t)(minute_ns + MINUTE_NS));
}

/* The program stops or goes on, at the beginning of the next minute. */
static void put_change(void)
{
    put(CALLER, (union gv_record){
                    .change = {.head = {.kind = GV_RECORD_CHANGE},
                               .at_ns = FIXTURE_EPOCH_NS + (uint64_t)(launched_until * MINUTE_NS),
                               .number = ++changes}});
    atomic_store(&spool.writer.header->control.changes, changes);
}

/* Until nothing is due. */
static void keep_until(enum gv_keep_state state)
{
    for (int i = 0; i < 3000 && drain.keep.extent.ns; i++) {
        drain.keep.checked_ns = 0;
        assert_int_equal(gv_drain_keep(&drain, launched_until * MINUTE_NS), 0);
        if (drain.keep.state == state && (state != GV_KEEP_WAITS || i > 3))
            return;
        if (drain.keep.state == GV_KEEP_FOLDS)
            usleep(1000);
    }
    if (drain.keep.extent.ns)
        fail_msg("state %d after three seconds", drain.keep.state);
}

static void open_program(uint64_t identity)
{
    uint64_t at_ns = FIXTURE_EPOCH_NS + (uint64_t)(launched_until * MINUTE_NS) + 5;

    fixture_spool_open(&fixture, &spool, identity, true);
    spool.writer.header->attached_ns = at_ns;
    atomic_store(&spool.writer.header->gpu.cupti_version, 130001);
    atomic_store(&spool.writer.header->gpu.started_ns, at_ns);
    atomic_store(&spool.writer.header->gpu.state, GV_GPU_SEEN);
}

static int open_all(void **state)
{
    fixture_open(&fixture);
    correlation = 0;
    launched_until = 0;
    changes = 0;
    open_program(1);
    open_drain(0);
    return 0;
}

static int open_keep(void **state)
{
    setenv("GPUVERIFY_KEEP", "4min", 1);
    times = 1;
    return open_all(state);
}

static int open_often(void **state)
{
    open_keep(state);
    times = OFTEN;
    return 0;
}

static int close_keep(void **state)
{
    unsetenv("GPUVERIFY_KEEP");
    gv_drain_close(&drain);
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

/* Every minute has its sums, whether they are made from its rows or were stored. */
static void expect_sums(void)
{
    char expected[64];

    snprintf(expected, sizeof(expected), "%d %" PRId64 " %" PRId64, PER_MINUTE, launched_until,
             launched_until);
    expect_text(
        "SELECT group_concat(DISTINCT count) || ' ' || count(*) || ' ' || count(DISTINCT minute_ns)"
        " FROM minutes WHERE what = 'launch'",
        expected);
    expect_text(
        "SELECT group_concat(DISTINCT count) || ' ' || count(*) || ' ' || count(DISTINCT minute_ns)"
        " FROM minutes WHERE what = 'kernel'",
        expected);
    assert_int_equal(number("SELECT sum(total_ns) FROM minutes WHERE what = 'busy'"),
                     launched_until * PER_MINUTE * SECOND_NS / 10);
    assert_int_equal(number("SELECT sum(count) FROM minutes WHERE what = 'stall'"),
                     launched_until / 3);
}

static void run_minutes(int minutes)
{
    while (minutes-- > 0) {
        put_minute();
        pass();
        keep_until(GV_KEEP_WAITS);
    }
}

static void finish(void)
{
    fixture_thread_end(&spool, CALLER);
    atomic_store(&spool.writer.header->state, GV_PROCESS_EXITING);
    pass();
    assert_int_equal(gv_drain_finish(&drain), 0);
    gv_drain_close(&drain);
}

static void old_minutes_become_sums(void **state)
{
    run_minutes(20);
    finish();
    expect_sums();
    /* Of four minutes, or five before the next fold, all is there. */
    assert_in_range(number("SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel'"),
                    4 * PER_MINUTE, 5 * PER_MINUTE + 10);
    assert_in_range(number("SELECT count(*) FROM gpu_ops"), 4 * PER_MINUTE, 5 * PER_MINUTE + 10);
    assert_int_equal(number("SELECT max(value) FROM meta WHERE key = 'full_from_ns'"),
                     16 * MINUTE_NS);
    /* Only this time counts in reports. */
    expect_text(
        "SELECT group_concat(side || ' ' || coalesce(gpu, '') || ' ' || (start_ns / 60000000000))"
        " FROM recording WHERE gpu IS NOT 'stopped'",
        "calls  16,gpu seen 16");
    /* The stalls of the whole time, but not waits that the program asked for. */
    expect_text("SELECT group_concat((start_ns / 60000000000) || cause) FROM older_stalls",
                "2module-load,5module-load,8module-load,11module-load,14module-load");
    assert_int_equal(access(drain.keep.result, F_OK), -1);
}

/* It is stopped for some minutes. */
static void run_and_stop(void)
{
    for (int i = 0; i < 14; i++) {
        if (i == 3 || i == 6 || i == 13)
            put_change();
        if (changes % 2)
            launched_until++;
        else
            run_minutes(1);
    }
    finish();
}

static void tell_sums(char *sums, size_t size)
{
    sqlite3 *trace;
    sqlite3_stmt *row = NULL;

    assert_int_equal(sqlite3_open_v2(fixture.trace, &trace, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(
            trace,
            "SELECT group_concat(line, char(10)) FROM (SELECT (minute_ns / 60000000000)"
            " || ' ' || coalesce(process, 0) || ' ' || what || ' ' || name || ' ' || iif(what = "
            "'recorded', '', count)"
            " || ' ' || total_ns || ' ' || coalesce(max_ns, 0) AS line FROM minutes"
            " WHERE what <> 'idle' OR name = 'host-code' AND minute_ns > 2 * 60000000000 ORDER BY "
            "minute_ns, process, "
            "what, name)",
            -1, &row, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    snprintf(sums, size, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(trace);
}

/* Runs the program again, without the setting. What a fold makes of minutes is what the view makes
 * of their rows. */
static void expect_sums_of_the_whole_trace(void **state, void (*run)(void))
{
    static char whole[65536], kept[65536];

    tell_sums(kept, sizeof(kept));
    close_keep(state);
    open_all(state);
    run();
    tell_sums(whole, sizeof(whole));
    for (char *line = strtok(whole, "\n"), *at = kept; line; line = strtok(NULL, "\n")) {
        size_t length = strcspn(at, "\n");

        if (strlen(line) != length || memcmp(line, at, length) != 0)
            fail_msg("'%.*s', not '%s'", (int)length, at, line);
        at += length + (at[length] != '\0');
    }
}

static void sums_are_those_of_the_whole_trace(void **state)
{
    run_and_stop();
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 9 * MINUTE_NS);
    expect_text("SELECT group_concat(side || ' ' || (start_ns / 60000000000) || ' ' || "
                "(end_ns / 60000000000))"
                " FROM recording WHERE gpu IS NOT 'stopped'",
                "calls 9 13,gpu 9 13");
    expect_sums_of_the_whole_trace(state, run_and_stop);
}

/* Also in the minutes at the ends of folds. */
static void each_minute_is_busy_or_idle(void **state)
{
    run_and_stop();
    expect_text(
        "SELECT count(*) || ' ' || min(known) || ' ' || max(known) FROM (SELECT round(total(CASE"
        " WHEN what IN ('busy', 'idle') THEN total_ns END) / 1e9) AS known FROM minutes"
        " GROUP BY minute_ns)",
        "10 60.0 60.0");
}

/* Of a service that counts its steps, each text is another one. */
static void texts_of_old_ranges_go(void **state)
{
    sqlite3 *trace;

    run_minutes(1);
    assert_int_equal(sqlite3_open(fixture.trace, &trace), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(trace,
                     "INSERT INTO range_text (process, number, text) VALUES (1, NULL, 'step 1'),"
                     " (1, NULL, 'step 2'), (1, NULL, 'step 3'), (1, 7, 'all');"
                     "INSERT INTO range (thread, kind, text, start_ns, duration_ns) SELECT 1, 3,"
                     " id, 180000000000 * (id - (SELECT min(id) FROM range_text)),"
                     " CASE text WHEN 'step 2' THEN NULL ELSE 0 END FROM range_text"
                     " WHERE number IS NULL",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(trace);
    run_minutes(8);
    finish();
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 5 * MINUTE_NS);
    expect_text("SELECT group_concat(text) FROM range_text", "step 2,step 3,all");
}

/* With what they say of the process. */
static void old_looks_go(void **state)
{
    sqlite3 *trace;

    run_minutes(1);
    assert_int_equal(sqlite3_open(fixture.trace, &trace), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(trace,
                     "INSERT INTO idle_sample (id, process, thread, at_ns, span_ns, about, target,"
                     " signs) VALUES (1, 1, 1, 30000000000, 9, 0, 0, 0), (2, 1, 1, 420000000000, 9,"
                     " 0, 0, 0); INSERT INTO idle_sample_cpu VALUES (1, 9, 4), (2, 9, 4)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(trace);
    run_minutes(8);
    finish();
    expect_text("SELECT group_concat(id) FROM idle_sample", "2");
    expect_text("SELECT group_concat(sample) FROM idle_sample_cpu", "2");
}

/* Nothing was seen between the folded time and its start. */
static void a_gpu_side_begins_later(void **state)
{
    atomic_store(&spool.writer.header->gpu.started_ns,
                 FIXTURE_EPOCH_NS + (uint64_t)(8 * MINUTE_NS));
    run_minutes(10);
    finish();
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 6 * MINUTE_NS);
    expect_text("SELECT group_concat(coalesce(gpu, side) || ' ' || (start_ns / 60000000000))"
                " FROM recording",
                "calls 6,seen 8");
}

static void put_memory(enum fixture_api api, uint64_t object)
{
    put(CALLER, (union gv_record){
                    .call = {.head = {.kind = GV_RECORD_CALL,
                                      .flags = GV_RECORD_HAS_BYTES,
                                      .api = (uint16_t)api},
                             .start_ns = FIXTURE_EPOCH_NS + (uint64_t)(launched_until * MINUTE_NS) +
                                         object * 10000 + (api == FIXTURE_FREE ? 5000 : 0),
                             .duration_ns = 1000,
                             .bytes = 1 << 20,
                             .object = object}});
}

/* Of ten allocations a minute one is not freed. Kernels of the full part were used before. */
static void what_later_calls_need_stays(void **state)
{
    for (int minute = 0; minute < 12; minute++) {
        for (uint64_t i = 1; i <= 10; i++) {
            put_memory(FIXTURE_ALLOC, (uint64_t)minute * 100 + i);
            if (i > 1)
                put_memory(FIXTURE_FREE, (uint64_t)minute * 100 + i);
        }
        run_minutes(1);
    }
    finish();
    assert_int_equal(number("SELECT sum(left_bytes) / (1 << 20) FROM memory_lines"), 12);
    assert_int_equal(number("SELECT count(*) FROM calls WHERE class = 'alloc' AND start_ns <"
                            " (SELECT value - 60000000000 FROM meta WHERE key = 'full_from_ns')"),
                     7);
    assert_int_equal(
        number("SELECT min(start_ns) / 60000000000 FROM calls WHERE kernel_id IS NOT NULL"), 0);
}

static void a_reader_delays_it(void **state)
{
    sqlite3 *reader;

    run_minutes(5);
    put_minute();
    pass();
    keep_until(GV_KEEP_STORES);
    assert_int_equal(sqlite3_open(fixture.trace, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_busy_timeout(drain.database.handle, 1);
    assert_int_equal(gv_drain_keep(&drain, launched_until * MINUTE_NS), 0);
    assert_int_equal(gv_drain_keep(&drain, launched_until * MINUTE_NS), 0);
    assert_int_equal(drain.keep.state, GV_KEEP_STORES);
    sqlite3_close(reader);
    keep_until(GV_KEEP_WAITS);
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 2 * MINUTE_NS);
    finish();
    expect_sums();
}

/* There is no room for what the child makes. */
static void a_failure_is_said_once(void **state)
{
    static const char expected[] = "gpuverify: cannot shorten the trace as GPUVERIFY_KEEP says: ";
    FILE *said = tmpfile();
    int out = dup(STDERR_FILENO);
    char text[4096];
    size_t length;

    assert_non_null(said);
    assert_int_equal(mkdir(drain.keep.result, 0700), 0);
    fflush(stderr);
    dup2(fileno(said), STDERR_FILENO);
    run_minutes(5);
    for (int i = 0; i < 3; i++) {
        keep_until(GV_KEEP_FOLDS);
        keep_until(GV_KEEP_WAITS);
    }
    fflush(stderr);
    dup2(out, STDERR_FILENO);
    close(out);
    rewind(said);
    length = fread(text, 1, sizeof(text) - 1, said);
    text[length] = '\0';
    fclose(said);
    assert_memory_equal(text, expected, sizeof(expected) - 1);
    assert_ptr_equal(strchr(text, '\n'), text + length - 1);
    assert_int_equal(number("SELECT count(*) FROM older"), 0);
    assert_int_equal(rmdir(drain.keep.result), 0);
    run_minutes(1);
    finish();
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 2 * MINUTE_NS);
    expect_sums();
}

/* Longer than what is kept: it counts in the minute in which it began. */
static void a_call_may_take_longer(void **state)
{
    run_minutes(8);
    put_call(LOADER, FIXTURE_SYNC, MINUTE_NS / 2, 7 * MINUTE_NS);
    run_minutes(4);
    finish();
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 8 * MINUTE_NS);
    expect_text("SELECT group_concat((minute_ns / 60000000000) || ' ' || (max_ns / 60000000000))"
                " FROM minutes WHERE what = 'call' AND name = 'cuCtxSynchronize'"
                " AND minute_ns < 2 * 60000000000",
                "0 7,1 0");
}

/* Whatever was going on, and without the setting, as `gpuverify recover` has none. */
static void killed_in(enum gv_keep_state at)
{
    static struct gv_recovery recovery;
    char result[sizeof(drain.keep.result)];

    run_minutes(5);
    put_minute();
    pass();
    keep_until(at);
    /* The child dies with the collector, and nobody removes what it wrote. */
    if (drain.keep.child > 0) {
        kill(drain.keep.child, SIGKILL);
        waitpid(drain.keep.child, NULL, 0);
    }
    drain.keep.child = 0;
    memcpy(result, drain.keep.result, sizeof(result));
    drain.keep.result[0] = '\0';
    gv_drain_close(&drain);
    unsetenv("GPUVERIFY_KEEP");
    spool.writer.header->process_start_ticks = 1;
    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
    expect_sums();
    expect_text("SELECT group_concat(value) FROM meta WHERE key = 'state'", "complete");
    assert_true(access(result, F_OK) < 0);
}

static void killed_while_it_folds(void **state)
{
    killed_in(GV_KEEP_FOLDS);
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), MINUTE_NS);
}

static void killed_before_all_is_deleted(void **state)
{
    killed_in(GV_KEEP_SWEEPS);
    expect_text("SELECT group_concat(side || ' ' || (start_ns / 60000000000)) FROM recording"
                " WHERE gpu IS NOT 'stopped'",
                "calls 2,gpu 2");
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 2 * MINUTE_NS);
    assert_in_range(number("SELECT count(*) FROM calls"), 4 * PER_MINUTE, 5 * PER_MINUTE + 10);
}

/* Such as by a full disk, or for want of memory: it would most likely fail again. */
static void after_a_failure_there_is_a_pause(void **state)
{
    for (int i = 0; i < 6; i++)
        put_minute();
    pass();
    keep_until(GV_KEEP_FOLDS);
    kill(drain.keep.child, SIGKILL);
    while (drain.keep.state == GV_KEEP_FOLDS)
        assert_int_equal(gv_drain_keep(&drain, launched_until * MINUTE_NS), 0);
    usleep(250000);
    assert_int_equal(gv_drain_keep(&drain, launched_until * MINUTE_NS), 0);
    assert_int_equal(drain.keep.state, GV_KEEP_WAITS);
    keep_until(GV_KEEP_SWEEPS); /* the pause is over */
    finish();
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 2 * MINUTE_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(old_minutes_become_sums, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(sums_are_those_of_the_whole_trace, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(each_minute_is_busy_or_idle, open_often, close_keep),
        cmocka_unit_test_setup_teardown(texts_of_old_ranges_go, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(old_looks_go, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(a_gpu_side_begins_later, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(what_later_calls_need_stays, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(a_reader_delays_it, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(a_failure_is_said_once, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(a_call_may_take_longer, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(killed_while_it_folds, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(after_a_failure_there_is_a_pause, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(killed_before_all_is_deleted, open_keep, close_keep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
