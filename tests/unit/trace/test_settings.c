/* The environment variables: accepted values and complaints. */
#include "tests/unit/report/cmocka_all.h"

#include "trace/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct complaints {
    int count;
    char name[64];
    char value[64];
};

static void note(const char *name, const char *value, const char *why, void *context)
{
    struct complaints *complaints = context;

    assert_true(strlen(why) > 0);
    complaints->count++;
    snprintf(complaints->name, sizeof(complaints->name), "%s", name);
    snprintf(complaints->value, sizeof(complaints->value), "%s", value);
}

static int clear(void **state)
{
    (void)state;
    static const char *const names[] = {"TRACE", "EXIT_WAIT", "SPOOL_MB", "SPOOL_DIR",
                                        "LOG",   "RUNTIME",   "CLOCK",    "COLLECTOR"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[64];
        snprintf(name, sizeof(name), GV_SETTING_PREFIX "%s", names[i]);
        unsetenv(name);
    }
    return 0;
}

/* Reads the settings with one variable set; returns the number of complaints. */
static int read_with(const char *name, const char *value, struct gv_settings *settings)
{
    struct complaints complaints = {0};

    setenv(name, value, 1);
    errno = EDOM;
    gv_settings_read(settings, note, &complaints);
    assert_int_equal(errno, EDOM);
    unsetenv(name);
    if (complaints.count > 0) {
        assert_string_equal(complaints.name, name);
        assert_string_equal(complaints.value, value);
    }
    return complaints.count;
}

static void presets_stand_without_variables(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    struct gv_settings settings;

    gv_settings_read(&settings, note, &complaints);
    assert_int_equal(complaints.count, 0);
    assert_int_equal(settings.exit_wait_ms, 5000);
    assert_int_equal(settings.spool_mb, 64);
    assert_string_equal(settings.trace, "");
    assert_int_equal(settings.log, GV_LOG_ERROR);
    assert_int_equal(settings.runtime, GV_RUNTIME_ON);
    assert_int_equal(settings.clock, GV_SETTING_CLOCK_AUTO);
}

static void seconds_may_have_a_fraction(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t ms;
    } cases[] = {{"0", 0},     {"2", 2000},   {"0.5", 500},     {".25", 250},
                 {"1.", 1000}, {"0.0019", 1}, {"3600", 3600000}};
    struct gv_settings settings;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(read_with("GPUVERIFY_EXIT_WAIT", cases[i].value, &settings), 0);
        assert_int_equal(settings.exit_wait_ms, cases[i].ms);
    }
}

static void wrong_numbers_are_reported_once_and_ignored(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "x", "-1", "5s", "3600.001", "1,5", ".", "99999999999999999", "1 ", "0x10", "nan"};
    struct gv_settings settings;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(read_with("GPUVERIFY_EXIT_WAIT", wrong[i], &settings), 1);
        assert_int_equal(settings.exit_wait_ms, 5000);
    }
    assert_int_equal(read_with("GPUVERIFY_SPOOL_MB", "1.5", &settings), 1);
    assert_int_equal(read_with("GPUVERIFY_SPOOL_MB", "0", &settings), 1);
    assert_int_equal(settings.spool_mb, 64);
    assert_int_equal(read_with("GPUVERIFY_SPOOL_MB", "128", &settings), 0);
    assert_int_equal(settings.spool_mb, 128);
}

static void choices_are_whole_words(void **state)
{
    (void)state;
    struct gv_settings settings;

    assert_int_equal(read_with("GPUVERIFY_LOG", "info", &settings), 0);
    assert_int_equal(settings.log, GV_LOG_INFO);
    assert_int_equal(read_with("GPUVERIFY_CLOCK", "monotonic", &settings), 0);
    assert_int_equal(settings.clock, GV_SETTING_CLOCK_MONOTONIC);
    assert_int_equal(read_with("GPUVERIFY_LOG", "debug", &settings), 1);
    assert_int_equal(read_with("GPUVERIFY_LOG", "off|error", &settings), 1);
    assert_int_equal(settings.log, GV_LOG_ERROR);
}

