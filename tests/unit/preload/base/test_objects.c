/* Finds symbols of mapped objects, and names of the table. */
#include "preload/base/loader.h"
#include "preload/base/loader_lock.h"
#include "preload/base/objects.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void an_address_is_found_in_its_library(void **state)
{
    struct gv_object object;

    (void)state;
    assert_true(gv_objects_at((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &object));
    assert_string_equal(gv_object_name(&object), "libc.so.6");
    assert_ptr_equal(gv_object_symbol(&object, "gnu_get_libc_version"),
                     dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    assert_null(gv_object_symbol(&object, "no_such_function"));
    assert_true(gv_objects_mapped(&object));
    assert_false(gv_objects_at(1, &object));
}

static void the_next_definition_lies_behind(void **state)
{
    struct gv_object libc;
    void *function = dlsym(RTLD_DEFAULT, "dlsym");

    (void)state;
    assert_ptr_equal(gv_objects_next(0, "dlsym", NULL), function);
    assert_true(gv_objects_at((uintptr_t)function, &libc));
    assert_null(gv_objects_next((uintptr_t)function, "dlsym", NULL));
}

static void a_library_names_what_it_needs(void **state)
{
    struct gv_object program;

    (void)state;
    assert_true(gv_objects_at((uintptr_t)(void *)a_library_names_what_it_needs, &program));
    assert_true(gv_object_needs(&program, "libcmocka.so.0"));
    assert_false(gv_object_needs(&program, "libcuda.so.1"));
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled++;
}

static int interrupt_visit(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    raise(SIGUSR1);
    *(int *)context = handled;
    return 1;
}

/* A handler may make a CUDA call that also visits, while the loader's lock is taken. */
static void a_signal_waits_for_the_end_of_a_visit(void **state)
{
    sigset_t blocked;
    int seen = -1;

    (void)state;
    signal(SIGUSR1, handle);
    assert_int_equal(gv_loader_visit(interrupt_visit, &seen), 1);
    assert_int_equal(seen, 0);
    assert_int_equal(handled, 1);
    sigemptyset(&blocked);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
    assert_int_equal(sigismember(&blocked, SIGUSR1), 0);
}

static bool hides_data;

void *__real_gv_objects_next(uintptr_t after, const char *name, struct gv_object *object);
void *__wrap_gv_objects_next(uintptr_t after, const char *name, struct gv_object *object);
void *__wrap_gv_objects_next(uintptr_t after, const char *name, struct gv_object *object)
{
    return hides_data ? NULL : __real_gv_objects_next(after, name, object);
}

static void locks_that_look_different_are_unknown(void **state)
{
    (void)state;
    gv_loader_find_lock();
    assert_true(gv_loader_lock_is_known());
    hides_data = true;
    gv_loader_find_lock();
    assert_false(gv_loader_lock_is_known());
    assert_false(gv_loader_is_held_here());
    hides_data = false;
    gv_loader_find_lock();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_found_in_its_library),
        cmocka_unit_test(the_next_definition_lies_behind),
        cmocka_unit_test(a_library_names_what_it_needs),
        cmocka_unit_test(locks_that_look_different_are_unknown),
        cmocka_unit_test(a_signal_waits_for_the_end_of_a_visit),
    };

    return cmocka_run_group_tests_name("mapped objects", tests, NULL, NULL);
}
