/* The collector's process, started as by the library. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/spool_fixture.h"
#include "trace/session_id.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static struct fixture fixture;
static struct fixture_spool spool;
static struct gv_session_file *session;
static int session_fd;

static int setup(void **state)
{
    fixture_open(&fixture);
    memset(&spool, 0, sizeof(spool));
    session_fd = fixture_session_file(&fixture);
    session = mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED, session_fd, 0);
    assert_ptr_not_equal(session, MAP_FAILED);
    return 0;
}

static int teardown(void **state)
{
    munmap(session, sizeof(*session));
    close(session_fd);
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

static pid_t start(void)
{
    pid_t child = fork();

    if (child == 0) {
        const char *command = getenv("GPUVERIFY_COMMAND");
        int fd = open(fixture.session_path, O_RDWR);

        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
            _exit(99);
        if (fd != GV_SESSION_LOCK_FD) {
            dup2(fd, GV_SESSION_LOCK_FD);
            close(fd);
        }
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

static void a_broken_spool_keeps_nobody(void **state)
{
    char broken[1024];

    fixture_spool_name(&fixture, 77, broken, sizeof(broken));
    FILE *file = fopen(broken, "w");
    for (int i = 0; i < 20000; i++)
        fputs("rubbish ", file);
    fclose(file);
    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    assert_int_equal(exit_code_of(start()), 0);
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
    pid_t collector = early ? 0 : start();
    usleep(early ? 0 : 100000);
    kill(maker, SIGKILL);
    waitid(P_PID, (id_t)maker, &how, WEXITED | (reaped ? 0 : WNOWAIT));
    assert_int_equal(exit_code_of(early ? start() : collector), 0);
    waitpid(maker, NULL, 0);
    expect_complete(1);
    assert_int_equal(files_in(fixture.spools), 0);
}

static void a_process_killed_while_it_makes_its_spool_leaves_none(void **state)
{
    expect_no_unfinished_spool(true, true);
}

static void nor_if_its_parent_does_not_wait_for_it(void **state)
{
    expect_no_unfinished_spool(true, false);
}

static void nor_if_the_collector_was_about_to_end(void **state)
{
    expect_no_unfinished_spool(false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_broken_spool_keeps_nobody),
        TEST(a_process_killed_while_it_makes_its_spool_leaves_none),
        TEST(nor_if_its_parent_does_not_wait_for_it),
        TEST(nor_if_the_collector_was_about_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
