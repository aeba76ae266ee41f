/* Code objects: told from others that had their address, and recorded once. */
#include "preload/stacks/python_code.h"
#include "report/collect/python_lines.h"
#include "tests/unit/preload/recording.h"
#include "tests/unit/preload/stacks/python_fixture.h"
#include "trace/mix.h"

static void do_nothing(struct gv_thread *thread)
{
    (void)thread;
}

static bool attach(void)
{
    return true;
}

const struct gv_process_steps gv_process_steps = {
    .attach = attach, .leave_gpu_start = do_nothing, .write_open_ranges = do_nothing};

#define PLACE 3

static int prepare(void **unused)
{
    gv_python_code_start_over();
    set_places();
    if (open_recording(unused))
        return 1;
    return !gv_thread_join(&gv_thread);
}

static uint32_t number_of(struct gv_thread *thread, const struct gv_python *python, uintptr_t code)
{
    uint64_t key;

    return gv_python_code_key(python, code, &key) ? gv_python_code_number(thread, python, code, key)
                                                  : 0;
}

/* The number in both ways, which must be the same. */
static uint32_t number(uint16_t minor)
{
    struct gv_python python = python_of(minor);
    uintptr_t code = (uintptr_t)&places[PLACE].code;
    uint32_t direct = number_of(&gv_thread, &python, code), same;

    python.memory = gv_python_memory_take(0, 1, GV_PYTHON_WHOLE_STACK);
    assert_non_null(python.memory);
    same = number_of(&gv_thread, &python, code);
    gv_python_memory_give_back(python.memory);
    assert_int_equal(direct, same);
    return direct;
}

/* All records, and the text of the last code object. */
static unsigned count_records(struct gv_record_python_code *last, char *text, size_t *bytes)
{
    struct gv_spool_segment *segment;
    unsigned count = 0;

    *bytes = 0;
    for (uint32_t i = 0; (segment = segment_of(1, i)); i++)
        for (uint32_t at = 0; at < atomic_load(&segment->published); at++) {
            const union gv_record *record = &segment->records[at];

            assert_true(record->head.flags & GV_RECORD_MORE);
            if (record->head.kind == GV_RECORD_PYTHON_CODE) {
                *last = record->python_code;
                *bytes = 0;
                count++;
            } else {
                assert_int_equal(record->head.kind, GV_RECORD_TEXT);
                memcpy(text + *bytes, record->text.text, record->head.api);
                *bytes += record->head.api;
            }
        }
    return count;
}

static void a_code_object_is_written_once(void **unused)
{
    struct gv_record_python_code record;
    struct gv_python python = python_of(9);
    char text[256];
    size_t bytes;

    (void)unused;
    assert_int_equal(number(9), 1);
    assert_int_equal(number(9), 1);
    assert_int_equal(count_records(&record, text, &bytes), 1);
    assert_int_equal(record.number, 1);
    assert_int_equal(record.minor, 9);
    assert_int_equal(record.is_interpreters, 0);
    assert_int_equal(bytes, record.file_bytes + record.function_bytes + record.table_bytes);
    assert_memory_equal(text, "/no/such/file.pyfunction_3", bytes - 2);
    struct gv_python_table table = {.data = (const uint8_t *)text + bytes - 2,
                                    .bytes = 2,
                                    .minor = record.minor,
                                    .first_line = record.first_line};
    assert_int_equal(gv_python_line(&table, 4), 13);
    python.low = (uintptr_t)places;
    python.high = (uintptr_t)(places + 1);
    assert_int_equal(number_of(&gv_thread, &python, (uintptr_t)&places[0].code), 2);
    assert_int_equal(count_records(&record, text, &bytes), 2);
    assert_int_equal(record.is_interpreters, 1);
}

/* The records of a table of this many bytes. */
static void expect_table(size_t table_bytes, size_t expected)
{
    struct gv_python python = python_of(12);
    struct gv_record_python_code record;
    char *text = malloc(2 * GV_PYTHON_TABLE_MOST);
    struct bytes *lines = calloc(1, sizeof *lines + table_bytes);
    size_t bytes;

    assert_true(text && lines);
    lines->type = bytes_type;
    lines->length = (int64_t)table_bytes;
    for (size_t i = 0; i < table_bytes; i++)
        lines->data[i] = (unsigned char)(i * 7);
    places[PLACE].code.lines = lines;
    places[PLACE].code.number++;
    assert_true(number_of(&gv_thread, &python, (uintptr_t)&places[PLACE].code) != 0);
    count_records(&record, text, &bytes);
    assert_int_equal(record.table_bytes, expected);
    assert_int_equal(bytes, 26 + expected);
    assert_memory_equal(text + 26, lines->data, expected);
    free(lines);
    free(text);
}

