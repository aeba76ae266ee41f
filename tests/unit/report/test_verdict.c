/* The verdict of made-up facts: each class just above its threshold, and just below. */
#include "cmocka_all.h"

#include "report/verdict.h"

#include <string.h>

static struct gv_run_facts facts;
static struct gv_verdict verdict;

/* A second of a program that keeps the GPU at work. */
static int setup(void **state)
{
    (void)state;
    memset(&facts, 0, sizeof(facts));
    facts.calls = 1000;
    facts.window_ns = facts.known_ns = 1000000000;
    facts.processes = facts.seen_processes = 1;
    facts.gpu_seen = facts.gpu_whole = true;
    facts.complete = facts.whole = true;
    facts.launch_calls = facts.kernels_run = facts.operations = 500;
    facts.launched_kernels = facts.kernel_names = facts.devices_used = 1;
    facts.kernel_time_ns = facts.blocks_known_ns = facts.filled_ns = 900000000;
    facts.kernel_ns = facts.seen_kernel_ns = facts.busy_ns = 900000000;
    facts.multiprocessors = 132;
    facts.least_blocks = 1000;
    facts.thread_ns = 800000000;
    facts.launch_median_ns = 5000;
    strcpy(facts.top_kernel, "gemm");
    return 0;
}

static bool is_told(enum gv_verdict_class class)
{
    gv_verdict_make(&facts, &verdict);
    for (size_t i = 0; i < verdict.count; i++)
        if (verdict.findings[i].class == class)
            return true;
    return false;
}

static void set_busy(int64_t ns)
{
    facts.busy_ns = facts.kernel_ns = facts.seen_kernel_ns = facts.kernel_time_ns = ns;
    facts.blocks_known_ns = facts.filled_ns = ns;
}

static void work_is_accelerated(void **state)
{
    (void)state;
    assert_true(is_told(GV_VERDICT_ACCELERATED));
    assert_int_equal(verdict.count, 1);
    assert_string_equal(
        verdict.headline,
        "The GPU ran your code: 500 runs of 1 kernel. It was busy 90 % of the time.");
    set_busy(499000000);
    assert_false(is_told(GV_VERDICT_ACCELERATED));
}

static void an_idle_gpu(void **state)
{
    (void)state;
    set_busy(499000000);
    assert_true(is_told(GV_VERDICT_IDLE));
    set_busy(501000000);
    assert_false(is_told(GV_VERDICT_IDLE));
    /* Loading says why. */
    set_busy(300000000);
    facts.loading_ns = facts.first_use_ns = 600000000;
    assert_false(is_told(GV_VERDICT_IDLE));
    assert_true(is_told(GV_VERDICT_LOAD));
}

/* Who is inside calls has nothing to look for between them. */
static void idle_while_the_host_was_in_calls(void **state)
{
    (void)state;
    char next[GV_VERDICT_NEXT_BYTES];

    set_busy(400000000);
    facts.thread_ns = 990000000;
    facts.gap_call_ns = 550000000;
    strcpy(facts.gap_call, "cuMemAlloc_v2");
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_string_equal(verdict.findings[0].evidence,
                        "it had nothing to do for 600 ms of 1.00 s; the host was outside of CUDA "
                        "for 10.0 ms; in its longest gaps it was in cuMemAlloc_v2 for 550 ms");
    assert_string_equal(gv_verdict_next_of(&verdict.findings[0], "a.db", next),
                        "see in which CUDA calls the host was meanwhile: gpuverify report a.db "
                        "--section gaps");
    facts.thread_ns = 500000000;
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_null(strstr(verdict.findings[0].evidence, "gaps"));
    assert_non_null(strstr(verdict.findings[0].next, "between its CUDA calls"));
}

/* What is not told explains nothing: a GPU that is mostly idle is told of as something. */
static void idle_time_in_short_gaps(void **state)
{
    (void)state;
    set_busy(180000000);
    facts.kernels_run = 3000;
    facts.short_gaps = 2999;
    facts.short_gap_ns = 750000000;
    facts.first_use_ns = facts.start_ns = 90000000;
    assert_false(is_told(GV_VERDICT_LOAD));
    assert_false(is_told(GV_VERDICT_LAUNCH)); /* each kernel takes 60 us */
    assert_true(is_told(GV_VERDICT_IDLE));
    facts.kernels_run = 4000;
    assert_true(is_told(GV_VERDICT_LAUNCH));
    assert_false(is_told(GV_VERDICT_IDLE));
}

