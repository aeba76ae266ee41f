/* Every cause of a stall with the GPU side, and the same calls without a stall. */
#include "tests/unit/report/stall_fixture.h"

#include <stdio.h>

/* A kernel of 50 ms from 1 ms on, in stream A. */
static int busy(void)
{
    return launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
}

/* ---- loads ---- */

static void a_load_waits_for_a_busy_gpu(void **state)
{
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 49200), "cubin", 1);
    expect("2 module-load 0+49000+200 for 1 drained 1\n");
}

static void a_load_on_an_idle_gpu_waits_for_nobody(void **state)
{
    busy();
    loaded(CALL("cuModuleLoadData", 60000, 3000), "cubin", 1);
    expect("");
}

static void a_load_that_ends_before_the_kernel_has_not_waited(void **state)
{
    busy();
    launched(910, STREAM_B, KERNEL_SPIN, 1000, 2500);
    loaded(CALL("cuModuleLoadData", 2000, 3000), "cubin", 1);
    expect("");
}

static void compiling_on_an_idle_gpu_is_no_wait(void **state)
{
    int load = CALL("cuModuleLoadData", 2000, 100200);

    loaded(load, "ptx", 1);
    compiled(load, 2100, 100000);
    expect("1 jit 100000+0+200\n");
}

static void compiling_and_waiting_are_told_apart(void **state)
{
    int load;

    busy();
    load = CALL("cuModuleLoadData", 2000, 49200);
    loaded(load, "ptx", 1);
    compiled(load, 2010, 30000);
    expect("2 module-load 30000+19000+200 for 1 drained 1\n");
}

static void a_gpu_that_is_done_while_the_driver_compiles_is_not_waited_for(void **state)
{
    int load;

    launched(900, STREAM_A, KERNEL_SPIN, 1000, 10000);
    load = CALL("cuModuleLoadData", 2000, 60000);
    loaded(load, "ptx", 1);
    compiled(load, 2010, 59900);
    expect("2 jit 59900+0+100\n");
}

static void the_last_of_many_kernels_is_waited_for(void **state)
{
    for (int i = 0; i < 100; i++)
        launched(100 + i, STREAM_A, KERNEL_SPIN, 1000 + i * 500, 490);
    loaded(CALL("cuModuleLoadData", 2000, 49100), "cubin", 1);
    expect("101 module-load 0+48990+110 for 100 drained 98\n");
}

static void several_streams_are_waited_for(void **state)
{
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 20000);
    launched(910, STREAM_B, KERNEL_SPIN, 1000, 50000);
    loaded(CALL("cuModuleLoadData", 2000, 49100), "cubin", 1);
    expect("3 module-load 0+49000+100 for 2 drained 2\n");
}

static void another_context_is_not_waited_for(void **state)
{
    launched(900, STREAM_OTHER, KERNEL_SPIN, 1000, 50000);
    loaded(CALL("cuModuleLoadData", 2000, 49100), "cubin", 1);
    expect("");
}

static void work_of_another_thread_that_came_later_is_not_waited_for(void **state)
{
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 10000);
    ran(CALL("cuLaunchKernel", 12000, 5, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_SPIN),
        STREAM_B, KERNEL_SPIN, 12100, 20000);
    loaded(CALL("cuModuleLoadData", 2000, 40000), "cubin", 1);
    expect("3 module-load 0+9000+31000 for 1 drained 1\n");
}

/* ---- first uses ---- */

static void a_first_launch_waits_until_its_code_is_there(void **state)
{
    int call;

    busy();
    call = CALL("cuLaunchKernel", 2000, 49100, .stream = STREAM_B, .kernel = KERNEL_LAZY);
    came(call);
    ran(call, STREAM_B, KERNEL_LAZY, 51110, 10);
    expect("2 lazy-load 0+49000+100 for 1 drained 1\n");
}

static void a_first_launch_on_an_idle_gpu_is_none(void **state)
{
    int call = CALL("cuLaunchKernel", 2000, 900, .stream = STREAM_B, .kernel = KERNEL_LAZY);

    came(call);
    ran(call, STREAM_B, KERNEL_LAZY, 2910, 10);
    expect("");
}

