/* Every record becomes one row, whenever the collector dies. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/ingest.h"
#include "report/collect/recovery.h"
#include "report/collect/watchdog.h"
#include "report/commands/trace_view.h"
#include "tests/unit/report/one_drain.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup_without_spool(void **state)
{
    fixture_open(&fixture);
    return 0;
}

/* Calls of two threads, a name among them. */
static void fill(uint64_t calls)
{
    fixture_name(&spool, 1, 1, 0, "kernel", false);
    for (uint64_t i = 0; i < calls; i++)
        fixture_launch(&spool, 1 + (uint32_t)(i & 1), FIXTURE_LAUNCH, i, 1, 0xc0, 0x99);
}

static void expect_exactly(int64_t calls)
{
    assert_int_equal(number("SELECT count(*) FROM calls"), calls);
    assert_int_equal(number("SELECT count(DISTINCT start_ns) FROM calls"), calls);
    assert_int_equal(number("SELECT count FROM own_cost WHERE what = 'hooks'"), calls);
    assert_int_equal(number("SELECT count(*) FROM calls WHERE kernel = 'kernel'"), calls);
    assert_int_equal(number("SELECT count(*) FROM processes"), 1);
    assert_int_equal(number("SELECT count(*) FROM threads"), 2);
    assert_int_equal(number("SELECT count(*) FROM streams"), 1);
    assert_int_equal(number("SELECT count(*) FROM kernels"), 1);
    expect_text("PRAGMA integrity_check", "ok");
}

static void expect_state(const char *state)
{
    expect_text("SELECT value FROM meta WHERE key = 'state'", state);
}

/* In a transaction. */
static void open_ingest(struct gv_ingest *ingest, int64_t *next_call)
{
    open_drain(0);
    assert_int_equal(drain.count, 1);
    if (access(fixture.trace, F_OK) < 0)
        assert_int_equal(close(creat(fixture.trace, 0600)), 0);
    assert_int_equal(
        gv_database_open(&drain.database, fixture.trace, gv_drain_write_session, &drain), 0);
    drain.writing = true;
    assert_int_equal(gv_database_begin(&drain.database), 0);
    assert_int_equal(
        gv_ingest_open(ingest, &drain.database, &drain.spools[0]->reader, next_call, NULL), 0);
}

/* The thread is in a call. */
static void enter(uint64_t thread, uint64_t start_ns)
{
    struct gv_spool_owner owner = {.thread = thread, .tid = (uint32_t)thread};
    struct gv_spool_slot *slot = gv_spool_writer_slot(&spool.writer, &owner);

    assert_non_null(slot);
    atomic_store(&slot->start_ns, FIXTURE_EPOCH_NS + start_ns);
    atomic_store(&slot->api_plus_one, FIXTURE_SYNC + 1);
}

/* One pass that stores about `limit` records. Then the collector dies, before or after its
 * commit, but always before it gives a segment back. */
static void die_after(size_t limit, bool commit)
{
    struct gv_ingest ingest;
    struct gv_spool_facts *facts = malloc(sizeof(*facts));
    int64_t next_call = 1000000 * (int64_t)limit; /* ids that never come back */
    bool done;

    assert_non_null(facts);
    open_ingest(&ingest, &next_call);
    stored = 0;
    gv_spool_reader_facts(&drain.spools[0]->reader, facts);
    assert_int_equal(gv_drain_write_meta(&drain, facts), 0);
    assert_int_equal(gv_ingest_scan(&ingest), 0);
    assert_int_equal(gv_ingest_step(&ingest, limit, false, &done, &stored), 0);
    if (commit)
        assert_int_equal(gv_database_commit(&drain.database), 0);
    else
        gv_database_rollback(&drain.database);
    gv_ingest_close(&ingest);
    gv_drain_close(&drain);
    free(facts);
}

static void a_collector_that_dies_between_passes_loses_and_doubles_nothing(void **state)
{
    fixture_spool_open(&fixture, &spool, 1, false);
    fill(5000);
    die_after(700, false);
    die_after(300, true);
    die_after(1200, false);
    die_after(2000, true);
    recover();
    expect_exactly(5000);
}

