/* Where a trace may be written: what is replaced, what is left alone, and that links are not
 * followed. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/recovery.h"
#include "report/store/database.h"
#include "report/store/trace_file.h"
#include "tests/unit/report/spool_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER_SESSION "4194998-1-aaaaaaaa"

static struct fixture fixture;
static struct fixture_spool spool;
static char claimed[GV_SESSION_PATH_BYTES];

static bool has_no_locks;

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    if (!has_no_locks)
        return __real_flock(fd, operation);
    errno = ENOLCK;
    return -1;
}

static bool has_only_flock;

/* gpuverify's; SQLite has its own. */
int __real_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument)
{
    if (!has_only_flock)
        return __real_fcntl(fd, command, argument);
    errno = ENOLCK;
    return -1;
}

int __wrap_fcntl64(int fd, int command, void *argument) __attribute__((alias("__wrap_fcntl")));

static int setup(void **state)
{
    has_no_locks = has_only_flock = false;
    fixture_open(&fixture);
    memset(&spool, 0, sizeof(spool));
    return 0;
}

static int teardown(void **state)
{
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A finished trace of the fixture's session. */
static void make_trace(void)
{
    static struct gv_recovery recovery;

    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
}

static void expect_claim(const char *session, const char *suffix)
{
    char expected[1024];

    snprintf(expected, sizeof(expected), "%s/trace%s.db", fixture.directory, suffix);
    assert_int_equal(gv_trace_file_claim(fixture.trace, session, claimed, sizeof(claimed)), 0);
    assert_string_equal(claimed, expected);
}

static void without_locks_none_is_made(void **state)
{
    has_no_locks = true;
    assert_int_equal(gv_trace_file_claim(fixture.trace, fixture.session, claimed, sizeof(claimed)),
                     -ENOLCK);
    has_no_locks = false;
    assert_int_equal(access(fixture.trace, F_OK), -1);
}

/* As on NFS whose lock service does not run. */
static void without_locks_of_bytes_none_is_made(void **state)
{
    has_only_flock = true;
    assert_int_equal(gv_trace_file_claim(fixture.trace, fixture.session, claimed, sizeof(claimed)),
                     -ENOLCK);
    assert_int_equal(access(fixture.trace, F_OK), -1);
}

/* A trace that was copied there. */
static void without_locks_of_bytes_none_is_read(void **state)
{
    struct gv_trace_probe probe;

    make_trace();
    has_only_flock = true;
    assert_int_equal(gv_trace_file_probe(fixture.trace, &probe), -ENOLCK);
}

/* Nothing is written beside it either. */
static void a_directory_is_left_alone(void **state)
{
    assert_int_equal(mkdir(fixture.trace, 0700), 0);
    assert_int_equal(gv_trace_file_claim(fixture.trace, fixture.session, claimed, sizeof(claimed)),
                     -EISDIR);
    assert_int_equal(rmdir(fixture.trace), 0);
    expect_claim(fixture.session, "");
}

static void an_empty_file_is_taken(void **state)
{
    write_file(fixture.trace, "");
    expect_claim(fixture.session, "");
}

/* Killed in its first transaction, with a part of it in the file. */
static void a_first_commit_that_did_not_end_is_undone(void **state)
{
    pid_t child = fork();
    struct stat status;

    assert_true(child >= 0);
    if (child == 0) {
        sqlite3 *trace;
        if (sqlite3_open(fixture.trace, &trace) != SQLITE_OK ||
            sqlite3_exec(trace,
                         "PRAGMA cache_size = 1; BEGIN; PRAGMA application_id = 0x47707556"
                         "; CREATE TABLE meta (key, value);"
                         " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                         " WHERE i < 1000) INSERT INTO meta SELECT i, zeroblob(1000) FROM n",
                         NULL, NULL, NULL) != SQLITE_OK)
            _exit(1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(stat(fixture.trace, &status), 0);
    assert_true(status.st_size > 0);
    expect_claim(fixture.session, "");
}

/* An empty file with a collector's lock on it; released after this time. */
static pid_t hold_empty_file(unsigned hold_ms)
{
    int ready[2];
    char byte;

    write_file(fixture.trace, "");
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = open(fixture.trace, O_RDWR);
        if (fd < 0 || flock(fd, LOCK_SH) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        usleep(hold_ms * 1000);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void what_is_about_to_end_is_waited_for(void **state)
{
    pid_t child = hold_empty_file(100);

    expect_claim(fixture.session, "");
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void what_lives_on_is_left_alone(void **state)
{
    pid_t child = hold_empty_file(60000);

    expect_claim(fixture.session, "-2");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void the_same_session_finds_its_trace_again(void **state)
{
    make_trace();
    expect_claim(fixture.session, "");
    assert_int_equal(fixture_number(fixture.trace, "SELECT count(*) FROM calls"), 1);
}

static void a_trace_with_records_still_to_come_is_left_alone(void **state)
{
    static struct gv_recovery recovery;

    fixture_spool_open(&fixture, &spool, 1, true);
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
    assert_int_equal(recovery.spools_left, 1);
    expect_claim(OTHER_SESSION, "-2");
    assert_int_equal(fixture_number(fixture.trace, "SELECT count(*) FROM calls"), 1);
}

static void a_trace_that_another_name_shares_is_left_alone(void **state)
{
    char other[1024];

    make_trace();
    snprintf(other, sizeof(other), "%s/kept.db", fixture.directory);
    assert_int_equal(link(fixture.trace, other), 0);
    expect_claim(OTHER_SESSION, "-2");
}

static void links_among_the_folders_are_fine(void **state)
{
    char folder[1024], wanted[1100];

    snprintf(folder, sizeof(folder), "%s/link", fixture.directory);
    assert_int_equal(symlink(fixture.directory, folder), 0);
    snprintf(wanted, sizeof(wanted), "%s/trace.db", folder);
    assert_int_equal(gv_trace_file_claim(wanted, fixture.session, claimed, sizeof(claimed)), 0);
    assert_string_equal(claimed, fixture.trace);
}

static void a_missing_folder_is_an_error(void **state)
{
    char wanted[1024];

    snprintf(wanted, sizeof(wanted), "%s/nowhere/trace.db", fixture.directory);
    assert_int_equal(gv_trace_file_claim(wanted, fixture.session, claimed, sizeof(claimed)),
                     -ENOENT);
    snprintf(wanted, sizeof(wanted), "%s/", fixture.directory);
    assert_int_equal(gv_trace_file_claim(wanted, fixture.session, claimed, sizeof(claimed)),
                     -EISDIR);
}

static void a_probe_tells_traces_from_the_rest(void **state)
{
    struct gv_trace_probe probe;
    char other[1024];

    make_trace();
    assert_int_equal(gv_trace_file_probe(fixture.trace, &probe), 0);
    assert_string_equal(probe.session, fixture.session);
    assert_string_equal(probe.spool_directory, fixture.spools);
    assert_true(probe.complete);
    snprintf(other, sizeof(other), "%s/other", fixture.directory);
    write_file(other, "");
    assert_int_equal(gv_trace_file_probe(other, &probe), -ENODATA);
    write_file(other, "text");
    assert_int_equal(gv_trace_file_probe(other, &probe), -EPROTO);
    assert_int_equal(gv_trace_file_probe(fixture.directory, &probe), -EPROTO);
    assert_int_equal(gv_trace_file_probe("/nowhere/at/all", &probe), -ENOENT);
}

static void a_pipe_as_journal_is_not_opened(void **state)
{
    struct gv_trace_probe probe;
    char journal[1100], other[GV_SESSION_PATH_BYTES];

    make_trace();
    snprintf(journal, sizeof(journal), "%s-journal", fixture.trace);
    assert_int_equal(mkfifo(journal, 0600), 0);
    alarm(60);
    assert_int_equal(gv_trace_file_probe(fixture.trace, &probe), -EMEDIUMTYPE);
    assert_int_equal(gv_trace_file_claim(fixture.trace, "1-2-0000000a", other, sizeof(other)), 0);
    assert_string_not_equal(other, fixture.trace);
    alarm(0);
    assert_int_equal(unlink(journal), 0);
    assert_int_equal(gv_trace_file_probe(fixture.trace, &probe), 0);
}

static void a_trace_that_is_cut_is_one(void **state)
{
    struct gv_trace_probe probe;

    make_trace();
    assert_int_equal(truncate(fixture.trace, 5000), 0);
    assert_int_equal(gv_trace_file_probe(fixture.trace, &probe), -EUCLEAN);
    assert_int_equal(truncate(fixture.trace, 50), 0);
    assert_int_equal(gv_trace_file_probe(fixture.trace, &probe), -EPROTO);
}

/* A writer that is killed after it had to write pages, but before its commit. */
static void kill_a_writer(void)
{
    pid_t child = fork();
    sqlite3 *writer;
    int status;

    if (child == 0) {
        if (sqlite3_open(fixture.trace, &writer) == SQLITE_OK)
            sqlite3_exec(writer,
                         "PRAGMA cache_size = 1; BEGIN; CREATE TABLE large (bytes);"
                         "INSERT INTO large VALUES (zeroblob(1000000)); UPDATE meta SET value = ''",
                         NULL, NULL, NULL);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void a_reader_survives_the_kill_of_a_writer(void **state)
{
    int64_t rows = 0;
    sqlite3 *reader;

    make_trace();
    assert_int_equal(sqlite3_open_v2(fixture.trace, &reader, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    assert_int_equal(gv_trace_file_roll_back(reader), 0);
    assert_int_equal(gv_database_number(reader, "SELECT count(*) FROM call", NULL, 0, &rows), 0);
    kill_a_writer();
    assert_int_equal(gv_database_number(reader, "SELECT count(*) FROM call", NULL, 0, &rows), 0);
    assert_int_equal(rows, 1);
    sqlite3_close(reader);
}

static void a_finished_trace_is_replaced(void **state)
{
    struct stat status;

    make_trace();
    expect_claim(OTHER_SESSION, "");
    assert_int_equal(stat(fixture.trace, &status), 0);
    assert_int_equal(status.st_size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(without_locks_none_is_made),
        TEST(without_locks_of_bytes_none_is_made),
        TEST(without_locks_of_bytes_none_is_read),
        TEST(a_directory_is_left_alone),
        TEST(an_empty_file_is_taken),
        TEST(a_first_commit_that_did_not_end_is_undone),
        TEST(what_is_about_to_end_is_waited_for),
        TEST(what_lives_on_is_left_alone),
        TEST(the_same_session_finds_its_trace_again),
        TEST(a_trace_with_records_still_to_come_is_left_alone),
        TEST(a_trace_that_another_name_shares_is_left_alone),
        TEST(links_among_the_folders_are_fine),
        TEST(a_missing_folder_is_an_error),
        TEST(a_probe_tells_traces_from_the_rest),
        TEST(a_pipe_as_journal_is_not_opened),
        TEST(a_trace_that_is_cut_is_one),
        TEST(a_reader_survives_the_kill_of_a_writer),
        TEST(a_finished_trace_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
