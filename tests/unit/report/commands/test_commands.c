/* gpuverify as a user sees it: exit codes, stdout and stderr. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/recovery.h"
#include "tests/unit/report/spool_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fixture fixture;
static struct fixture_spool spool;
static char output[65536], messages[65536];
static int end_status;

static int setup(void **state)
{
    (void)state;
    fixture_open(&fixture);
    memset(&spool, 0, sizeof(spool));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

static void read_all(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* Runs `$GPUVERIFY_COMMAND <arguments>` by the shell; the exit code, or 128 + signal. */
static int run(const char *arguments)
{
    char line[8192], out[512], err[512];

    snprintf(out, sizeof(out), "%s/out", fixture.directory);
    snprintf(err, sizeof(err), "%s/err", fixture.directory);
    snprintf(line, sizeof(line),
             "cd %s && export GPUVERIFY_SPOOL_DIR=%s && exec \"$GPUVERIFY_COMMAND\" %s >%s 2>%s",
             fixture.directory, fixture.spools, arguments, out, err);
    end_status = system(line);
    read_all(out, output, sizeof(output));
    read_all(err, messages, sizeof(messages));
    return WIFEXITED(end_status) ? WEXITSTATUS(end_status) : 128 + WTERMSIG(end_status);
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void fill(bool alive)
{
    close(fixture_session_file(&fixture));
    fixture_spool_open(&fixture, &spool, 1, alive);
    fixture_name(&spool, 1, 1, 0, "saxpy", false);
    for (uint64_t i = 0; i < 10; i++)
        fixture_launch(&spool, 1, FIXTURE_LAUNCH, i * 100, 1, 0xc0, 0x99);
    fixture_call(&spool, 1, FIXTURE_SYNC, 5000, 149000000, 719);
}

static void make_trace(void)
{
    static struct gv_recovery recovery;

    fill(false);
    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
}

static void help_and_version_go_to_stdout(void **state)
{
    (void)state;
    assert_int_equal(run("--help"), 0);
    expect_in(output, "usage: gpuverify");
    assert_string_equal(messages, "");
    assert_int_equal(run("--version"), 0);
    expect_in(output, "gpuverify " GV_VERSION);
    assert_int_equal(run("--library"), 0);
    expect_in(output, "/preload/libgpuverify.so\n");
    assert_string_equal(messages, "");
    assert_int_equal(run("help report"), 0);
    expect_in(output, "usage: gpuverify report [FILE...]");
    assert_int_equal(run("recover --help"), 0);
    expect_in(output, "usage: gpuverify recover");
    assert_int_equal(run("help environment"), 0);
    expect_in(output, "GPUVERIFY_SPOOL_MB=1 to 65536 (64)");
}

static void the_documented_environment_is_the_real_one(void **state)
{
    (void)state;
    static char document[65536];
    char path[1024];

    snprintf(path, sizeof(path), "%s/docs/environment.md", getenv("GPUVERIFY_SOURCE"));
    read_all(path, document, sizeof(document));
    assert_int_equal(run("help environment"), 0);
    expect_in(document, output);
}

static void wrong_use_is_told_on_stderr(void **state)
{
    (void)state;
    assert_int_equal(run(""), 2);
    assert_string_equal(output, "");
    assert_int_equal(run("rpeort x"), 2);
    expect_in(messages, "did you mean 'report'?");
    assert_int_equal(run("help nothing"), 2);
    assert_int_equal(run("report"), 2);
    expect_in(messages, "usage: gpuverify report [FILE...]");
    assert_int_equal(run("run"), 2);
    assert_int_equal(run("run -x true"), 2);
    assert_int_equal(run("recover -x"), 2);
}

static void a_full_output_is_an_error(void **state)
{
    (void)state;
    char line[4096];

    snprintf(line, sizeof(line), "\"$GPUVERIFY_COMMAND\" --help >/dev/full 2>%s/err",
             fixture.directory);
    assert_int_equal(WEXITSTATUS(system(line)), 3);
}

static void a_report_sums_up_a_trace(void **state)
{
    (void)state;
    make_trace();
    assert_int_equal(run("report trace.db"), 0);
    assert_string_equal(messages, "");
    expect_in(output, "python 'train it.py'");
    expect_in(output, "CUDA 13.0");
    expect_in(output, "cuLaunchKernel");
    expect_in(output, "149 ms");
    expect_in(output, "719  CUDA_ERROR_LAUNCH_FAILED");
    expect_in(output, "saxpy");
}

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    char path[1024];
    sqlite3 *database;

    assert_int_equal(run("report nowhere.db"), 3);
    expect_in(messages, "No such file");
    assert_int_equal(run("report /dev/null"), 3);
    assert_int_equal(run("report ."), 3);
    assert_int_equal(run("report \"$GPUVERIFY_COMMAND\""), 3);
    expect_in(messages, "is not a gpuverify trace");
    snprintf(path, sizeof(path), "%s/other.db", fixture.directory);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_exec(database, "CREATE TABLE calls (x)", NULL, NULL, NULL);
    sqlite3_close(database);
    assert_int_equal(run("report other.db"), 3);
    assert_string_equal(output, "");
}

