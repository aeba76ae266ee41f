/* What is true of invented runs, in words. */
#include "tests/unit/report/cmocka_all.h"

#include "report/analyse/facts/facts.h"

#include <stdbool.h>
#include <string.h>

static struct gv_run_facts facts;
static struct gv_fact_list list;
static char headline[GV_FACTS_SENTENCE_BYTES];

/* A second of a program that keeps the GPU busy. */
static int setup(void **state)
{
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
    facts.lived_ns = 1000000000;
    strcpy(facts.top_kernel, "gemm");
    return 0;
}

static void set_busy(int64_t ns)
{
    facts.busy_ns = facts.kernel_ns = facts.seen_kernel_ns = facts.kernel_time_ns = ns;
    facts.blocks_known_ns = facts.filled_ns = ns;
}

/* The detail of this fact; NULL: it is not told. */
static const char *told(enum gv_fact_name name)
{
    gv_facts_make(&facts, &list);
    gv_facts_say_headline(&facts, headline);
    for (size_t i = 0; i < list.count; i++)
        if (list.facts[i].name == name)
            return list.facts[i].detail;
    return NULL;
}

static void a_part_is_not_the_run(void **state)
{
    facts.whole = false;
    assert_non_null(told(GV_FACT_ACCELERATED));
    assert_string_equal(headline,
                        "The GPU ran your code in this part of the trace: 500 runs of 1 kernel.");
    facts.kernels_run = facts.operations = 0;
    assert_null(told(GV_FACT_NO_KERNEL));
    assert_non_null(strstr(headline, "500 launches of 1 kernel in this part of the trace."));
    facts.captured_launches = 400;
    told(GV_FACT_NO_KERNEL);
    assert_non_null(
        strstr(headline, "100 launches of 1 kernel, and captured 400 more into graphs"));
    facts.graph_launches = 30;
    told(GV_FACT_NO_KERNEL);
    assert_non_null(strstr(headline, "70 launches of 1 kernel and 30 of graphs, and captured 400 "
                                     "more into graphs"));
    facts.graph_launches = 100;
    told(GV_FACT_NO_KERNEL);
    assert_non_null(strstr(
        headline, "100 launches of graphs, and captured 400 launches of 1 kernel into graphs"));
    facts.launch_failed = 500;
    assert_non_null(told(GV_FACT_NO_KERNEL));
    assert_non_null(strstr(headline, "Every launch in this part of the trace failed"));
    assert_null(strstr(headline, "did not run your code"));
    set_busy(0);
    facts.launch_calls = facts.launch_failed = 0;
    assert_null(told(GV_FACT_NO_KERNEL));
    assert_int_equal(list.count, 0);
    assert_string_equal(headline, "No kernel was launched in this part of the trace.");
    facts.calls = 0;
    gv_facts_say_headline(&facts, headline);
    assert_string_equal(headline, "No CUDA call was recorded in this part of the trace.");
}

/* It may still launch. */
static void a_run_that_goes_on(void **state)
{
    set_busy(0);
    facts.complete = false;
    facts.launch_calls = facts.kernels_run = facts.operations = 0;
    assert_null(told(GV_FACT_NO_KERNEL));
    assert_string_equal(headline, "No kernel was launched so far.");
}

static void launches_that_fail(void **state)
{
    set_busy(0);
    facts.kernels_run = facts.operations = facts.launched_kernels = 0;
    facts.launch_calls = facts.launch_failed = facts.failed = 3;
    facts.launch_result = 209;
    strcpy(facts.launch_failed_most, "cuLaunchKernel");
    assert_non_null(strstr(told(GV_FACT_NO_KERNEL), "3 launches failed, mostly cuLaunchKernel"));
    assert_int_equal(list.count, 1);
    assert_string_equal(headline,
                        "Every launch failed, with CUDA_ERROR_NO_BINARY_FOR_GPU (209): the GPU did "
                        "not run your code.");
    assert_non_null(strstr(list.facts[0].next, "-gencode"));
    /* Also without the GPU side. */
    facts.gpu_seen = false;
    assert_non_null(told(GV_FACT_NO_KERNEL));
    facts.launch_failed = 2;
    assert_null(told(GV_FACT_NO_KERNEL));
    assert_non_null(strstr(headline, "3 launches of 0 kernels, 2 of which failed. GPU"));
}

