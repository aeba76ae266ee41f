/* Handles of kernels: unique numbers, reused handles, unloaded modules. */
#include "preload/hooks/names.h"

#include "preload/base/own_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct gv_process gv_process; /* no spool: losses are not counted */

enum { MODULE = 0x1000, OTHER_MODULE = 0x2000, FIRST = 0x5000, SECOND = 0x6000, HOST = 0x7000 };

static void an_unknown_handle_has_no_number(void **state)
{
    (void)state;
    assert_int_equal(gv_names_find(0xdead).kernel, 0);
    assert_int_equal(gv_names_find(0).kernel, 0);
    assert_int_equal(gv_names_void_owner(0xdead), 0);
}

static void a_kernel_keeps_its_number(void **state)
{
    uint32_t first, again;

    (void)state;
    assert_int_not_equal(gv_names_add_owner(MODULE), 0);
    assert_true(gv_names_add(FIRST, MODULE, &first));
    assert_false(gv_names_add(FIRST, MODULE, &again));
    assert_int_equal(again, first);
    assert_int_equal(gv_names_find(FIRST).kernel, first);
    assert_null(gv_names_find(FIRST).name);
    gv_names_void_owner(MODULE);
}

static void a_handle_used_again_is_a_new_kernel(void **state)
{
    uint32_t module = gv_names_add_owner(MODULE);
    uint32_t before, after, other;

    (void)state;
    assert_true(gv_names_add(FIRST, MODULE, &before));
    gv_names_add_owner(OTHER_MODULE);
    assert_true(gv_names_add(SECOND, OTHER_MODULE, &other));
    assert_int_equal(gv_names_void_owner(MODULE), module);
    assert_int_equal(gv_names_find(FIRST).kernel, 0);
    assert_int_equal(gv_names_owner(MODULE), 0);
    assert_int_equal(gv_names_find(SECOND).kernel, other);
    assert_int_not_equal(gv_names_add_owner(MODULE), module);
    assert_true(gv_names_add(FIRST, MODULE, &after));
    assert_int_not_equal(after, before);
    assert_int_equal(gv_names_find(FIRST).kernel, after);
    gv_names_void_owner(MODULE);
    gv_names_void_owner(OTHER_MODULE);
}

static void a_host_function_is_numbered_when_launched(void **state)
{
    struct gv_names_answer first, second;

    (void)state;
    gv_names_register(HOST, MODULE, "saxpy");
    first = gv_names_find(HOST);
    assert_string_equal(first.name, "saxpy");
    second = gv_names_find(HOST);
    assert_null(second.name);
    assert_int_equal(second.kernel, first.kernel);
    gv_names_void_owner(MODULE);
    assert_int_equal(gv_names_find(HOST).kernel, 0);
}

static void another_handle_of_a_kernel_has_its_number(void **state)
{
    uint32_t kernel;

    (void)state;
    gv_names_add_owner(MODULE);
    gv_names_add(FIRST, MODULE, &kernel);
    gv_names_alias(SECOND, FIRST);
    gv_names_alias(SECOND + 8, SECOND);
    assert_int_equal(gv_names_find(SECOND).kernel, kernel);
    assert_int_equal(gv_names_find(SECOND + 8).kernel, kernel);
    gv_names_void_owner(MODULE);
    assert_int_equal(gv_names_find(SECOND).kernel, 0);
    assert_int_equal(gv_names_find(SECOND + 8).kernel, 0);
}

static void a_child_numbers_what_is_registered_anew(void **state)
{
    uint32_t kernel;

    (void)state;
    gv_names_register(HOST, OTHER_MODULE, "saxpy");
    gv_names_find(HOST);
    gv_names_add_owner(MODULE);
    gv_names_add(FIRST, MODULE, &kernel);
    gv_names_start_over();
    assert_int_equal(gv_names_find(FIRST).kernel, 0);
    assert_string_equal(gv_names_find(HOST).name, "saxpy");
    gv_names_void_owner(OTHER_MODULE);
}

static void another_handle_of_a_host_function_has_its_number_and_ends_with_it(void **state)
{
    uint32_t kernel;

    (void)state;
    gv_names_register(HOST, MODULE, "saxpy");
    gv_names_alias(SECOND, HOST);
    assert_string_equal(gv_names_find(SECOND).name, "saxpy");
    kernel = gv_names_find(SECOND).kernel;
    assert_int_equal(gv_names_find(HOST).kernel, kernel);
    gv_names_void_owner(MODULE);
    assert_int_equal(gv_names_find(SECOND).kernel, 0);
    gv_names_alias(SECOND, HOST); /* of what is gone */
    assert_int_equal(gv_names_find(SECOND).kernel, 0);
}

