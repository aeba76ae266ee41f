/* The verdict of invented facts: each class just above and just below its threshold. */
#include "verdict_fixture.h"

#include <string.h>

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
    /* Loading explains it. */
    set_busy(300000000);
    facts.loading_ns = facts.first_use_ns = 600000000;
    assert_false(is_told(GV_VERDICT_IDLE));
    assert_true(is_told(GV_VERDICT_LOAD));
}

static void idle_for(size_t index, const char *reason, const char *text, int64_t ns, bool own)
{
    facts.idle[index] = (struct gv_facts_idle){
        .id = 3, .total_ns = ns, .saves_ns = ns, .inside_ns = ns, .gaps = 2, .own = own};
    snprintf(facts.idle[index].reason, sizeof(facts.idle[index].reason), "%s", reason);
    snprintf(facts.idle[index].text, sizeof(facts.idle[index].text), "%s", text);
    facts.idle_lines = (int64_t)index + 1;
    facts.idle_ns += ns;
    facts.own_idle_ns += own ? ns : 0;
}

/* The reason and the line instead of "mostly idle". */
static void an_idle_gpu_of_which_is_known_why(void **state)
{
    (void)state;
    set_busy(facts.busiest_ns = 300000000);
    facts.run_ns = 1000000000;
    idle_for(0, "data", "waiting for data: data.py:41 __getitem__", 600000000, false);
    assert_true(is_told(GV_VERDICT_IDLE_LINE));
    assert_false(is_told(GV_VERDICT_IDLE));
    assert_string_equal(verdict.findings[0].evidence,
                        "waiting for data: data.py:41 __getitem__; meanwhile the GPU had no work "
                        "for 600 ms of 1.00 s, in 2 gaps");
    assert_string_equal(verdict.findings[0].next,
                        "Use more workers, prefetch, or do less for each item.");
    assert_int_equal(gv_verdict_idle_saves(&facts, &verdict.findings[0]), 600000000);
    /* Fixing it saves no more than the time in which the busiest device has nothing to do. */
    facts.busiest_ns = 900000000;
    assert_int_equal(gv_verdict_idle_saves(&facts, &verdict.findings[0]), 100000000);
    facts.idle[0].saves_ns = 99000000;
    assert_false(is_told(GV_VERDICT_IDLE_LINE));
}

/* The host's own work is no loss where the GPU's part is small. */
static void a_program_for_the_host(void **state)
{
    (void)state;
    set_busy(facts.busiest_ns = 40000000);
    facts.run_ns = 1000000000;
    idle_for(0, "python", "running Python: model.py:20 advance", 700000000, true);
    idle_for(1, "sleep", "sleeping: model.py:44 fetch", 250000000, false);
    assert_true(is_told(GV_VERDICT_HOST));
    assert_true(is_told(GV_VERDICT_IDLE_LINE));
    assert_false(is_told(GV_VERDICT_IDLE));
    for (size_t i = 0; i < verdict.count; i++)
        assert_null(strstr(verdict.findings[i].evidence, "meanwhile the GPU had no work for 700"));
    set_busy(facts.busiest_ns = 60000000);
    assert_false(is_told(GV_VERDICT_HOST));
    assert_true(is_told(GV_VERDICT_IDLE_LINE));
    assert_non_null(strstr(verdict.findings[0].evidence, "running Python: model.py:20 advance"));
}

/* Missing launches may have filled the time. */
static void idle_time_that_is_missing(void **state)
{
    (void)state;
    set_busy(300000000);
    facts.launches_missing = facts.gpu_lost = 1;
    assert_true(is_told(GV_VERDICT_IDLE));
    facts.launches_missing = facts.gpu_lost = 500; /* as many as were seen */
    assert_false(is_told(GV_VERDICT_IDLE));
    facts.launches_missing = 0; /* or of what they were is not known */
    assert_false(is_told(GV_VERDICT_IDLE));
    facts.operations_lost = 500; /* after the time that is known */
    assert_true(is_told(GV_VERDICT_IDLE));
}

static void gaps_that_are_missing(void **state)
{
    (void)state;
    set_busy(20000000);
    facts.launch_gaps = 499;
    facts.launch_gap_ns = 300000000;
    assert_true(is_told(GV_VERDICT_LAUNCH));
    facts.gpu_lost = 500;
    assert_false(is_told(GV_VERDICT_LAUNCH));
    facts.launch_gaps = facts.launch_gap_ns = 0;
    facts.copies = 10;
    facts.copied_bytes = 10000;
    facts.host_copy_ns = 10000000;
    facts.copy_gap_ns = 300000000;
    assert_false(is_told(GV_VERDICT_TRANSFER));
    facts.gpu_lost = 0;
    assert_true(is_told(GV_VERDICT_TRANSFER));
}

