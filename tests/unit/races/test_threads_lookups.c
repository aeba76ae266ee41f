/* Threads look up calls in permanent libraries while another library comes and goes. */
#include "lookups.h"
#include "threads.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ROUNDS 150 /* of a library that comes and goes */

/* As plt_stubs.S makes them. */
struct gv_plt_slot gv_plt_slots[GV_API_COUNT];

static void *driver, *runtime, *first, *second, *tool;
static _Atomic int working;

static bool is_hooked(void *error)
{
    return gv_entry_points_swap(error, GV_ID_cudaDeviceSynchronize) ==
           gv_hooks_runtime0[GV_ID_cudaDeviceSynchronize - GV_DRIVER_COUNT];
}

static void *look_up(void *context)
{
    void *init = dlsym(driver, "cuInit"), *error = dlsym(runtime, "cudaDeviceSynchronize");
    uintptr_t here = place_in(context == 0 ? first : second);

    while (atomic_load(&working)) {
        expect(gv_entry_points_swap_driver(init) == gv_hooks_driver[GV_ID_cuInit]);
        expect(gv_entry_points_swap(init, GV_ID_cuInit) == gv_hooks_driver[GV_ID_cuInit]);
        expect(is_hooked(error));
        expect(gv_entry_points_swap((void *)here, GV_ID_cudaDeviceSynchronize) == (void *)here);
        expect(!gv_entry_points_is_tool(here));
        expect(gv_entry_points_is_tool(place_in(tool)));
        gv_entry_points_bind(&gv_plt_slots[GV_ID_cudaDeviceSynchronize], here);
        gv_entry_points_bind(&gv_plt_slots[GV_ID_cuInit], here);
    }
    return NULL;
}

/* A call of a library that is compared after the one that comes and goes. */
static void *look_past(void *context)
{
    void *error = dlsym(runtime, "cudaDeviceSynchronize");

    while (atomic_load(&working))
        expect(is_hooked(error));
    return context;
}

/* A second libcudart: known, forgotten, known again. */
static void open_and_close(void (*meanwhile)(void))
{
    void *library = open_library("cudart_named2");

    expect(library && is_hooked(dlsym(library, "cudaDeviceSynchronize")));
    if (meanwhile)
        meanwhile();
    gv_entry_points_begin_close();
    if (library)
        dlclose(library);
    gv_entry_points_end_close();
}

static void *come_and_go(void *context)
{
    for (int i = 0; i < ROUNDS; i++)
        open_and_close(NULL);
    atomic_store(&working, 0);
    return context;
}

/* So it gets the slot behind. */
static void open_first_runtime(void)
{
    runtime = open_library("cudart_named1");
    expect(runtime && is_hooked(dlsym(runtime, "cudaDeviceSynchronize")));
}

static void what_stays_is_found_whatever_goes(void **state)
{
    struct gv_threads threads = {.count = 0};

    (void)state;
    first = open_library("plain1");
    tool = open_library("cupti_named");
    second = open_library("plain2");
    driver = open_library("cuda_named");
    open_and_close(open_first_runtime);
    assert_true(driver && runtime && first && second && tool);
    atomic_store(&working, 1);
    gv_threads_add(&threads, look_up, 0);
    gv_threads_add(&threads, look_up, 1);
    gv_threads_add(&threads, look_past, 0);
    gv_threads_add(&threads, come_and_go, 0);
    assert_int_equal(gv_threads_join(&threads), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_stays_is_found_whatever_goes)};

    return cmocka_run_group_tests_name("look-ups, from several threads", tests, NULL, NULL);
}