static void the_end_of_a_context_leaves_host_functions_only(void **state)
{
    uint32_t before, after, of_nobody, host;

    (void)state;
    gv_names_register(HOST, OTHER_MODULE, "saxpy");
    gv_names_alias(SECOND, HOST);
    host = gv_names_find(HOST).kernel;
    gv_names_add_owner(MODULE);
    assert_true(gv_names_add(FIRST, MODULE, &before));
    assert_true(gv_names_add(FIRST + 8, 0xabc0, &of_nobody));
    gv_names_void_loaded();
    assert_int_equal(gv_names_find(FIRST).kernel, 0);
    assert_int_equal(gv_names_find(FIRST + 8).kernel, 0);
    assert_int_equal(gv_names_find(SECOND).kernel, 0);
    assert_int_equal(gv_names_owner(MODULE), 0);
    assert_int_equal(gv_names_find(HOST).kernel, host);
    assert_true(gv_names_add(FIRST, MODULE, &after)); /* it still stands: the driver named it */
    assert_int_not_equal(after, before);
    assert_int_equal(gv_names_find(FIRST).kernel, after);
    gv_names_alias(SECOND, HOST);
    assert_int_equal(gv_names_find(SECOND).kernel, host);
    gv_names_void_owner(OTHER_MODULE);
    gv_names_void_loaded();
}

/* After the end of a context, only the driver knows a library that survives. */
static void a_handle_of_what_is_unknown_means_nothing_old(void **state)
{
    uint32_t kernel;

    (void)state;
    assert_true(gv_names_add(FIRST, 0, &kernel));
    gv_names_alias(FIRST, SECOND);
    assert_int_equal(gv_names_find(FIRST).kernel, 0);
    assert_true(gv_names_add(FIRST, 0, &kernel));
    assert_int_equal(gv_names_find(FIRST).kernel, kernel);
    gv_names_void_owner(MODULE); /* it may have been FIRST's */
    assert_int_equal(gv_names_find(FIRST).kernel, 0);
    gv_names_void_loaded();
}

/* A program that compiles for hours must not run out of room. */
static void modules_that_come_and_go_need_no_more_room(void **state)
{
    uint32_t kernel;

    (void)state;
    for (int i = 0; i < 300000; i++) {
        uintptr_t module = 0x10000u + (uintptr_t)(i % 100) * 64;

        assert_int_not_equal(gv_names_add_owner(module), 0);
        assert_true(gv_names_add(module + 8, module, &kernel));
        assert_int_equal(gv_names_find(module + 8).kernel, kernel);
        gv_names_void_owner(module);
    }
}

static void more_handles_than_there_is_room_for_are_refused(void **state)
{
    uint32_t kernel;
    int refused = 0;

    (void)state;
    gv_names_add_owner(MODULE);
    for (uintptr_t i = 0; i < 280000; i++)
        refused += !gv_names_add(0x7f0000000000u + i * 16, MODULE, &kernel);
    assert_true(refused > 0);
    assert_true(refused < 40000);
    assert_int_not_equal(gv_names_find(0x7f0000000000u).kernel, 0);
    gv_names_void_owner(MODULE);
    assert_int_not_equal(gv_names_add_owner(MODULE), 0);
    gv_names_void_owner(MODULE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_handle_has_no_number),
        cmocka_unit_test(a_kernel_keeps_its_number),
        cmocka_unit_test(a_handle_used_again_is_a_new_kernel),
        cmocka_unit_test(a_host_function_is_numbered_when_launched),
        cmocka_unit_test(another_handle_of_a_kernel_has_its_number),
        cmocka_unit_test(another_handle_of_a_host_function_has_its_number_and_ends_with_it),
        cmocka_unit_test(the_end_of_a_context_leaves_host_functions_only),
        cmocka_unit_test(a_handle_of_what_is_unknown_means_nothing_old),
        cmocka_unit_test(a_child_numbers_what_is_registered_anew),
        cmocka_unit_test(modules_that_come_and_go_need_no_more_room),
        cmocka_unit_test(more_handles_than_there_is_room_for_are_refused),
    };

    return cmocka_run_group_tests_name("names of kernels", tests, NULL, NULL);
}