static void asking_for_a_function_loads_it(void **state)
{
    busy();
    came(CALL("cuKernelGetFunction", 2000, 49100));
    expect("2 lazy-load 0+49000+100 for 1 drained 1\n");
}

/* The GPU side tells a graph that loads code from one that is uploaded. */
static void a_graph_may_load_code_when_it_is_launched(void **state)
{
    busy();
    came(CALL("cuGraphLaunch", 2000, 49100, .stream = STREAM_B));
    expect("2 lazy-load 0+49000+100 for 1 drained 1\n");
}

static void a_graphs_first_launch_uploads_it(void **state)
{
    busy();
    CALL("cuGraphLaunch", 2000, 49100, .stream = STREAM_B);
    expect("");
}

static void a_launch_that_needs_more_local_memory_waits(void **state)
{
    int call;

    busy();
    call = CALL("cuLaunchKernel", 2000, 49100, .stream = STREAM_B, .kernel = KERNEL_DEEP);
    ran(call, STREAM_B, KERNEL_DEEP, 51110, 10);
    expect("2 local-memory 0+49000+100 for 1 drained 1\n");
}

/* CUPTI reports 0 for every kernel. */
static void local_memory_is_told_by_a_first_launch_that_needs_no_code(void **state)
{
    int call;

    fixture_sql("UPDATE gpu_shape SET local_bytes = 0");
    busy();
    call = CALL("cuLaunchKernel", 2000, 49600, .stream = STREAM_B, .kernel = KERNEL_DEEP);
    ran(call, STREAM_B, KERNEL_DEEP, 51610, 10);
    expect("2 local-memory 0+49000+600 for 1 drained 1\n");
}

static void a_first_launch_that_ran_beside_the_work_has_not_waited_for_it(void **state)
{
    int call;

    fixture_sql("UPDATE gpu_shape SET local_bytes = 0");
    busy();
    call = CALL("cuLaunchKernel", 2000, 49100, .stream = STREAM_B, .kernel = KERNEL_DEEP);
    ran(call, STREAM_B, KERNEL_DEEP, 2010, 10);
    expect("2 unknown 0+49100+0\n");
}

static void room_for_local_memory_on_an_idle_gpu_is_work(void **state)
{
    int call = CALL("cuLaunchKernel", 2000, 650, .stream = STREAM_B, .kernel = KERNEL_DEEP);

    ran(call, STREAM_B, KERNEL_DEEP, 2660, 10);
    expect("");
}

static void a_first_launch_of_half_a_second_is_unknown(void **state)
{
    int call = CALL("cuLaunchKernel", 2000, 500000, .stream = STREAM_B, .kernel = KERNEL_DEEP);

    ran(call, STREAM_B, KERNEL_DEEP, 502010, 10);
    expect("1 unknown 0+500000+0\n");
}

