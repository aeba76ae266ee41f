/* From records to rows: which end is whose, nesting, texts, and a collector that comes later. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/one_drain.h"

#include <string.h>

static void text(uint32_t thread, uint32_t number, const char *words)
{
    const union gv_record record = {
        .range_text = {.head = {.kind = GV_RECORD_RANGE_TEXT, .flags = GV_RECORD_MORE},
                       .number = number,
                       .text_bytes = (uint32_t)strlen(words)}};

    fixture_append(&spool, thread, &record);
    fixture_text(&spool, thread, words, false);
}

static void begin(uint32_t thread, enum gv_range_kind kind, uint64_t at_ns, uint32_t domain,
                  uint64_t id, uint32_t missed)
{
    const union gv_record record = {
        .range = {.head = {.kind = GV_RECORD_RANGE, .result = (int32_t)kind},
                  .start_ns = FIXTURE_EPOCH_NS + at_ns,
                  .id = id,
                  .text = 1,
                  .domain = domain,
                  .missed = missed}};

    fixture_append(&spool, thread, &record);
}

static void finish(uint32_t thread, enum gv_range_kind kind, uint64_t at_ns, uint32_t domain,
                   uint64_t id)
{
    const union gv_record record = {
        .range_end = {.head = {.kind = GV_RECORD_RANGE_END, .result = (int32_t)kind},
                      .at_ns = FIXTURE_EPOCH_NS + at_ns,
                      .id = id,
                      .domain = domain}};

    fixture_append(&spool, thread, &record);
}

static void expect(const char *expected)
{
    expect_text(
        "SELECT group_concat(start_ns || ':' || coalesce(duration_ns, 'open') || ':' ||"
        " coalesce(depth, '') || ':' || coalesce(parent, '') , ' ') FROM (SELECT * FROM ranges"
        " ORDER BY id)",
        expected);
}

static void call(uint32_t thread, uint64_t at_ns)
{
    const union gv_record record = {.call = {.head = {.kind = GV_RECORD_CALL},
                                             .start_ns = FIXTURE_EPOCH_NS + at_ns,
                                             .duration_ns = 1}};

    fixture_append(&spool, thread, &record);
}

static void expect_ranges_of_calls(const char *expected)
{
    expect_text("SELECT group_concat(start_ns || ':' || coalesce(range, ''), ' ')"
                " FROM (SELECT * FROM calls ORDER BY start_ns)",
                expected);
}

static void a_call_is_in_the_innermost_push_of_its_thread(void **state)
{
    call(1, 5);
    begin(1, GV_RANGE_PUSH, 10, 0, 0, 0);
    begin(1, GV_RANGE_START, 11, 0, 7, 0);
    begin(1, GV_RANGE_MARK, 12, 0, 0, 0);
    call(1, 15);
    begin(1, GV_RANGE_PUSH, 20, 2, 0, 0);
    call(1, 25);
    call(1, 26);
    call(2, 27);
    finish(1, GV_RANGE_PUSH, 30, 2, 0);
    begin(1, GV_RANGE_PUSH, 31, 0, 0, 0);
    finish(1, GV_RANGE_PUSH, 32, 0, 0);
    call(1, 35);
    finish(1, GV_RANGE_PUSH, 40, 0, 0);
    call(1, 45);
    recover();
    expect_ranges_of_calls("5: 15:1 25:4 26:4 27: 35:1 45:");
    assert_int_equal(number("SELECT count(*) FROM call_range"), 4);
}

/* Threads are read one after the other, so an end may come first; a tool's ids may return. */
static void a_range_ends_on_another_thread(void **state)
{
    finish(1, GV_RANGE_START, 15, 0, 7);
    finish(1, GV_RANGE_START, 45, 0, 7);
    finish(1, GV_RANGE_START, 99, 0, 8);
    begin(2, GV_RANGE_START, 10, 0, 7, 0);
    begin(2, GV_RANGE_START, 40, 0, 7, 0);
    begin(2, GV_RANGE_START, 50, 0, 7, 0);
    recover();
    expect("10:5:: 40:5:: 50:open::");
}

static void a_missed_pop_ends_its_range_at_no_known_time(void **state)
{
    begin(1, GV_RANGE_PUSH, 10, 0, 0, 0);
    begin(1, GV_RANGE_PUSH, 20, 0, 0, 0);
    begin(1, GV_RANGE_PUSH, 30, 0, 0, 1);
    finish(1, GV_RANGE_PUSH, 40, 0, 0);
    finish(1, GV_RANGE_PUSH, 50, 0, 0);
    recover();
    expect("10:40:0: 20:open:1:1 30:10:1:1");
}

static void a_text_may_come_after_its_range(void **state)
{
    begin(1, GV_RANGE_MARK, 10, 0, 0, 0);
    text(2, 1, "said later");
    recover();
    expect_text("SELECT message FROM ranges", "said later");
}

/* A collector that ends while the process lives. */
static void collect(void)
{
    open_drain(0);
    pass();
    gv_drain_close(&drain);
}

static void a_later_collector_goes_on(void **state)
{
    fixture_spool_close(&spool);
    fixture_spool_open(&fixture, &spool, 2, true);
    text(1, 1, "words");
    begin(1, GV_RANGE_PUSH, 10, 0, 0, 0);
    begin(1, GV_RANGE_PUSH, 20, 0, 0, 0);
    begin(1, GV_RANGE_START, 25, 0, 7, 0);
    call(1, 26);
    collect();
    call(1, 29);
    finish(1, GV_RANGE_PUSH, 30, 0, 0);
    call(1, 35);
    begin(1, GV_RANGE_PUSH, 40, 0, 0, 0);
    finish(1, GV_RANGE_START, 50, 0, 7);
    collect();
    expect_ranges_of_calls("26:2 29:2 35:1");
    expect("10:open:0: 20:10:1:1 25:25:: 40:open:1:1");
    assert_int_equal(number("SELECT count(message) FROM ranges"), 4);
    assert_int_equal(number("SELECT count(*) FROM range_text"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_is_in_the_innermost_push_of_its_thread),
        TEST(a_range_ends_on_another_thread),
        TEST(a_missed_pop_ends_its_range_at_no_known_time),
        TEST(a_text_may_come_after_its_range),
        TEST(a_later_collector_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
