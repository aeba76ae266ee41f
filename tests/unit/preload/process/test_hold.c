/* Holding the program's calls: who is waited for, and what is left behind. */
#include "tests/unit/preload/recording.h"

#include "preload/process/hold.h"
#include "trace/call_table.h"

#include <pthread.h>

#define SHORT_NS 2000000u
#define LONG_NS  5000000000u

static bool attach(void)
{
    return false;
}

/* No thread joins. */
const struct gv_process_steps gv_process_steps = {.attach = attach};

static void enter(int api)
{
    atomic_store(&gv_process.spool.slots[0].api_plus_one, (uint32_t)api + 1);
}

static void leave(void)
{
    atomic_store(&gv_process.spool.slots[0].api_plus_one, 0);
}

static void assert_open(bool open)
{
    assert_int_equal(atomic_load(&gv_process_own.open), open ? 1 : 0);
    assert_int_equal(atomic_load(&gv_process_own.held), !open);
}

static void a_launch_that_takes_long_is_not_waited_for(void **state)
{
    (void)state;
    enter(GV_ID_cuLaunchKernel);
    assert_false(gv_hold_calls(SHORT_NS));
    assert_open(true);
    leave();
}

static void a_wait_for_the_gpu_may_go_on(void **state)
{
    (void)state;
    enter(GV_ID_cuStreamSynchronize);
    assert_true(gv_hold_calls(SHORT_NS));
    assert_open(false);
    gv_process_let_calls_begin();
    assert_open(true);
    leave();
}

static void *leave_soon(void *unused)
{
    usleep(5000);
    leave();
    return unused;
}

static void a_launch_that_ends_in_time_is_waited_for(void **state)
{
    pthread_t thread;

    (void)state;
    enter(GV_ID_cudaLaunchKernel);
    assert_int_equal(pthread_create(&thread, NULL, leave_soon, NULL), 0);
    assert_true(gv_hold_calls(LONG_NS));
    assert_int_equal(atomic_load(&gv_process.spool.slots[0].api_plus_one), 0);
    gv_process_let_calls_begin();
    pthread_join(thread, NULL);
}

static void nobody_is_held_while_the_gpu_side_starts(void **state)
{
    (void)state;
    atomic_store(&gv_process_own.open, 0);
    atomic_store(&gv_process_own.gpu_starter, 7);
    assert_false(gv_hold_calls(SHORT_NS));
    assert_int_equal(atomic_load(&gv_process_own.open), 0);
    assert_int_equal(atomic_load(&gv_process_own.held), 0);
    atomic_store(&gv_process_own.gpu_starter, 0);
    atomic_store(&gv_process_own.open, 1);
}

#define ROUNDS 20000

static _Atomic int rounds[2]; /* begun by the test, ended by the thread */

static void *end_start(void *unused)
{
    for (int i = 1; i <= ROUNDS; i++) {
        while (atomic_load(&rounds[0]) < i)
            ;
        gv_process_end_wait(&gv_process_own.gpu_starter);
        atomic_store(&rounds[1], i);
    }
    return unused;
}

static void whichever_ends_last_lets_calls_begin(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, end_start, NULL), 0);
    for (int i = 1; i <= ROUNDS; i++) {
        atomic_store(&gv_process_own.open, 0);
        atomic_store(&gv_process_own.gpu_starter, 7);
        atomic_store(&gv_process_own.held, 1);
        atomic_store(&rounds[0], i);
        gv_process_let_calls_begin();
        while (atomic_load(&rounds[1]) < i)
            ;
        assert_open(true);
    }
    pthread_join(thread, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_recording, close_recording)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_launch_that_takes_long_is_not_waited_for),
        TEST(a_wait_for_the_gpu_may_go_on),
        TEST(a_launch_that_ends_in_time_is_waited_for),
        TEST(nobody_is_held_while_the_gpu_side_starts),
        TEST(whichever_ends_last_lets_calls_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
