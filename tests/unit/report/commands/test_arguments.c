/* The table of options: what the parser accepts, and that help, man page and completion have
 * everything. */
#include "tests/unit/report/cmocka_all.h"

#include "report/commands/arguments.h"
#include "report/commands/commands.h"
#include "report/show/value_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

static struct gv_arguments arguments;
static char told[131072];
static int code;

/* Parses a command line as a shell reads it. Discards messages. */
static bool parse(const char *command, const char *line)
{
    static wordexp_t words;
    static char whole[512];
    int keep_out = dup(1), keep_err = dup(2);

    if (words.we_wordv)
        wordfree(&words);
    snprintf(whole, sizeof(whole), "%s %s", command, line);
    assert_int_equal(wordexp(whole, &words, WRDE_NOCMD), 0);
    gv_arguments_free(&arguments);
    fflush(stdout);
    assert_non_null(freopen("/dev/null", "w", stdout));
    assert_non_null(freopen("/dev/null", "w", stderr));
    bool go = gv_arguments_parse(gv_command_find(command), (int)words.we_wordc, words.we_wordv,
                                 &arguments, &code);
    fflush(stdout);
    dup2(keep_out, 1);
    dup2(keep_err, 2);
    close(keep_out);
    close(keep_err);
    return go;
}

/* The output of a gpuverify command line, with errors. */
static const char *tell(const char *line)
{
    char shell[512];

    snprintf(shell, sizeof(shell), "\"$GPUVERIFY_COMMAND\" %s 2>&1", line);
    FILE *output = popen(shell, "r");
    assert_non_null(output);
    told[fread(told, 1, sizeof(told) - 1, output)] = '\0';
    code = WEXITSTATUS(pclose(output));
    return told;
}

static void expect(const char *line, int wanted_code, const char *part)
{
    if (!strstr(tell(line), part))
        fail_msg("gpuverify %s: '%s' is not in:\n%s", line, part, told);
    assert_int_equal(code, wanted_code);
}

static void options_stand_anywhere(void **state)
{
    (void)state;
    assert_true(parse("recover", "one -o out.db two"));
    assert_int_equal(arguments.operand_count, 2);
    assert_string_equal(arguments.operands[1], "two");
    assert_null(arguments.operands[2]);
    assert_string_equal(gv_arguments_text(&arguments, GV_OPTION_recover_output, NULL), "out.db");
    assert_true(parse("recover", "-oout.db --output=in.db"));
    assert_string_equal(gv_arguments_text(&arguments, GV_OPTION_recover_output, NULL), "in.db");
    assert_int_equal(arguments.parted_at, -1);
    assert_true(parse("recover", "one -- -o two"));
    assert_int_equal(arguments.operand_count, 3);
    assert_int_equal(arguments.parted_at, 1);
    assert_false(gv_arguments_has(&arguments, GV_OPTION_recover_output));
}

static void the_options_of_a_program_are_its_own(void **state)
{
    (void)state;
    assert_true(parse("run", "-o a.db prog -o b.db --help"));
    assert_string_equal(gv_arguments_text(&arguments, GV_OPTION_run_output, NULL), "a.db");
    assert_int_equal(arguments.operand_count, 4);
    assert_true(parse("run", "-- -o b.db"));
    assert_string_equal(arguments.operands[0], "-o");
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    expect("recover --otput x", 2, "unknown option '--otput'; did you mean '--output'?");
    expect("recover --nothing-like-it", 2, "unknown option '--nothing-like-it'");
    expect("recover -ox -z", 2, "unknown option '-z'");
    expect("recover --output", 2, "--output needs a value: FILE");
    expect("help --man=1", 2, "--man takes no value");
    expect("help --completion csh", 2,
           "invalid value 'csh' for --completion, which takes bash|zsh|fish");
    expect("check", 2, "FILE is missing: a gate must name the trace");
    expect("diff a.db", 2, "name the traces to compare: BEFORE AFTER");
    expect("diff a.db --", 2, "name the traces to compare: BEFORE AFTER");
    expect("diff a.db -- b.db --section stalls", 2, "--section comes after the --");
    expect("schema a b", 2, "unexpected argument 'b'");
    expect("schema a b", 2, "usage: gpuverify schema [VIEW]");
    expect("help \"$(printf 'x\\033[2J')\"", 2, "x\\x1b[2J");
    expect("check x.db max-stall 10ms", 2, "did you mean '--max-stall'?");
    expect("/bin/ls -l", 2, "did you mean 'gpuverify run /bin/ls'?");
    expect("/etc/passwd", 2, "did you mean 'gpuverify report /etc/passwd'?");
    expect("/etc/x", 2, "see 'gpuverify help'");
    expect("\"$(printf 'x\\033[2J')\"", 2, "x\\x1b[2J");
    expect("report --\"$(printf 'x\\033[2J')\"", 2, "x\\x1b[2J");
}