static void launches_that_the_gpu_never_finished(void **state)
{
    set_busy(0);
    facts.kernels_run = facts.operations = 0;
    assert_non_null(told(GV_FACT_NO_KERNEL));
    assert_int_equal(list.count, 1);
    assert_non_null(strstr(headline, "The GPU finished none of them."));
    facts.operations = 1; /* a copy */
    assert_non_null(told(GV_FACT_NO_KERNEL));
    /* Missing kernels may have run. */
    facts.lost = 1;
    assert_null(told(GV_FACT_NO_KERNEL));
    facts.lost = 0;
    facts.killed = 1;
    assert_null(told(GV_FACT_NO_KERNEL));
    facts.killed = 0;
    facts.gpu_seen = false;
    assert_null(told(GV_FACT_NO_KERNEL));
}

static void no_kernel(void **state)
{
    set_busy(0);
    facts.launch_calls = facts.kernels_run = facts.operations = 0;
    facts.calls = 1;
    assert_string_equal(told(GV_FACT_NO_KERNEL),
                        "no launch, no load of code and no copy in 1 call");
    facts.calls = 3;
    facts.load_calls = 1;
    assert_string_equal(told(GV_FACT_NO_KERNEL),
                        "3 calls: 1 loaded code, 0 copied data, none launched");
    facts.load_failed = 1;
    assert_string_equal(told(GV_FACT_NO_KERNEL),
                        "3 calls: 0 loaded code (1 failed), 0 copied data, none launched");
    facts.init_result = 100;
    assert_non_null(strstr(told(GV_FACT_NO_CUDA), "CUDA_ERROR_NO_DEVICE (100)"));
    assert_null(told(GV_FACT_NO_KERNEL));
    strcpy(facts.hidden_devices, "CUDA_VISIBLE_DEVICES=-1");
    assert_string_equal(told(GV_FACT_NO_CUDA),
                        "CUDA_ERROR_NO_DEVICE (100): CUDA_VISIBLE_DEVICES=-1 hides all devices; "
                        "unset it");
    facts.init_result = 999;
    assert_null(strstr(told(GV_FACT_NO_CUDA), "hides"));
}

static void a_call_that_never_returned(void **state)
{
    strcpy(facts.flight, "cuStreamSynchronize");
    facts.flight_ns = 99000000;
    assert_null(told(GV_FACT_UNFINISHED));
    facts.flight_ns = 101000000;
    assert_string_equal(told(GV_FACT_UNFINISHED),
                        "cuStreamSynchronize had not returned when its process ended, after 101 ms "
                        "of 1.00 s");
    facts.flight_running = 1;
    assert_string_equal(told(GV_FACT_UNFINISHED),
                        "cuStreamSynchronize has not returned, for 101 ms of 1.00 s");
}

/* However little time the launches took. */
static void blocking_launches(void **state)
{
    strcpy(facts.launch_blocking, "CUDA_LAUNCH_BLOCKING=1");
    assert_null(told(GV_FACT_LAUNCH_BLOCKING));
    facts.blocking_launches = 500;
    facts.blocking_ns = 2000;
    assert_string_equal(told(GV_FACT_LAUNCH_BLOCKING),
                        "CUDA_LAUNCH_BLOCKING=1 makes each launch wait until the GPU has done it: "
                        "500 launches took 2.00 us");
}

static void accelerated_is_of_the_run(void **state)
{
    assert_string_equal(told(GV_FACT_ACCELERATED),
                        "the GPU computed for 900 ms of the 1.00 s that the run took");
    facts.lived_ns = 2000000000; /* with what it did before its first call */
    assert_null(told(GV_FACT_ACCELERATED));
}

