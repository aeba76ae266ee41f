/* Rows as tables, CSV, JSON and Markdown, with hostile values. */
#include "tests/unit/report/cmocka_all.h"

#include "report/show/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gv_column columns[] = {
    {"name", GV_COLUMN_TEXT}, {"time", GV_COLUMN_DURATION}, {"share", GV_COLUMN_SHARE}};

static char *written;
static size_t written_bytes;
static FILE *out;
static struct gv_rows rows;

static int teardown(void **state)
{
    free(written);
    written = NULL;
    return 0;
}

static void begin(enum gv_format format)
{
    out = open_memstream(&written, &written_bytes);
    assert_non_null(out);
    gv_rows_begin(&rows, out, format, columns, 3, NULL);
}

static void add(const char *name, size_t bytes, int64_t ns, double share)
{
    gv_rows_bytes(&rows, name, bytes);
    gv_rows_number(&rows, ns);
    gv_rows_real(&rows, share);
}

static void end(const char *expected)
{
    assert_int_equal(gv_rows_end(&rows), 0);
    fclose(out);
    assert_string_equal(written, expected);
}

static void a_table_is_aligned_and_harmless(void **state)
{
    begin(GV_FORMAT_TABLE);
    add("gemm", 4, 1234567, 0.75);
    add("\033[2Jx\n\xff", 7, 12, 0.25);
    gv_rows_null(&rows);
    gv_rows_null(&rows);
    gv_rows_null(&rows);
    end("name               time   share\n"
        "gemm            1.23 ms  75.0 %\n"
        "\\x1b[2Jx\\n\\xff    12 ns  25.0 %\n"
        "-                     -       -\n");
}

/* Numbers give way, from the right, before a name is cut. */
static void in_a_narrow_terminal_numbers_give_way(void **state)
{
    begin(GV_FORMAT_TABLE);
    rows.width = 35;
    add("a kernel with a long name", 25, 1, 1);
    end("name                       time\n"
        "a kernel with a long name  1 ns\n"
        "not shown here: share\n");
}

#define LONG_NAME "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize"

/* A name keeps 40 columns. Of names that look alike, what they share goes; a path keeps its end. */
static void names_that_are_cut_stay_different(void **state)
{
    static const struct gv_column kernels[] = {
        {"kernel", GV_COLUMN_NAME}, {"time", GV_COLUMN_DURATION}, {"where", GV_COLUMN_TEXT}};

    out = open_memstream(&written, &written_bytes);
    assert_non_null(out);
    gv_rows_begin(&rows, out, GV_FORMAT_TABLE, kernels, 3, NULL);
    rows.width = 48;
    gv_rows_text(&rows, LONG_NAME "64x64x16_stage4");
    gv_rows_number(&rows, 12);
    gv_rows_text(&rows, "/home/u/projects/language/models/transformer_layers.py:131 step");
    gv_rows_text(&rows, LONG_NAME "128x128x16_stage4");
    gv_rows_number(&rows, 1);
    gv_rows_text(&rows, NULL);
    gv_rows_text(&rows, "other_kernel");
    gv_rows_number(&rows, 1);
    gv_rows_text(&rows, "a.py:1");
    end("kernel                                      time\n"
        "sm80_xmma_ge..._n_tilesize64x64x16_stage4  12 ns\n"
        "    where: ...els/transformer_layers.py:131 step\n"
        "sm80_xmma_ge..._tilesize128x128x16_stage4   1 ns\n"
        "other_kernel                                1 ns\n"
        "    where: a.py:1\n");
}

static void columns_give_way_in_their_order(void **state)
{
    static const struct gv_column ranked[] = {{"name", GV_COLUMN_TEXT},
                                              {"min", GV_GIVES_WAY(1, GV_COLUMN_NUMBER)},
                                              {"total", GV_COLUMN_NUMBER},
                                              {"grid", GV_GIVES_WAY(2, GV_COLUMN_TEXT)}};

    out = open_memstream(&written, &written_bytes);
    assert_non_null(out);
    gv_rows_begin(&rows, out, GV_FORMAT_TABLE, ranked, 4, NULL);
    rows.width = 17;
    gv_rows_text(&rows, "gemm");
    gv_rows_number(&rows, 1);
    gv_rows_number(&rows, 2);
    gv_rows_text(&rows, "8x1");
    end("name  total  grid\n"
        "gemm      2  8x1\n"
        "not shown here: min\n");
}