/* A class below its threshold explains nothing: a mostly idle GPU gets a finding. */
static void idle_time_in_short_gaps(void **state)
{
    (void)state;
    set_busy(180000000);
    facts.kernels_run = 3000;
    facts.launch_gaps = 2999;
    facts.launch_gap_ns = 750000000;
    facts.first_use_ns = facts.start_ns = 90000000;
    assert_false(is_told(GV_VERDICT_LOAD));
    assert_false(is_told(GV_VERDICT_LAUNCH)); /* each kernel takes 60 us */
    assert_true(is_told(GV_VERDICT_IDLE));
    facts.kernels_run = 4000;
    assert_true(is_told(GV_VERDICT_LAUNCH));
    assert_false(is_told(GV_VERDICT_IDLE));
}

/* Sums of all devices are compared with the time of all devices. */
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
        facts.launch_gaps = 499;
        facts.launch_gap_ns = devices * 90000000;
        assert_false(is_told(GV_VERDICT_LAUNCH));
        facts.launch_gap_ns = devices * 110000000;
        assert_true(is_told(GV_VERDICT_LAUNCH));
        facts.launch_gap_ns = 0;
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
    assert_non_null(strstr(verdict.headline, "GPU activity was not recorded"));
    facts.launch_calls = 1;
    gv_verdict_make(&facts, &verdict);
    assert_non_null(strstr(verdict.headline, "1 launch of 1 kernel. GPU activity was not"));
    facts.copy_ns = 300000000;
    assert_false(is_told(GV_VERDICT_TRANSFER)); /* no thread was long in them */
    facts.thread_copy_ns = 300000000;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_non_null(strstr(verdict.findings[0].evidence, "is unknown"));
}

static void shares_are_of_what_is_known(void **state)
{
    (void)state;
    facts.gpu_whole = false;
    facts.known_ns = 400000000;
    facts.known_first = true;
    set_busy(300000000);
    assert_true(is_told(GV_VERDICT_ACCELERATED));
    assert_string_equal(verdict.headline,
                        "The GPU ran your code: at least 500 runs of 1 kernel. It was busy 75 % of "
                        "the first 400 ms; what it did after that is unknown.");
    assert_non_null(strstr(verdict.findings[0].evidence, "300 ms of the first 400 ms"));
    set_busy(100000000);
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_non_null(strstr(verdict.findings[0].evidence, "300 ms of the first 400 ms"));
    facts.known_first = false; /* another profiler had the GPU side in between */
    assert_true(is_told(GV_VERDICT_IDLE));
    assert_non_null(strstr(verdict.headline, "of the 400 ms that were seen; what it did in the rest"
                                             " is unknown."));
    assert_non_null(strstr(verdict.findings[0].evidence, "300 ms of the 400 ms that were seen"));
    /* Its weight is that part of the run; larger ones come first. */
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

static void threads_without_a_processor(void **state)
{
    (void)state;
    facts.delays = 3;
    facts.delay_ns = 49000000;
    assert_false(is_told(GV_VERDICT_DESCHEDULED));
    facts.delay_ns = 51000000;
    assert_true(is_told(GV_VERDICT_DESCHEDULED));
    assert_false(is_told(GV_VERDICT_STALLED));
    assert_string_equal(gv_verdict_name(verdict.findings[1].class), "descheduled");
    assert_null(strstr(verdict.findings[1].next, "explain"));
}

/* Last, whatever its weight, and without a change to propose. */
static void what_nothing_explains(void **state)
{
    (void)state;
    facts.unknowns = 1;
    facts.unknown_ns = 49000000;
    assert_false(is_told(GV_VERDICT_UNEXPLAINED));
    facts.unknown_ns = 980000000;
    assert_true(is_told(GV_VERDICT_UNEXPLAINED));
    assert_false(is_told(GV_VERDICT_STALLED));
    assert_int_equal(verdict.findings[0].class, GV_VERDICT_ACCELERATED);
    assert_int_equal(verdict.findings[verdict.count - 1].class, GV_VERDICT_UNEXPLAINED);
    facts.waits = facts.top_stall_count = 1;
    facts.wait_ns = facts.top_stall_ns = 51000000;
    strcpy(facts.top_stall, "lock");
    assert_true(is_told(GV_VERDICT_STALLED));
    assert_int_equal(verdict.findings[2].class, GV_VERDICT_UNEXPLAINED);
}

static void loading(void **state)
{
    (void)state;
    facts.start_ns = facts.first_use_ns = 99000000;
    assert_false(is_told(GV_VERDICT_LOAD));
    facts.loading_ns = 2000000;
    facts.first_use_ns = 101000000;
    assert_true(is_told(GV_VERDICT_LOAD));
    /* The next step depends on what took the time. */
    assert_non_null(strstr(verdict.findings[verdict.count - 1].next, "keep the process alive"));
    assert_null(strstr(verdict.findings[verdict.count - 1].next, "SASS"));
    facts.compiling_ns = 20000000;
    assert_true(is_told(GV_VERDICT_LOAD));
    assert_non_null(strstr(verdict.findings[verdict.count - 1].next, "keep the process alive"));
    assert_non_null(strstr(verdict.findings[verdict.count - 1].next, "SASS"));
    /* The rest of the run stays. */
    set_busy(1000);
    facts.busiest_ns = 1000;
    assert_true(is_told(GV_VERDICT_LOAD));
    assert_non_null(strstr(verdict.findings[1].evidence, "the run takes about 899 ms"));
    set_busy(900000000);
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
    /* The GPU's waits for the host's part count too. */
    facts.host_copy_ns = facts.kernel_ns / 4;
    assert_false(is_told(GV_VERDICT_TRANSFER));
    facts.copy_gap_ns = facts.kernel_ns;
    assert_true(is_told(GV_VERDICT_TRANSFER));
    assert_non_null(strstr(verdict.findings[0].evidence,
                           "225 ms on the GPU and 900 ms more in gaps caused by these calls"));
    facts.copy_gap_ns = 0;
    /* Very little copying is not reported, even with less computing. */
    set_busy(1000);
    facts.host_copy_ns = 900000;
    assert_false(is_told(GV_VERDICT_TRANSFER));
}

static void launching(void **state)
{
    (void)state;
    set_busy(2000000);
    facts.launch_gaps = 499;
    facts.launch_gap_ns = 101000000;
    assert_true(is_told(GV_VERDICT_LAUNCH));
    facts.launch_gap_ns = 99000000;
    assert_false(is_told(GV_VERDICT_LAUNCH));
    facts.launch_gaps_ns = 499 * 8000;
    facts.launch_gap_ns = 900000000; /* in gaps that do not count, too */
    assert_true(is_told(GV_VERDICT_LAUNCH));
    assert_non_null(strstr(verdict.findings[0].evidence, "with 8.00 us between them"));
    facts.launch_gap_ns = 500000000;
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
    /* Many at the same time fill the device. */
    facts.kernel_ns = facts.seen_kernel_ns = facts.busy_ns = 400000000;
    assert_false(is_told(GV_VERDICT_UNDERFILLED));
}

/* The number of blocks of a graph's kernels is unknown. */
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
    /* Equal shares. */
    facts.graph_time_ns = 440000000;
    facts.kernel_time_ns = facts.blocks_known_ns = facts.underfilled_ns = 460000000;
    facts.filled_ns = 46000000;
    assert_true(is_told(GV_VERDICT_UNDERFILLED));
    assert_non_null(strstr(verdict.findings[0].evidence,
                           "51 % of the kernels' and graphs' time was in such launches, which"));
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
    facts.load_failed = 1;
    assert_true(is_told(GV_VERDICT_NO_KERNEL));
    assert_string_equal(verdict.findings[0].evidence,
                        "3 calls: 0 loaded code (1 failed), 0 copied data, none launched");
    facts.init_result = 100;
    assert_true(is_told(GV_VERDICT_INIT_FAILED));
    assert_non_null(strstr(verdict.findings[0].evidence, "CUDA_ERROR_NO_DEVICE (100)"));
    strcpy(facts.hidden_devices, "CUDA_VISIBLE_DEVICES=-1");
    assert_true(is_told(GV_VERDICT_INIT_FAILED));
    assert_string_equal(verdict.findings[0].evidence,
                        "CUDA_ERROR_NO_DEVICE (100): CUDA_VISIBLE_DEVICES=-1 hides all devices; "
                        "unset it");
    facts.init_result = 999;
    assert_true(is_told(GV_VERDICT_INIT_FAILED));
    assert_null(strstr(verdict.findings[0].evidence, "hides"));
}

