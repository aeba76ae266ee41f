/* The wrapper around a program's host function: what runs, what is recorded, and when it steps
 * aside. */
#include "tests/unit/preload/recording.h"

#include "preload/base/clock.h"
#include "preload/bind/entry_points.h"
#include "preload/hooks/facts.h"
#include "preload/stacks/stacks.h"

#include <errno.h>
#include <pthread.h>

#define STREAM ((void *)0x51)

/* ---- the rest of the library ---- */

static const struct gv_clock monotonic = {.kind = GV_CLOCK_MONOTONIC};
const struct gv_clock *_Atomic gv_clock = &monotonic;
void *gv_real_driver[GV_DRIVER_COUNT];
uint64_t gv_stacks_least_ns;

static int capture_status, capture_result;

static bool attach(void)
{
    return true;
}

static void leave_gpu_start(struct gv_thread *thread)
{
    (void)thread;
}

static void write_open_ranges(struct gv_thread *thread)
{
    (void)thread;
}

const struct gv_process_steps gv_process_steps = {
    .attach = attach, .leave_gpu_start = leave_gpu_start, .write_open_ranges = write_open_ranges};

uint32_t gv_stacks_write_function(struct gv_thread *thread, uintptr_t function)
{
    (void)thread;
    (void)function;
    return 17;
}

static int is_capturing(void *stream, int *status)
{
    assert_ptr_equal(stream, STREAM);
    *status = capture_status;
    errno = ENOENT;
    return capture_result;
}

/* ---- a call that launches a function ---- */

static int runs;

static void work(void *data)
{
    assert_ptr_equal(data, &runs);
    runs++;
    errno = EBADF;
}

struct launch {
    struct gv_call call;
    struct gv_facts facts;
    void *function, *data;
};

static struct launch launch(void *function, bool is_callback, uint32_t depth)
{
    struct launch it = {.call = {.live = true, .depth = depth, .api = GV_ID_cuLaunchHostFunc},
                        .facts = {.stream = (uintptr_t)STREAM},
                        .function = function,
                        .data = &runs};

    gv_host_function_wrap(&it.call, &it.facts, is_callback, &it.function, &it.data);
    return it;
}

static void run(const struct launch *it)
{
    ((void (*)(void *))it->function)(it->data);
}

static bool is_wrapped(const struct launch *it)
{
    assert_int_equal(it->function == (void *)work, it->data == (void *)&runs);
    assert_int_equal(it->facts.what == GV_FACT_HOST_FUNCTION, it->function != (void *)work);
    return it->function != (void *)work;
}

static uint64_t lost(void)
{
    return atomic_load(&gv_process.spool.header->lost.host_functions);
}

static int prepare(void **state)
{
    gv_real_driver[GV_ID_cuStreamIsCapturing] = (void *)is_capturing;
    capture_status = capture_result = runs = 0;
    return open_recording(state);
}

static void a_captured_function_stays_the_programs(void **state)
{
    struct launch it;

    (void)state;
    capture_status = 1;
    errno = EBADF;
    it = launch((void *)work, false, 0);
    assert_false(is_wrapped(&it));
    assert_int_equal(errno, EBADF);
    capture_status = 0;
    capture_result = 906; /* another stream is captured, and this is the default one */
    it = launch((void *)work, false, 0);
    assert_false(is_wrapped(&it));
    capture_result = 201; /* no context, so no capture either */
    it = launch((void *)work, false, 0);
    assert_true(is_wrapped(&it));
    run(&it);
}

/* More launches than there are cells, of which each fails. */
static void a_launch_that_fails_gives_its_cell_back(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct launch it = launch((void *)work, false, 0);

        assert_true(is_wrapped(&it));
        gv_host_function_unwrap(&it.facts, it.data);
        assert_int_equal(it.facts.what, GV_FACT_NONE);
    }
    assert_int_equal(lost(), 0);
}

static void without_a_cell_the_programs_function_runs(void **state)
{
    static struct launch all[20000];
    int wrapped = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        all[i] = launch((void *)work, false, 0);
        wrapped += is_wrapped(&all[i]);
    }
    assert_true(wrapped > 1024 && wrapped < 20000);
    assert_int_equal(lost(), 20000 - wrapped);
    for (int i = 0; i < 20000; i++)
        run(&all[i]);
    assert_int_equal(runs, 20000);
    all[0] = launch((void *)work, false, 0);
    assert_true(is_wrapped(&all[0]));
    run(&all[0]);
}

static void a_forked_child_records_nothing(void **state)
{
    struct launch it = launch((void *)work, false, 0);

    (void)state;
    atomic_store(&gv_process_own.token, 0);
    run(&it);
    assert_int_equal(runs, 1);
    assert_null(segment_of(1, 0));
}

static void *launch_and_run(void *failed)
{
    for (int i = 0; i < 50000; i++) {
        int ran = 0;
        struct launch it = {.call = {.live = true, .api = GV_ID_cuLaunchHostFunc},
                            .facts = {.stream = (uintptr_t)STREAM}};

        it.function = *(void **)failed;
        it.data = &ran;
        gv_host_function_wrap(&it.call, &it.facts, false, &it.function, &it.data);
        run(&it);
        if (ran != 1)
            return failed;
    }
    return NULL;
}

static void count(void *data)
{
    ++*(int *)data;
}

static void threads_get_different_cells(void **state)
{
    void *function = (void *)count, *failed;
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_and_run, &function), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, prepare, close_recording)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_captured_function_stays_the_programs),
        CASE(a_launch_that_fails_gives_its_cell_back),
        CASE(without_a_cell_the_programs_function_runs),
        CASE(a_forked_child_records_nothing),
        CASE(threads_get_different_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