static void a_collector_killed_at_any_moment_loses_and_doubles_nothing(void **state)
{
    int kills = 0;

    fixture_spool_open(&fixture, &spool, 1, false);
    fill(400000);
    for (int round = 0; round < 60; round++) {
        pid_t child = fork();
        if (child == 0) {
            static struct gv_recovery recovery;
            _exit(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery) != 0);
        }
        usleep((useconds_t)(1000 + (round * 7919) % 40000));
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status))
            break;
        kills++;
    }
    assert_true(kills > 0);
    recover();
    expect_exactly(400000);
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static int commits_left;

/* The process ends just before its last commit. */
static int count_commit(void *context)
{
    (void)context;
    if (--commits_left == 0)
        raise(SIGKILL);
    return 0;
}

static int watch_commits(sqlite3 *handle, const char **message, const void *routines)
{
    (void)message;
    (void)routines;
    sqlite3_commit_hook(handle, count_commit, NULL);
    return SQLITE_OK;
}

/* From its first commit on, the trace leads a command to the other records. */
static void by_the_trace(void)
{
    sqlite3 *trace = NULL;

    assert_int_equal(gv_trace_view_open(fixture.trace, &trace), 0);
    sqlite3_close(trace);
}

/* `gpuverify recover` without a trace. */
static void by_the_session(void)
{
    static struct gv_recovery recovery;

    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, NULL, &recovery), 0);
}

static void expect_finished(void (*finish)(void))
{
    static struct gv_recovery recovery;
    bool killed = true;

    for (int commits = 2; killed; commits++) {
        int status;

        unlink(fixture.trace);
        close(fixture_session_file(&fixture));
        fixture_spool_open(&fixture, &spool, 1, false);
        fill(1000);
        pid_t child = fork();
        if (child == 0) {
            commits_left = commits;
            sqlite3_auto_extension((void (*)(void))watch_commits);
            _exit(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery) != 0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        killed = WIFSIGNALED(status);
        assert_true(killed || WEXITSTATUS(status) == 0);
        finish();
        expect_exactly(1000);
        expect_state("complete");
        assert_true(commits > 2 || killed);
        fixture_spool_close(&spool);
    }
}

static void a_command_finishes_the_trace_of_a_collector_killed_between_two_commits(void **state)
{
    expect_finished(by_the_trace);
    expect_finished(by_the_session);
}

/* Killed while it wrote the first pages: what SQLite rolls back leaves an empty file. */
static void a_command_makes_a_trace_of_which_nothing_was_committed(void **state)
{
    static const uint8_t magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    void (*const finish[])(void) = {by_the_trace, by_the_session};
    const uint8_t page[4096] = {0};
    uint8_t journal[512] = {[22] = 2, [26] = 0x10}; /* of a file without pages; sectors, pages */
    char path[1024];

    memcpy(journal, magic, sizeof(magic));
    snprintf(path, sizeof(path), "%s-journal", fixture.trace);
    assert_int_equal(setenv("GPUVERIFY_SPOOL_DIR", fixture.spools, 1), 0);
    for (size_t i = 0; i < 2; i++) {
        unlink(fixture.trace);
        close(fixture_session_file(&fixture));
        fixture_spool_open(&fixture, &spool, 1, false);
        fill(1000);
        write_file(fixture.trace, page, sizeof(page));
        write_file(path, journal, sizeof(journal));
        finish[i]();
        expect_exactly(1000);
        fixture_spool_close(&spool);
    }
    assert_int_equal(unsetenv("GPUVERIFY_SPOOL_DIR"), 0);
}

/* And no trigger of a trace that anybody may have changed meanwhile is obeyed. */
static void records_that_come_later_are_added(void **state)
{
    char name[1024];
    sqlite3 *database;

    fixture_spool_open(&fixture, &spool, 1, true);
    fill(1000);
    recover();
    fixture_spool_name(&fixture, 1, name, sizeof(name));
    assert_int_equal(access(name, F_OK), 0); /* its process lives: the spool stays */
    expect_state("recording");
    assert_int_equal(sqlite3_open(fixture.trace, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "CREATE TRIGGER evil AFTER INSERT ON call BEGIN DELETE FROM"
                                  " call; END",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(database);
    for (uint64_t i = 1000; i < 3000; i++)
        fixture_launch(&spool, 1 + (uint32_t)(i & 1), FIXTURE_LAUNCH, i, 1, 0xc0, 0x99);
    recover();
    spool.writer.header->process_start_ticks++; /* now it is gone */
    recover();
    expect_exactly(3000);
    assert_int_equal(access(name, F_OK), -1);
    expect_state("complete");
}

static void memory_comes_back_to_a_living_process(void **state)
{
    uint64_t at = 0;

    /* Ten times the room: segments must be given back. */
    fixture_spool_open(&fixture, &spool, 1, true);
    fixture_name(&spool, 1, 1, 0, "kernel", false);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 40000; i++, at++)
            assert_true(
                fixture_launch(&spool, 1 + (uint32_t)(at & 1), FIXTURE_LAUNCH, at, 1, 0xc0, 0x99));
        recover();
        assert_true(spool.writer.header->segments_allocated < 512);
    }
    expect_exactly((int64_t)at);
}

static void new_segments_are_made_for_a_living_process_only(void **state)
{
    fixture_spool_open(&fixture, &spool, 1, true);
    fill(1000);
    recover();
    assert_int_equal(spool.writer.header->prepared, 2 * GV_SPOOL_GROWTH_SEGMENTS);
    fixture_spool_close(&spool);
    fixture_spool_open(&fixture, &spool, 2, false);
    fill(1000);
    recover();
    assert_int_equal(spool.writer.header->prepared, 0);
}

static void half_a_group_waits_for_its_rest(void **state)
{
    fixture_spool_open(&fixture, &spool, 1, true);
    fixture_name(&spool, 1, 1, 0, "a kernel whose name takes more than one record, for it is long",
                 true);
    recover();
    assert_int_equal(number("SELECT count(*) FROM kernels"), 0);
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 1, 1, 0, 5);
    recover();
    expect_text("SELECT kernel FROM calls",
                "a kernel whose name takes more than one record, for it is long");
}

