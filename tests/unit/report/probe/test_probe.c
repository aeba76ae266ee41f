/* The probe's watchdog, with a child that hangs, dies or refuses at a given row. */
#include "tests/unit/report/cmocka_all.h"

#include "report/probe/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANGS 3 /* the row at which a child hangs */
#define DIES  6

enum how {
    GOES_ON,
    STUMBLES, /* hangs at HANGS, dies at DIES */
    NEVER_STARTS,
    DIES_AT_ONCE,
    REFUSES,
    IS_SLOW,
};

static enum how how;
static struct gv_probe_result result;
static const struct gv_probe_request request = {
    .kernel_ns = 50000000,
    .limits = {.start_ms = 1000, .call_ms = 1000, .whole_ms = 20000},
};

static void tell(int out, const struct gv_probe_message *message)
{
    if (write(out, message, sizeof(*message)) != (ssize_t)sizeof(*message))
        _exit(1);
}

static void hang(void)
{
    for (;;)
        pause();
}

/* Replaces the child that uses a GPU. */
void gv_probe_run(const struct gv_probe_request *asked, enum gv_probe_mode mode, int first, int out)
{
    struct gv_probe_message message = {.kind = GV_PROBE_READY};

    (void)asked;
    if (how == NEVER_STARTS)
        hang();
    if (how == DIES_AT_ONCE)
        raise(SIGKILL);
    if (how == REFUSES)
        message.kind = GV_PROBE_FAILED;
    strcpy(message.text, "for a reason");
    strcpy(message.machine.gpu, "A GPU");
    tell(out, &message);
    message.kind = GV_PROBE_ROW;
    for (int call = first; call < GV_PROBE_CALLS; call++) {
        if (how == STUMBLES && call == HANGS)
            hang();
        if (how == STUMBLES && call == DIES)
            raise(SIGKILL);
        if (how == IS_SLOW)
            usleep(40000);
        message.call = call;
        message.row = (struct gv_probe_row){.rounds = 3, .waited = mode == GV_PROBE_LAZY ? 2 : 1};
        tell(out, &message);
    }
    _exit(0);
}

/* Whatever happens, no child remains. */
static int measured(enum how wanted, int64_t whole_ms)
{
    struct gv_probe_request changed = request;
    int error;

    how = wanted;
    changed.limits.whole_ms = whole_ms;
    error = gv_probe_measure(&changed, &result);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return error;
}

static void every_row_arrives(void **state)
{
    (void)state;
    assert_int_equal(measured(GOES_ON, 20000), 0);
    assert_string_equal(result.machine.gpu, "A GPU");
    for (int call = 0; call < GV_PROBE_CALLS; call++) {
        assert_int_equal(result.rows[GV_PROBE_LAZY][call].status, GV_PROBE_MEASURED);
        assert_true(gv_probe_waits(&result.rows[GV_PROBE_LAZY][call]));
        assert_false(gv_probe_waits(&result.rows[GV_PROBE_EAGER][call]));
    }
}

static void a_call_that_hangs_or_dies_is_told_and_the_rest_measured(void **state)
{
    (void)state;
    assert_int_equal(measured(STUMBLES, 20000), 0);
    for (int mode = 0; mode < GV_PROBE_MODES; mode++)
        for (int call = 0; call < GV_PROBE_CALLS; call++) {
            int expected = call == HANGS  ? GV_PROBE_HUNG
                           : call == DIES ? GV_PROBE_DIED
                                          : GV_PROBE_MEASURED;
            assert_int_equal(result.rows[mode][call].status, expected);
        }
    assert_false(gv_probe_waits(&result.rows[GV_PROBE_LAZY][HANGS]));
}

static void a_driver_that_does_not_start_is_given_up(void **state)
{
    (void)state;
    assert_int_equal(measured(NEVER_STARTS, 20000), -ENODEV);
    assert_int_equal(measured(DIES_AT_ONCE, 20000), -ENODEV);
    assert_int_equal(measured(REFUSES, 20000), -ENODEV);
}

static void when_the_time_is_up_the_rest_stays_unmeasured(void **state)
{
    (void)state;
    assert_int_equal(measured(IS_SLOW, 1500), 0);
    assert_int_equal(result.rows[GV_PROBE_LAZY][0].status, GV_PROBE_MEASURED);
    assert_int_equal(result.rows[GV_PROBE_LAZY][GV_PROBE_CALLS - 1].status, GV_PROBE_NOT_REACHED);
    assert_int_equal(result.rows[GV_PROBE_EAGER][0].status, GV_PROBE_NOT_REACHED);
}

/* The tables show what happened. */
static void the_table_says_what_was_not_measured(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(measured(STUMBLES, 20000), 0);
    result.rows[GV_PROBE_LAZY][0].status = 2;
    result.rows[GV_PROBE_EAGER][0].status = GV_PROBE_NOT_REACHED;
    assert_non_null(out);
    assert_int_equal(gv_probe_print(&result, false, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "did not return"));
    assert_non_null(strstr(text, "ended the process"));
    assert_non_null(strstr(text, "failed with 2, CUDA_ERROR_OUT_OF_MEMORY"));
    assert_non_null(strstr(text, "not measured: time ran out"));
    assert_non_null(strstr(text, "yes, in 2 of 3 rounds"));
    assert_non_null(strstr(text, "no, but in 1 of 3 rounds"));
    free(text);
}

static void it_is_kept_under_the_users_data(void **state)
{
    struct gv_probe_machine machine = {.gpu = "A GPU/0", .driver = "580.1", .cuda_version = 13000};
    char folder[] = "/tmp/gv-probe-XXXXXX", path[256], expected[256];
    struct stat status;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("HOME", folder, 1), 0);
    assert_int_equal(setenv("XDG_DATA_HOME", "not/absolute", 1), 0);
    assert_int_equal(gv_probe_store_path(&machine, path, sizeof(path)), 0);
    snprintf(expected, sizeof(expected), "%s/.local/share/gpuverify/probe-580.1-A-GPU-0.json",
             folder);
    assert_string_equal(path, expected);
    assert_int_equal(gv_probe_store_write(&result, path), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_size > 0);
    assert_int_equal(unlink(path), 0);
    machine.driver[0] = '\0';
    assert_int_equal(setenv("XDG_DATA_HOME", folder, 1), 0);
    assert_int_equal(gv_probe_store_path(&machine, path, sizeof(path)), 0);
    snprintf(expected, sizeof(expected), "%s/gpuverify/probe-cuda-13000-A-GPU-0.json", folder);
    assert_string_equal(path, expected);
    assert_int_equal(gv_probe_store_path(&machine, path, 20), -ENAMETOOLONG);
    assert_int_equal(setenv("XDG_DATA_HOME", "/proc/nowhere", 1), 0);
    assert_true(gv_probe_store_path(&machine, path, sizeof(path)) < 0);
    assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(gv_probe_store_path(&machine, path, sizeof(path)), -ENOENT);
    snprintf(path, sizeof(path), "rm -r %s", folder);
    assert_int_equal(system(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_arrives),
        cmocka_unit_test(a_call_that_hangs_or_dies_is_told_and_the_rest_measured),
        cmocka_unit_test(a_driver_that_does_not_start_is_given_up),
        cmocka_unit_test(when_the_time_is_up_the_rest_stays_unmeasured),
        cmocka_unit_test(the_table_says_what_was_not_measured),
        cmocka_unit_test(it_is_kept_under_the_users_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
