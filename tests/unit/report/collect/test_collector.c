/* The collector's process, started as by the library. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/spool_fixture.h"
#include "trace/session_id.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static struct fixture fixture;
static struct fixture_spool spool;
static struct gv_session_file *session;
static int session_fd;
static pid_t program; /* 0: none */

static void end_program(void)
{
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    program = 0;
}

static int setup(void **state)
{
    (void)state;
    fixture_open(&fixture);
    memset(&spool, 0, sizeof(spool));
    session_fd = fixture_session_file(&fixture);
    session = mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED, session_fd, 0);
    assert_ptr_not_equal(session, MAP_FAILED);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (program)
        end_program();
    munmap(session, sizeof(*session));
    close(session_fd);
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

/* A process in the role of the program: the session's root, and owner of the next spool. */
static void start_program(void)
{
    program = fork();
    if (program == 0)
        for (;;)
            pause();
    session->root_pid = (uint32_t)program;
    assert_int_equal(gv_session_read_start_ticks(session->root_pid, &session->root_start_ticks), 0);
}

static void own_spool(void)
{
    spool.writer.header->pid = session->root_pid;
    spool.writer.header->process_start_ticks = session->root_start_ticks;
}

/* `file_limit`: the largest size of one file; 0: no limit. */
static pid_t start(rlim_t file_limit)
{
    pid_t child = fork();

    if (child == 0) {
        const char *command = getenv("GPUVERIFY_COMMAND");
        struct rlimit limit = {file_limit, file_limit};
        int fd = open(fixture.session_path, O_RDWR);

        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
            _exit(99);
        if (fd != GV_SESSION_LOCK_FD) {
            dup2(fd, GV_SESSION_LOCK_FD);
            close(fd);
        }
        if (file_limit)
            setrlimit(RLIMIT_FSIZE, &limit);
        execl(command, "gpuverify", "collect", fixture.session_path, (char *)NULL);
        _exit(98);
    }
    return child;
}

static int exit_code_of(pid_t child)
{
    int status;

    for (int waited = 0; waited < PATIENCE_MS; waited += 10) {
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        usleep(10000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fail_msg("the collector does not end");
    return -1;
}

static void wait_for_calls(int64_t calls)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += 10) {
        if (access(fixture.trace, F_OK) == 0) {
            sqlite3 *database;
            sqlite3_stmt *rows = NULL;
            int64_t found = -1;
            sqlite3_open_v2(fixture.trace, &database, SQLITE_OPEN_READONLY, NULL);
            sqlite3_busy_timeout(database, 1000);
            if (sqlite3_prepare_v2(database, "SELECT count(*) FROM calls", -1, &rows, NULL) ==
                    SQLITE_OK &&
                sqlite3_step(rows) == SQLITE_ROW)
                found = sqlite3_column_int64(rows, 0);
            sqlite3_finalize(rows);
            sqlite3_close(database);
            if (found == calls)
                return;
        }
        usleep(10000);
    }
    fail_msg("%lld calls do not come", (long long)calls);
}

static int files_in(const char *directory)
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    int count = 0;

    while ((entry = readdir(stream)))
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

static void expect_complete(int64_t calls)
{
    assert_int_equal(fixture_number(fixture.trace, "SELECT count(*) FROM calls"), calls);
    fixture_expect_text(fixture.trace, "SELECT value FROM meta WHERE key = 'state'", "complete");
    fixture_expect_text(fixture.trace, "PRAGMA integrity_check", "ok");
    fixture_expect_text(fixture.trace, "PRAGMA journal_mode", "delete");
}