static void a_group_may_cross_segments(void **state)
{
    fixture_spool_open(&fixture, &spool, 1, true);
    for (uint64_t i = 0; i < GV_SPOOL_SEGMENT_RECORDS - 1; i++)
        fixture_launch(&spool, 1, FIXTURE_LAUNCH, i, 1, 0, 5);
    fixture_name(&spool, 1, 1, 0, "across", true); /* its first record is the segment's last */
    recover();
    /* The first segment is not given back while a group of it is open. */
    assert_int_equal(spool.writer.header->free.count, 0);
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 9999, 1, 0, 5);
    recover();
    assert_int_equal(spool.writer.header->free.count, 1);
    expect_text("SELECT kernel FROM calls WHERE start_ns = 9999", "across");
    assert_int_equal(number("SELECT count(*) FROM calls"), GV_SPOOL_SEGMENT_RECORDS);
}

static void half_a_group_of_a_dead_process_is_kept(void **state)
{
    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_name(&spool, 1, 1, 0, "last words", true);
    recover();
    expect_text("SELECT name FROM kernels", "last words");
}

/* During a scan a thread continues: it takes a segment that the scan has passed as free, fills
 * it, and takes one that the scan has not reached. */
static void a_segment_taken_behind_a_scan_is_not_lost(void **state)
{
    fixture_spool_open(&fixture, &spool, 1, true);
    fill(2000);
    open_drain(0);
    for (uint32_t i = 0; i < spool.writer.header->segments_allocated; i++) {
        struct gv_spool_segment *segment = &spool.writer.segments[i];
        uint32_t as_it_was = atomic_load(&segment->state);

        if (segment->sequence != 1 || as_it_was == GV_SEGMENT_FREE)
            continue;
        atomic_store(&segment->state, GV_SEGMENT_FREE);
        pass();
        atomic_store(&segment->state, as_it_was);
    }
    pass();
    gv_drain_close(&drain);
    expect_exactly(2000);
}

/* The collector last looked at the process at 5000. A thread in a later call died in it. */
static void no_call_takes_less_than_no_time(void **state)
{
    struct gv_ingest ingest;
    int64_t next_call = 1;

    fixture_spool_open(&fixture, &spool, 1, false);
    fill(2);
    enter(1, 4000);
    enter(2, 8000);
    open_ingest(&ingest, &next_call);
    ingest.seen_ns = FIXTURE_EPOCH_NS + 5000;
    assert_int_equal(gv_ingest_flights(&ingest), 0);
    assert_int_equal(gv_ingest_flights(&ingest), 0); /* those known already */
    assert_int_equal(gv_database_commit(&drain.database), 0);
    gv_ingest_close(&ingest);
    gv_drain_close(&drain);
    assert_int_equal(number("SELECT elapsed_ns FROM in_flight WHERE start_ns = 4000"), 1000);
    assert_int_equal(number("SELECT elapsed_ns IS NULL FROM in_flight WHERE start_ns = 8000"), 1);
}