static void a_full_queue_is_waited_for(void **state)
{
    int call;

    launched(10, STREAM_A, KERNEL_SPIN, 1000, 50000);
    for (int i = 0; i < 1023; i++)
        launched(20 + i, STREAM_A, KERNEL_SPIN, 51000 + i * 10, 10);
    call = CALL("cuLaunchKernel", 2000, 49020, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(call, STREAM_A, KERNEL_SPIN, 61230, 10);
    expect("1025 queue-full 0+49020+0 for 8 drained 8\n");
}

static void a_launch_that_nothing_explains_is_unknown(void **state)
{
    int call;

    launched(10, STREAM_A, KERNEL_SPIN, 1000, 50000);
    call = CALL("cuLaunchKernel", 2000, 20000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(call, STREAM_A, KERNEL_SPIN, 51000, 10);
    expect("2 unknown 0+20000+0\n");
}

static void a_launch_that_runs_on_after_the_gpu_is_unknown_too(void **state)
{
    int call;

    launched(10, STREAM_A, KERNEL_SPIN, 1000, 5000);
    call = CALL("cuLaunchKernel", 2000, 40000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(call, STREAM_A, KERNEL_SPIN, 42010, 10);
    expect("2 unknown 0+40000+0\n");
}

/* ---- the context's other waits ---- */

static void each_of_these_waits_for_the_context(void **state)
{
    static const char *const calls[][2] = {
        {"cuModuleUnload", "module-unload"},
        {"cuLibraryUnload", "module-unload"},
        {"cuMemFree_v2", "free"},
        {"cudaFree", "free"},
        {"cudaFreeHost", "free"},
        {"cuMemHostUnregister", "host-unregister"},
        {"cudaHostUnregister", "host-unregister"},
        {"cuCtxSetLimit", "limit"},
        {"cudaDeviceSetLimit", "limit"},
        {"cuCtxDestroy_v2", "context"},
        {"cuDevicePrimaryCtxReset_v2", "context"},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        char wanted[128];
        fixture_teardown(state);
        fixture_setup(state);
        launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
        CALL(calls[i][0], 2000, 49100);
        snprintf(wanted, sizeof(wanted), "2 %s 0+49000+100 for 1 drained 1\n", calls[i][1]);
        expect(wanted);
        fixture_teardown(state);
        fixture_setup(state);
        launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
        CALL(calls[i][0], 60000, 1100);
        expect("");
    }
}

static void each_of_these_does_not_wait(void **state)
{
    static const char *const calls[] = {
        "cudaMallocAsync", "cudaFreeAsync_ptsz", "cuMemAlloc_v2",           "cudaMallocHost",
        "cuCtxSetCurrent", "cuCtxCreate_v4",     "cuDevicePrimaryCtxRetain"};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        fixture_teardown(state);
        fixture_setup(state);
        busy();
        CALL(calls[i], 2000, 49100);
        expect("");
    }
}

/* ---- copies ---- */

static void a_pageable_copy_waits_for_its_stream(void **state)
{
    int copy;

    busy();
    copy = CALL("cuMemcpyDtoHAsync_v2", 2000, 49500, .stream = STREAM_A, .bytes = 4096);
    ran(copy, STREAM_A, 0, 51010, 300);
    expect("2 pageable-copy 0+49000+500 for 1 drained 1\n");
}

static void a_copy_of_pinned_memory_is_no_pageable_copy(void **state)
{
    int copy;

    busy();
    copy = CALL("cuMemcpyDtoHAsync_v2", 2000, 49500, .stream = STREAM_A, .bytes = 8 << 20);
    ran(copy, STREAM_A, 0, 51010, 300);
    fixture_sql("UPDATE gpu_op SET copy_kind = 2 + 16 * 2 WHERE call = %d", copy);
    expect("2 unknown 0+49500+0\n");
    fixture_sql("UPDATE gpu_op SET copy_kind = 2 + 16 * 1 WHERE call = %d", copy);
    expect("2 pageable-copy 0+49000+500 for 1 drained 1\n");
}

static void a_synchronous_copy_of_pinned_memory_waits_too(void **state)
{
    int copy;

    busy();
    copy = CALL("cuMemcpyDtoH_v2", 2000, 49500, .bytes = 8 << 20);
    ran(copy, STREAM_LEGACY, 0, 51010, 300);
    fixture_sql("UPDATE gpu_op SET copy_kind = 2 + 16 * 2 WHERE call = %d", copy);
    expect("2 sync-copy 0+49000+500 for 1 drained 1\n");
}

static void a_pageable_copy_in_an_idle_stream_only_works(void **state)
{
    int copy;

    busy();
    copy = CALL("cuMemcpyHtoDAsync_v2", 2000, 2200, .stream = STREAM_B, .bytes = 16 << 20);
    ran(copy, STREAM_B, 0, 2100, 2000);
    expect("");
}

static void a_pinned_copy_that_takes_long_has_not_waited_for_its_stream(void **state)
{
    int copy;

    busy();
    copy = CALL("cuMemcpyDtoHAsync_v2", 2000, 500, .stream = STREAM_A, .bytes = 4096);
    ran(copy, STREAM_A, 0, 51010, 300);
    expect("2 unknown 0+500+0\n");
}

static void a_synchronous_copy_waits_and_then_works(void **state)
{
    int copy;

    busy();
    copy = CALL("cuMemcpyDtoH_v2", 2000, 109000, .bytes = 1 << 30);
    ran(copy, STREAM_LEGACY, 0, 51010, 60000);
    expect("2 sync-copy 0+49000+60000 for 1 drained 1\n");
}

static void a_gigabyte_takes_its_time(void **state)
{
    int copy = CALL("cudaMemcpy", 2000, 40000, .stream = STREAM_LEGACY, .bytes = 1 << 30);

    ran(copy, STREAM_LEGACY, 0, 2050, 39900);
    expect("");
}

/* ---- requested waits ---- */

static void waiting_as_asked_is_expected(void **state)
{
    busy();
    CALL("cuStreamSynchronize", 2000, 49010, .stream = STREAM_A);
    CALL("cuStreamSynchronize", 60000, 50, .stream = STREAM_A);
    launched(69900, STREAM_A, KERNEL_SPIN, 70000, 50000);
    CALL("cudaDeviceSynchronize", 71000, 49010);
    expect("2 explicit-sync 0+49000+10 for 1 drained 1 expected\n"
           "5 explicit-sync 0+49000+10 for 2 drained 1 expected\n");
}

static void an_idle_streams_sync_has_waited_for_something_unseen(void **state)
{
    busy();
    CALL("cuStreamSynchronize", 2000, 30000, .stream = STREAM_B);
    expect("2 explicit-sync 0+30000+0 expected\n");
}

static void a_wait_that_was_asked_for_and_is_short_is_expected_too(void **state)
{
    busy();
    CALL("cuCtxSynchronize", 50910, 120);
    expect("2 explicit-sync 0+120+0 expected\n");
}

/* 90 us of it are a known wait. */
static void what_is_beyond_a_short_wait_is_unknown(void **state)
{
    busy();
    CALL("cuMemcpyDtoHAsync_v2", 50910, 170, .stream = STREAM_A, .bytes = 4096);
    expect("");
    fixture_sql("UPDATE call SET duration_ns = 290000 WHERE duration_ns = 170000");
    expect("2 unknown 0+200+90\n");
}

/* ---- loads, in the view of them ---- */

static void loads_say_how_long_they_waited(void **state)
{
    static const char sql[] =
        "SELECT group_concat(printf('%d %d', wait_ns / 1000, gpu_busy), ', ') FROM"
        " (SELECT * FROM loads WHERE call IS NOT NULL ORDER BY start_ns)";
    sqlite3_stmt *row = NULL;
    int lazy;

    loaded(CALL("cuModuleLoadData", 100, 80), "cubin", 1);
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 49100), "cubin", 2);
    launched(59900, STREAM_A, KERNEL_SPIN, 60000, 10000);
    lazy = CALL("cuLaunchKernel", 61000, 9100, .stream = STREAM_B, .kernel = KERNEL_LAZY);
    came(lazy);
    expect("3 module-load 0+49000+100 for 1 drained 1\n"
           "5 lazy-load 0+9000+100 for 2 drained 1\n");
    assert_int_equal(sqlite3_prepare_v2(fixture_trace, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(row, 0), "0 0, 49000 1, 9000 1");
    sqlite3_finalize(row);
}

/* ---- CUDA_LAUNCH_BLOCKING ---- */

static void a_blocking_launch_waits_for_its_own_kernel(void **state)
{
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    int launch = CALL("cuLaunchKernel", 2000, 50050, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(launch, STREAM_A, KERNEL_SPIN, 2010, 50000);
    int graph = CALL("cuGraphLaunch", 60000, 2050, .stream = STREAM_A);
    ran(graph, STREAM_A, KERNEL_SPIN, 60010, 1000);
    ran(graph, STREAM_A, KERNEL_SPIN, 61010, 1000);
    expect("1 launch-blocking 0+50000+50 for 1 drained 1\n"
           "2 launch-blocking 0+2000+50 for 3 drained 2\n");
}

static void a_launch_that_need_not_block_does_not(void **state)
{
    static const char *const values[] = {"0", "2", "", "yes", "-1", NULL};

    int launch = CALL("cuLaunchKernel", 2000, 50050, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(launch, STREAM_A, KERNEL_SPIN, 2010, 50000);
    for (int i = 0; values[i]; i++) {
        fixture_variable("CUDA_LAUNCH_BLOCKING", values[i]);
        expect("1 unknown 0+50050+0\n");
    }
}

/* Its kernel ran after it, so the variable is not the reason. */
static void a_launch_before_its_kernel_has_another_reason(void **state)
{
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    int launch = CALL("cuLaunchKernel", 2000, 50000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(launch, STREAM_A, KERNEL_SPIN, 52000, 1000);
    expect("1 unknown 0+50000+0\n");
}

/* As measured: only launches of kernels and graphs wait. */
static void copies_and_sets_do_not_block(void **state)
{
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    ran(CALL("cuMemcpyHtoDAsync_v2", 2000, 10050, .stream = STREAM_A), STREAM_A, 0, 2010, 10000);
    ran(CALL("cuMemsetD8Async", 70000, 1050, .stream = STREAM_A), STREAM_A, 0, 70010, 1000);
    expect("2 unknown 0+1050+0\n");
}

static void a_blocking_launch_works_before_its_kernel_begins(void **state)
{
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    int launch = CALL("cuLaunchKernel", 2000, 25050, .stream = STREAM_A, .kernel = KERNEL_LAZY);
    came(launch);
    ran(launch, STREAM_A, KERNEL_LAZY, 22000, 5000);
    launch = CALL("cuLaunchKernel", 40000, 5060, .stream = STREAM_A, .kernel = KERNEL_DEEP);
    came(launch);
    ran(launch, STREAM_A, KERNEL_DEEP, 45000, 50);
    expect("1 launch-blocking 0+5000+20050 for 1 drained 1\n");
}

static void a_blocking_launch_waits_for_what_is_ahead_of_it(void **state)
{
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    int first =
        CALL("cuLaunchKernel", 900, 30110, .thread = 2, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(first, STREAM_A, KERNEL_SPIN, 1000, 30000);
    int second = CALL("cuLaunchKernel", 2000, 60100, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(second, STREAM_A, KERNEL_SPIN, 31000, 31000);
    expect("1 launch-blocking 0+30000+110 for 1 drained 1\n"
           "2 launch-blocking 0+60000+100 for 2 drained 1\n");
}

/* Without the variable, the launch would have waited for the other kernel too. */
static void what_explains_most_of_a_blocking_launch_wins(void **state)
{
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    int other =
        CALL("cuLaunchKernel", 900, 50150, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    ran(other, STREAM_B, KERNEL_SPIN, 1000, 50000);
    int lazy = CALL("cuLaunchKernel", 2000, 49200, .stream = STREAM_A, .kernel = KERNEL_LAZY);
    came(lazy);
    ran(lazy, STREAM_A, KERNEL_LAZY, 51050, 50);
    int compiles = CALL("cuLaunchKernel", 60000, 100800, .stream = STREAM_A, .kernel = KERNEL_DEEP);
    compiled(compiles, 60010, 100000);
    ran(compiles, STREAM_A, KERNEL_DEEP, 160100, 500);
    expect("1 launch-blocking 0+50000+150 for 1 drained 1\n"
           "2 lazy-load 0+49000+200 for 1 drained 1\n"
           "3 jit 100000+0+800\n");
}

/* The note is about PyTorch, so the call must come from there. */
static void pytorch_is_told_of_its_variable(void **state)
{
    static const char sql[] = "SELECT group_concat(instr(advice, 'makes PyTorch free memory') > 0)"
                              " FROM (SELECT advice FROM stalls ORDER BY id)";
    sqlite3_stmt *row = NULL;

    busy();
    CALL("cuMemFree_v2", 2000, 49100);
    launched(59900, STREAM_A, KERNEL_SPIN, 60000, 50000);
    CALL("cuMemFree_v2", 61000, 49100);
    fixture_sql("INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2);"
                "INSERT INTO call_stack VALUES (2, 1), (4, 2);"
                "INSERT INTO frame (stack, depth, kind, library) VALUES"
                " (1, 0, 'native', '/lib/libmine.so'), (2, 0, 'native', '/lib/libmine.so'),"
                " (2, 1, 'native', '/torch/lib/libc10_cuda.so')");
    fixture_variable("PYTORCH_NO_CUDA_MEMORY_CACHING", "1");
    expect("2 free 0+49000+100 for 1 drained 1\n"
           "4 free 0+49000+100 for 2 drained 1\n");
    assert_int_equal(sqlite3_prepare_v2(fixture_trace, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(row, 0), "0,1");
    sqlite3_finalize(row);
}

/* With eager loading, a first launch has its code. */
static void an_eager_process_loads_nothing_late(void **state)
{
    busy();
    int launch = CALL("cuLaunchKernel", 2000, 49600, .stream = STREAM_B, .kernel = KERNEL_LAZY);
    ran(launch, STREAM_B, KERNEL_LAZY, 51580, 5);
    fixture_sql("UPDATE gpu_shape SET local_bytes = 0");
    expect("2 lazy-load 0+49000+600 for 1 drained 1\n");
    fixture_variable("CUDA_MODULE_LOADING", "EAGER");
    expect("2 local-memory 0+49000+600 for 1 drained 1\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_load_waits_for_a_busy_gpu),
        CASE(a_load_on_an_idle_gpu_waits_for_nobody),
        CASE(a_load_that_ends_before_the_kernel_has_not_waited),
        CASE(compiling_on_an_idle_gpu_is_no_wait),
        CASE(compiling_and_waiting_are_told_apart),
        CASE(a_gpu_that_is_done_while_the_driver_compiles_is_not_waited_for),
        CASE(the_last_of_many_kernels_is_waited_for),
        CASE(several_streams_are_waited_for),
        CASE(another_context_is_not_waited_for),
        CASE(work_of_another_thread_that_came_later_is_not_waited_for),
        CASE(a_first_launch_waits_until_its_code_is_there),
        CASE(a_first_launch_on_an_idle_gpu_is_none),
        CASE(asking_for_a_function_loads_it),
        CASE(a_graph_may_load_code_when_it_is_launched),
        CASE(a_graphs_first_launch_uploads_it),
        CASE(a_launch_that_needs_more_local_memory_waits),
        CASE(local_memory_is_told_by_a_first_launch_that_needs_no_code),
        CASE(a_first_launch_that_ran_beside_the_work_has_not_waited_for_it),
        CASE(room_for_local_memory_on_an_idle_gpu_is_work),
        CASE(a_first_launch_of_half_a_second_is_unknown),
        CASE(a_full_queue_is_waited_for),
        CASE(a_launch_that_nothing_explains_is_unknown),
        CASE(a_launch_that_runs_on_after_the_gpu_is_unknown_too),
        CASE(each_of_these_waits_for_the_context),
        CASE(each_of_these_does_not_wait),
        CASE(a_pageable_copy_waits_for_its_stream),
        CASE(a_copy_of_pinned_memory_is_no_pageable_copy),
        CASE(a_synchronous_copy_of_pinned_memory_waits_too),
        CASE(a_pageable_copy_in_an_idle_stream_only_works),
        CASE(a_pinned_copy_that_takes_long_has_not_waited_for_its_stream),
        CASE(a_synchronous_copy_waits_and_then_works),
        CASE(a_gigabyte_takes_its_time),
        CASE(waiting_as_asked_is_expected),
        CASE(an_idle_streams_sync_has_waited_for_something_unseen),
        CASE(a_wait_that_was_asked_for_and_is_short_is_expected_too),
        CASE(what_is_beyond_a_short_wait_is_unknown),
        CASE(loads_say_how_long_they_waited),
        CASE(a_blocking_launch_waits_for_its_own_kernel),
        CASE(a_launch_that_need_not_block_does_not),
        CASE(a_launch_before_its_kernel_has_another_reason),
        CASE(copies_and_sets_do_not_block),
        CASE(a_blocking_launch_works_before_its_kernel_begins),
        CASE(a_blocking_launch_waits_for_what_is_ahead_of_it),
        CASE(what_explains_most_of_a_blocking_launch_wins),
        CASE(pytorch_is_told_of_its_variable),
        CASE(an_eager_process_loads_nothing_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
