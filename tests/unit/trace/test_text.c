/* Untrusted text: valid when stored, harmless when printed. */
#include "tests/unit/report/cmocka_all.h"

#include "report/show/format.h"
#include "report/show/shown_path.h"
#include "report/show/text_lines.h"
#include "trace/shell_word.h"
#include "trace/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_repaired(const char *text, size_t bytes, const char *expected)
{
    char out[256];

    assert_int_equal(gv_text_repair(out, sizeof(out), text, bytes), strlen(expected));
    assert_string_equal(out, expected);
}

static void valid_text_stays_as_it_is(void **state)
{
    (void)state;
    expect_repaired("abc", 3, "abc");
    expect_repaired("Zürich \xe2\x82\xac \xf0\x9f\x98\x80", 16,
                    "Zürich \xe2\x82\xac \xf0\x9f\x98\x80");
    expect_repaired("two\nlines\x1b[31m", 14, "two\nlines\x1b[31m");
}

static void invalid_bytes_are_replaced(void **state)
{
    (void)state;
    expect_repaired("a\xff"
                    "b",
                    3,
                    "a\xef\xbf\xbd"
                    "b");
    expect_repaired("\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd"); /* overlong */
    expect_repaired("\xe0\x80\xaf", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect_repaired("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
    expect_repaired("\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect_repaired("a\xe2\x82", 3, "a\xef\xbf\xbd\xef\xbf\xbd"); /* cut off */
}

static void text_ends_at_nul(void **state)
{
    (void)state;
    expect_repaired("ab\0cd", 5, "ab");
}

static void a_small_buffer_gets_whole_characters(void **state)
{
    (void)state;
    char out[4];

    assert_int_equal(gv_text_repair(out, sizeof(out), "ab\xe2\x82\xac", 5), 2);
    assert_string_equal(out, "ab");
    assert_int_equal(gv_text_repair(out, 0, "ab", 2), 0);
}

static void expect_escaped(const char *text, const char *expected)
{
    char out[256];

    gv_text_escape(out, sizeof(out), text);
    assert_string_equal(out, expected);
}

static void control_characters_come_out_visible(void **state)
{
    (void)state;
    expect_escaped("plain Zürich", "plain Zürich");
    expect_escaped("\x1b[2J\x07", "\\x1b[2J\\x07");
    expect_escaped("a\nb\tc\rd\x7f", "a\\nb\\tc\\x0dd\\x7f");
    expect_escaped("\xc2\x9b"
                   "31m",
                   "\\u009b31m");                    /* C1: one-byte CSI */
    expect_escaped("\xe2\x80\xaegpj", "\\u202egpj"); /* right-to-left override */
    expect_escaped("\xff", "\\xff");
}

static char *printed(const char *text, int width, int pad)
{
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);

    gv_format_text(stream, text, width, pad);
    fclose(stream);
    return out;
}

static void printed_text_keeps_its_columns(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int width, pad;
        const char *expected;
    } cases[] = {{"abc", 5, 1, "abc  "},    {"abcdef", 5, 1, "ab..."}, {"üüü", 5, 1, "üüü  "},
                 {"üüüüüü", 5, 0, "üü..."}, {NULL, 3, 1, "-  "},       {"a\nb", 10, 0, "a\\nb"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *out = printed(cases[i].text, cases[i].width, cases[i].pad);
        assert_string_equal(out, cases[i].expected);
        free(out);
    }
}

static void durations_have_a_fitting_unit(void **state)
{
    (void)state;
    char out[GV_FORMAT_BYTES];

    assert_string_equal(gv_format_duration(out, 0), "0 ns");
    assert_string_equal(gv_format_duration(out, 999), "999 ns");
    assert_string_equal(gv_format_duration(out, 1500), "1.50 us");
    assert_string_equal(gv_format_duration(out, 149000000), "149 ms");
    assert_string_equal(gv_format_duration(out, 999999999), "1.00 s");
    assert_string_equal(gv_format_duration(out, -5), "-5 ns");
    assert_string_equal(gv_format_size(out, 512), "512 B");
    assert_string_equal(gv_format_size(out, 4 << 20), "4.00 MiB");
}

static void results_are_named_by_their_library(void **state)
{
    (void)state;
    assert_string_equal(gv_format_result("cuMemAlloc_v2", 2), "CUDA_ERROR_OUT_OF_MEMORY");
    assert_string_equal(gv_format_result("cudaMalloc", 2), "cudaErrorMemoryAllocation");
    assert_string_equal(gv_format_result("ncclAllReduce", 2), "ncclSystemError");
    assert_null(gv_format_result("ncclAllReduce", 600));
    assert_null(gv_format_result("cuInit", 123456));
}

static void a_shell_reads_a_word_back(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"/tmp/run-1.db", "/tmp/run-1.db"},
        {"x y.db", "'x y.db'"},
        {"", "''"},
        {"-x", "./-x"},
        {"- x", "'./- x'"},
        {"a$(touch pwned)", "'a$(touch pwned)'"},
        {"it's \\n", "'it'\\''s \\n'"},
        {"Z\xc3\xbcrich", "'Z\xc3\xbcrich'"},
        {"a\x1b[m 'q' \\", "$'a\\x1b[m\\x20\\'q\\'\\x20\\\\'"},
        {"\xff\n", "$'\\xff\\x0a'"},
    };
    char word[GV_SHELL_WORD_BYTES], longest[GV_SHELL_WORD_BYTES + 1];

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_string_equal(gv_shell_word(word, words[i][0]), words[i][1]);
    for (size_t length = GV_SHELL_WORD_BYTES - 8; length <= GV_SHELL_WORD_BYTES; length++) {
        memset(longest, '\'', length);
        longest[length] = '\0';
        assert_string_equal(gv_shell_word(word, longest), "FILE");
        memset(longest, 'x', length);
        assert_string_equal(gv_shell_word(word, longest),
                            length + 2 > GV_SHELL_WORD_BYTES ? "FILE" : longest);
    }
}