/* Whatever else there is, and however little time the launches took. */
static void blocking_launches_come_first(void **state)
{
    (void)state;
    strcpy(facts.launch_blocking, "CUDA_LAUNCH_BLOCKING=1");
    assert_false(is_told(GV_VERDICT_LAUNCH_BLOCKING));
    facts.blocking_launches = 500;
    facts.blocking_ns = 2000;
    facts.wait_ns = facts.flight_ns = 900000000;
    facts.waits = 1;
    assert_true(is_told(GV_VERDICT_LAUNCH_BLOCKING));
    assert_true(verdict.findings[0].class == GV_VERDICT_LAUNCH_BLOCKING);
    assert_true(verdict.findings[1].class == GV_VERDICT_UNFINISHED);
    assert_true(verdict.findings[2].class == GV_VERDICT_STALLED);
    assert_string_equal(
        verdict.findings[0].evidence,
        "CUDA_LAUNCH_BLOCKING=1 makes each launch wait until the GPU has done it: 500"
        " launches took 2.00 us");
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

/* A trace may contain anything. */
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
        TEST(an_idle_gpu_of_which_is_known_why),
        TEST(a_program_for_the_host),
        TEST(idle_time_that_is_missing),
        TEST(gaps_that_are_missing),
        TEST(idle_time_in_short_gaps),
        TEST(devices_share_their_work),
        TEST(nothing_is_guessed_when_the_gpu_was_not_seen),
        TEST(shares_are_of_what_is_known),
        TEST(a_call_that_never_returned_leads),
        TEST(waits),
        TEST(threads_without_a_processor),
        TEST(what_nothing_explains),
        TEST(loading),
        TEST(copying),
        TEST(launching),
        TEST(small_kernels),
        TEST(graphs_beside_small_kernels),
        TEST(no_kernel),
        TEST(blocking_launches_come_first),
        TEST(graphs_are_work),
        TEST(senseless_facts_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