static void a_cell_has_its_limit(void **state)
{
    char *huge = malloc(1 << 20);

    memset(huge, 'x', 1 << 20);
    begin(GV_FORMAT_TABLE);
    add(huge, 1 << 20, 1, 1);
    assert_int_equal(gv_rows_end(&rows), 0);
    fclose(out);
    assert_true(written_bytes < 300);
    assert_non_null(strstr(written, "xxx..."));
    free(huge);
}

static void many_rows_are_not_kept(void **state)
{
    size_t lines = 0;

    begin(GV_FORMAT_TABLE);
    for (int i = 0; i < 5000; i++)
        add(i < 1000 ? "short" : "longer than all before", i < 1000 ? 5 : 22, i, 0);
    assert_int_equal(gv_rows_end(&rows), 0);
    fclose(out);
    for (const char *at = written; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 5001);
}

static void csv_follows_its_standard(void **state)
{
    begin(GV_FORMAT_CSV);
    add("say \"no\", or\nelse", 17, 1234567, 0.1);
    add("", 0, -1, 1e300);
    add("\033[2J\xff", 5, 0, 0);
    add("a\tb\rc", 5, 0, 0);
    gv_rows_text(&rows, NULL);
    gv_rows_null(&rows);
    gv_rows_null(&rows);
    end("name,time,share\n"
        "\"say \"\"no\"\", or\nelse\",1234567,0.1\n"
        "\"\",-1,1e+300\n"
        "\xef\xbf\xbd[2J\xef\xbf\xbd,0,0\n"
        "\"a\tb\xef\xbf\xbd"
        "c\",0,0\n"
        ",,\n");
}

static void json_is_exact_and_valid(void **state)
{
    begin(GV_FORMAT_JSON);
    add("a\"\\\n\033\0\xff\xe2\x80\xae", 10, INT64_MAX, 0.1);
    gv_rows_null(&rows);
    gv_rows_number(&rows, INT64_MIN);
    gv_rows_real(&rows, NAN);
    end("[\n"
        "  {\n"
        "    \"name\": \"a\\\"\\\\\\n\\u001b\\u0000\xef\xbf\xbd\\u202e\",\n"
        "    \"time\": 9223372036854775807,\n"
        "    \"share\": 0.1\n"
        "  },\n"
        "  {\n"
        "    \"name\": null,\n"
        "    \"time\": -9223372036854775808,\n"
        "    \"share\": null\n"
        "  }\n"
        "]\n");
}

static void nothing_is_an_empty_array(void **state)
{
    begin(GV_FORMAT_JSON);
    end("[]\n");
}

static void markdown_keeps_its_columns(void **state)
{
    begin(GV_FORMAT_MARKDOWN);
    add("a|b<i>", 6, 1000, 0.5);
    end("| name | time | share |\n"
        "| --- | ---: | ---: |\n"
        "| a\\|b\\<i\\> | 1.00 us | 50.0 % |\n");
}

static void reals_read_back_as_they_were(void **state)
{
    static const double reals[] = {0.1, 1.0 / 3, 1e-300, 123456789.123456789, 5e-324};

    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        struct gv_json json;
        char text[64] = "";
        FILE *memory = fmemopen(text, sizeof(text), "w");
        gv_json_begin(&json, memory, '[');
        gv_json_real(&json, NULL, reals[i]);
        fclose(memory);
        assert_true(strtod(text + 1, NULL) == reals[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
        TEST(a_table_is_aligned_and_harmless),
        TEST(in_a_narrow_terminal_numbers_give_way),
        TEST(names_that_are_cut_stay_different),
        TEST(columns_give_way_in_their_order),
        TEST(a_cell_has_its_limit),
        TEST(many_rows_are_not_kept),
        TEST(csv_follows_its_standard),
        TEST(json_is_exact_and_valid),
        TEST(nothing_is_an_empty_array),
        TEST(markdown_keeps_its_columns),
        TEST(reals_read_back_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
