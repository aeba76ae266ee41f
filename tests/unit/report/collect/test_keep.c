/* GPUVERIFY_KEEP: what stays of a trace, and that nothing counts twice or not at all. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/drain.h"
#include "report/collect/recovery.h"
#include "tests/unit/report/spool_fixture.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS  INT64_C(1000000000)
#define MINUTE_NS  (60 * SECOND_NS)
#define PER_MINUTE 60 /* launches */

#define CALLER 1
#define LOADER 2
#define GPU    3

static struct fixture fixture;
static struct fixture_spool spool;
static struct gv_drain drain;
static uint32_t correlation, changes;
static int64_t launched_until; /* the next minute */

static int64_t number(const char *sql)
{
    return fixture_number(fixture.trace, sql);
}

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

/* A minute of the program: launches, each of which runs for a tenth of a second; a wait for the
 * first; and in every third minute a load of code that waits for the second. */
static void put_minute(void)
{
    bool stalls = launched_until % 3 == 2;
    int64_t minute_ns = launched_until++ * MINUTE_NS;

    for (int i = 0; i < PER_MINUTE; i++) {
        int64_t at_ns = minute_ns + i * SECOND_NS;

        put_call(CALLER, FIXTURE_LAUNCH, at_ns, 5000);
        put_operation(at_ns + 10000, SECOND_NS / 10);
        if (i == 0)
            put_call(CALLER, FIXTURE_SYNC, at_ns + 10000, SECOND_NS / 10);
        if (i == 1 && stalls)
            put_call(LOADER, FIXTURE_MODULE_LOAD, at_ns + 20000, SECOND_NS / 10);
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

static void open_drain(void)
{
    assert_int_equal(gv_drain_open(&drain, fixture.spools, fixture.session, fixture.trace), 0);
    assert_int_equal(gv_drain_find(&drain), 0);
}

static void pass(void)
{
    size_t stored, exiting;

    assert_int_equal(gv_drain_pass(&drain, &stored, &exiting), 0);
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

static int open_all(void **state)
{
    fixture_open(&fixture);
    fixture_spool_open(&fixture, &spool, 1, true);
    atomic_store(&spool.writer.header->gpu.cupti_version, 130001);
    atomic_store(&spool.writer.header->gpu.started_ns, FIXTURE_EPOCH_NS + 5);
    atomic_store(&spool.writer.header->gpu.state, GV_GPU_SEEN);
    correlation = 0;
    launched_until = 0;
    changes = 0;
    open_drain();
    (void)state;
    return 0;
}

static int open_keep(void **state)
{
    setenv("GPUVERIFY_KEEP", "4min", 1);
    return open_all(state);
}

static int close_keep(void **state)
{
    (void)state;
    unsetenv("GPUVERIFY_KEEP");
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
    fixture_expect_text(
        fixture.trace,
        "SELECT group_concat(DISTINCT count) || ' ' || count(*) || ' ' || count(DISTINCT minute_ns)"
        " FROM minutes WHERE what = 'launch'",
        expected);
    fixture_expect_text(
        fixture.trace,
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
    (void)state;
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
    fixture_expect_text(
        fixture.trace,
        "SELECT group_concat(side || ' ' || coalesce(gpu, '') || ' ' || (start_ns / 60000000000))"
        " FROM recording WHERE gpu IS NOT 'stopped'",
        "calls  16,gpu seen 16");
    /* The stalls of the whole time, but not waits that the program asked for. */
    fixture_expect_text(fixture.trace,
                        "SELECT group_concat((start_ns / 60000000000) || cause) FROM older_stalls",
                        "2module-load,5module-load,8module-load,11module-load,14module-load");
    assert_int_equal(access(drain.keep.result, F_OK), -1);
}

/* The sums of all minutes of a program that is stopped for some of them, and how much of it was
 * recorded in full. */
static void run_and_tell(char *sums, size_t size)
{
    sqlite3 *trace;
    sqlite3_stmt *row = NULL;

    for (int i = 0; i < 14; i++) {
        if (i == 3 || i == 6 || i == 13)
            put_change();
        if (changes % 2)
            launched_until++;
        else
            run_minutes(1);
    }
    finish();
    assert_int_equal(sqlite3_open_v2(fixture.trace, &trace, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(
            trace,
            "SELECT group_concat(line, char(10)) FROM (SELECT (minute_ns / 60000000000)"
            " || ' ' || coalesce(process, 0) || ' ' || what || ' ' || name || ' ' || iif(what = "
            "'recorded', '', count)"
            " || ' ' || total_ns || ' ' || coalesce(max_ns, 0) AS line FROM minutes"
            " WHERE what <> 'idle' OR minute_ns > 2 * 60000000000 ORDER BY minute_ns, process, "
            "what, name)",
            -1, &row, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    snprintf(sums, size, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(trace);
}

/* What a fold makes of minutes is what the view makes of their rows. */
static void sums_are_those_of_the_whole_trace(void **state)
{
    static char whole[65536], kept[65536];

    run_and_tell(kept, sizeof(kept));
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 9 * MINUTE_NS);
    fixture_expect_text(fixture.trace,
                        "SELECT group_concat(side || ' ' || (start_ns / 60000000000) || ' ' || "
                        "(end_ns / 60000000000))"
                        " FROM recording WHERE gpu IS NOT 'stopped'",
                        "calls 9 13,gpu 9 13");
    close_keep(state);
    open_all(state);
    run_and_tell(whole, sizeof(whole));
    for (char *line = strtok(whole, "\n"), *at = kept; line; line = strtok(NULL, "\n")) {
        size_t length = strcspn(at, "\n");

        if (strlen(line) != length || memcmp(line, at, length) != 0)
            fail_msg("'%.*s', not '%s'", (int)length, at, line);
        at += length + (at[length] != '\0');
    }
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
    (void)state;
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
    fixture_expect_text(fixture.trace, "SELECT group_concat(value) FROM meta WHERE key = 'state'",
                        "complete");
    assert_true(access(result, F_OK) < 0);
}

static void killed_while_it_folds(void **state)
{
    (void)state;
    killed_in(GV_KEEP_FOLDS);
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), MINUTE_NS);
}

static void killed_before_all_is_deleted(void **state)
{
    (void)state;
    killed_in(GV_KEEP_SWEEPS);
    fixture_expect_text(
        fixture.trace,
        "SELECT group_concat(side || ' ' || (start_ns / 60000000000)) FROM recording"
        " WHERE gpu IS NOT 'stopped'",
        "calls 2,gpu 2");
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'full_from_ns'"), 2 * MINUTE_NS);
    assert_in_range(number("SELECT count(*) FROM calls"), 4 * PER_MINUTE, 5 * PER_MINUTE + 10);
}

/* Such as by a full disk, or for want of memory: it would most likely fail again. */
static void after_a_failure_there_is_a_pause(void **state)
{
    (void)state;
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
        cmocka_unit_test_setup_teardown(what_later_calls_need_stays, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(killed_while_it_folds, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(after_a_failure_there_is_a_pause, open_keep, close_keep),
        cmocka_unit_test_setup_teardown(killed_before_all_is_deleted, open_keep, close_keep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