static void help_is_no_error(void **state)
{
    (void)state;
    assert_false(parse("report", "--help"));
    assert_int_equal(code, 0);
    assert_false(parse("report", "x y z -h"));
    assert_int_equal(code, 0);
}

static int64_t duration(const char *text)
{
    int64_t ns = -1;
    int error = gv_value_duration(text, &ns);

    return error ? error : ns;
}

/* "since 2", "time 03:00:00", "day 2026-11-22 03:00:00"; else the error */
static void expect_moment(const char *text, const char *expected)
{
    static const char *const formats[] = {
        [GV_MOMENT_TIME] = "time %H:%M:%S", [GV_MOMENT_DAY] = "day %Y-%m-%d %H:%M:%S"};
    struct gv_moment moment;
    char found[64];
    int error = gv_value_moment(text, &moment);

    if (error)
        snprintf(found, sizeof(found), "%s", error == -EINVAL ? "invalid" : "too far");
    else if (moment.kind == GV_MOMENT_SINCE)
        snprintf(found, sizeof(found), "since %lld", (long long)moment.since_ns / 1000000000);
    else
        assert_true(strftime(found, sizeof(found), formats[moment.kind], &moment.local) > 0);
    assert_string_equal(found, expected);
}

static void moments_are_since_the_start_or_of_the_clock(void **state)
{
    (void)state;
    expect_moment("2s", "since 2");
    expect_moment("0", "since 0");
    expect_moment("03:00", "time 03:00:00");
    expect_moment("23:59:58", "time 23:59:58");
    expect_moment("2026-11-22", "day 2026-11-22 00:00:00");
    expect_moment("2026-11-22 03:00", "day 2026-11-22 03:00:00");
    expect_moment("2026-11-22T03:00:30", "day 2026-11-22 03:00:30");
    expect_moment("3:00", "invalid");
    expect_moment("24:00", "invalid");
    expect_moment("03:60", "invalid");
    expect_moment("03:00 ", "invalid");
    expect_moment("2026-02-30", "invalid");
    expect_moment("2026-13-01 03:00", "invalid");
    expect_moment("1969-01-01", "invalid");
    expect_moment("2300-01-01", "too far");
    expect_moment("22.11.2026", "invalid");
}

static void values_are_read_as_people_write_them(void **state)
{
    (void)state;
    int64_t number;
    double ratio;

    assert_int_equal(duration("10ms"), 10000000);
    assert_int_equal(duration("1.5 s"), 1500000000);
    assert_int_equal(duration("250us"), 250000);
    assert_int_equal(duration("2min"), 120000000000);
    assert_int_equal(duration("0"), 0);
    assert_int_equal(duration("10"), -EINVAL);
    assert_int_equal(duration("ms"), -EINVAL);
    assert_int_equal(duration("-1s"), -EINVAL);
    assert_int_equal(duration("1e3s"), -EINVAL);
    assert_int_equal(duration("99999999999999h"), -ERANGE);
    assert_int_equal(gv_value_number("12", &number), 0);
    assert_int_equal(number, 12);
    assert_int_equal(gv_value_number("12x", &number), -EINVAL);
    assert_int_equal(gv_value_number("99999999999999999999", &number), -ERANGE);
    assert_int_equal(gv_value_ratio("50%", &ratio), 0);
    assert_true(ratio > 0.499 && ratio < 0.501);
    assert_int_equal(gv_value_ratio("0.25", &ratio), 0);
    assert_true(ratio > 0.249 && ratio < 0.251);
    assert_int_equal(gv_value_ratio("half", &ratio), -EINVAL);
    assert_int_equal(gv_value_ratio("nan", &ratio), -EINVAL);
}

/* Man pages write - as \-. */
static void plain(char *text)
{
    char *to = text;

    for (; *text; text++)
        if (text[0] != '\\' || text[1] != '-')
            *to++ = *text;
    *to = '\0';
}

