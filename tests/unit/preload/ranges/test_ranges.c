/* Ranges and marks: what is written of them, and that a pop ends its own range whatever was lost.
 */
#include "tests/unit/preload/recording.h"

#include "preload/base/clock.h"
#include "preload/ranges/ranges.h"
#include "preload/ranges/texts.h"

/* ---- the rest of the library ---- */

static const struct gv_clock monotonic = {.kind = GV_CLOCK_MONOTONIC};
const struct gv_clock *_Atomic gv_clock = &monotonic;

static bool attach(void)
{
    return true;
}

static void leave_gpu_start(struct gv_thread *thread)
{
    (void)thread;
}

const struct gv_process_steps gv_process_steps = {.attach = attach,
                                                  .leave_gpu_start = leave_gpu_start,
                                                  .write_open_ranges = gv_ranges_write_open};

/* ---- what is in the spool ---- */

/* Ranges begin as "+text", end as "-", with "!2" before it for two missed pops; marks as "=text".
 * A text that a number stands for is written as "name:number " first. */
static const char *told(void)
{
    static char out[4096];
    size_t used = 0;
    struct gv_spool_segment *segment;

    out[0] = '\0';
    for (uint32_t i = 0; (segment = segment_of(1, i)); i++)
        for (uint32_t at = 0; at < atomic_load(&segment->published); at++) {
            const union gv_record *record = &segment->records[at];
            const char *sign = record->head.result == GV_RANGE_MARK ? "=" : "+";
            char *to = out + used;
            size_t room = sizeof out - used;
            int length = 0;

            if (record->head.kind == GV_RECORD_RANGE && record->range.missed)
                length =
                    snprintf(to, room, "!%u%s%u ", record->range.missed, sign, record->range.text);
            else if (record->head.kind == GV_RECORD_RANGE)
                length = snprintf(to, room, "%s%u ", sign, record->range.text);
            else if (record->head.kind == GV_RECORD_RANGE_END && record->range_end.missed)
                length = snprintf(to, room, "!%u- ", record->range_end.missed);
            else if (record->head.kind == GV_RECORD_RANGE_END)
                length = snprintf(to, room, "- ");
            else if (record->head.kind == GV_RECORD_TEXT)
                length = snprintf(to, room, "%.*s ", record->head.api, record->text.text);
            used += (size_t)length;
        }
    return out;
}

static void push(const char *text)
{
    const struct gv_range range = {.text = text};

    gv_ranges_push(&range);
}

static uint32_t number(const char *text)
{
    return gv_texts_number(text, (uint32_t)strlen(text));
}

static void expect(const char *format, ...)
{
    char expected[4096];
    va_list values;

    va_start(values, format);
    vsnprintf(expected, sizeof expected, format, values);
    va_end(values);
    assert_string_equal(told(), expected);
}

static uint64_t lost(void)
{
    return atomic_load(&gv_process.spool.header->lost.ranges);
}

static int prepare(void **state)
{
    gv_ranges_start_over();
    return open_recording(state);
}

static void stop_recording(void)
{
    atomic_store(&gv_process_own.token, 0);
}

static void record_again(uint64_t token)
{
    atomic_store(&gv_process_own.token, token);
    assert_true(gv_thread_join(&gv_thread));
}

/* No record of ours fits until the spool is closed. */
static void fill_spool(void)
{
    const union gv_record record = {.head = {.kind = GV_RECORD_NONE}};

    while (gv_thread_write(&gv_thread, GV_ROOM_WORK, &record))
        continue;
}

/* ---- the tests ---- */

static void a_text_is_written_once(void **state)
{
    (void)state;
    push("one");
    push("two");
    gv_ranges_pop(0);
    push("two");
    gv_ranges_mark(&(struct gv_range){.text = "one"});
    expect("one +%u two +%u - +%u =%u ", number("one"), number("two"), number("two"),
           number("one"));
    assert_int_equal(lost(), 0);
}

