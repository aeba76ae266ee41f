/*
 * Whoever answers a CUDA call is found, and our wrappers are put in between: for calls through the
 * PLT, for what dlsym() answers, and for what the driver returns. The libraries lie in the folder
 * of the environment variable GV_RACES, and have nothing but the names.
 */
#include "preload/bind/entry_points.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define INIT        GV_ID_cuInit
#define SYNC        GV_ID_cudaDeviceSynchronize
#define SYNC_HOOKED [SYNC - GV_DRIVER_COUNT]
#define MISSING     302

void *const gv_hooks_driver[GV_DRIVER_COUNT] = {[INIT] = (void *)1};
void *const gv_hooks_runtime0[GV_RUNTIME_COUNT] = {SYNC_HOOKED = (void *)0x10};
void *const gv_hooks_runtime1[GV_RUNTIME_COUNT] = {SYNC_HOOKED = (void *)0x11};
void *const gv_hooks_runtime2[GV_RUNTIME_COUNT] = {SYNC_HOOKED = (void *)0x12};
void *const gv_hooks_runtime3[GV_RUNTIME_COUNT] = {SYNC_HOOKED = (void *)0x13};
void *const gv_hooks_nccl[GV_NCCL_COUNT] = {[GV_ID_ncclAllReduce - GV_CUDA_COUNT] = (void *)0x20};

/* As plt_stubs.S makes them: it asks when the call is made first. */
struct gv_plt_slot gv_plt_slots[GV_API_COUNT];

static bool runtime_is_recorded = true, is_ours = true;

bool gv_process_records_runtime(void);
bool gv_process_records_runtime(void)
{
    return runtime_is_recorded;
}

bool gv_process_is_ours(void);
bool gv_process_is_ours(void)
{
    return is_ours;
}