static void change(const char *sql)
{
    sqlite3 *database;

    assert_int_equal(sqlite3_open(fixture.trace, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    sqlite3_close(database);
}

static void a_hostile_trace_does_no_harm(void **state)
{
    (void)state;
    make_trace();
    change("UPDATE api SET name = char(27) || '[2J' || x'ff00' || 'evil' || char(10)");
    change("UPDATE process SET program = zeroblob(100000), pid = 'x', exit_code = 'y'");
    change("UPDATE meta SET value = x'1b5b324a' WHERE key IN ('program', 'arguments', 'host')");
    change("UPDATE kernel SET name = char(155) || '31m'");
    change("UPDATE call SET duration_ns = 'abc', start_ns = -9223372036854775807");
    assert_int_equal(run("report trace.db"), 0);
    assert_null(strchr(output, 0x1b));
    assert_null(strstr(output, "\xc2\x9b"));
    change("UPDATE meta SET value = NULL");
    assert_true(run("report trace.db") < 128);
    change("DROP VIEW in_flight");
    assert_int_equal(run("report trace.db"), 0);
    change("DROP TABLE kernel");
    assert_int_equal(run("report trace.db"), 3);
}

static void a_damaged_trace_does_no_harm(void **state)
{
    (void)state;
    make_trace();
    for (off_t at = 100; at < 8192; at += 37) {
        int fd = open(fixture.trace, O_RDWR);
        assert_int_equal(pwrite(fd, "\xa5\x00\xff", 3, at), 3);
        close(fd);
        if (at % 10 == 0)
            assert_true(run("report trace.db") < 128);
    }
}

static void a_read_only_trace_can_be_read(void **state)
{
    (void)state;
    struct stat before, after;

    make_trace();
    assert_int_equal(chmod(fixture.trace, 0400), 0);
    assert_int_equal(stat(fixture.trace, &before), 0);
    assert_int_equal(run("report trace.db"), 0);
    assert_int_equal(stat(fixture.trace, &after), 0);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void recover_finds_what_was_left(void **state)
{
    (void)state;
    char arguments[1024];

    fill(false);
    assert_int_equal(run("recover"), 0);
    snprintf(arguments, sizeof(arguments), "%s: 13 records", fixture.trace);
    expect_in(output, arguments);
    assert_int_equal(fixture_number(fixture.trace, "SELECT count(*) FROM calls"), 11);
    assert_int_equal(access(fixture.session_path, F_OK), -1);
    assert_int_equal(run("recover"), 0);
    assert_string_equal(output, "");
    expect_in(messages, "nothing to recover");
}

static void recover_removes_a_session_that_never_began(void **state)
{
    (void)state;
    /* Its process was killed before it had written anything into it. */
    int fd = open(fixture.session_path, O_RDWR | O_CREAT, 0600);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(run("recover"), 0);
    assert_int_equal(access(fixture.session_path, F_OK), -1);
}

static void recover_takes_a_spool_and_a_file(void **state)
{
    (void)state;
    char path[1024], arguments[2048];

    fill(false);
    fixture_spool_name(&fixture, 1, path, sizeof(path));
    snprintf(arguments, sizeof(arguments), "recover -o mine.db %s", path);
    assert_int_equal(run(arguments), 0);
    snprintf(path, sizeof(path), "%s/mine.db", fixture.directory);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM calls"), 11);
    assert_int_equal(run("recover /etc/passwd"), 3);
    expect_in(messages, "is not a gpuverify trace or spool");
    assert_int_equal(run("recover nowhere"), 3);
}

static void a_report_recovers_first(void **state)
{
    (void)state;
    static struct gv_recovery recovery;

    fill(true);
    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
    fixture_call(&spool, 1, FIXTURE_UNLOAD, 9000, 1, 0);
    spool.writer.header->process_start_ticks++; /* it dies, with its collector */
    assert_int_equal(run("report trace.db"), 0);
    expect_in(output, "cuModuleUnload");
    fixture_expect_text(fixture.trace, "SELECT value FROM meta WHERE key = 'state'", "complete");
}

static void recovery_obeys_no_trigger(void **state)
{
    (void)state;
    static struct gv_recovery recovery;

    fill(true);
    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
    change("CREATE TRIGGER evil AFTER INSERT ON call BEGIN UPDATE api SET name = 'evil'; END");
    fixture_call(&spool, 1, FIXTURE_UNLOAD, 9000, 1, 0);
    spool.writer.header->process_start_ticks++;
    assert_int_equal(run("report trace.db"), 0);
    expect_in(output, "cuModuleUnload");
}

static void a_report_of_a_running_program_says_so(void **state)
{
    (void)state;
    static struct gv_recovery recovery;

    fill(true);
    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
    assert_int_equal(run("report trace.db"), 0);
    expect_in(messages, "still run");
    expect_in(messages, "without their source lines");
    expect_in(output, "The trace is not complete.");
}

static void run_keeps_exit_codes_and_streams(void **state)
{
    (void)state;
    assert_int_equal(run("run -- sh -c 'exit 7'"), 7);
    expect_in(messages, "made no CUDA call");
    assert_int_equal(run("run -- ./nowhere"), 127);
    assert_int_equal(run("run -- /etc/passwd"), 126);
    assert_int_equal(run("run sh -c 'kill -TERM $$'"), 128 + SIGTERM);
    assert_true(WIFSIGNALED(end_status));
    assert_int_equal(run("run -- sh -c 'echo to stdout; echo to stderr >&2'"), 0);
    assert_string_equal(output, "to stdout\n");
    expect_in(messages, "to stderr\n");
    assert_int_equal(run("run -- sh -c 'echo \"$LD_PRELOAD\"'"), 0);
    expect_in(output, "libgpuverify.so");
    assert_int_equal(run("run -o x.db -- sh -c 'echo \"$GPUVERIFY_TRACE\"'"), 0);
    expect_in(output, "/x.db");
    assert_int_equal(output[0], '/');
}

static void run_passes_signals_on(void **state)
{
    (void)state;
    /* The program gets a TERM that was sent only to gpuverify, and ends in its own way. */
    assert_int_equal(run("run -- sh -c 'trap \"exit 9\" TERM; kill -TERM $PPID; "
                         "while :; do sleep 0.05; done'"),
                     9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(help_and_version_go_to_stdout),
        TEST(the_documented_environment_is_the_real_one),
        TEST(wrong_use_is_told_on_stderr),
        TEST(a_full_output_is_an_error),
        TEST(a_report_sums_up_a_trace),
        TEST(what_is_no_trace_is_refused),
        TEST(a_hostile_trace_does_no_harm),
        TEST(a_damaged_trace_does_no_harm),
        TEST(a_read_only_trace_can_be_read),
        TEST(recover_finds_what_was_left),
        TEST(recover_removes_a_session_that_never_began),
        TEST(recover_takes_a_spool_and_a_file),
        TEST(a_report_recovers_first),
        TEST(recovery_obeys_no_trigger),
        TEST(a_report_of_a_running_program_says_so),
        TEST(run_keeps_exit_codes_and_streams),
        TEST(run_passes_signals_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
