/* Calls that wait for another process, with the GPU side and without; and those that do not. */
#include "tests/unit/report/stall_fixture.h"

#include <stdio.h>

static enum fixture_mode mode;

static int setup_mode(void **state, enum fixture_mode wanted)
{
    int result = fixture_setup(state);

    mode = wanted;
    fixture_mode(mode);
    return result;
}

static int measured(void **state)
{
    return setup_mode(state, MEASURED);
}

static int inferred(void **state)
{
    return setup_mode(state, INFERRED);
}

/* A call of the other process. */
static int elsewhere(const char *name, int64_t start_us, int64_t us)
{
    int call;

    fixture_mode(mode == MEASURED ? INFERRED : MEASURED);
    call = CALL(name, start_us, us);
    fixture_mode(mode);
    return call;
}

static const char *other(void)
{
    return mode == MEASURED ? "unseen" : "seen";
}

static int number(void)
{
    return mode == MEASURED ? 11 : 1;
}

/* Allocations of 64 MB that nobody held. */
static void usual(int64_t us)
{
    for (int i = 0; i < 8; i++)
        CALL("cuMemAlloc_v2", -90000 + i * 2000, us, .bytes = 64 << 20);
}

static void expect_of_other(const char *format)
{
    char lines[512];

    snprintf(lines, sizeof(lines), format, other(), other(), other());
    expect(lines);
}

static void a_free_keeps_others_out_until_it_returns(void **state)
{
    elsewhere("cuMemUnmap", 1000, 20000);
    CALL("cuMemGetInfo_v2", 2000, 19010);
    CALL("cuMemAlloc_v2", 3000, 18100, .bytes = 64 << 20);
    CALL("cuMemHostRegister_v2", 4000, 17100, .bytes = 4096);
    expect_of_other("2 other-process 0+19000+10 by 1 call of %s\n"
                    "3 other-process 0+18000+100 by 1 call of %s\n"
                    "4 other-process 0+17000+100 by 1 call of %s\n");
}

static void several_frees_keep_it_out_one_after_the_other(void **state)
{
    usual(300);
    for (int i = 0; i < 5; i++)
        elsewhere("cuMemUnmap", 1000 + i * 4000, 3990);
    CALL("cuMemAlloc_v2", 3000, 18300, .bytes = 64 << 20);
    CALL("cuMemGetInfo_v2", 3000, 18000, .thread = 2);
    expect_of_other("14 other-process 0+17950+350 by 13 call of %s\n"
                    "15 other-process 0+17950+50 by 13 call of %s\n");
}

/* It may have worked all the time. */
static void several_frees_do_not_explain_a_single_allocation(void **state)
{
    for (int i = 0; i < 5; i++)
        elsewhere("cuMemUnmap", 1000 + i * 4000, 3990);
    CALL("cuMemAllocHost_v2", 3000, 18000, .bytes = 64 << 20);
    expect("");
}

/* They do not ask the kernel driver. */
static void launches_copies_and_events_are_held_by_nobody_elsewhere(void **state)
{
    launched(10, STREAM_A, KERNEL_SPIN, 20, 10);
    elsewhere("cuMemUnmap", 1000, 20000);
    CALL("cuLaunchKernel", 2000, 19010, .stream = STREAM_A, .kernel = KERNEL_SPIN);
    CALL("cuEventRecord", 2000, 19010, .thread = 2);
    fixture_sql("INSERT INTO other_process VALUES (1, 'GPU', 42, 'app', 0, 30000000, 1, 1)");
    expect("3 unknown 0+19010+0\n4 unknown 0+19010+0\n");
}

static void an_allocation_that_takes_what_it_takes_waited_for_nobody(void **state)
{
    usual(19000);
    elsewhere("cuMemUnmap", 1000, 20000);
    CALL("cuMemAlloc_v2", 2000, 19010, .bytes = 64 << 20);
    expect("");
}

static void an_allocation_that_ends_much_later_worked(void **state)
{
    elsewhere("cuMemUnmap", 1000, 20000);
    CALL("cuMemAlloc_v2", 2000, 40000, .bytes = 64 << 20);
    expect("");
}

static void an_allocation_that_ends_before_it_was_not_held(void **state)
{
    elsewhere("cuMemUnmap", 1000, 20000);
    CALL("cuMemAlloc_v2", 2000, 16000, .bytes = 64 << 20); /* its usual time is unknown */
    elsewhere("cuMemUnmap", 1000000, 500000);              /* waits for its GPU first, maybe */
    CALL("cuMemAllocHost_v2", 1400000, 90000, .bytes = 64 << 20);
    expect("");
}

static void unregistering_lets_go_earlier(void **state)
{
    elsewhere("cuMemHostUnregister", 1000, 20000);
    CALL("cuMemAlloc_v2", 1100, 17000, .bytes = 64 << 20);
    expect_of_other("2 other-process 0+17000+0 by 1 call of %s\n");
}

/* It keeps others out at times: then the call must take much longer than usual. */
static void pinning_elsewhere_explains_what_takes_unusually_long(void **state)
{
    usual(300);
    elsewhere("cuMemAllocHost_v2", 1000, 100000);
    CALL("cuMemAlloc_v2", 2000, 10000, .bytes = 64 << 20);
    CALL("cuMemAlloc_v2", 20000, 1100, .bytes = 64 << 20);
    CALL("cuMemGetInfo_v2", 30000, 5000);
    expect_of_other("10 other-process 0+9480+520 by 9 call of %s\n"
                    "12 other-process 0+5000+0 by 9 call of %s\n");
}