static void a_long_table_is_written_in_pieces(void **unused)
{
    (void)unused;
    expect_table(5000, 5000);
    expect_table(GV_PYTHON_TABLE_MOST, GV_PYTHON_TABLE_MOST);
    expect_table(GV_PYTHON_TABLE_MOST + 1, 0);
}

static void other_code_at_the_same_address_is_noticed(void **unused)
{
    (void)unused;
    assert_int_equal(number(9), 1);
    set_text(&places[PLACE].name, "another_");
    assert_int_equal(number(9), 2);
    set_places();
    assert_int_equal(number(9), 1);
    places[PLACE].file.characters[9] = 'm';
    assert_int_equal(number(9), 3);
    set_places();
    places[PLACE].lines.data[1] = 4;
    assert_int_equal(number(9), 4);
    set_places();
    places[PLACE].code.first_line++;
    assert_int_equal(number(9), 5);
    set_places();
    places[PLACE].frame.instruction = 0;
    assert_int_equal(number(9), 1);
}

static void numbered_code_is_known_by_its_number(void **unused)
{
    (void)unused;
    assert_int_equal(number(12), 1);
    set_text(&places[PLACE].name, "another_"); /* is not even read */
    assert_int_equal(number(12), 1);
    set_places();
    places[PLACE].code.number = 99;
    assert_int_equal(number(12), 2);
    places[PLACE].code.number = 0; /* the numbers ran out */
    assert_int_equal(number(12), 3);
    set_text(&places[PLACE].name, "another_");
    assert_int_equal(number(12), 4);
}

static void code_of_another_process_is_another(void **unused)
{
    struct gv_python python = python_of(12);
    uintptr_t code = (uintptr_t)&places[PLACE].code;

    (void)unused;
    assert_int_equal(number(12), 1);
    python.pid = 4711;
    assert_int_equal(number_of(&gv_thread, &python, code), 2);
}

static void what_is_no_code_object_has_no_number(void **unused)
{
    (void)unused;
    places[PLACE].code.type = text_type;
    assert_int_equal(number(12), 0);
    set_places();
    places[PLACE].code.number = 0;
    places[PLACE].lines.type = text_type;
    assert_int_equal(number(12), 0);
    set_places();
    places[PLACE].name.type = bytes_type;
    assert_int_equal(number(9), 0);
}

static void fill_spool(void)
{
    const union gv_record record = {.head = {.kind = GV_RECORD_TEXT, .flags = GV_RECORD_MORE}};

    while (gv_thread_write(&gv_thread, GV_ROOM_CODE, &record))
        ;
}

static void empty_spool(void **unused)
{
    close_recording(unused);
    open_recording(unused);
    assert_true(gv_thread_join(&gv_thread));
}

static void what_had_no_room_is_written_later(void **unused)
{
    struct gv_record_python_code record;
    char text[256];
    size_t bytes;

    fill_spool();
    assert_int_equal(number(12), 0);
    empty_spool(unused);
    assert_int_equal(number(12), 1);
    assert_int_equal(count_records(&record, text, &bytes), 1);
    assert_int_equal(bytes, 28);
}

static void there_is_room_for_so_many(void **unused)
{
    struct gv_python python = python_of(12);
    uintptr_t code = (uintptr_t)&places[PLACE].code;
    uint64_t key = 0;

    for (uint32_t i = 0; i < 2 * GV_PYTHON_CODES; i++) {
        key = gv_mix(key, i);
        gv_python_code_number(&gv_thread, &python, code, key);
    }
    empty_spool(unused);
    assert_int_equal(gv_python_code_number(&gv_thread, &python, code, key), 0);
    assert_int_equal(gv_python_code_number(&gv_thread, &python, code, gv_mix(0, 0)), 1);
    gv_python_code_start_over();
    assert_int_equal(gv_python_code_number(&gv_thread, &python, code, key), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, close_recording)
    const struct CMUnitTest tests[] = {
        TEST(a_code_object_is_written_once),
        TEST(a_long_table_is_written_in_pieces),
        TEST(other_code_at_the_same_address_is_noticed),
        TEST(numbered_code_is_known_by_its_number),
        TEST(code_of_another_process_is_another),
        TEST(what_is_no_code_object_has_no_number),
        TEST(what_had_no_room_is_written_later),
        TEST(there_is_room_for_so_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
