/* Which captures are lost, and to which call. */
#include "tests/unit/report/stall_fixture.h"

#include "report/analyse/stalls/analysis.h"
#include "report/store/api_meaning.h"

#include <stdio.h>
#include <string.h>

static int begun(int64_t start_us, int stream)
{
    return CALL("cuStreamBeginCapture_v2", start_us, 5, .stream = stream);
}

static int ended(int64_t start_us, int stream, int result)
{
    return CALL("cuStreamEndCapture", start_us, 5, .stream = stream, .result = result);
}

/* A line for each: "begin call end advice", of which the first words are enough. */
static void expect_lost(const char *lines)
{
    static const char sql[] =
        "SELECT printf('%d %s %s %s', begin_call, coalesce(call, '-'), coalesce(end_call, '-'),"
        " substr(advice, 1, instr(advice, ' ') - 1)) FROM lost_captures ORDER BY start_ns";
    char found[1024] = "";
    sqlite3_stmt *rows = NULL;

    assert_int_equal(gv_api_meaning_fill(fixture_trace), 0);
    for (int again = 0; again < 2; again++)
        analyse_stalls();
    assert_int_equal(sqlite3_prepare_v2(fixture_trace, sql, -1, &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        size_t used = strlen(found);
        snprintf(found + used, sizeof(found) - used, "%s\n", sqlite3_column_text(rows, 0));
    }
    sqlite3_finalize(rows);
    assert_string_equal(found, lines);
}

static void a_load_in_a_capture_loses_it(void **state)
{
    (void)state;
    begun(100, STREAM_A);
    CALL("cuModuleLoadData", 200, 5, .result = 900);
    CALL("cuModuleLoadData", 210, 5, .result = 900);
    ended(300, STREAM_A, 901);
    begun(400, STREAM_A);
    ended(500, STREAM_A, 0);
    expect_lost("1 2 4 Load\n");
}

static void another_threads_call_loses_it_too(void **state)
{
    (void)state;
    begun(100, STREAM_A);
    CALL("cuEventQuery", 200, 5, .thread = 2, .object = 9, .result = 900);
    ended(300, STREAM_A, 901);
    expect_lost("1 2 3 Begin\n");
}

static void waiting_for_a_capture_loses_it(void **state)
{
    (void)state;
    begun(100, STREAM_A);
    CALL("cuStreamSynchronize", 200, 5, .stream = STREAM_A, .result = 900);
    ended(300, STREAM_A, 901);
    begun(400, STREAM_A);
    CALL("cuLaunchKernel", 500, 5, .stream = STREAM_LEGACY, .result = 906);
    ended(600, STREAM_A, 901);
    begun(700, STREAM_A);
    CALL("cuMemAlloc_v2", 800, 5, .bytes = 64, .result = 900);
    ended(900, STREAM_A, 901);
    expect_lost("1 2 3 Wait\n4 5 6 Use\n7 8 9 Make\n");
}

static void only_the_captures_that_failed_are_lost(void **state)
{
    (void)state;
    begun(100, STREAM_A);
    begun(110, STREAM_B);
    CALL("cuModuleLoadData", 200, 5, .result = 900);
    ended(300, STREAM_B, 901);
    ended(310, STREAM_A, 908); /* from another thread: it goes on */
    ended(320, STREAM_A, 0);
    CALL("cuModuleLoadData", 400, 5, .result = 900); /* in no capture */
    expect_lost("2 3 4 Load\n");
}

static void a_capture_that_nobody_ended_is_lost_to_the_call(void **state)
{
    (void)state;
    begun(100, STREAM_B);
    begun(110, STREAM_A);
    CALL("cuMemFree_v2", 200, 5, .object = 7, .result = 900);
    ended(300, STREAM_B, 0);
    expect_lost("2 3 - Make\n");
}

static void an_end_that_fails_is_enough(void **state)
{
    (void)state;
    begun(100, STREAM_A);
    ended(200, STREAM_A, 901);
    begun(300, STREAM_A);
    ended(400, STREAM_A, 904);
    begun(500, STREAM_A); /* still captured */
    expect_lost("1 - 2 Find\n3 - 4 Before\n");
}

static void what_cannot_begin_a_capture_loses_none(void **state)
{
    (void)state;
    begun(100, STREAM_A);
    CALL("cuStreamBeginCapture_v2", 200, 5, .stream = STREAM_LEGACY, .result = 900);
    expect_lost("");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_load_in_a_capture_loses_it),
        CASE(another_threads_call_loses_it_too),
        CASE(waiting_for_a_capture_loses_it),
        CASE(only_the_captures_that_failed_are_lost),
        CASE(a_capture_that_nobody_ended_is_lost_to_the_call),
        CASE(an_end_that_fails_is_enough),
        CASE(what_cannot_begin_a_capture_loses_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