static void another_process_writes_texts_anew(void **state)
{
    (void)state;
    push("told");
    close_recording(state);
    open_recording(state);
    record_again(2);
    push("told");
    expect("told +%u ", number("told"));
}

static void what_is_open_is_written_when_recording_begins(void **state)
{
    (void)state;
    stop_recording();
    gv_ranges_mark(&(struct gv_range){.text = "never"});
    push("outer");
    push("over");
    gv_ranges_pop(0);
    gv_ranges_start(&(struct gv_range){.text = "over"}, 7);
    gv_ranges_start(&(struct gv_range){.text = "started"}, 8);
    gv_ranges_end(7);
    record_again(1);
    expect("started +%u outer +%u ", number("started"), number("outer"));
    gv_ranges_pop(0);
    expect("started +%u outer +%u - ", number("started"), number("outer"));
}

static void pops_of_ranges_that_were_too_deep_end_no_other(void **state)
{
    (void)state;
    stop_recording();
    for (unsigned i = 0; i < GV_RANGES_EARLY + 2; i++)
        push("deep");
    record_again(1);
    size_t before = strlen(told());
    push("deeper"); /* inside a hidden one */
    for (unsigned i = 0; i < 3; i++)
        gv_ranges_pop(0);
    assert_int_equal(strlen(told()), before);
    assert_int_equal(lost(), 3);
    gv_ranges_pop(0);
    assert_int_equal(strlen(told()), before + 2);
}

static void a_forked_child_is_in_no_range(void **state)
{
    (void)state;
    stop_recording();
    push("the parent's");
    gv_ranges_start(&(struct gv_range){.text = "the parent's"}, 9);
    gv_ranges_start_over();
    record_again(1);
    expect("");
}

static void a_full_spool_hides_what_it_has_no_room_for(void **state)
{
    uint32_t segment;

    (void)state;
    push("outer");
    fill_spool();
    push("hidden");
    push("hidden too");
    gv_ranges_pop(0);
    gv_ranges_pop(0);
    assert_int_equal(lost(), 2);
    gv_ranges_pop(0); /* outer's, which is missed */
    gv_ranges_mark(&(struct gv_range){.text = "lost"});
    assert_int_equal(lost(), 4);
    segment = gv_thread.sequence;
    assert_true(segment > 0);
    /* The reader gives back the first segment. */
    gv_thread.next = gv_thread.segment->records;
    gv_thread.open_to = GV_ROOM_REST;
    gv_ranges_pop(0);
    assert_int_equal(gv_thread.segment->records[0].range_end.missed, 1);
}

static void nothing_is_written_inside_other_records(void **state)
{
    bool inside;

    (void)state;
    push("around");
    inside = gv_thread_begin_group(&gv_thread);
    push("of a handler");
    gv_ranges_pop(0);
    gv_ranges_mark(&(struct gv_range){.text = "of a handler"});
    gv_thread_end_group(&gv_thread, inside);
    gv_ranges_pop(0);
    expect("around +%u - ", number("around"));
    assert_int_equal(lost(), 2);
}

static void a_text_without_a_number_follows_its_range(void **state)
{
    char text[16];

    (void)state;
    for (unsigned i = 0; i < 40000; i++) {
        snprintf(text, sizeof text, "%u", i);
        number(text);
    }
    assert_int_equal(number("new"), 0);
    push("new");
    expect("+0 new ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, close_recording)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_text_is_written_once),
        TEST(another_process_writes_texts_anew),
        TEST(what_is_open_is_written_when_recording_begins),
        TEST(pops_of_ranges_that_were_too_deep_end_no_other),
        TEST(a_forked_child_is_in_no_range),
        TEST(a_full_spool_hides_what_it_has_no_room_for),
        TEST(nothing_is_written_inside_other_records),
        TEST(a_text_without_a_number_follows_its_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
