/* Calls that wait for another thread's call, with the GPU side. */
#include "tests/unit/report/stall_fixture.h"

/* A kernel of 50 ms from 1 ms on, in stream A. */
static int busy(void)
{
    return launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
}

static void others_wait_behind_a_load(void **state)
{
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 49100), "cubin", 1);
    CALL("cuLaunchKernel", 10000, 41150, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    CALL("cuStreamQuery", 51200, 5, .thread = 2);
    expect("2 module-load 0+49000+100 for 1 drained 1\n"
           "3 lock 0+41100+50 for 1 by 2\n");
}

static void a_graph_waits_behind_a_load_too(void **state)
{
    for (int mode = 0; mode < 2; mode++) {
        fixture_mode(mode ? INFERRED : MEASURED);
        busy();
        loaded(CALL("cuModuleLoadData", 2000, 49150), "cubin", 1);
        CALL("cuGraphLaunch", 10000, 41200, .thread = 2, .stream = STREAM_B);
    }
    fixture_mode(BOTH);
    expect("2 module-load 0+49000+150 for 1 drained 1\n"
           "5 module-load 0+49000+150 drained 1 presumed 4\n"
           "3 lock 0+41150+50 for 1 by 2\n"
           "6 lock 0+41150+50 by 5 presumed 4\n");
}

static void a_first_launch_waits_behind_a_load_too(void **state)
{
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 49100), "cubin", 1);
    int launch = CALL("cuLaunchKernel", 10000, 41150, .thread = 2, .stream = STREAM_B,
                      .kernel = KERNEL_DEEP);
    ran(launch, STREAM_B, KERNEL_DEEP, 51160, 5);
    fixture_sql("UPDATE gpu_shape SET local_bytes = 0");
    expect("2 module-load 0+49000+100 for 1 drained 1\n"
           "3 lock 0+41100+50 for 1 by 2\n");
}

static void a_first_launch_that_waits_longer_than_the_load_has_its_own_reason(void **state)
{
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 20000), "cubin", 1);
    int launch = CALL("cuLaunchKernel", 10000, 41150, .thread = 2, .stream = STREAM_B,
                      .kernel = KERNEL_DEEP);
    ran(launch, STREAM_B, KERNEL_DEEP, 51160, 5);
    fixture_sql("UPDATE gpu_shape SET local_bytes = 0");
    expect("3 local-memory 0+41000+150 for 1 drained 1\n");
}

/* Its own kernel ends last in any case; the longer part of the wait counts. */
static void a_blocking_launch_waits_behind_a_load(void **state)
{
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 49100), "cubin", 1);
    int launch = CALL("cuLaunchKernel", 10000, 41250, .thread = 2, .stream = STREAM_B,
                      .kernel = KERNEL_SPIN);
    ran(launch, STREAM_B, KERNEL_SPIN, 51160, 50);
    expect("2 module-load 0+49000+100 for 1 drained 1\n"
           "3 lock 0+41100+150 for 1 by 2\n");
    fixture_sql("UPDATE call SET duration_ns = 141250000 WHERE id = 3;"
                "UPDATE gpu_op SET duration_ns = 100000000 WHERE call = 3");
    expect("2 module-load 0+49000+100 for 1 drained 1\n"
           "3 launch-blocking 0+141160+90 for 2 drained 1\n");
}

static void a_load_may_return_long_after_it_gave_the_lock_back(void **state)
{
    busy();
    CALL("cuModuleLoadData", 2000, 90000);
    CALL("cuMemAlloc_v2", 3000, 48200, .thread = 2);
    CALL("cuMemAlloc_v2", 60000, 10000, .thread = 2);
    expect("2 module-load 0+49000+41000 for 1 drained 1\n"
           "3 lock 0+48200+0 for 1 by 2\n");
}

static void an_allocation_behind_a_compiling_load_waits_for_no_operation(void **state)
{
    int load = CALL("cuModuleLoadData", 2000, 100000);

    loaded(load, "ptx", 1);
    compiled(load, 2000, 99900);
    CALL("cuMemAlloc_v2", 20000, 82040, .thread = 2);
    CALL("cuEventRecord", 102100, 300, .thread = 2);
    expect("1 jit 99900+0+100\n"
           "2 lock 0+82000+40 by 1\n"
           "3 unknown 0+300+0\n");
}