/* Sums of all devices are held against the time of all devices. */
static void devices_share_their_work(void **state)
{
    (void)state;
    for (int64_t devices = 2; devices <= 8; devices *= 4) {
        facts.devices_used = devices;
        set_busy(devices * 300000000);
        assert_false(is_told(GV_VERDICT_ACCELERATED));
        assert_true(is_told(GV_VERDICT_IDLE));
        assert_true(verdict.findings[0].weight <= 0.71);
        set_busy(devices * 900000000);
        assert_true(is_told(GV_VERDICT_ACCELERATED));
        assert_false(is_told(GV_VERDICT_IDLE));
        facts.copies = 10;
        facts.host_copy_ns = facts.kernel_ns;
        assert_true(is_told(GV_VERDICT_TRANSFER));
        assert_true(verdict.findings[0].weight < 0.91);
        facts.host_copy_ns = 0;
        set_busy(devices * 2000000);
        facts.short_gaps = 499;
        facts.short_gap_ns = devices * 90000000;
        assert_false(is_told(GV_VERDICT_LAUNCH));
        facts.short_gap_ns = devices * 110000000;
        assert_true(is_told(GV_VERDICT_LAUNCH));
        facts.short_gap_ns = 0;
    }
    set_busy(7200000000);
    gv_verdict_make(&facts, &verdict);
    assert_string_equal(verdict.findings[0].evidence,
                        "8 devices computed for 7.20 s of 8.00 s together, most of it in gemm");
    set_busy(1600000000);
    gv_verdict_make(&facts, &verdict);
    assert_non_null(strstr(verdict.findings[0].evidence,
                           "8 devices had nothing to do for 6.40 s of 8.00 s together"));
}

static void nothing_is_guessed_when_the_gpu_was_not_seen(void **state)
{
    (void)state;
    set_busy(0);
    facts.gpu_seen = false;
    facts.seen_processes = 0;
    facts.unseen_processes = 1;
    facts.kernels_run = facts.operations = facts.kernel_names = facts.devices_used = 0;
    gv_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.count, 0);
    assert_non_null(strstr(verdict.headline, "What the GPU did with them was not seen"));
    facts.launch_calls = 1;
    gv_verdict_make(&facts, &verdict);
    assert_non_null(strstr(verdict.headline, "1 launch of 1 kernel. What the GPU did with it was"));
    facts.copy_ns = 300000000;
    assert_false(is_told(GV_VERDICT_TRANSFER)); /* no thread was long in them */
    facts.thread_copy_ns = 300000000;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_non_null(strstr(verdict.findings[0].evidence, "is not known"));
}

static void shares_are_of_what_is_known(void **state)
{
    (void)state;
    facts.gpu_whole = false;
    facts.known_ns = 400000000;
    set_busy(300000000);
    assert_true(is_told(GV_VERDICT_ACCELERATED));
    assert_string_equal(verdict.headline,
                        "The GPU ran your code: at least 500 runs of 1 kernel. It was busy 75 % of "
                        "the first 400 ms; what it did after that is not known.");
    assert_non_null(strstr(verdict.findings[0].evidence, "300 ms of the first 400 ms"));
    set_busy(100000000);
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_non_null(strstr(verdict.findings[0].evidence, "300 ms of the first 400 ms"));
    /* About no more than that part of the run: it comes after what is about more. */
    assert_true(verdict.findings[0].weight < 0.31);
    facts.waits = facts.top_stall_count = 1;
    strcpy(facts.top_stall, "module-load");
    facts.wait_ns = facts.top_stall_ns = 400000000;
    gv_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.findings[0].class, GV_VERDICT_STALLED);
}

