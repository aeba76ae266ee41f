/* Python's code objects in the trace, and lines in their tables. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/python_code.h"
#include "report/collect/python_lines.h"
#include "tests/unit/report/one_database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gv_python_codes codes;

static int setup_codes(void **state)
{
    codes = (struct gv_python_codes){.database = &database, .process = 3};
    return setup(state);
}

static int teardown_codes(void **state)
{
    gv_python_code_close(&codes);
    return teardown(state);
}

/* Each of them covers instructions up to 2 * 2, and then 4 * 2. */
static const uint8_t lines_9[] = {0, 1, 4, 2, 4, 0x80};
static const uint8_t lines_10[] = {4, 3, 4, 0x80};
static const uint8_t lines_11[] = {0x80 | 13 << 3 | 1, 6, 0x80 | 15 << 3 | 1};

static void lines_of_each_format(void **state)
{
    const struct gv_python_table tables[] = {
        {lines_9, sizeof(lines_9), 9, 10},
        {lines_10, sizeof(lines_10), 10, 10},
        {lines_11, sizeof(lines_11), 11, 10},
        {lines_11, sizeof(lines_11), 15, 10},
    };
    const int32_t wanted[][3] = {{11, 13, 0}, {13, 0, 0}, {13, 0, 0}, {13, 0, 0}};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(gv_python_line(&tables[i], 4 * k), wanted[i][k]);
}

/* `def f():`, and below it `yield`, in Python 3.10. */
static void a_generator_begins_at_its_def(void **state)
{
    static const uint8_t lines[] = {2, 0x80, 10, 1};
    const struct gv_python_table table = {lines, sizeof(lines), 10, 10};

    assert_int_equal(gv_python_line(&table, 0), 10);
    assert_int_equal(gv_python_line(&table, 2), 11);
}

/* Of the heap, so that a sanitizer sees what is read beside it. */
static void tables_may_be_anything(void **state)
{
    uint32_t random = 1;

    for (unsigned i = 0; i < 20000; i++) {
        size_t bytes = i % 97;
        uint8_t *data = malloc(bytes + 1);

        assert_non_null(data);
        for (size_t k = 0; k < bytes; k++) {
            random = random * 1664525 + 1013904223;
            data[k] = (uint8_t)(random >> 24 | (i & 1 ? 0x80 : 0));
        }
        uint8_t *exact = realloc(data, bytes ? bytes : 1);
        struct gv_python_table table = {exact, bytes, 8 + i % 9, (int32_t)random};
        assert_true(gv_python_line(&table, i & 2 ? random >> 16 : UINT32_MAX) >= 0);
        free(exact);
    }
}

static struct gv_record_python_code record_of(uint32_t number, const char *file,
                                              const char *function, size_t table_bytes)
{
    return (struct gv_record_python_code){.number = number,
                                          .first_line = 10,
                                          .file_bytes = (uint16_t)strlen(file),
                                          .function_bytes = (uint16_t)strlen(function),
                                          .table_bytes = (uint32_t)table_bytes,
                                          .minor = 11};
}

static int store(const struct gv_record_python_code *record, const char *names, size_t short_by)
{
    char text[256];
    size_t bytes = strlen(names);

    memcpy(text, names, bytes);
    memcpy(text + bytes, lines_11, sizeof(lines_11));
    return gv_python_code_store(&codes, record, text, bytes + record->table_bytes - short_by);
}

static void expect(uint32_t number, uint32_t instruction, const char *file, const char *function,
                   int32_t line, bool is_hidden)
{
    struct gv_python_place place;

    assert_int_equal(gv_python_code_find(&codes, number, instruction, &place), 0);
    assert_string_equal(place.file, file);
    assert_string_equal(place.function, function);
    assert_int_equal(place.line, line);
    assert_int_equal(place.is_hidden, is_hidden);
}

static void code_is_found_also_by_another_collector(void **state)
{
    struct gv_record_python_code record = record_of(5, "a.py", "f", sizeof(lines_11));
    struct gv_python_place place;

    assert_int_equal(gv_python_code_find(&codes, 5, 0, &place), -ENOENT);
    assert_int_equal(store(&record, "a.pyf", 1), 0); /* a part was lost */
    assert_int_equal(gv_python_code_find(&codes, 5, 0, &place), -ENOENT);
    assert_int_equal(store(&record, "a.pyf", 0), 0);
    assert_int_equal(store(&record, "a.pyf", 0), 0);
    expect(5, 2, "a.py", "f", 13, false);
    expect(5, 4, "a.py", "f", 0, false);
    record = record_of(5 + 512, "b.py", "", 0); /* has the other's place in memory */
    record.is_interpreters = true;
    assert_int_equal(store(&record, "b.py", 0), 0);
    expect(5 + 512, 4, "b.py", "", 10, false);
    record = record_of(6, "\xff", "\n", sizeof(lines_11));
    record.is_interpreters = true;
    assert_int_equal(store(&record, "\xff\n", 0), 0);
    gv_python_code_close(&codes);
    expect(6, 4, "\xef\xbf\xbd", "\n", 0, true);
    expect(5, 2, "a.py", "f", 13, false);
    codes.process = 4;
    gv_python_code_close(&codes);
    assert_int_equal(gv_python_code_find(&codes, 5, 0, &place), -ENOENT);
    assert_int_equal(gv_python_code_end(&codes), 0);
    codes.process = 3;
    expect(5, 2, "a.py", "f", 13, false);
    assert_int_equal(gv_python_code_end(&codes), 0);
    gv_python_code_close(&codes);
    assert_int_equal(gv_python_code_find(&codes, 5, 0, &place), -ENOENT);
    assert_int_equal(gv_python_code_find(&codes, 0, 0, &place), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_each_format),
        cmocka_unit_test(a_generator_begins_at_its_def),
        cmocka_unit_test(tables_may_be_anything),
        cmocka_unit_test_setup_teardown(code_is_found_also_by_another_collector, setup_codes,
                                        teardown_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