static void an_extent_is_a_time_a_size_or_both(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t minutes, mb;
    } cases[] = {{"10min", 10, 0},           {"500MB", 0, 500}, {"10min,500MB", 10, 500},
                 {"2GB,3d", 3 * 1440, 2000}, {"2h", 120, 0},    {"1min", 1, 0}};
    static const char *const wrong[] = {"10",      "min",       "10 min",     "10min,",
                                        ",10min",  "10min,2h",  "0min",       "9MB",
                                        "1MB,1MB", "10min;5GB", "-10min",     "10MIN",
                                        "10mins",  "1.5h",      "999999999d", "10min,500MB,1h"};
    struct gv_settings settings;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(read_with("GPUVERIFY_KEEP", cases[i].value, &settings), 0);
        assert_int_equal(settings.keep.ns, cases[i].minutes * 60000000000);
        assert_int_equal(settings.keep.bytes, cases[i].mb * 1000000);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(read_with("GPUVERIFY_KEEP", wrong[i], &settings), 1);
        assert_true(settings.keep.ns == 0 && settings.keep.bytes == 0);
    }
}

static void a_text_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    char text[GV_SETTING_TEXT_BYTES + 1];
    struct gv_settings settings;

    memset(text, 'a', sizeof(text));
    text[GV_SETTING_TEXT_BYTES] = '\0';
    setenv("GPUVERIFY_TRACE", text, 1);
    struct complaints complaints = {0};
    gv_settings_read(&settings, note, &complaints);
    assert_int_equal(complaints.count, 1);
    assert_string_equal(settings.trace, "");
    text[GV_SETTING_TEXT_BYTES - 1] = '\0';
    setenv("GPUVERIFY_TRACE", text, 1);
    gv_settings_read(&settings, NULL, NULL);
    assert_string_equal(settings.trace, text);
}

static void empty_is_unset(void **state)
{
    (void)state;
    struct gv_settings settings;

    assert_int_equal(read_with("GPUVERIFY_LOG", "", &settings), 0);
    assert_int_equal(settings.log, GV_LOG_ERROR);
}

static void check_row(const struct gv_setting *setting, const char *allowed, const char *preset,
                      void *context)
{
    (*(int *)context)++;
    assert_memory_equal(setting->name, GV_SETTING_PREFIX, strlen(GV_SETTING_PREFIX));
    if (strcmp(setting->name, "GPUVERIFY_EXIT_WAIT") == 0) {
        assert_string_equal(allowed, "0 to 3600");
        assert_string_equal(preset, "5");
    }
    if (strcmp(setting->name, "GPUVERIFY_LOG") == 0)
        assert_string_equal(preset, "error");
}

static void every_setting_is_described(void **state)
{
    (void)state;
    int rows = 0, expected = 0;

    gv_settings_describe(check_row, &rows);
#define GV_SETTING_TEXT(...)   expected++;
#define GV_SETTING_NUMBER(...) expected++;
#define GV_SETTING_CHOICE(...) expected++;
#define GV_SETTING_EXTENT(...) expected++;
#include "trace/settings.def"
    assert_int_equal(rows, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(presets_stand_without_variables, clear),
        cmocka_unit_test_setup(seconds_may_have_a_fraction, clear),
        cmocka_unit_test_setup(wrong_numbers_are_reported_once_and_ignored, clear),
        cmocka_unit_test_setup(choices_are_whole_words, clear),
        cmocka_unit_test_setup(an_extent_is_a_time_a_size_or_both, clear),
        cmocka_unit_test_setup(a_text_that_does_not_fit_is_refused, clear),
        cmocka_unit_test_setup(empty_is_unset, clear),
        cmocka_unit_test_setup(every_setting_is_described, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