static void a_call_that_never_returned_leads(void **state)
{
    (void)state;
    strcpy(facts.flight, "cuStreamSynchronize");
    facts.flight_ns = 99000000;
    assert_false(is_told(GV_VERDICT_UNFINISHED));
    facts.flight_ns = 101000000;
    facts.loading_ns = facts.first_use_ns = 800000000;
    assert_true(is_told(GV_VERDICT_UNFINISHED));
    assert_true(is_told(GV_VERDICT_LOAD));
    assert_int_equal(verdict.findings[0].class, GV_VERDICT_UNFINISHED);
    assert_string_equal(verdict.findings[0].evidence,
                        "cuStreamSynchronize had not returned when its process ended, after 101 ms "
                        "of 1.00 s");
    facts.flight_running = 1;
    facts.launch_calls = facts.kernels_run = facts.operations = 0;
    assert_true(is_told(GV_VERDICT_UNFINISHED));
    assert_string_equal(verdict.findings[0].evidence,
                        "cuStreamSynchronize has not returned, for 101 ms of 1.00 s");
}

static void waits(void **state)
{
    (void)state;
    facts.waits = facts.top_stall_count = 1;
    strcpy(facts.top_stall, "module-load");
    facts.wait_ns = facts.top_stall_ns = 49000000;
    assert_false(is_told(GV_VERDICT_STALLED));
    facts.wait_ns = facts.top_stall_ns = 51000000;
    assert_true(is_told(GV_VERDICT_STALLED));
}

static void loading(void **state)
{
    (void)state;
    facts.start_ns = facts.first_use_ns = 99000000;
    assert_false(is_told(GV_VERDICT_LOAD));
    facts.loading_ns = 2000000;
    facts.first_use_ns = 101000000;
    assert_true(is_told(GV_VERDICT_LOAD));
    /* What to do depends on what took the time. */
    assert_non_null(strstr(verdict.findings[verdict.count - 1].next, "keep the process alive"));
    facts.loading_ns = 900000000;
    facts.first_use_ns = 999000000;
    facts.compiling_ns = 890000000;
    assert_true(is_told(GV_VERDICT_LOAD));
    assert_non_null(strstr(verdict.findings[0].next, "SASS"));
}

static void copying(void **state)
{
    (void)state;
    facts.copies = 10;
    facts.copied_bytes = 1 << 20;
    facts.host_copy_ns = facts.kernel_ns - 1000;
    assert_false(is_told(GV_VERDICT_TRANSFER));
    facts.host_copy_ns = facts.kernel_ns;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    /* Hardly any copying is no news, even if there is less computing. */
    set_busy(1000);
    facts.host_copy_ns = 900000;
    assert_false(is_told(GV_VERDICT_TRANSFER));
}

/* What is so already is no advice. */
static void what_helps_copies(void **state)
{
    (void)state;
    facts.copies = 10;
    facts.copied_bytes = facts.pageable_bytes = 1 << 20;
    facts.host_copy_ns = facts.kernel_ns;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_non_null(strstr(verdict.findings[0].next, "in larger pieces, from pinned memory"));
    facts.copied_bytes = facts.pageable_bytes = 80 << 20;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_null(strstr(verdict.findings[0].next, "larger pieces"));
    assert_non_null(strstr(verdict.findings[0].next, "pinned memory"));
    facts.pageable_bytes = 0;
    facts.pinned_bytes = facts.copied_bytes;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_null(strstr(verdict.findings[0].next, "larger pieces"));
    assert_null(strstr(verdict.findings[0].next, "pinned memory"));
    assert_non_null(strstr(verdict.findings[0].next, "stream of its own"));
    facts.host_copy_ns = facts.kernel_ns;
    facts.kernel_ns /= 10;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_null(strstr(verdict.findings[0].next, "stream of its own"));
    assert_non_null(strstr(verdict.findings[0].next, "it is little"));
    facts.kernel_ns = facts.host_copy_ns;
    facts.copied_bytes = facts.pinned_bytes = 1 << 20;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_non_null(strstr(verdict.findings[0].next, "larger pieces"));
    assert_null(strstr(verdict.findings[0].next, "pinned memory"));
}

static void launching(void **state)
{
    (void)state;
    set_busy(2000000);
    facts.short_gaps = 499;
    facts.short_gap_ns = 101000000;
    assert_true(is_told(GV_VERDICT_LAUNCH));
    facts.short_gap_ns = 99000000;
    assert_false(is_told(GV_VERDICT_LAUNCH));
    facts.short_gap_ns = 500000000;
    facts.kernels_run = 99;
    assert_false(is_told(GV_VERDICT_LAUNCH));
    facts.kernels_run = 500;
    set_busy(500 * 51000);
    assert_false(is_told(GV_VERDICT_LAUNCH));
}

