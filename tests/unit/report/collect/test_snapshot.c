/* Copies of a trace that is being written: what the collector does between its passes. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/snapshot.h"
#include "report/store/database.h"
#include "tests/unit/report/spool_fixture.h"
#include "trace/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/gv-snapshot-XXXXXX";
static char trace[64], copy[128];
static struct gv_database database;
static struct gv_session_file session;
static struct gv_snapshot snapshot;

static void run(const char *sql)
{
    assert_int_equal(gv_database_script(database.handle, sql, NULL, 0), 0);
}

static void add_rows(int count)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO it SELECT NULL, randomblob(8000), i FROM n",
             count);
    run(sql);
}

static int setup(void **state)
{
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(trace, sizeof(trace), "%s/it.db", directory);
    close(open(trace, O_RDWR | O_CREAT | O_EXCL, 0600));
    memset(&session, 0, sizeof(session));
    strcpy(session.session, "1-2-00000003");
    assert_int_equal(gv_snapshot_path(copy, sizeof(copy), trace, session.session), 0);
    assert_int_equal(gv_database_open(&database, trace, NULL, NULL), 0);
    run("CREATE TABLE it (id INTEGER PRIMARY KEY, what, number)");
    add_rows(10);
    return 0;
}

static int teardown(void **state)
{
    gv_snapshot_stop(&snapshot);
    gv_database_close(&database);
    assert_int_equal(access(copy, F_OK), -1);
    unlink(trace);
    return rmdir(directory); /* nothing else is left */
}

static bool work(void)
{
    return gv_snapshot_work(&snapshot, &session, database.handle, trace, 7);
}

static void ask(void)
{
    assert_true(gv_claim_take(&session.snapshot, GV_SNAPSHOT_ASKED));
}

/* A process that has asked, and is gone. */
static void ask_and_die(void)
{
    pid_t child = fork();

    if (child == 0) {
        usleep(10000);
        _exit(0);
    }
    atomic_store(&session.snapshot, (uint32_t)child << 2 | GV_SNAPSHOT_ASKED);
    assert_true(work());
    assert_int_equal(access(copy, F_OK), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Writes as a pass does: in pages that are copied already, and in some that are not yet. */
static void write_between(int number)
{
    char sql[256];

    snprintf(
        sql, sizeof(sql),
        "BEGIN; UPDATE it SET number = number + 1, what = randomblob(8000) WHERE id %% 97 = %d;"
        " INSERT INTO it SELECT NULL, randomblob(3000), 1 FROM it WHERE id < 20; %s",
        number % 97, number % 5 == 4 ? "ROLLBACK" : "COMMIT");
    run(sql);
}

static void expect_same(void)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "ATTACH '%s' AS other", copy);
    run(sql);
    int64_t different = -1, rows = 0;
    assert_int_equal(
        gv_database_number(database.handle,
                           "SELECT count(*) FROM main.it m LEFT JOIN other.it o"
                           " ON o.id = m.id AND o.what = m.what AND o.number = m.number"
                           " WHERE o.id IS NULL",
                           NULL, 0, &different),
        0);
    assert_int_equal(different, 0);
    assert_int_equal(gv_database_number(database.handle,
                                        "SELECT (SELECT count(*) FROM main.it)"
                                        " - (SELECT count(*) FROM other.it)",
                                        NULL, 0, &rows),
                     0);
    assert_int_equal(rows, 0);
    run("DETACH other");
    fixture_expect_text(copy, "PRAGMA integrity_check", "ok");
}

/* How often it was written to while it was copied. */
static int copy_beside_writing(void)
{
    int pieces = 0;

    assert_false(gv_snapshot_is_wanted(&snapshot, &session));
    ask();
    assert_true(gv_snapshot_is_wanted(&snapshot, &session));
    while (work()) {
        assert_true(gv_snapshot_is_wanted(&snapshot, &session));
        write_between(pieces++);
    }
    assert_false(gv_snapshot_is_wanted(&snapshot, &session));
    assert_int_equal(atomic_load(&session.snapshot), gv_claim_of_ours(GV_SNAPSHOT_DONE));
    assert_int_equal(atomic_load(&session.snapshot_error), 0);
    assert_int_equal(atomic_load(&session.snapshot_seen_ns), 7);
    expect_same();
    assert_false(work()); /* it is the command's now */
    assert_int_equal(unlink(copy), 0);
    gv_snapshot_release(&session);
    assert_int_equal(atomic_load(&session.snapshot), GV_SNAPSHOT_FREE);
    return pieces;
}

static void it_is_consistent_beside_writing(void **state)
{
    int tries = 20; /* a test that got no CPU for 0.1 s makes a piece of all */

    add_rows(3000);       /* more than one piece */
    assert_false(work()); /* nobody has asked */
    while (copy_beside_writing() < 2)
        assert_true(tries-- > 0);
}

static void a_killed_command_leaves_nothing(void **state)
{
    ask_and_die();
    assert_false(work());
    assert_int_equal(access(copy, F_OK), -1);
    assert_int_equal(atomic_load(&session.snapshot), GV_SNAPSHOT_FREE);
    /* After the copy was made, too. */
    ask();
    while (work())
        ;
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    waitpid(gone, NULL, 0);
    snapshot.request = (uint32_t)gone << 2 | GV_SNAPSHOT_DONE;
    atomic_store(&session.snapshot, snapshot.request);
    assert_false(work());
    assert_int_equal(access(copy, F_OK), -1);
    /* Another can ask at once, also before the collector has noticed. */
    atomic_store(&session.snapshot, (uint32_t)gone << 2 | GV_SNAPSHOT_ASKED);
    ask();
}

static void a_command_that_gives_up_stops_the_copy(void **state)
{
    ask();
    assert_true(work());
    atomic_store(&session.snapshot, GV_SNAPSHOT_FREE);
    assert_false(work());
    assert_int_equal(access(copy, F_OK), -1);
    assert_int_equal(atomic_load(&session.snapshot), GV_SNAPSHOT_FREE);
}

static void the_end_of_the_session_stops_the_copy(void **state)
{
    ask();
    assert_true(work());
    gv_snapshot_stop(&snapshot);
    assert_int_equal(atomic_load(&session.snapshot_error), EAGAIN);
    assert_int_equal(atomic_load(&session.snapshot), gv_claim_of_ours(GV_SNAPSHOT_DONE));
}

static void a_copy_of_a_killed_collector_is_replaced(void **state)
{
    close(open(copy, O_RDWR | O_CREAT | O_EXCL, 0600));
    assert_int_equal(truncate(copy, 100), 0);
    ask();
    while (work())
        ;
    expect_same();
    unlink(copy);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_is_consistent_beside_writing),          CASE(a_killed_command_leaves_nothing),
        CASE(a_command_that_gives_up_stops_the_copy),   CASE(the_end_of_the_session_stops_the_copy),
        CASE(a_copy_of_a_killed_collector_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
