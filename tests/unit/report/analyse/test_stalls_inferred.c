/* What is inferred from the calls alone, and what is not. */
#include "tests/unit/report/stall_fixture.h"

static int setup(void **state)
{
    int result = fixture_setup(state);

    fixture_mode(INFERRED);
    return result;
}

static void busy(void)
{
    launched(900, STREAM_A, KERNEL_SPIN, 0, 0);
}

static void a_load_waits_for_unfinished_work(void **state)
{
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("2 module-load 0+50000+150 drained 1 presumed 1\n");
}

static void reading_a_library_takes_its_time(void **state)
{
    busy();
    CALL("cuLibraryLoadData", 2000, 25000);
    CALL("cuLibraryLoadData", 40000, 150150); /* as with CUDA_MODULE_LOADING=EAGER */
    expect("3 module-load 0+150000+150 drained 1 presumed 1\n");
}

static void the_loading_mode_is_known_if_it_is_set(void **state)
{
    busy();
    CALL("cuLibraryLoadData", 2000, 25000);
    CALL("cuLibraryLoadData", 40000, 150150);
    CALL("cuLaunchKernel", 200000, 50600, .stream = STREAM_B, .kernel = KERNEL_LAZY);
    fixture_variable("CUDA_MODULE_LOADING", "DEFAULT");
    expect("3 module-load 0+150000+150 drained 1 presumed 1\n"
           "4 lazy-load 0+50450+150 drained 1 presumed 1\n");
    fixture_variable("CUDA_MODULE_LOADING", "EAGER");
    expect("2 module-load 0+24850+150 drained 1 presumed 1\n"
           "3 module-load 0+150000+150 drained 1 presumed 1\n"
           "4 local-memory 0+50000+600 drained 1 presumed 1\n");
    fixture_variable("CUDA_MODULE_LOADING", "LAZY");
    expect("4 lazy-load 0+50450+150 drained 1 presumed 1\n");
}