static void small_kernels(void **state)
{
    (void)state;
    facts.least_blocks = 8;
    facts.underfilled_ns = 440000000;
    facts.filled_ns = 500000000;
    assert_false(is_told(GV_VERDICT_UNDERFILLED));
    facts.underfilled_ns = 460000000;
    assert_true(is_told(GV_VERDICT_UNDERFILLED));
    assert_false(is_told(GV_VERDICT_ACCELERATED));
    /* Many of them at the same time fill the device. */
    facts.kernel_ns = facts.seen_kernel_ns = facts.busy_ns = 400000000;
    assert_false(is_told(GV_VERDICT_UNDERFILLED));
}

/* Of a graph it is not known how many blocks its kernels had. */
static void graphs_beside_small_kernels(void **state)
{
    (void)state;
    facts.graphs = 1;
    facts.graph_time_ns = 899000000;
    facts.kernel_time_ns = facts.blocks_known_ns = facts.underfilled_ns = 1000000;
    facts.filled_ns = 60000;
    facts.least_blocks = 8;
    assert_false(is_told(GV_VERDICT_UNDERFILLED));
    assert_true(is_told(GV_VERDICT_ACCELERATED));
    /* As much of the one as of the other. */
    facts.graph_time_ns = 440000000;
    facts.kernel_time_ns = facts.blocks_known_ns = facts.underfilled_ns = 460000000;
    facts.filled_ns = 46000000;
    assert_true(is_told(GV_VERDICT_UNDERFILLED));
    assert_non_null(strstr(verdict.findings[0].evidence,
                           "51 % of the kernels' and graphs' time was like that, and 10 % of"));
    assert_true(verdict.findings[0].weight < 0.26);
}

static void no_kernel(void **state)
{
    (void)state;
    set_busy(0);
    facts.launch_calls = facts.kernels_run = facts.operations = 0;
    assert_true(is_told(GV_VERDICT_NO_KERNEL));
    assert_int_equal(verdict.count, 1);
    facts.calls = 1;
    facts.load_calls = facts.copy_calls = 0;
    assert_true(is_told(GV_VERDICT_NO_KERNEL));
    assert_string_equal(verdict.findings[0].evidence,
                        "no launch, no load of code and no copy in 1 call");
    facts.calls = 3;
    facts.load_calls = 1;
    assert_true(is_told(GV_VERDICT_NO_KERNEL));
    assert_string_equal(verdict.findings[0].evidence,
                        "3 calls: 1 loaded code, 0 copied data, none launched");
    facts.init_result = 100;
    assert_true(is_told(GV_VERDICT_INIT_FAILED));
    assert_non_null(strstr(verdict.findings[0].evidence, "CUDA_ERROR_NO_DEVICE (100)"));
}

static void a_part_is_not_the_run(void **state)
{
    (void)state;
    facts.whole = false;
    assert_true(is_told(GV_VERDICT_ACCELERATED));
    assert_non_null(strstr(verdict.headline, "ran your code in this part of the trace: 500 runs"));
    facts.kernels_run = facts.operations = 0;
    assert_false(is_told(GV_VERDICT_NOT_RUN));
    assert_non_null(
        strstr(verdict.headline, "500 launches of 1 kernel in this part of the trace."));
    facts.launch_failed = 500;
    assert_true(is_told(GV_VERDICT_LAUNCH_FAILED));
    assert_non_null(strstr(verdict.headline, "Every launch in this part of the trace failed"));
    assert_null(strstr(verdict.headline, "did not run your code"));
    facts.launch_calls = facts.launch_failed = 0;
    assert_false(is_told(GV_VERDICT_NO_KERNEL));
    assert_int_equal(verdict.count, 0);
    assert_string_equal(verdict.headline, "No kernel was launched in this part of the trace.");
    facts.calls = 0;
    gv_verdict_make(&facts, &verdict);
    assert_string_equal(verdict.headline, "No CUDA call was recorded in this part of the trace.");
}