/* The first process of a session, alive, with two calls. */
static void open_root(void)
{
    fixture_spool_open(&fixture, &spool, 1, true);
    fill(2);
    open_drain(spool.writer.header->pid);
}

/* It waits for its trace. */
static void end_root(void)
{
    atomic_store(&spool.writer.header->ends, 1);
    atomic_store(&spool.writer.header->state, GV_PROCESS_EXITING);
    pass();
}

/* The process waits in its exit handler, another thread in a call: that call does not hang. */
static void the_calls_that_it_ended_in_stay(void **state)
{
    struct gv_watchdog watchdog = {.limit_ms = 3600000};

    open_root();
    enter(1, 4000);
    end_root();
    assert_int_equal(exiting, 1);
    assert_int_equal(atomic_load(&spool.writer.header->drained), 1);
    assert_int_equal(gv_watchdog_look(&watchdog, &drain), 0);
    assert_int_equal(number("SELECT count(*) FROM in_flight"), 1);
    gv_drain_close(&drain);
}

static int refuse_commit(void *context)
{
    (void)context;
    return --commits_left == 0;
}

/* What was learnt in a rolled-back transaction is forgotten. */
static void an_end_that_cannot_be_stored_starts_anew(void **state)
{
    open_root();
    pass();
    atomic_store(&spool.writer.header->ends, 1);
    atomic_store(&spool.writer.header->state, GV_PROCESS_EXITING);
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 2, 1, 0xc0, 0x99);
    commits_left = 2; /* that of the records, and that of the end */
    sqlite3_commit_hook(drain.database.handle, refuse_commit, NULL);
    assert_int_not_equal(gv_drain_pass(&drain, &stored, &exiting), 0);
    assert_int_equal(commits_left, 0);
    assert_false(drain.writing);
    assert_int_equal(atomic_load(&spool.writer.header->drained), 1); /* its records are safe */
    pass();
    assert_true(drain.complete);
    gv_drain_close(&drain);
    expect_exactly(3);
}

/* A program waits only for what is quickly done. The records are safe in any case. */
static bool is_complete_at_the_end(const char *more_sql)
{
    bool complete;

    open_root();
    pass();
    assert_int_equal(sqlite3_exec(drain.database.handle, more_sql, NULL, NULL, NULL), SQLITE_OK);
    end_root();
    assert_int_equal(atomic_load(&spool.writer.header->drained), 1);
    complete = drain.complete;
    assert_int_equal(gv_drain_finish(&drain), 0);
    expect_state("complete");
    gv_drain_close(&drain);
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    fixture_open(&fixture);
    return complete;
}

static void a_program_waits_for_a_small_trace_only(void **state)
{
    static const char many[] = "INSERT INTO gpu_op (id, place, kind) VALUES (60000, 1, 1)";
    char large[] = "/tmp/gpuverify-test-XXXXXX", sql[512];
    int fd = mkstemp(large);

    assert_true(is_complete_at_the_end(""));
    assert_false(is_complete_at_the_end(many));
    /* A library of a gigabyte on a stack. */
    assert_true(fd >= 0 && ftruncate(fd, 1 << 30) == 0);
    close(fd);
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO object (id, process, base, low, high, path) VALUES (1, 1, 0, 0, 9, '%s');"
        "INSERT INTO frame (stack, depth, kind, address, object) VALUES (1, 1, 'native', 5, 1)",
        large);
    assert_false(is_complete_at_the_end(sql));
    unlink(large);
}

static void a_process_that_is_ending_writes_no_more(void **state)
{
    int64_t before;

    open_root();
    end_root();
    assert_true(drain.complete);
    before = sqlite3_total_changes(drain.database.handle);
    gv_own_cost_add(spool.writer.header->own_cost, GV_OWN_COST_END, 1000);
    pass();
    assert_int_equal(sqlite3_total_changes(drain.database.handle), before);
    gv_drain_close(&drain);
}

