/* The texts of a verdict of invented facts: the headline and the next step. */
#include "verdict_fixture.h"

#include <string.h>

/* The current state is not advice. */
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
    assert_non_null(strstr(verdict.findings[0].next, "has little to compute"));
    facts.kernel_ns = facts.host_copy_ns;
    facts.copied_bytes = facts.pinned_bytes = 1 << 20;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_non_null(strstr(verdict.findings[0].next, "larger pieces"));
    assert_null(strstr(verdict.findings[0].next, "pinned memory"));
}

/* A host inside calls gets no advice about the time between them. */
static void idle_while_the_host_was_in_calls(void **state)
{
    (void)state;
    char next[GV_VERDICT_NEXT_BYTES];

    set_busy(400000000);
    facts.thread_ns = 990000000;
    facts.gap_call_ns = 550000000;
    strcpy(facts.gap_call, "cuMemAlloc_v2");
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_string_equal(
        verdict.findings[0].evidence,
        "the GPU had nothing to do for 600 ms of 1.00 s; the host was outside of CUDA "
        "for 10.0 ms; in its longest gaps it was in cuMemAlloc_v2 for 550 ms");
    assert_string_equal(gv_verdict_next_of(&verdict.findings[0], "a.db", next),
                        "see which CUDA calls the host was in: gpuverify report a.db "
                        "--section gaps");
    facts.gap_call_ns = 55000;
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_null(strstr(verdict.findings[0].evidence, "gaps"));
    facts.thread_ns = 500000000;
    facts.gap_call_ns = 550000000;
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_null(strstr(verdict.findings[0].evidence, "gaps"));
    assert_non_null(strstr(verdict.findings[0].next, "gpuverify idle FILE"));
    facts.idle_lack = "nobody looked";
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_non_null(strstr(verdict.findings[0].evidence, "; the reason is unknown: nobody looked"));
    assert_non_null(strstr(verdict.findings[0].next, "between its CUDA calls"));
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

/* It may still launch. */
static void a_run_that_goes_on(void **state)
{
    (void)state;
    set_busy(0);
    facts.complete = false;
    facts.launch_calls = facts.kernels_run = facts.operations = 0;
    assert_false(is_told(GV_VERDICT_NO_KERNEL));
    assert_string_equal(verdict.headline, "No kernel was launched so far.");
    facts.calls = 0;
    gv_verdict_make(&facts, &verdict);
    assert_string_equal(verdict.headline, "No CUDA call was recorded so far.");
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
    /* Also without the GPU side. */
    facts.gpu_seen = false;
    assert_true(is_told(GV_VERDICT_LAUNCH_FAILED));
    facts.launch_failed = 2;
    assert_false(is_told(GV_VERDICT_LAUNCH_FAILED));
    assert_non_null(strstr(verdict.headline, "3 launches of 0 kernels, 2 of which failed. GPU"));
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
    /* Missing kernels may have run. */
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

/* A list of stalls includes compilation, and an average is not a median. */
static void numbers_say_what_they_are_of(void **state)
{
    (void)state;
    facts.waits = facts.top_stall_count = 1;
    facts.wait_ns = facts.top_stall_ns = 695000000;
    strcpy(facts.top_stall, "module-load");
    assert_true(is_told(GV_VERDICT_STALLED));
    assert_null(strstr(verdict.findings[0].evidence, "compiled"));
    facts.wait_jit_ns = 5000000;
    assert_true(is_told(GV_VERDICT_STALLED));
    assert_non_null(strstr(verdict.findings[0].evidence,
                           "waited for 695 ms of 1.00 s ('module-load'); besides, it"
                           " compiled for 5.00 ms"));
    facts.waits = facts.top_stall_count = 2;
    assert_true(is_told(GV_VERDICT_STALLED));
    assert_non_null(strstr(verdict.findings[0].evidence,
                           "2 calls waited for 695 ms of 1.00 s ('module-load'); besides, they"));
    facts.waits = 3;
    assert_true(is_told(GV_VERDICT_STALLED));
    assert_non_null(strstr(verdict.findings[0].evidence,
                           "3 calls waited for 695 ms of 1.00 s, most for 'module-load': 695 ms"
                           " in 2 calls; besides, they"));
    set_busy(0);
    facts.waits = 0;
    facts.wait_ns = 0;
    facts.operations = facts.gpu_seen = 0;
    facts.thread_launch_ns = 300000000;
    facts.launch_median_ns = 487000;
    assert_true(is_told(GV_VERDICT_LAUNCH));
    assert_non_null(strstr(verdict.findings[0].evidence,
                           "500 launches took the host 300 ms of 1.00 s, not counting the stalls"
                           " that were found; half of them took 487 us or less"));
}

/* A fix saves at most the GPU's idle time, which is unknown without its side. */
static void a_stall_saves_no_more_than_the_gpus_idle_time(void **state)
{
    (void)state;
    facts.waits = facts.top_stall_count = 1;
    facts.wait_ns = facts.top_stall_ns = 800000000;
    facts.busiest_ns = 990000000;
    strcpy(facts.top_stall, "module-load");
    assert_true(is_told(GV_VERDICT_STALLED));
    assert_non_null(strstr(verdict.findings[0].evidence, "Fixing this saves at most 10.0 ms"));
    facts.gpu_known = false;
    assert_true(is_told(GV_VERDICT_STALLED));
    assert_null(strstr(verdict.findings[0].evidence, "saves"));
    facts.gpu_known = true;
    facts.busiest_ns = 500000000;
    assert_true(is_told(GV_VERDICT_STALLED));
    assert_null(strstr(verdict.findings[0].evidence, "saves"));
}

static void an_estimate_says_how_exact_it_is(void **state)
{
    (void)state;
    facts.scaled = 1;
    facts.gpu_whole = false;
    facts.scaled_windows = 30;
    facts.scaled_seen_ppm = 21000;
    facts.gpu_busy_error_ns = 15000000;
    set_busy(620000000);
    gv_verdict_make(&facts, &verdict);
    assert_string_equal(verdict.headline,
                        "The GPU ran your code: 500 runs of 1 kernel. It was busy 62 ± 3 % of the"
                        " time, seen for 2.1 % of it.");
    /* Kernels that no window saw may have kept it busy, too. */
    facts.scaled_unknown = 10;
    gv_verdict_make(&facts, &verdict);
    assert_non_null(strstr(verdict.headline, "It was busy at least 62 ± 3 % of the time"));
    facts.scaled_unknown = 0;
    facts.gpu_busy_error_ns = 1500000;
    gv_verdict_make(&facts, &verdict);
    assert_non_null(strstr(verdict.headline, "busy 62.0 ± 0.3 % of"));
    facts.scaled_windows = 3;
    gv_verdict_make(&facts, &verdict);
    assert_non_null(strstr(verdict.headline, "busy 62 % of the time, seen for 2.1 % of it, too"
                                             " little to say how exact that is."));
}

static void records_of_the_gpu_that_found_no_room(void **state)
{
    (void)state;
    facts.lost = facts.gpu_lost = 5;
    gv_verdict_make(&facts, &verdict);
    assert_string_equal(verdict.headline, "The GPU ran your code: at least 500 runs of 1 kernel. It"
                                          " was busy at least 90 % of the time.");
    set_busy(400000000);
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_non_null(
        strstr(verdict.findings[0].evidence, "nothing to do for at most 600 ms of 1.00"));
    facts.operations = facts.kernels_run = facts.gpu_seen = 0;
    facts.lost = facts.gpu_lost = facts.full = facts.gpu_full = 5;
    gv_verdict_make(&facts, &verdict);
    assert_non_null(strstr(verdict.headline, "Records of the GPU's activity were lost: shared"
                                             " memory was full"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, setup)
        TEST(what_helps_copies),
        TEST(idle_while_the_host_was_in_calls),
        TEST(a_part_is_not_the_run),
        TEST(a_run_that_goes_on),
        TEST(launches_that_fail),
        TEST(launches_that_the_gpu_never_finished),
        TEST(numbers_say_what_they_are_of),
        TEST(a_stall_saves_no_more_than_the_gpus_idle_time),
        TEST(an_estimate_says_how_exact_it_is),
        TEST(records_of_the_gpu_that_found_no_room),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