static void a_quoted_name_stays_in_one_line(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    gv_text_lines(out, 2, "- ", "paste 'it'\\''s  a b.db' and go on", 12);
    fclose(out);
    assert_string_equal(text, "- paste\n  'it'\\''s  a b.db'\n  and go on\n");
    free(text);
}

static void a_command_stays_in_one_line(void **state)
{
    static const struct {
        const char *text, *lines;
        int columns;
    } cases[] = {
        {"see it: gpuverify report a.db --section gaps",
         "see it:\ngpuverify report a.db --section gaps\n", 40},
        {"see it: gpuverify report a.db --section gaps",
         "see it: gpuverify report a.db\n--section gaps\n", 30},
        {"The worst; ./b/gpuverify stalls lists them.",
         "The worst;\n./b/gpuverify stalls\nlists them.\n", 24},
        {"several: gpuverify diff BEFORE... -- AFTER... now",
         "several:\ngpuverify diff BEFORE... -- AFTER...\nnow\n", 38},
        {"use gpuverify explain s1. Also gpuverify.",
         "use gpuverify explain s1.\nAlso gpuverify.\n", 26},
        {"it: gpuverify doctor ./program now", "it:\ngpuverify doctor ./program\nnow\n", 28},
        {"gpuverify", "gpuverify\n", 4},
        {"it lost 14.7 us (jit)", "it lost\n14.7 us\n(jit)\n", 10},
        {"it lost 100 ms, 5 % of 9 calls", "it lost\n100 ms,\n5 % of 9\ncalls\n", 10},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        assert_non_null(out);
        gv_text_lines(out, 0, "", cases[i].text, cases[i].columns);
        fclose(out);
        assert_string_equal(text, cases[i].lines);
        free(text);
    }
}

static void a_path_is_shown_from_here(void **state)
{
    static const struct {
        const char *path, *shown;
    } paths[] = {{"/t.db", "t.db"},       {"//t.db", "t.db"}, {"/.//t.db", "t.db"},
                 {"/a//t.db", "a//t.db"}, {"/./-t.db", NULL}, {"/", NULL}};
    char folder[PATH_MAX], path[PATH_MAX + 16];

    (void)state;
    assert_non_null(getcwd(folder, sizeof(folder)));
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", folder, paths[i].path);
        assert_string_equal(gv_shown_path(path), paths[i].shown ? paths[i].shown : path);
    }
    assert_string_equal(gv_shown_path(".//t.db"), "t.db");
    assert_string_equal(gv_shown_path("//elsewhere/t.db"), "//elsewhere/t.db");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shell_reads_a_word_back),
        cmocka_unit_test(a_quoted_name_stays_in_one_line),
        cmocka_unit_test(a_command_stays_in_one_line),
        cmocka_unit_test(a_path_is_shown_from_here),
        cmocka_unit_test(valid_text_stays_as_it_is),
        cmocka_unit_test(invalid_bytes_are_replaced),
        cmocka_unit_test(text_ends_at_nul),
        cmocka_unit_test(a_small_buffer_gets_whole_characters),
        cmocka_unit_test(control_characters_come_out_visible),
        cmocka_unit_test(printed_text_keeps_its_columns),
        cmocka_unit_test(durations_have_a_fitting_unit),
        cmocka_unit_test(results_are_named_by_their_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