/* All folders except the fixture's are read-only. False: impossible here. */
static bool hide_writable_folders(void)
{
    static const char *const folders[] = {"/", "/tmp", "/var/tmp", "/usr/tmp"};
    const char *own = fixture.directory;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (access(folders[i], F_OK) == 0 &&
            (mount(folders[i], folders[i], NULL, MS_BIND, NULL) < 0 ||
             mount(NULL, folders[i], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0))
            return false;
    return mount(own, own, NULL, MS_BIND, NULL) == 0 &&
           mount(NULL, own, NULL, MS_REMOUNT | MS_BIND, NULL) == 0 && chdir("/") == 0 &&
           access("/tmp", W_OK) < 0 && access(own, W_OK) == 0;
}

/* As in a container with a read-only root: 1 if there is more than memory can have. */
static int keep_much_where_only_the_trace_can_be(void)
{
    int error;

    unsetenv("SQLITE_TMPDIR");
    unsetenv("TMPDIR");
    if (!hide_writable_folders())
        return 77;
    error = gv_drain_open(&drain, fixture.spools, fixture.session, fixture.trace);
    if (!error)
        error = gv_drain_find(&drain);
    if (!error)
        error = gv_drain_pass(&drain, &stored, &exiting);
    if (!error)
        error = sqlite3_exec(drain.database.handle,
                             "PRAGMA temp.cache_size = 16; CREATE TEMP TABLE much AS"
                             " WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)"
                             " SELECT randomblob(1000) AS much FROM n",
                             NULL, NULL, NULL);
    gv_drain_close(&drain);
    return error != 0;
}

static void temporary_tables_have_a_folder(void **state)
{
    int status;

    fixture_spool_open(&fixture, &spool, 1, true);
    fill(2);
    pid_t child = fork();
    if (child == 0)
        _exit(keep_much_where_only_the_trace_can_be());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* One call of a thread, which then has no segment. */
static void short_thread(uint64_t serial, uint64_t calls_before)
{
    struct gv_spool_owner owner = {.thread = serial,
                                   .first_record = calls_before,
                                   .sequence = (uint32_t)calls_before,
                                   .tid = (uint32_t)serial,
                                   .comm = "short"};
    enum gv_spool_room open_to;
    struct gv_spool_segment *segment =
        gv_spool_writer_take(&spool.writer, GV_ROOM_CODE, &open_to, &owner);

    assert_non_null(segment);
    segment->records[0] =
        (union gv_record){.call = {.head = {.kind = GV_RECORD_CALL, .api = FIXTURE_SYNC},
                                   .start_ns = FIXTURE_EPOCH_NS + 100000 * calls_before + serial}};
    atomic_store(&segment->published, 1);
    gv_spool_writer_leave(&spool.writer, segment);
}

static void threads_that_have_gone_take_no_memory(void **state)
{
    uint64_t serial = 1;

    fixture_spool_open(&fixture, &spool, 1, true);
    open_drain(0);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 1000; i++)
            short_thread(serial++, 0);
        pass();
        assert_int_equal(stored, 1000);
        assert_true(drain.spools[0]->ingest.thread_count <= 3000);
    }
    for (uint64_t again = 1; again < serial; again += 2) /* each second one was resting only */
        short_thread(again, 1);
    pass();
    gv_drain_close(&drain);
    assert_int_equal(number("SELECT count(*) FROM threads"), 4000);
    assert_int_equal(number("SELECT count(DISTINCT start_ns) FROM calls"), 6000);
    assert_int_equal(number("SELECT count(*) FROM calls"), 6000);
    assert_int_equal(number("SELECT sum(records) FROM thread"), 6000);
    assert_int_equal(number("SELECT count(*) FROM loss"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_without_spool, teardown)
        TEST(a_collector_that_dies_between_passes_loses_and_doubles_nothing),
        TEST(a_segment_taken_behind_a_scan_is_not_lost),
        TEST(a_collector_killed_at_any_moment_loses_and_doubles_nothing),
        TEST(a_command_finishes_the_trace_of_a_collector_killed_between_two_commits),
        TEST(a_command_makes_a_trace_of_which_nothing_was_committed),
        TEST(records_that_come_later_are_added),
        TEST(an_end_that_cannot_be_stored_starts_anew),
        TEST(a_program_waits_for_a_small_trace_only),
        TEST(a_process_that_is_ending_writes_no_more),
        TEST(temporary_tables_have_a_folder),
        TEST(memory_comes_back_to_a_living_process),
        TEST(new_segments_are_made_for_a_living_process_only),
        TEST(half_a_group_waits_for_its_rest),
        TEST(a_group_may_cross_segments),
        TEST(half_a_group_of_a_dead_process_is_kept),
        TEST(no_call_takes_less_than_no_time),
        TEST(the_calls_that_it_ended_in_stay),
        TEST(threads_that_have_gone_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