static void two_that_pin_at_once_hold_nobody(void **state)
{
    elsewhere("cuMemAllocHost_v2", 1000, 100000);
    CALL("cuMemAllocHost_v2", 1100, 99950, .bytes = 64 << 20);
    expect("");
}

static void a_call_of_a_larger_size_takes_no_less(void **state)
{
    usual(300);
    elsewhere("cuMemAllocHost_v2", 1000, 100000);
    CALL("cuMemAlloc_v2", 2000, 10000, .bytes = INT64_C(8) << 30);
    expect("");
}

static void a_process_that_starts_or_ends_holds_others(void **state)
{
    fixture_sql("UPDATE process SET start_ns = 10000000000, end_ns = 20000000000, ended = 'exit'"
                " WHERE id = %d",
                number());
    CALL("cuMemGetInfo_v2", 9000000, 50000);
    CALL("cuMemGetInfo_v2", 10100000, 50000);
    CALL("cuMemGetInfo_v2", 15000000, 50000);
    CALL("cuMemGetInfo_v2", 20100000, 50000);
    CALL("cuMemAlloc_v2", 20200000, 50000, .bytes = 4096); /* what it usually takes is unknown */
    expect_of_other("1 unknown 0+50000+0\n"
                    "2 other-process 0+50000+0 start of %s\n"
                    "3 unknown 0+50000+0\n"
                    "4 other-process 0+50000+0 end of %s\n");
}

static void the_end_is_told_of_a_process_that_ends_soon(void **state)
{
    fixture_sql("UPDATE process SET start_ns = 10000000000, end_ns = 10300000000, ended = 'exit'"
                " WHERE id = %d",
                number());
    CALL("cuMemGetInfo_v2", 10050000, 50000);
    CALL("cuMemGetInfo_v2", 10250000, 50000);
    expect_of_other("1 other-process 0+50000+0 start of %s\n"
                    "2 other-process 0+50000+0 end of %s\n");
}

static void one_outside_the_session_is_named(void **state)
{
    fixture_sql("INSERT INTO other_process VALUES"
                " (1, 'GPU', 42, 'app', 10000000000, 20000000000, 1, 1)");
    CALL("cuMemGetInfo_v2", 10100000, 50000);
    CALL("cuMemGetInfo_v2", 15000000, 50000);
    CALL("cuMemGetInfo_v2", 20100000, 50000);
    CALL("cuMemGetInfo_v2", 25000000, 50000);
    CALL("cuMemGetInfo_v2", 16000000, 9900); /* may be its own work */
    expect("1 other-process 0+50000+0 start of app\n"
           "2 other-process 0+50000+0 use of app\n"
           "3 other-process 0+50000+0 end of app\n"
           "4 unknown 0+50000+0\n");
}

static void one_that_cannot_be_named_is_told_too(void **state)
{
    fixture_sql("INSERT INTO other_process VALUES"
                " (1, 'GPU', NULL, NULL, 10000000000, 20000000000, 0, 0)");
    CALL("cuMemGetInfo_v2", 10100000, 50000);
    expect("1 other-process 0+50000+0 use\n");
}

static void the_server_of_mps_is_nobody_else(void **state)
{
    fixture_sql("INSERT INTO other_process VALUES"
                " (1, 'GPU', 42, 'nvidia-cuda-mps', 10000000000, 20000000000, 0, 0)");
    CALL("cuMemGetInfo_v2", 10100000, 50000);
    expect("1 unknown 0+50000+0\n");
}

/* The kernel says what it waited for. */
static void a_thread_without_a_processor_waited_for_one(void **state)
{
    elsewhere("cuMemUnmap", 1000, 20000);
    CALL("cuMemGetInfo_v2", 2000, 19010);
    fixture_sql("INSERT INTO call_delay VALUES (2, 18000000)");
    expect("2 descheduled 0+18000+1010\n");
    fixture_sql("UPDATE call_delay SET delay_ns = 5000000");
    expect_of_other("2 other-process 0+14010+5000 by 1 call of %s\n");
}

static void a_thread_of_the_process_is_no_other_process(void **state)
{
    CALL("cuMemUnmap", 1000, 20000);
    CALL("cuMemGetInfo_v2", 2000, 19010, .thread = 2);
    expect("2 unknown 0+19010+0\n");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, measured, fixture_teardown),                             \
        cmocka_unit_test_setup_teardown(name, inferred, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_free_keeps_others_out_until_it_returns),
        CASE(several_frees_keep_it_out_one_after_the_other),
        CASE(several_frees_do_not_explain_a_single_allocation),
        CASE(launches_copies_and_events_are_held_by_nobody_elsewhere),
        CASE(an_allocation_that_takes_what_it_takes_waited_for_nobody),
        CASE(an_allocation_that_ends_much_later_worked),
        CASE(an_allocation_that_ends_before_it_was_not_held),
        CASE(unregistering_lets_go_earlier),
        CASE(pinning_elsewhere_explains_what_takes_unusually_long),
        CASE(two_that_pin_at_once_hold_nobody),
        CASE(a_call_of_a_larger_size_takes_no_less),
        CASE(a_process_that_starts_or_ends_holds_others),
        CASE(the_end_is_told_of_a_process_that_ends_soon),
        CASE(one_outside_the_session_is_named),
        CASE(one_that_cannot_be_named_is_told_too),
        CASE(a_thread_without_a_processor_waited_for_one),
        CASE(a_thread_of_the_process_is_no_other_process),
        CASE(the_server_of_mps_is_nobody_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
