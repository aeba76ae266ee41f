/* Handles of kernels: how many there may be, and what ends their meaning. */
#include "preload/hooks/names.h"

#include "preload/base/own_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct gv_process gv_process; /* no spool: losses are not counted */

enum { MODULE = 0x1000, OTHER_MODULE = 0x2000, FIRST = 0x5000, SECOND = 0x6000, HOST = 0x7000 };

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

static void handles_at_equal_distances_have_room(void **state)
{
    static const uintptr_t distances[] = {2480, 5456, 126976};
    uint32_t kernel;

    (void)state;
    gv_names_add_owner(MODULE);
    for (uintptr_t i = 0; i < 20000; i++)
        for (unsigned k = 0; k < 3; k++) {
            gv_names_add(0x7f1234560010u + i * distances[k], MODULE, &kernel);
            assert_int_not_equal(kernel, 0);
        }
    gv_names_void_owner(MODULE);
}

static void more_handles_than_there_is_room_for_are_refused(void **state)
{
    uint32_t kernel;
    int refused = 0;

    (void)state;
    gv_names_add_owner(MODULE);
    for (uintptr_t i = 0; i < 220000; i++) /* beside those of the test before */
        refused += !gv_names_add(0x7f0000000000u + i * 16, MODULE, &kernel);
    assert_true(refused > 0);
    assert_true(refused < 40000);
    assert_int_not_equal(gv_names_find(0x7f0000000000u).kernel, 0);
    gv_names_void_owner(MODULE);
    assert_int_not_equal(gv_names_add_owner(MODULE), 0);
    gv_names_void_owner(MODULE);
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

/* Nothing else ended: what was found lately must not be found any more. */
static void a_child_forgets_what_was_found_lately(void **state)
{
    uint32_t number;

    (void)state;
    gv_names_register(HOST, OTHER_MODULE, "saxpy");
    number = gv_names_find(HOST).kernel;
    assert_int_equal(gv_names_find(HOST).kernel, number);
    assert_null(gv_names_find(HOST).name);
    gv_names_start_over();
    assert_string_equal(gv_names_find(HOST).name, "saxpy");
    gv_names_void_owner(OTHER_MODULE);
}

static void a_handle_that_is_renamed_means_the_new_one(void **state)
{
    uint32_t first, second;

    (void)state;
    gv_names_add_owner(MODULE);
    gv_names_add(FIRST, MODULE, &first);
    gv_names_add(SECOND, MODULE, &second);
    for (int i = 0; i < 2; i++)
        assert_int_equal(gv_names_find(FIRST).kernel, first);
    assert_false(gv_names_agree(FIRST, SECOND));
    gv_names_alias(FIRST, SECOND);
    assert_true(gv_names_agree(FIRST, SECOND));
    assert_int_equal(gv_names_find(FIRST).kernel, second);
    gv_names_add_owner(OTHER_MODULE);
    for (int i = 0; i < 2; i++)
        assert_int_equal(gv_names_find(SECOND).kernel, second);
    assert_true(gv_names_add(SECOND, OTHER_MODULE, &first));
    assert_int_equal(gv_names_find(SECOND).kernel, first);
    assert_false(gv_names_agree(FIRST, SECOND));
    gv_names_void_owner(MODULE);
    gv_names_void_owner(OTHER_MODULE);
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

/* More kernels than the small table has entries. */
static void what_was_found_lately_ends_with_its_module(void **state)
{
    static uint32_t kernels[5000];
    const int count = sizeof kernels / sizeof kernels[0];
    uint32_t before = 0;

    (void)state;
    for (int round = 0; round < 3; round++) {
        gv_names_add_owner(MODULE);
        for (int i = 0; i < count; i++)
            assert_true(gv_names_add(FIRST + (uintptr_t)i * 16, MODULE, &kernels[i]));
        assert_true(kernels[0] > before);
        before = kernels[count - 1];
        for (int i = 0; i < 4 * count; i++) { /* each twice in a row */
            int k = i / 2 % count;

            assert_int_equal(gv_names_find(FIRST + (uintptr_t)k * 16).kernel, kernels[k]);
        }
        gv_names_void_owner(MODULE);
        for (int i = 0; i < count; i++)
            assert_int_equal(gv_names_find(FIRST + (uintptr_t)i * 16).kernel, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_of_what_is_unknown_means_nothing_old),
        cmocka_unit_test(a_child_forgets_what_was_found_lately),
        cmocka_unit_test(a_handle_that_is_renamed_means_the_new_one),
        cmocka_unit_test(a_child_numbers_what_is_registered_anew),
        cmocka_unit_test(what_was_found_lately_ends_with_its_module),
        cmocka_unit_test(modules_that_come_and_go_need_no_more_room),
        cmocka_unit_test(handles_at_equal_distances_have_room),
        cmocka_unit_test(more_handles_than_there_is_room_for_are_refused),
    };

    return cmocka_run_group_tests_name("names of kernels", tests, NULL, NULL);
}