static void a_rank_that_waits_for_another_one_is_not_accelerated(void **state)
{
    (void)state;
    facts.late.process = 2;
    facts.late.total_ns = facts.window_ns / 2;
    facts.late.of = facts.late.steps = 10;
    assert_null(told(GV_FACT_ACCELERATED));
    assert_non_null(told(GV_FACT_LATE_RANK));
}

static void memory_that_grows(void **state)
{
    (void)state;
    facts.grown_times = 136;
    facts.grown_bytes = 1 << 30;
    strcpy(facts.grown_where, "train.py:41 step");
    assert_string_equal(
        told(GV_FACT_MEMORY_GROWS),
        "train.py:41 step allocates throughout the run; 1.00 GiB from 136 calls was "
        "never freed");
    facts.whole = false;
    assert_null(told(GV_FACT_MEMORY_GROWS));
}

static void an_estimate_that_may_be_nothing_is_a_range(void **state)
{
    (void)state;
    char busy[GV_FACTS_SHARE_BYTES];

    set_busy(620000000);
    facts.sampled_error_ns = 15000000;
    assert_string_equal(gv_run_facts_busy(&facts, busy), "62 ± 3 %");
    facts.sampled_error_ns = 585000000;
    assert_string_equal(gv_run_facts_busy(&facts, busy), "0 to 100 %");
    set_busy(1000000);
    facts.sampled_error_ns = 1000000;
    assert_string_equal(gv_run_facts_busy(&facts, busy), "0 to 0.3 %");
}

static void records_of_the_gpu_that_found_no_room(void **state)
{
    facts.lost = facts.gpu_lost = 5;
    facts.complete = false;
    gv_facts_say_headline(&facts, headline);
    assert_non_null(strstr(headline, "at least 500 runs of 1 kernel."));
    facts.operations = facts.kernels_run = facts.gpu_seen = 0;
    facts.full = facts.gpu_full = 5;
    gv_facts_say_headline(&facts, headline);
    assert_non_null(strstr(headline, "Records of the GPU's activity were lost: shared memory"));
}

static void measured_calls_that_nobody_could_read(void **state)
{
    (void)state;
    facts.operations = facts.kernels_run = facts.gpu_seen = 0;
    facts.sampled_processes = facts.own_costs = 1;
    gv_facts_say_headline(&facts, headline);
    assert_non_null(
        strstr(headline, ". No call was measured, so how busy the GPU was is unknown."));
    facts.measured_calls = 29;
    gv_facts_say_headline(&facts, headline);
    assert_non_null(strstr(headline,
                           ". None of the 29 measured calls gave a time, so how busy the GPU was is"
                           " unknown: let the program run longer."));
    facts.complete = false; /* they may be read yet */
    gv_facts_say_headline(&facts, headline);
    assert_null(strstr(headline, "measured"));
    facts.sampled_calls = 1;
    gv_facts_say_headline(&facts, headline);
    assert_null(strstr(headline, "unknown"));
}

/* A trace may contain anything. */
static void senseless_facts_do_no_harm(void **state)
{
    int64_t *numbers = (int64_t *)(void *)&facts;
    static const int64_t values[] = {INT64_C(1) << 56, -(INT64_C(1) << 56), -1, 0, 1};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        setup(state);
        /* The numbers that come first, in the table of facts. */
        for (size_t j = 0; j < 20; j++)
            numbers[j] = values[i];
        facts.window_ns = facts.busy_ns = facts.devices_used = values[i];
        gv_facts_make(&facts, &list);
        assert_true(list.count <= GV_FACT_COUNT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, setup)
        TEST(a_part_is_not_the_run),
        TEST(a_run_that_goes_on),
        TEST(launches_that_fail),
        TEST(launches_that_the_gpu_never_finished),
        TEST(no_kernel),
        TEST(a_call_that_never_returned),
        TEST(blocking_launches),
        TEST(accelerated_is_of_the_run),
        TEST(a_rank_that_waits_for_another_one_is_not_accelerated),
        TEST(memory_that_grows),
        TEST(an_estimate_that_may_be_nothing_is_a_range),
        TEST(records_of_the_gpu_that_found_no_room),
        TEST(measured_calls_that_nobody_could_read),
        TEST(senseless_facts_do_no_harm),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