static void a_blocking_launch_waited_for_itself(void **state)
{
    CALL("cuLaunchKernel", 2000, 50000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    CALL("cuMemsetD8Async", 60000, 3000, .stream = STREAM_A, .bytes = 4096);
    CALL("cuLaunchKernel", 80000, 5000, .stream = STREAM_A, .kernel = KERNEL_LAZY);
    CALL("cuLaunchHostFunc", 90000, 5000, .stream = STREAM_A);
    CALL("cuGraphLaunch", 100000, 5000, .stream = STREAM_A);
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    expect("1 launch-blocking 0+50000+0 drained 1 presumed 1\n"
           "2 unknown 0+3000+0\n"
           "4 unknown 0+5000+0\n"
           "5 launch-blocking 0+5000+0 drained 1 presumed 5\n");
}

/* When a blocking launch returns, its kernel has ended. */
static void a_blocking_launch_leaves_no_work(void **state)
{
    CALL("cuLaunchKernel", 2000, 50000, .thread = 2, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    loaded(CALL("cuModuleLoadData", 10000, 42150), "cubin", 1);
    loaded(CALL("cuModuleLoadData", 60000, 5150), "cubin", 2);
    fixture_variable("CUDA_LAUNCH_BLOCKING", "0");
    expect("1 unknown 0+50000+0\n"
           "2 module-load 0+42000+150 drained 1 presumed 1\n");
    fixture_sql("DELETE FROM load WHERE call = 2; DELETE FROM call WHERE id = 2");
    expect("1 unknown 0+50000+0\n"
           "3 module-load 0+5000+150 drained 1 presumed 1\n");
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    expect("1 launch-blocking 0+50000+0 drained 1 presumed 1\n");
}

/* It runs when the graph is launched, and shows nothing about the stream's earlier work. */
static void a_blocking_launch_that_is_captured_does_not_wait(void **state)
{
    busy();
    CALL("cuStreamBeginCapture_v2", 1000, 5, .stream = STREAM_B);
    CALL("cuEventRecord", 1010, 5, .stream = STREAM_B, .object = 77);
    CALL("cuStreamWaitEvent", 1020, 5, .stream = STREAM_A, .object = 77);
    CALL("cuLaunchKernel", 2000, 5000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    CALL("cuStreamEndCapture", 8000, 5, .stream = STREAM_B);
    loaded(CALL("cuModuleLoadData", 10000, 42150), "cubin", 1);
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    expect("5 unknown 0+5000+0\n");
    fixture_variable("CUDA_LAUNCH_BLOCKING", "0");
    expect("5 unknown 0+5000+0\n"
           "7 module-load 0+42000+150 drained 1 presumed 1\n");
}

static void a_load_waits_for_a_blocking_launch_of_another_thread(void **state)
{
    fixture_variable("CUDA_LAUNCH_BLOCKING", "1");
    CALL("cuLaunchKernel", 2000, 50000, .thread = 2, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    loaded(CALL("cuModuleLoadData", 10000, 42150), "cubin", 1);
    expect("1 launch-blocking 0+50000+0 drained 1 presumed 1\n"
           "2 module-load 0+42000+150 drained 1 presumed 1\n");
}

/* Threads are stored one after the other. */
static void the_first_launch_is_the_earliest(void **state)
{
    busy();
    CALL("cuLaunchKernel", 5000, 60150, .stream = STREAM_B, .kernel = KERNEL_LAZY);
    CALL("cuLaunchKernel", 1500, 5, .thread = 2, .stream = STREAM_B, .kernel = KERNEL_LAZY);
    expect("2 unknown 0+60150+0\n");
}

static void a_load_after_a_wait_has_nothing_to_wait_for(void **state)
{
    busy();
    CALL("cuCtxSynchronize", 1000, 90);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("");
}

static void a_query_that_says_done_is_a_proof_too(void **state)
{
    busy();
    CALL("cuStreamQuery", 1000, 5, .stream = STREAM_A);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("");
}

static void a_query_that_says_not_yet_is_none(void **state)
{
    busy();
    CALL("cuStreamQuery", 1000, 5, .stream = STREAM_A, .result = 600);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("3 module-load 0+50000+150 drained 1 presumed 1\n");
}

static void an_event_proves_what_stood_before_it(void **state)
{
    busy();
    CALL("cuEventRecord", 910, 5, .stream = STREAM_A, .object = 99);
    CALL("cuEventSynchronize", 920, 50, .object = 99);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    launched(60000, STREAM_A, KERNEL_SPIN, 0, 0);
    CALL("cuEventSynchronize", 60010, 5, .object = 99);
    loaded(CALL("cuModuleLoadData", 61000, 50150), "cubin", 2);
    expect("7 module-load 0+50000+150 drained 1 presumed 5\n");
}

static void another_streams_wait_proves_nothing(void **state)
{
    busy();
    CALL("cuStreamSynchronize", 1000, 90, .stream = STREAM_B);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("3 module-load 0+50000+150 drained 1 presumed 1\n");
}

static void a_call_that_drained_the_context_is_a_proof(void **state)
{
    busy();
    CALL("cuMemFree_v2", 1000, 50150);
    loaded(CALL("cuModuleLoadData", 60000, 50150), "cubin", 1);
    expect("2 free 0+50000+150 drained 1 presumed 1\n");
}

static void captured_launches_are_no_work(void **state)
{
    CALL("cuStreamBeginCapture_v2", 800, 5, .stream = STREAM_A);
    busy();
    CALL("cuStreamEndCapture", 950, 5, .stream = STREAM_A);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("");
}

static void a_stream_that_joins_a_capture_is_captured(void **state)
{
    CALL("cuStreamBeginCapture_v2", 700, 5, .stream = STREAM_A);
    CALL("cuEventRecord", 750, 5, .stream = STREAM_A, .object = 77);
    CALL("cuStreamWaitEvent", 760, 5, .stream = STREAM_B, .object = 77);
    CALL("cuLaunchKernel", 800, 5, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    CALL("cuEventRecord", 810, 5, .stream = STREAM_B, .object = 78);
    CALL("cuStreamWaitEvent", 820, 5, .stream = STREAM_A, .object = 78);
    CALL("cuStreamEndCapture", 950, 5, .stream = STREAM_A);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("");
}

static void a_capture_that_fails_ends_too(void **state)
{
    CALL("cuStreamBeginCapture_v2", 700, 5, .stream = STREAM_B);
    CALL("cuEventRecord", 750, 5, .stream = STREAM_B, .object = 77);
    CALL("cuStreamWaitEvent", 760, 5, .stream = STREAM_A, .object = 77);
    CALL("cuStreamEndCapture", 800, 5, .stream = STREAM_B, .result = 904);
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("6 module-load 0+50000+150 drained 1 presumed 5\n");
}

static void a_launch_that_failed_is_no_work(void **state)
{
    CALL("cuLaunchKernel", 900, 5, .stream = STREAM_A, .kernel = KERNEL_SPIN, .result = 1);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("");
}

static void ptx_on_an_idle_gpu_was_compiled_once(void **state)
{
    loaded(CALL("cuModuleLoadData", 2000, 50150), "ptx", 1);
    loaded(CALL("cuModuleLoadData", 60000, 50150), "ptx", 1);
    expect("1 jit 50000+0+150\n");
}

static void a_first_launch_behind_work_is_a_lazy_load(void **state)
{
    busy();
    CALL("cuLaunchKernel", 2000, 50150, .stream = STREAM_B, .kernel = KERNEL_LAZY);
    expect("2 lazy-load 0+50000+150 drained 1 presumed 1\n");
}

static void a_first_launch_of_loaded_code_needs_local_memory(void **state)
{
    busy();
    CALL("cuLaunchKernel", 2000, 50600, .stream = STREAM_B, .kernel = KERNEL_DEEP);
    expect("2 local-memory 0+50000+600 drained 1 presumed 1\n");
}

static void a_first_launch_on_an_idle_gpu_may_make_room_for_local_memory(void **state)
{
    CALL("cuLaunchKernel", 2000, 650, .stream = STREAM_B, .kernel = KERNEL_DEEP);
    expect("");
}

static void a_graphs_first_launch_uploads_it(void **state)
{
    busy();
    CALL("cuGraphLaunch", 2000, 50150, .stream = STREAM_B);
    expect("");
}

static void a_queue_may_be_full_of_graphs(void **state)
{
    for (int i = 0; i < 1024; i++)
        CALL("cuGraphLaunch", 10 + i * 6, 5, .stream = STREAM_A);
    CALL("cuGraphLaunch", 8000, 50000, .stream = STREAM_A);
    expect("1025 queue-full 0+50000+0 drained 1024 presumed 1024\n");
}

static void a_second_launch_is_unknown(void **state)
{
    busy();
    CALL("cuLaunchKernel", 2000, 50000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    expect("2 unknown 0+50000+0\n");
}

static void the_thousandth_launch_finds_a_full_queue(void **state)
{
    for (int i = 0; i < 1024; i++)
        launched(10 + i * 6, STREAM_A, KERNEL_SPIN, 0, 0);
    CALL("cuLaunchKernel", 8000, 50000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    expect("1025 queue-full 0+50000+0 drained 1024 presumed 1024\n");
}

static void a_queue_that_was_emptied_is_not_full(void **state)
{
    for (int i = 0; i < 1024; i++)
        launched(10 + i * 6, STREAM_A, KERNEL_SPIN, 0, 0);
    CALL("cuStreamSynchronize", 7000, 90, .stream = STREAM_A);
    launched(7500, STREAM_A, KERNEL_SPIN, 0, 0);
    CALL("cuLaunchKernel", 8000, 50000, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    expect("1027 unknown 0+50000+0\n");
}

static void an_asynchronous_copy_that_takes_long_is_pageable(void **state)
{
    busy();
    CALL("cuMemcpyDtoHAsync_v2", 2000, 50015, .stream = STREAM_A, .bytes = 4096);
    expect("2 pageable-copy 0+50000+20 drained 1 presumed 1\n");
}

static void a_copy_takes_what_copies_took_before(void **state)
{
    /* the first one maps the pages */
    CALL("cuMemcpyDtoH_v2", 2000, 274000, .bytes = 512 << 20);
    CALL("cuMemcpyDtoH_v2", 300000, 28000, .bytes = 512 << 20);
    launched(400000, STREAM_A, KERNEL_SPIN, 0, 0);
    CALL("cuMemcpyDtoH_v2", 401000, 178000, .bytes = 512 << 20);
    expect("4 sync-copy 0+149980+28020 drained 1 presumed 3\n");
}

static void a_copy_of_nonsense_is_none(void **state)
{
    busy();
    CALL("cuMemcpyDtoH_v2", 2000, 110000, .bytes = INT64_MAX);
    expect("");
}

static void a_large_copy_works(void **state)
{
    busy();
    CALL("cuMemcpyDtoH_v2", 2000, 110000, .bytes = 1 << 30);
    expect("");
}

static void another_context_is_not_waited_for(void **state)
{
    launched(900, STREAM_OTHER, KERNEL_SPIN, 0, 0);
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    expect("");
}

static void destroying_a_context_takes_its_time(void **state)
{
    busy();
    CALL("cuCtxDestroy_v2", 2000, 57800); /* as an H200 does it, idle */
    CALL("cuCtxDestroy_v2", 60000, 150000);
    expect("3 context 0+100000+50000 drained 1 presumed 1\n");
}

static void others_wait_behind_a_load(void **state)
{
    busy();
    loaded(CALL("cuModuleLoadData", 2000, 50150), "cubin", 1);
    CALL("cuMemAlloc_v2", 10000, 42200, .thread = 2);
    expect("2 module-load 0+50000+150 drained 1 presumed 1\n"
           "3 lock 0+42150+50 by 2 presumed 1\n");
}

static void waiting_as_asked_is_expected(void **state)
{
    busy();
    CALL("cuStreamSynchronize", 2000, 50000, .stream = STREAM_A);
    expect("2 explicit-sync 0+50000+0 expected\n");
}

/* ---- a program killed before CUPTI had returned everything ---- */

static void lost_from(int call)
{
    fixture_sql("UPDATE call SET correlation = id WHERE id >= %d AND kernel IS NOT NULL;"
                "INSERT INTO loss VALUES (1, 'GPU operation', 'last flush', 1)",
                call);
}

static void what_waited_for_unseen_work_is_inferred(void **state)
{
    fixture_mode(MEASURED);
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
    CALL("cuModuleUnload", 2000, 49100);
    int unseen = CALL("cuLaunchKernel", 60000, 5, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    CALL("cuModuleUnload", 61000, 50150);
    lost_from(unseen);
    fixture_mode(BOTH);
    expect("2 module-unload 0+49000+100 for 1 drained 1\n"
           "4 module-unload 0+50000+150 drained 1 presumed 3\n");
}

/* Calls that another profiler's time overlaps, that waited for what was queued before it, or that
 * came back before an operation was seen again. */
static void what_another_profiler_hid_is_inferred(void **state)
{
    fixture_mode(MEASURED);
    fixture_sql("INSERT INTO gpu_change VALUES (1, 100000000, 'other', 'Proton'),"
                " (1, 300000000, 'seen', NULL), (1, 700000000, 'operations', NULL),"
                " (1, 800000000, 'seen', NULL);"
                "UPDATE process SET ended = 'exit'");
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
    CALL("cuModuleUnload", 2000, 49100);
    CALL("cuLaunchKernel", 60000, 5, .stream = STREAM_A, .kernel = KERNEL_SPIN); /* not seen */
    fixture_sql("UPDATE call SET correlation = id WHERE kernel IS NOT NULL");
    CALL("cuModuleUnload", 61000, 30150);
    CALL("cuLaunchKernel", 200000, 5, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    CALL("cuModuleUnload", 201000, 40150);
    CALL("cuLaunchKernel", 299000, 5, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    CALL("cuModuleUnload", 301000, 40150);
    launched(350900, STREAM_A, KERNEL_SPIN, 351000, 50000); /* seen again */
    CALL("cuModuleUnload", 352000, 49100);
    CALL("cuLaunchKernel", 710000, 5, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    ran(0, STREAM_A, KERNEL_SPIN, 710010, 60000);
    CALL("cuModuleUnload", 711000, 59100);
    launched(850900, STREAM_A, KERNEL_SPIN, 851000, 50000);
    CALL("cuModuleUnload", 852000, 49100);
    fixture_mode(BOTH);
    expect("2 module-unload 0+49000+100 for 1 drained 1\n"
           "4 module-unload 0+30000+150 drained 1 presumed 3\n"
           "6 module-unload 0+40000+150 drained 1 presumed 5\n"
           "8 module-unload 0+40000+150 drained 1 presumed 7\n"
           "10 module-unload 0+49000+100 for 2 drained 1\n"
           "12 module-unload 0+58950+150 drained 1 presumed 11\n"
           "14 module-unload 0+49000+100 for 4 drained 1\n");
}

static void what_was_captured_was_not_lost(void **state)
{
    fixture_mode(MEASURED);
    launched(10, STREAM_LEGACY, KERNEL_SPIN, 20, 10);
    CALL("cuStreamBeginCapture_v2", 100, 5, .stream = STREAM_B);
    int captured = CALL("cuLaunchKernel", 200, 5, .stream = STREAM_B, .kernel = KERNEL_SPIN);
    CALL("cuEventRecord", 210, 5, .stream = STREAM_B, .object = 77);
    CALL("cuStreamWaitEvent", 220, 5, .stream = STREAM_LEGACY, .object = 77);
    CALL("cuLaunchKernel", 230, 5, .stream = STREAM_LEGACY, .kernel = KERNEL_SPIN);
    CALL("cuStreamEndCapture", 300, 5, .stream = STREAM_B);
    launched(900, STREAM_A, KERNEL_SPIN, 1000, 50000);
    CALL("cuModuleUnload", 2000, 49100);
    lost_from(captured);
    expect("9 module-unload 0+49000+100 for 2 drained 1\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_load_waits_for_unfinished_work),
        CASE(reading_a_library_takes_its_time),
        CASE(the_loading_mode_is_known_if_it_is_set),
        CASE(a_blocking_launch_waited_for_itself),
        CASE(a_blocking_launch_leaves_no_work),
        CASE(a_blocking_launch_that_is_captured_does_not_wait),
        CASE(a_load_waits_for_a_blocking_launch_of_another_thread),
        CASE(a_load_after_a_wait_has_nothing_to_wait_for),
        CASE(a_query_that_says_done_is_a_proof_too),
        CASE(a_query_that_says_not_yet_is_none),
        CASE(an_event_proves_what_stood_before_it),
        CASE(another_streams_wait_proves_nothing),
        CASE(a_call_that_drained_the_context_is_a_proof),
        CASE(captured_launches_are_no_work),
        CASE(a_stream_that_joins_a_capture_is_captured),
        CASE(a_capture_that_fails_ends_too),
        CASE(a_launch_that_failed_is_no_work),
        CASE(ptx_on_an_idle_gpu_was_compiled_once),
        CASE(a_first_launch_behind_work_is_a_lazy_load),
        CASE(a_first_launch_of_loaded_code_needs_local_memory),
        CASE(a_first_launch_on_an_idle_gpu_may_make_room_for_local_memory),
        CASE(the_first_launch_is_the_earliest),
        CASE(a_graphs_first_launch_uploads_it),
        CASE(a_queue_may_be_full_of_graphs),
        CASE(a_second_launch_is_unknown),
        CASE(the_thousandth_launch_finds_a_full_queue),
        CASE(a_queue_that_was_emptied_is_not_full),
        CASE(an_asynchronous_copy_that_takes_long_is_pageable),
        CASE(a_copy_takes_what_copies_took_before),
        CASE(a_copy_of_nonsense_is_none),
        CASE(a_large_copy_works),
        CASE(another_context_is_not_waited_for),
        CASE(destroying_a_context_takes_its_time),
        CASE(others_wait_behind_a_load),
        CASE(waiting_as_asked_is_expected),
        CASE(what_waited_for_unseen_work_is_inferred),
        CASE(what_another_profiler_hid_is_inferred),
        CASE(what_was_captured_was_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
