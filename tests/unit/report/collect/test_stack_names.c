/* Names of native frames. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/stack_names.h"
#include "tests/unit/report/one_database.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef GV_HAS_ELFUTILS

/* A function with a size, assembly without one, and another function with what lies behind it. */
__asm__(".pushsection .text\n"
        ".type test_sized, @function\n"
        "test_sized: nop\n"
        "nop\n"
        ".size test_sized, . - test_sized\n"
        "nop\n"
        "test_label: nop\n"
        "nop\n"
        ".type test_next, @function\n"
        "test_next: nop\n"
        ".size test_next, . - test_next\n"
        "nop\n"
        ".popsection\n");
extern const char test_sized[], test_label[], test_next[];

static void execute(const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(database.handle, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static int64_t number(const char *sql)
{
    int64_t found = -1;

    assert_int_equal(gv_database_number(database.handle, sql, NULL, 0, &found), 0);
    return found;
}

/* As those of the C library are. */
__asm__(".pushsection .text\n"
        ".globl test_versioned_now\n"
        ".type test_versioned_now, @function\n"
        "test_versioned_now: nop\n"
        "nop\n"
        ".size test_versioned_now, . - test_versioned_now\n"
        ".symver test_versioned_now, test_versioned@TEST_1.0, remove\n"
        ".popsection\n");

extern const char test_versioned_now[];

/* `address`: one inside of it. Returns what its frames' addresses count from. */
static const char *add_object(int id, const void *address)
{
    char path[PATH_MAX], sql[PATH_MAX + 128];
    Dl_info info;

    assert_true(dladdr(address, &info));
    assert_non_null(realpath(info.dli_fname, path));
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO object (id, process, base, low, high, path) VALUES (%d, 1, 0, 0, 1, '%s')", id,
        path);
    execute(sql);
    return info.dli_fbase;
}

/* What returns to an address came from the instruction before it. */
static void expect_name(const char *base, const char *instruction, const char *name)
{
    char sql[256];
    int64_t address = instruction - base + 1;

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM frame WHERE address = %" PRId64 " AND function IS %s%s%s",
             address, name ? "'" : "", name ? name : "NULL", name ? "'" : "");
    if (number(sql) != 1)
        fail_msg("%" PRIx64 " is not %s", (uint64_t)address, name ? name : "without a name");
}

static void a_frame_has_the_name_of_the_function_that_it_is_in(void **state)
{
    const char *base = add_object(1, test_sized);
    char sql[256];

    for (const char *at = test_sized; at < test_next + 2; at++) {
        snprintf(sql, sizeof(sql),
                 "INSERT INTO frame (stack, depth, kind, address, object)"
                 " VALUES (1, %d, 'native', %td, 1)",
                 (int)(at - test_sized), at - base + 1);
        execute(sql);
    }
    assert_int_equal(gv_stack_names_find(&database), 0);
    expect_name(base, test_sized, "test_sized");
    expect_name(base, test_sized + 1, "test_sized");
    expect_name(base, test_sized + 2, NULL);
    expect_name(base, test_label, "test_label");
    expect_name(base, test_label + 1, "test_label");
    expect_name(base, test_next, "test_next");
    expect_name(base, test_next + 1, NULL);
}

static void a_name_has_no_version(void **state)
{
    const char *base = add_object(1, test_versioned_now);
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO frame (stack, depth, kind, address, object)"
             " VALUES (1, 0, 'native', %td, 1)",
             test_versioned_now - base + 1);
    execute(sql);
    assert_int_equal(gv_stack_names_find(&database), 0);
    expect_name(base, test_versioned_now, "test_versioned");
}

static __attribute__((noinline)) void *test_return_address(void)
{
    return __builtin_return_address(0);
}

static inline __attribute__((always_inline)) char *test_inlined(void)
{
    char *here = test_return_address();

    __asm__ volatile("" : "+r"(here)); /* no tail call */
    return here;
}

static __attribute__((noinline)) char *test_around(void)
{
    return test_inlined();
}

static void expect_frames(int stack, const char *frames)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "SELECT group_concat(depth || coalesce(' ' || function, '')"
             " || iif(address IS NULL, ' inlined', ''), ', ') = '%s'"
             " FROM (SELECT * FROM frame WHERE stack = %d ORDER BY depth)",
             frames, stack);
    if (number(sql) != 1)
        fail_msg("not %s", frames);
}

static void inlined_functions_come_before_that_which_they_are_in(void **state)
{
    static const char frames[] = "0 test_inlined inlined, 1 test_around, 2, 20000, 21000"
                                 " test_inlined inlined, 21001 test_around";
    const char *address = test_around();
    const char *base = add_object(1, test_sized);
    char sql[512];

    for (int stack = 1; stack <= 2; stack++) { /* the first one is named already then */
        snprintf(sql, sizeof(sql),
                 "INSERT INTO frame (stack, depth, kind, address, object)"
                 " VALUES (%d, 0, 'native', %td, 1), (%d, 1, 'native', 1, 0),"
                 " (%d, 20000, 'python', -1, 0), (%d, 21000, 'native', %td, 1)",
                 stack, address - base, stack, stack, stack, address - base);
        execute(sql);
        assert_int_equal(gv_stack_names_find(&database), 0);
        if (number("SELECT count(line) FROM frame") == 0)
            skip(); /* this was built without lines */
        for (int named = 1; named <= stack; named++)
            expect_frames(named, frames);
    }
}

#define MANY 40000

/* A run of PyTorch with a stack of every call: after 8 seconds, half of its backward pass still had
 * no names. */
static void many_frames_are_named_in_time(void **state)
{
    const char *base = add_object(1, (const void *)qsort);
    char sql[512];

#ifdef __SANITIZE_ADDRESS__ /* ten times as slow */
    skip();
#endif
    snprintf(sql, sizeof(sql),
             "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO frame (stack, depth, kind, address, object)"
             " SELECT i / 100, i %% 100, 'native', %td + i, 1 FROM n",
             MANY - 1, (const char *)(uintptr_t)qsort - base - MANY / 2);
    execute("BEGIN");
    execute(sql);
    assert_int_equal(gv_stack_names_find(&database), 0);
    execute("COMMIT");
    assert_in_range(number("SELECT count(function) FROM frame WHERE address IS NOT NULL"),
                    MANY / 10 * 9, MANY);
}

#endif

int main(void)
{
#ifdef GV_HAS_ELFUTILS
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_frame_has_the_name_of_the_function_that_it_is_in, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_name_has_no_version, setup, teardown),
        cmocka_unit_test_setup_teardown(inlined_functions_come_before_that_which_they_are_in, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(many_frames_are_named_in_time, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 77; /* skipped */
#endif
}