static void every_command_and_option_is_told(void **state)
{
    (void)state;
    static const char *const places[][2] = {{"help --man", "--"},
                                            {"help --completion bash", "--"},
                                            {"help --completion zsh", "--"},
                                            {"help --completion fish", "-l "}};
    char name[GV_OPTION_NAME_BYTES], option[64], line[64];

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        tell(places[i][0]);
        assert_int_equal(code, 0);
        plain(told);
        for (int j = 0; j < GV_COMMANDS_COUNT; j++)
            if (gv_commands[j].listed && !strstr(told, gv_commands[j].name))
                fail_msg("%s is not in gpuverify %s", gv_commands[j].name, places[i][0]);
        for (int j = 0; j < GV_OPTIONS_COUNT; j++) {
            snprintf(option, sizeof(option), "%s%s", places[i][1],
                     gv_option_name(&gv_options[j], name));
            if (!strstr(told, option))
                fail_msg("%s is not in gpuverify %s", option, places[i][0]);
        }
    }
    for (int j = 0; j < GV_OPTIONS_COUNT; j++) {
        const char *command = gv_commands[gv_options[j].command].name;
        snprintf(option, sizeof(option), "--%s", gv_option_name(&gv_options[j], name));
        snprintf(line, sizeof(line), "help %s", command);
        expect(line, 0, option);
        snprintf(line, sizeof(line), "%s --help", command);
        expect(line, 0, option);
    }
}

static void sentences_of_the_manual_end(void **state)
{
    (void)state;
    tell("help --man");
    for (const char *at = told; (at = strstr(at, "\nDefault: ")); at++)
        if (!strchr(".)", at[-1]))
            fail_msg("no full stop before: %.40s", at + 1);
}

static void every_listed_command_has_an_example_that_parses(void **state)
{
    (void)state;
    bool has[GV_COMMANDS_COUNT] = {false};

    for (size_t i = 0; i < gv_examples_count; i++) {
        char line[256];
        const struct gv_example *example = &gv_examples[i];
        has[example->command] = true;
        const char *rest = strstr(example->arguments, " >");
        snprintf(line, sizeof(line), "%.*s",
                 (int)(rest ? (size_t)(rest - example->arguments) : strlen(example->arguments)),
                 example->arguments);
        if (!parse(gv_commands[example->command].name, line))
            fail_msg("%s %s", gv_commands[example->command].name, example->arguments);
    }
    for (int j = 0; j < GV_COMMANDS_COUNT; j++)
        assert_int_equal(has[j], gv_commands[j].listed);
}

static void completion_is_a_script(void **state)
{
    (void)state;
    assert_int_equal(system("\"$GPUVERIFY_COMMAND\" help --completion bash | bash -n"), 0);
    FILE *output =
        popen("bash -c 'eval \"$(\"$GPUVERIFY_COMMAND\" help --completion bash)\";"
              "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _gpuverify;"
              " echo \"${COMPREPLY[@]}\"; }; try gpuverify stal; try gpuverify run --o;"
              "try gpuverify help --completion z; try gpuverify help env;"
              "try gpuverify report --section leak; try gpuverify diff -s st;"
              "try gpuverify stalls --cause module-l; try gpuverify check --no-stall an;"
              "try gpuverify query x.db slow; try gpuverify schema kernel_;"
              "cd \"$(mktemp -d)\"; touch \"zz b.db\" zz_tool;"
              "try gpuverify report zz\\ ; try gpuverify run zz_t; rm zz*; rmdir \"$PWD\"'",
              "r");
    assert_non_null(output);
    told[fread(told, 1, sizeof(told) - 1, output)] = '\0';
    pclose(output);
    assert_string_equal(told, "stalls\n--output\nzsh\nenvironment\nleaks\nstalls\nmodule-"
                              "load\nany\nslow-calls\nkernel_summary\nzz b.db\nzz_tool\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_stand_anywhere),
        cmocka_unit_test(the_options_of_a_program_are_its_own),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(help_is_no_error),
        cmocka_unit_test(moments_are_since_the_start_or_of_the_clock),
        cmocka_unit_test(values_are_read_as_people_write_them),
        cmocka_unit_test(every_command_and_option_is_told),
        cmocka_unit_test(every_listed_command_has_an_example_that_parses),
        cmocka_unit_test(completion_is_a_script),
        cmocka_unit_test(sentences_of_the_manual_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