static void it_finishes_when_all_are_gone(void **state)
{
    (void)state;
    struct stat status;

    fixture_spool_open(&fixture, &spool, 1, false);
    for (uint64_t i = 0; i < 1000; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, i, 1, 0);
    assert_int_equal(exit_code_of(start(0)), 0);
    expect_complete(1000);
    assert_int_equal(files_in(fixture.spools), 0);
    assert_int_equal(files_in(fixture.directory), 2); /* the spools' folder and one trace */
    assert_int_equal(stat(fixture.trace, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_string_equal(session->trace_path, fixture.trace);
}

static void a_session_without_calls_leaves_no_trace(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(start(0)), 0);
    assert_int_equal(access(fixture.trace, F_OK), -1);
    assert_int_equal(files_in(fixture.spools), 0);
}

static void it_drains_while_the_program_runs(void **state)
{
    (void)state;
    start_program();
    fixture_spool_open(&fixture, &spool, 1, true);
    own_spool();
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    pid_t collector = start(0);
    wait_for_calls(1);
    assert_int_equal(session->collector_pid, collector);
    for (uint64_t i = 0; i < 100; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, 10 + i, 1, 0);
    wait_for_calls(101);
    assert_int_equal(kill(collector, 0), 0);
    end_program();
    assert_int_equal(exit_code_of(collector), 0);
    expect_complete(101);
}

static void an_exiting_process_is_told_when_all_is_stored(void **state)
{
    (void)state;
    struct timespec patience = {.tv_sec = PATIENCE_MS / 1000};

    start_program();
    fixture_spool_open(&fixture, &spool, 1, true);
    own_spool();
    pid_t collector = start(0);
    for (uint64_t i = 0; i < 50000; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, i, 1, 0);
    spool.writer.header->ends = 1;
    spool.writer.header->state = GV_PROCESS_EXITING;
    session->doorbell++;
    syscall(SYS_futex, &session->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
    while (spool.writer.header->drained == 0)
        assert_true(syscall(SYS_futex, &spool.writer.header->drained, FUTEX_WAIT, 0, &patience,
                            NULL, 0) == 0 ||
                    spool.writer.header->drained);
    assert_int_equal(fixture_number(fixture.trace, "SELECT count(*) FROM calls"), 50000);
    end_program();
    assert_int_equal(exit_code_of(collector), 0);
    expect_complete(50000);
}

static void a_new_collector_takes_over_from_a_killed_one(void **state)
{
    (void)state;
    start_program();
    fixture_spool_open(&fixture, &spool, 1, true);
    own_spool();
    uint64_t at = 0;
    for (int round = 0; round < 5; round++) {
        pid_t collector = start(0);
        for (int i = 0; i < 20000; i++, at++)
            assert_true(fixture_call(&spool, 1, FIXTURE_SYNC, at, 1, 0));
        usleep(20000 * (useconds_t)round);
        kill(collector, SIGKILL);
        waitpid(collector, NULL, 0);
    }
    end_program();
    assert_int_equal(exit_code_of(start(0)), 0);
    expect_complete((int64_t)at);
    assert_int_equal(fixture_number(fixture.trace, "SELECT count(DISTINCT start_ns) FROM calls"),
                     (int64_t)at);
}

static void a_later_process_of_the_session_joins_the_trace(void **state)
{
    (void)state;
    start_program();
    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    pid_t collector = start(0);
    wait_for_calls(1);
    fixture_spool_close(&spool);
    fixture_spool_open(&fixture, &spool, 2, false);
    fixture_call(&spool, 1, FIXTURE_SYNC, 2, 1, 0);
    wait_for_calls(2);
    end_program();
    assert_int_equal(exit_code_of(collector), 0);
    expect_complete(2);
    assert_int_equal(fixture_number(fixture.trace, "SELECT count(*) FROM processes"), 2);
}

static void a_trace_that_cannot_be_made_leaves_the_records(void **state)
{
    (void)state;
    snprintf(session->trace_path, sizeof(session->trace_path), "%s/nowhere/trace.db",
             fixture.directory);
    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    assert_int_equal(exit_code_of(start(0)), 3);
    assert_int_equal(session->trace_error, ENOENT);
    assert_int_equal(files_in(fixture.spools), 2); /* spool and session file */
    snprintf(session->trace_path, sizeof(session->trace_path), "%s", fixture.trace);
    assert_int_equal(exit_code_of(start(0)), 0);
    expect_complete(1);
}

static void a_full_disk_stores_nothing_by_halves(void **state)
{
    (void)state;
    fixture_spool_open(&fixture, &spool, 1, false);
    for (uint64_t i = 0; i < 100000; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, i, 1, 0);
    assert_int_equal(exit_code_of(start(300000)), 3);
    assert_int_not_equal(session->trace_error, 0);
    assert_int_equal(exit_code_of(start(0)), 0);
    expect_complete(100000);
    assert_int_equal(fixture_number(fixture.trace, "SELECT count(DISTINCT start_ns) FROM calls"),
                     100000);
}

static void a_broken_spool_keeps_nobody(void **state)
{
    (void)state;
    char broken[1024];

    fixture_spool_name(&fixture, 77, broken, sizeof(broken));
    FILE *file = fopen(broken, "w");
    for (int i = 0; i < 20000; i++)
        fputs("rubbish ", file);
    fclose(file);
    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    assert_int_equal(exit_code_of(start(0)), 0);
    expect_complete(1);
    assert_int_equal(access(broken, F_OK), 0);
}

/* A process is killed while it makes its spool: `reaped` or not yet waited for, before or while the
 * collector looks. */
static void expect_no_unfinished_spool(bool early, bool reaped)
{
    pid_t maker = fork();
    siginfo_t how;
    char path[1024];

    if (maker == 0)
        for (;;)
            pause();
    snprintf(path, sizeof(path), "%s/%s.%d.1%s", fixture.spools, fixture.session, (int)maker,
             GV_SPOOL_SUFFIX);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(ftruncate(fd, 64 << 20), 0);
    close(fd);
    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    pid_t collector = early ? 0 : start(0);
    usleep(early ? 0 : 100000);
    kill(maker, SIGKILL);
    waitid(P_PID, (id_t)maker, &how, WEXITED | (reaped ? 0 : WNOWAIT));
    assert_int_equal(exit_code_of(early ? start(0) : collector), 0);
    waitpid(maker, NULL, 0);
    expect_complete(1);
    assert_int_equal(files_in(fixture.spools), 0);
}

static void a_process_killed_while_it_makes_its_spool_leaves_none(void **state)
{
    (void)state;
    expect_no_unfinished_spool(true, true);
}

static void nor_if_its_parent_does_not_wait_for_it(void **state)
{
    (void)state;
    expect_no_unfinished_spool(true, false);
}

static void nor_if_the_collector_was_about_to_end(void **state)
{
    (void)state;
    expect_no_unfinished_spool(false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(it_finishes_when_all_are_gone),
        TEST(a_session_without_calls_leaves_no_trace),
        TEST(it_drains_while_the_program_runs),
        TEST(an_exiting_process_is_told_when_all_is_stored),
        TEST(a_new_collector_takes_over_from_a_killed_one),
        TEST(a_later_process_of_the_session_joins_the_trace),
        TEST(a_trace_that_cannot_be_made_leaves_the_records),
        TEST(a_full_disk_stores_nothing_by_halves),
        TEST(a_broken_spool_keeps_nobody),
        TEST(a_process_killed_while_it_makes_its_spool_leaves_none),
        TEST(nor_if_its_parent_does_not_wait_for_it),
        TEST(nor_if_the_collector_was_about_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
