/* The paths of a trace and of its shared memory files. */
#include "tests/unit/report/cmocka_all.h"

#include "trace/program_name.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct gv_trace_owner owner = {
    .pid = 42, .program = "a/b", .directory = "/some/where"};
static char path[256];

static void expect(const char *pattern, const char *expected)
{
    assert_int_equal(gv_trace_path_expand(path, sizeof(path), pattern, &owner), 0);
    assert_string_equal(path, expected);
}

static void a_pattern_is_expanded(void **state)
{
    (void)state;
    char host[256] = "", expected[300];

    expect("", "/some/where/gpuverify-a_b-42.db");
    expect("out.db", "/some/where/out.db");
    expect("/tmp/%p/%n.db", "/tmp/42/a_b.db");
    expect("/tmp/100%%-%x%/%", "/tmp/100%-%x%/%");
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    snprintf(expected, sizeof(expected), "/tmp/%s.db", host);
    expect("/tmp/%h.db", expected);
}

static void a_directory_that_is_gone_matters_to_relative_paths_only(void **state)
{
    (void)state;
    static const char *const gone[] = {NULL, "", "(unreachable)/x"};

    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
        struct gv_trace_owner lost = {.pid = 1, .program = "p", .directory = gone[i]};
        assert_int_equal(gv_trace_path_expand(path, sizeof(path), "x.db", &lost), -ENOENT);
        assert_string_equal(path, "");
        assert_int_equal(gv_trace_path_expand(path, sizeof(path), "/x-%n.db", &lost), 0);
        assert_string_equal(path, "/x-p.db");
    }
}

static void the_root_folder_keeps_one_slash(void **state)
{
    (void)state;
    struct gv_trace_owner root = {.pid = 1, .program = "p", .directory = "/"};

    assert_int_equal(gv_trace_path_expand(path, sizeof(path), "x.db", &root), 0);
    assert_string_equal(path, "/x.db");
    assert_int_equal(gv_trace_path_absolute(path, sizeof(path), "/", "x.db", true), 0);
    assert_string_equal(path, "/x.db");
}

static void a_relative_path_becomes_absolute(void **state)
{
    (void)state;
    assert_int_equal(gv_trace_path_absolute(path, sizeof(path), "/50%", "x-%p.db", true), 0);
    assert_string_equal(path, "/50%%/x-%p.db");
    expect("/50%%/x-%p.db", "/50%/x-42.db");
    assert_int_equal(gv_trace_path_absolute(path, sizeof(path), "/50%", "spools", false), 0);
    assert_string_equal(path, "/50%/spools");
    assert_int_equal(gv_trace_path_absolute(path, sizeof(path), "(unreachable)", "x", true),
                     -ENOENT);
    for (size_t size = 1; size < sizeof("/50%%/x"); size++)
        assert_int_equal(gv_trace_path_absolute(path, size, "/50%", "x", true), -ENAMETOOLONG);
    assert_int_equal(gv_trace_path_absolute(path, sizeof("/50%%/x"), "/50%", "x", true), 0);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    char small[20];

    assert_int_equal(gv_trace_path_expand(small, sizeof(small), "123456", &owner), 0);
    assert_int_equal(gv_trace_path_expand(small, sizeof(small), "1234567890", &owner),
                     -ENAMETOOLONG);
    assert_string_equal(small, "");
}

static void spools_lie_in_shared_memory_or_beside_the_trace(void **state)
{
    (void)state;
    static struct gv_settings settings;
    char expected[256];

    snprintf(expected, sizeof(expected), "/dev/shm/gpuverify-%u", (unsigned int)geteuid());
    assert_int_equal(gv_trace_path_shared(path, sizeof(path), &settings, NULL), 0);
    assert_string_equal(path, expected);
    strcpy(settings.spool_dir, "/my/own");
    assert_int_equal(gv_trace_path_shared(path, sizeof(path), &settings, NULL), 0);
    assert_string_equal(path, "/my/own");
    strcpy(settings.spool_dir, "own");
    assert_int_equal(gv_trace_path_shared(path, sizeof(path), &settings, "/my"), 0);
    assert_string_equal(path, "/my/own");
    assert_int_equal(gv_trace_path_shared(path, sizeof(path), &settings, NULL), -ENOENT);
    snprintf(expected, sizeof(expected), "/data/.gpuverify-%u", (unsigned int)geteuid());
    assert_int_equal(gv_trace_path_beside(path, sizeof(path), "/data/x.db"), 0);
    assert_string_equal(path, expected);
    assert_int_equal(gv_trace_path_beside(path, sizeof(path), "/x.db"), 0);
    assert_string_equal(path, expected + strlen("/data"));
    assert_int_equal(gv_trace_path_beside(path, sizeof(path), "x.db"), -EINVAL);
    assert_int_equal(gv_trace_path_beside(path, 5, "/data/x.db"), -ENAMETOOLONG);
}

static void expect_name(const char *arguments, size_t bytes, const char *expected)
{
    char copy[256], name[64];

    memcpy(copy, arguments, bytes);
    gv_program_name(copy, bytes, name, sizeof(name));
    assert_string_equal(name, expected);
}

static void a_script_gives_its_name_to_its_process(void **state)
{
    (void)state;
#define EXPECT_NAME(arguments, expected) expect_name(arguments, sizeof(arguments), expected)
    EXPECT_NAME("/usr/bin/app\0x.py", "app");
    EXPECT_NAME("/usr/bin/python3\0-u\0-X\0dev\0/home/me/train.py\0-c", "train");
    EXPECT_NAME("python3.11\0tool", "tool");
    EXPECT_NAME("python3\0-c\0import x", "python3");
    EXPECT_NAME("python3\0-X", "python3");
    EXPECT_NAME("python3", "python3");
    EXPECT_NAME("", "program");
    expect_name("", 0, "program");
    expect_name("python3\0/cut/in/the", 16, "in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_is_expanded),
        cmocka_unit_test(a_directory_that_is_gone_matters_to_relative_paths_only),
        cmocka_unit_test(the_root_folder_keeps_one_slash),
        cmocka_unit_test(a_relative_path_becomes_absolute),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_script_gives_its_name_to_its_process),
        cmocka_unit_test(spools_lie_in_shared_memory_or_beside_the_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