static void launches_that_fail(void **state)
{
    (void)state;
    set_busy(0);
    facts.kernels_run = facts.operations = facts.launched_kernels = 0;
    facts.launch_calls = facts.launch_failed = facts.failed = 3;
    facts.launch_result = 209;
    strcpy(facts.launch_failed_most, "cuLaunchKernel");
    assert_true(is_told(GV_VERDICT_LAUNCH_FAILED));
    assert_int_equal(verdict.count, 1);
    assert_string_equal(verdict.headline,
                        "Every launch failed, with CUDA_ERROR_NO_BINARY_FOR_GPU (209): the GPU did "
                        "not run your code.");
    assert_non_null(strstr(verdict.findings[0].next, "-gencode"));
    /* Also where the GPU's side was not seen. */
    facts.gpu_seen = false;
    assert_true(is_told(GV_VERDICT_LAUNCH_FAILED));
    facts.launch_failed = 2;
    assert_false(is_told(GV_VERDICT_LAUNCH_FAILED));
    assert_non_null(strstr(verdict.headline, "3 launches of 0 kernels, 2 of which failed. What"));
    facts.gpu_seen = true;
    facts.kernels_run = facts.operations = 1;
    assert_false(is_told(GV_VERDICT_LAUNCH_FAILED));
}

static void launches_that_the_gpu_never_finished(void **state)
{
    (void)state;
    set_busy(0);
    facts.kernels_run = facts.operations = 0;
    assert_true(is_told(GV_VERDICT_NOT_RUN));
    assert_int_equal(verdict.count, 1);
    assert_non_null(strstr(verdict.headline, "The GPU finished none of them."));
    facts.launch_calls = 1;
    assert_true(is_told(GV_VERDICT_NOT_RUN));
    assert_non_null(strstr(verdict.headline, "1 launch of 1 kernel. The GPU did not finish it."));
    facts.launch_calls = 500;
    facts.operations = 1; /* a copy */
    assert_true(is_told(GV_VERDICT_NOT_RUN));
    /* What is missing may have run. */
    facts.lost = 1;
    assert_false(is_told(GV_VERDICT_NOT_RUN));
    facts.lost = 0;
    facts.killed = 1;
    assert_false(is_told(GV_VERDICT_NOT_RUN));
    facts.killed = 0;
    facts.whole = false;
    assert_false(is_told(GV_VERDICT_NOT_RUN));
    facts.whole = true;
    facts.gpu_seen = false;
    assert_false(is_told(GV_VERDICT_NOT_RUN));
}

static void graphs_are_work(void **state)
{
    (void)state;
    facts.kernels_run = facts.kernel_names = 0;
    facts.graphs = 3;
    facts.graph_time_ns = facts.kernel_time_ns;
    facts.kernel_time_ns = 0;
    assert_true(is_told(GV_VERDICT_ACCELERATED));
    assert_non_null(strstr(verdict.headline, "3 runs of graphs"));
    assert_non_null(strstr(verdict.findings[0].evidence, "most of it in graphs"));
}

/* A trace may say anything. */
static void senseless_facts_do_no_harm(void **state)
{
    (void)state;
    int64_t *numbers = (int64_t *)(void *)&facts;
    static const int64_t values[] = {INT64_C(1) << 56, -(INT64_C(1) << 56), -1, 0, 1};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        setup(NULL);
        /* The numbers that come first, in the table of facts. */
        for (size_t j = 0; j < 20; j++)
            numbers[j] = values[i];
        facts.window_ns = facts.busy_ns = facts.devices_used = values[i];
        gv_verdict_make(&facts, &verdict);
        assert_true(verdict.count <= GV_VERDICT_MOST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, setup)
        TEST(work_is_accelerated),
        TEST(an_idle_gpu),
        TEST(idle_while_the_host_was_in_calls),
        TEST(idle_time_in_short_gaps),
        TEST(devices_share_their_work),
        TEST(nothing_is_guessed_when_the_gpu_was_not_seen),
        TEST(shares_are_of_what_is_known),
        TEST(a_call_that_never_returned_leads),
        TEST(waits),
        TEST(loading),
        TEST(copying),
        TEST(what_helps_copies),
        TEST(launching),
        TEST(small_kernels),
        TEST(graphs_beside_small_kernels),
        TEST(no_kernel),
        TEST(a_part_is_not_the_run),
        TEST(launches_that_fail),
        TEST(launches_that_the_gpu_never_finished),
        TEST(graphs_are_work),
        TEST(senseless_facts_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