static void a_query_does_not_wait_behind_a_load(void **state)
{
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 49100), "cubin", 1);
    CALL("cuStreamQuery", 10000, 41150, .thread = 2, .stream = STREAM_B);
    CALL("cuLaunchKernel", 60000, 300, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    expect("2 module-load 0+49000+100 for 1 drained 1\n"
           "3 unknown 0+41150+0\n"
           "4 unknown 0+300+0\n");
}

static void only_allocations_wait_behind_a_pageable_copy(void **state)
{
    int copy;

    busy();
    copy = CALL("cuMemcpyDtoHAsync_v2", 2000, 49500, .stream = STREAM_A, .bytes = 4096);
    ran(copy, STREAM_A, 0, 51010, 300);
    CALL("cuMemAlloc_v2", 10000, 41600, .thread = 2);
    CALL("cuLaunchKernel", 52000, 5, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    expect("2 pageable-copy 0+49000+500 for 1 drained 1\n"
           "3 lock 0+41500+100 for 1 by 2\n");
}

/* Another thread's call of 50 ms, behind a call of the first thread that ends at 60 ms. */
static void expect_behind(const char *holder, const char *call, const char *stalls)
{
    for (int mode = MEASURED; mode <= INFERRED; mode++) {
        fixture_teardown(NULL);
        fixture_setup(NULL);
        fixture_mode((enum fixture_mode)mode);
        CALL(holder, 1000, 59000);
        CALL(call, 10050, 50000, .thread = 2);
        expect(stalls);
    }
}

static void whoever_pins_or_allocates_keeps_others_out(void **state)
{
    static const char *const holders[] = {
        "cuMemAlloc_v2",       "cuMemAllocManaged", "cuMemHostAlloc", "cuMemHostRegister_v2",
        "cuMemHostUnregister", "cuMemFreeHost",     "cuMemFree_v2"};
    static const char *const held[] = {
        "cuLaunchKernel",         "cuMemcpyHtoDAsync_v2",  "cuMemsetD8Async",     "cuEventRecord",
        "cuMemcpyHtoD_v2",        "cuStreamCreate",        "cuMemAllocHost_v2",   "cuMemFreeAsync",
        "cuMemGetInfo_v2",        "cuPointerGetAttribute", "cuModuleGetFunction", "cuGraphLaunch",
        "cuStreamBeginCapture_v2"};

    for (size_t i = 0; i < sizeof holders / sizeof holders[0]; i++)
        expect_behind(holders[i], "cuLaunchKernel", "2 lock 0+49950+50 by 1\n");
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        expect_behind("cuMemHostAlloc", held[i], "2 lock 0+49950+50 by 1\n");
    expect_behind("cuMemHostAlloc", "cuMemAllocAsync", "2 lock 0+49950+50 by 1\n");
    expect_behind("cuModuleLoadData", "cuMemAllocAsync", "");
    expect_behind("cuMemHostAlloc", "cuStreamWaitEvent", "2 unknown 0+50000+0\n");
}

static void in_another_context_only_allocations_are_kept_out(void **state)
{
    CALL("cuMemHostAlloc", 1000, 59000);
    CALL("cuMemAlloc_v2", 10050, 50000, .thread = 2, .context = 2);
    CALL("cuLaunchKernel", 70000, 50000, .thread = 2, .context = 2);
    CALL("cuMemFreeHost", 70000, 49950);
    CALL("cuMemGetInfo_v2", 130000, 50000, .thread = 2, .context = 2);
    CALL("cuMemFree_v2", 130000, 49950);
    CALL("cuPointerGetAttribute", 190000, 50000, .thread = 2, .context = 2);
    CALL("cuMemFree_v2", 189000, 50950);
    expect("2 lock 0+49950+50 by 1\n"
           "3 unknown 0+50000+0\n"
           "5 lock 0+49950+50 by 6\n"
           "7 unknown 0+50000+0\n");
}

static void a_free_keeps_questions_out_once_it_has_waited(void **state)
{
    busy();
    CALL("cuMemFree_v2", 2000, 69000);
    CALL("cuMemGetInfo_v2", 60000, 11050, .thread = 2);
    CALL("cuMemGetInfo_v2", 80000, 9000, .thread = 2); /* slow, and nobody in the way */
    expect("2 free 0+49000+20000 for 1 drained 1\n"
           "3 lock 0+11000+50 for 1 by 2\n");
}

/* The lock is not fair. */
static void a_call_waits_while_another_thread_pins_piece_by_piece(void **state)
{
    CALL("cuMemHostAlloc", 1000, 10000);
    CALL("cuLaunchKernel", 2000, 40050, .thread = 2, .stream = STREAM_A);
    CALL("cuMemHostAlloc", 11010, 15000);
    CALL("cuMemHostAlloc", 26020, 15980);
    expect("2 lock 0+39980+70 by 4\n");
}

/* The advice says why a call kept the lock, also if that call began later. */
static void the_advice_knows_why_a_later_call_had_the_lock(void **state)
{
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 25000);
    CALL("cuMemHostAlloc", 1000, 10000);
    CALL("cuLaunchKernel", 2000, 24150, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    CALL("cuMemFree_v2", 11010, 15090);
    expect("3 lock 0+24090+60 by 4\n"
           "4 free 0+14990+100 for 1 drained 1\n");
    fixture_sql("CREATE TABLE advised (ok CHECK (ok))");
    fixture_sql(
        "INSERT INTO advised SELECT advice LIKE '%%only when the context is idle%%' FROM stalls"
        " WHERE cause = 'lock'");
}

static void of_two_that_pin_the_first_to_return_had_the_lock(void **state)
{
    CALL("cuMemHostAlloc", 1000, 60500);
    CALL("cuMemHostAlloc", 1010, 60000, .thread = 2);
    expect("1 lock 0+60000+500 by 2\n");
}

/* The thread that had the lock may lose its CPU before it returns. */
static void of_two_that_return_together_the_first_to_begin_had_the_lock(void **state)
{
    CALL("cuMemFreeHost", 1000, 43000, .object = 7);
    CALL("cuMemAlloc_v2", 6000, 37880, .thread = 2);
    expect("2 lock 0+37880+0 by 1\n");
}

static void a_slow_allocation_waits_only_while_another_has_the_lock(void **state)
{
    CALL("cuMemHostAlloc", 1000, 5000);
    CALL("cuMemAlloc_v2", 2000, 90000, .thread = 2);
    CALL("cuMemHostAlloc", 93000, 5000);
    expect("2 lock 0+4000+86000 by 1\n");
}

/* What freeing takes by itself counts as work without the GPU side. */
static void freeing_much_takes_long(void **state)
{
    fixture_mode(INFERRED);
    CALL("cuMemHostAlloc", 1000, 100000, .bytes = 256 << 20, .object = 7);
    CALL("cuLaunchKernel", 102000, 5, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    CALL("cuMemFreeHost", 110000, 60000, .object = 7);
    CALL("cuMemHostAlloc", 200000, 100000, .bytes = 256 << 20, .object = 7);
    CALL("cuLaunchKernel", 302000, 5, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    CALL("cuMemFreeHost", 310000, 160000, .object = 7);
    expect("6 free 0+120000+40000 drained 1 presumed 5\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(others_wait_behind_a_load),
        CASE(a_graph_waits_behind_a_load_too),
        CASE(a_first_launch_waits_behind_a_load_too),
        CASE(a_first_launch_that_waits_longer_than_the_load_has_its_own_reason),
        CASE(a_blocking_launch_waits_behind_a_load),
        CASE(a_load_may_return_long_after_it_gave_the_lock_back),
        CASE(an_allocation_behind_a_compiling_load_waits_for_no_operation),
        CASE(a_query_does_not_wait_behind_a_load),
        CASE(only_allocations_wait_behind_a_pageable_copy),
        CASE(whoever_pins_or_allocates_keeps_others_out),
        CASE(in_another_context_only_allocations_are_kept_out),
        CASE(a_free_keeps_questions_out_once_it_has_waited),
        CASE(a_call_waits_while_another_thread_pins_piece_by_piece),
        CASE(the_advice_knows_why_a_later_call_had_the_lock),
        CASE(of_two_that_pin_the_first_to_return_had_the_lock),
        CASE(of_two_that_return_together_the_first_to_begin_had_the_lock),
        CASE(a_slow_allocation_waits_only_while_another_has_the_lock),
        CASE(freeing_much_takes_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
