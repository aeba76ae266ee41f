/* Stalls of threads without a CPU, and similar ones. */
#include "tests/unit/report/stall_fixture.h"

static void delayed(int call, int us)
{
    fixture_sql("INSERT INTO call_delay VALUES (%d, %d000)", call, us);
}

static int launch_of_20_ms(void)
{
    launched(10, STREAM_A, KERNEL_SPIN, 1000, 5000);
    return CALL("cuLaunchKernel", 8000, 20000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
}

static void most_of_a_call_explains_it(void **state)
{
    delayed(launch_of_20_ms(), 16000);
    expect("2 descheduled 0+16000+4000\n");
}

static void less_than_most_of_a_call_does_not(void **state)
{
    delayed(launch_of_20_ms(), 15990);
    expect("2 unknown 0+20000+0\n");
    fixture_sql("UPDATE call_delay SET delay_ns = 12000000");
    expect("2 unknown 0+20000+0\n");
}

/* The machine was busy, and the thread ran: its first reading says so. */
static void a_slow_call_of_a_thread_that_ran_is_not_explained(void **state)
{
    delayed(launch_of_20_ms(), 150);
    expect("2 unknown 0+20000+0\n");
}

/* A file may say anything. */
static void a_thread_cannot_wait_for_longer_than_the_call(void **state)
{
    delayed(launch_of_20_ms(), 90000);
    expect("2 descheduled 0+20000+0\n");
}

/* It does work, so it is not a stall by itself. */
static void an_allocation_that_had_no_processor(void **state)
{
    delayed(CALL("cuMemAlloc_v2", 1000, 20000, .bytes = 4096), 18000);
    CALL("cuMemAlloc_v2", 30000, 20000, .bytes = 4096);
    expect("1 descheduled 0+18000+2000\n");
}

static void short_delays_are_no_stalls(void **state)
{
    delayed(CALL("cuMemAlloc_v2", 1000, 150, .bytes = 4096), 90);
    expect("");
}

static void what_was_seen_of_the_gpu_stays(void **state)
{
    int call;

    launched(10, STREAM_A, KERNEL_SPIN, 1000, 50000);
    call = CALL("cuModuleLoadData", 2000, 49100);
    loaded(call, "cubin", 1);
    delayed(call, 49000);
    expect("2 module-load 0+49000+100 for 1 drained 1\n");
}

static void what_was_asked_for_stays(void **state)
{
    launched(10, STREAM_A, KERNEL_SPIN, 1000, 50000);
    delayed(CALL("cuStreamSynchronize", 2000, 49000, .stream = STREAM_A), 48000);
    expect("2 explicit-sync 0+49000+0 for 1 drained 1 expected\n");
}

static void what_follows_from_the_calls_alone_stays(void **state)
{
    int call;

    fixture_mode(INFERRED);
    launched(10, STREAM_A, KERNEL_SPIN, 0, 0);
    call = CALL("cuModuleUnload", 2000, 40150);
    delayed(call, 39000);
    expect("2 module-unload 0+40000+150 drained 1 presumed 1\n");
    fixture_sql("UPDATE api SET name = 'cuStreamSynchronize', class = 'sync' WHERE name ="
                " 'cuModuleUnload'");
    expect("2 explicit-sync 0+40150+0 expected\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(most_of_a_call_explains_it),
        CASE(less_than_most_of_a_call_does_not),
        CASE(a_slow_call_of_a_thread_that_ran_is_not_explained),
        CASE(a_thread_cannot_wait_for_longer_than_the_call),
        CASE(an_allocation_that_had_no_processor),
        CASE(short_delays_are_no_stalls),
        CASE(what_was_seen_of_the_gpu_stays),
        CASE(what_was_asked_for_stays),
        CASE(what_follows_from_the_calls_alone_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