static void *open_library(const char *name)
{
    char path[4096];
    void *library;

    snprintf(path, sizeof path, "%s/lib%s.so", getenv("GV_RACES"), name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    return library;
}

/* As the wrapper of dlclose() does. */
static void close_library(void *library)
{
    gv_entry_points_begin_close();
    dlclose(library);
    gv_entry_points_end_close();
}

static void *swapped(void *library, const char *name, int api)
{
    return gv_entry_points_swap(dlsym(library, name), api);
}

static void *runtime_hook(int number)
{
    return (void *)(uintptr_t)(0x10 + number);
}

static void *bind(int api, void *caller)
{
    return gv_entry_points_bind(&gv_plt_slots[api], (uintptr_t)dlsym(caller, "gv_here"));
}

static void a_call_that_nobody_has_is_answered(void **state)
{
    void *caller = open_library("plain1"), *answer;

    (void)state;
    answer = gv_entry_points_bind(&gv_plt_slots[INIT], (uintptr_t)bind);
    assert_int_equal(((int (*)(unsigned))answer)(0), MISSING);
    answer = gv_entry_points_bind(&gv_plt_slots[SYNC], (uintptr_t)bind);
    assert_int_equal(((int (*)(void))answer)(), MISSING);
    assert_null(atomic_load(&gv_plt_slots[INIT].target));
    close_library(caller);
}

static void a_call_through_the_plt_is_bound_once(void **state)
{
    void *caller = open_library("plain1"), *driver = open_library("cuda_named");
    void *runtime = open_library("cudart_named1");
    uintptr_t here = (uintptr_t)dlsym(caller, "gv_here");
    struct gv_plt_slot *slot = &gv_plt_slots[SYNC];

    (void)state;
    assert_ptr_equal(gv_entry_points_bind(&gv_plt_slots[INIT], (uintptr_t)bind),
                     gv_hooks_driver[INIT]);
    assert_ptr_equal(atomic_load(&gv_plt_slots[INIT].target), gv_hooks_driver[INIT]);
    assert_ptr_equal(gv_real_driver[INIT], dlsym(driver, "cuInit"));
    /* Each object may have a runtime of its own: so this is for calls from the caller's alone. */
    assert_ptr_equal(gv_entry_points_bind(slot, (uintptr_t)dlsym(runtime, "gv_here")),
                     runtime_hook(0));
    assert_ptr_equal(atomic_load(&slot->target), runtime_hook(0));
    assert_true(here < atomic_load(&slot->low) ||
                here >= atomic_load(&slot->low) + atomic_load(&slot->bytes));
    assert_ptr_equal(gv_real_runtime[0] SYNC_HOOKED, dlsym(runtime, "cudaDeviceSynchronize"));
    /* A second caller is remembered beside it. */
    assert_null(gv_plt_slot_find(slot, (uintptr_t)bind));
    assert_ptr_equal(gv_entry_points_bind(slot, (uintptr_t)bind), runtime_hook(0));
    assert_ptr_equal(gv_plt_slot_find(slot, (uintptr_t)bind), runtime_hook(0));
    close_library(runtime);
    close_library(driver);
    close_library(caller);
    assert_null(atomic_load(&gv_plt_slots[INIT].target));
    assert_int_equal(atomic_load(&slot->bytes), 0);
    assert_null(gv_plt_slot_find(slot, (uintptr_t)bind));
}

static void a_set_user_id_program_gets_the_real_call(void **state)
{
    void *driver = open_library("cuda_named");

    (void)state;
    is_ours = false;
    assert_ptr_equal(gv_entry_points_bind(&gv_plt_slots[INIT], (uintptr_t)bind),
                     dlsym(driver, "cuInit"));
    is_ours = true;
    close_library(driver);
}

static void what_dlsym_answers_is_swapped(void **state)
{
    void *driver = open_library("cuda_named"), *runtime = open_library("cudart_named1");
    void *other = open_library("plain1"), *init = dlsym(driver, "cuInit");

    (void)state;
    assert_ptr_equal(gv_entry_points_swap(init, INIT), gv_hooks_driver[INIT]);
    assert_ptr_equal(gv_entry_points_swap(init, GV_ID_cuLaunchKernel), init);
    assert_ptr_equal(gv_entry_points_swap(init, SYNC), init);
    assert_ptr_equal(swapped(other, "cuInit", INIT), dlsym(other, "cuInit"));
    assert_ptr_equal(swapped(runtime, "cudaDeviceSynchronize", SYNC), runtime_hook(0));
    runtime_is_recorded = false;
    assert_ptr_equal(swapped(runtime, "cudaDeviceSynchronize", SYNC),
                     dlsym(runtime, "cudaDeviceSynchronize"));
    runtime_is_recorded = true;
    close_library(other);
    close_library(runtime);
    close_library(driver);
}

static void what_the_driver_returns_is_swapped(void **state)
{
    void *driver = open_library("cuda_named"), *other = open_library("plain1");
    void *here = dlsym(driver, "gv_here"), *init = dlsym(other, "cuInit");

    (void)state;
    assert_ptr_equal(gv_entry_points_swap_driver(init), init);
    assert_ptr_equal(gv_entry_points_swap_driver(dlsym(driver, "cuInit")), gv_hooks_driver[INIT]);
    assert_ptr_equal(gv_entry_points_swap_driver(here), here);
    assert_null(gv_entry_points_swap_driver(NULL));
    close_library(other);
    close_library(driver);
}

/* A library of another name may have calls of these names too. */
static void calls_of_nccl_are_swapped_in_libnccl_alone(void **state)
{
    void *nccl = open_library("nccl_named"), *other = open_library("plain1");
    void *reduce = dlsym(nccl, "ncclAllReduce");

    (void)state;
    assert_ptr_equal(gv_entry_points_swap(reduce, GV_ID_ncclAllReduce),
                     gv_hooks_nccl[GV_ID_ncclAllReduce - GV_CUDA_COUNT]);
    assert_ptr_equal(gv_real_nccl[GV_ID_ncclAllReduce - GV_CUDA_COUNT], reduce);
    assert_ptr_equal(gv_entry_points_swap(reduce, INIT), reduce);
    assert_ptr_equal(swapped(nccl, "cuInit", INIT), dlsym(nccl, "cuInit"));
    assert_ptr_equal(swapped(other, "gv_here", GV_ID_ncclAllReduce), dlsym(other, "gv_here"));
    close_library(other);
    close_library(nccl);
    assert_ptr_equal(gv_entry_points_swap(reduce, GV_ID_ncclAllReduce), reduce);
}

static void a_fifth_runtime_is_passed_through(void **state)
{
    void *runtimes[GV_RUNTIMES + 1], *fifth;

    (void)state;
    for (int i = 0; i <= GV_RUNTIMES; i++) {
        char name[32];

        snprintf(name, sizeof name, "cudart_named%d", i + 1);
        runtimes[i] = open_library(name);
        if (i < GV_RUNTIMES)
            assert_ptr_equal(swapped(runtimes[i], "cudaDeviceSynchronize", SYNC), runtime_hook(i));
    }
    fifth = dlsym(runtimes[GV_RUNTIMES], "cudaDeviceSynchronize");
    assert_ptr_equal(gv_entry_points_swap(fifth, SYNC), fifth);
    assert_ptr_equal(bind(SYNC, runtimes[1]), runtime_hook(0)); /* the first in look-up order */
    close_library(runtimes[2]);
    assert_ptr_equal(gv_entry_points_swap(fifth, SYNC), runtime_hook(2));
    assert_ptr_equal(gv_real_runtime[2] SYNC_HOOKED, fifth);
    for (int i = 0; i <= GV_RUNTIMES; i++)
        if (i != 2)
            close_library(runtimes[i]);
}

static void what_was_closed_is_found_anew(void **state)
{
    void *driver = open_library("cuda_named"), *old = dlsym(driver, "cuInit"), *moved, *keep;

    (void)state;
    assert_ptr_equal(gv_entry_points_swap(old, INIT), gv_hooks_driver[INIT]);
    close_library(driver);
    keep = open_library("plain1"); /* it takes the place */
    driver = open_library("cuda_named");
    moved = dlsym(driver, "cuInit");
    assert_ptr_not_equal(moved, old);
    assert_ptr_equal(gv_entry_points_swap_driver(moved), gv_hooks_driver[INIT]);
    assert_ptr_equal(gv_real_driver[INIT], moved);
    assert_ptr_equal(gv_entry_points_swap(old, INIT), old);
    close_library(driver);
    close_library(keep);
}

/* What finalizers bind must not outlive the call of dlclose(). */
static void nothing_is_kept_while_a_library_closes(void **state)
{
    void *driver = open_library("cuda_named");

    (void)state;
    gv_entry_points_begin_close();
    assert_ptr_equal(gv_entry_points_bind(&gv_plt_slots[INIT], (uintptr_t)bind),
                     gv_hooks_driver[INIT]);
    assert_null(atomic_load(&gv_plt_slots[INIT].target));
    gv_entry_points_end_close();
    gv_entry_points_bind(&gv_plt_slots[INIT], (uintptr_t)bind);
    assert_ptr_equal(atomic_load(&gv_plt_slots[INIT].target), gv_hooks_driver[INIT]);
    close_library(driver);
}

static void tools_see_the_plain_driver(void **state)
{
    void *tool = open_library("cupti_named"), *other = open_library("plain1");

    (void)state;
    assert_true(gv_entry_points_is_tool((uintptr_t)dlsym(tool, "gv_here")));
    assert_false(gv_entry_points_is_tool((uintptr_t)dlsym(other, "gv_here")));
    assert_false(gv_entry_points_is_tool(0));
    close_library(other);
    close_library(tool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_nobody_has_is_answered),
        cmocka_unit_test(a_call_through_the_plt_is_bound_once),
        cmocka_unit_test(a_set_user_id_program_gets_the_real_call),
        cmocka_unit_test(what_dlsym_answers_is_swapped),
        cmocka_unit_test(what_the_driver_returns_is_swapped),
        cmocka_unit_test(calls_of_nccl_are_swapped_in_libnccl_alone),
        cmocka_unit_test(a_fifth_runtime_is_passed_through),
        cmocka_unit_test(what_was_closed_is_found_anew),
        cmocka_unit_test(nothing_is_kept_while_a_library_closes),
        cmocka_unit_test(tools_see_the_plain_driver),
    };

    gv_objects_note_startup();
    return cmocka_run_group_tests_name("entry points", tests, NULL, NULL);
}
