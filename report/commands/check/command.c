/* gpuverify check FILE RULES: a gate for CI. */
#include "report/commands/check/check.h"
#include "report/commands/commands.h"
#include "report/commands/offer.h"
#include "report/commands/progress.h"
#include "report/commands/trace_view.h"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/show/output_file.h"
#include "report/show/rows.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GV_CHECK_FILE_BYTES (1u << 20)
#define GV_CHECK_WORDS      400

static const char *const check_words[] = {
    [GV_CHECK_KEPT] = "kept", [GV_CHECK_BROKEN] = "broken", [GV_CHECK_UNKNOWN] = "not known"};

/* Refuses a named pipe, which might have no writer. Reads the caller's own pipes, as /dev/stdin
 * or the shell's <(...). 0 or -errno. */
static int check_open_file(const char *path, FILE **file)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return -errno;
    if (S_ISFIFO(status.st_mode) && strncmp(path, "/dev/", 5) != 0 &&
        strncmp(path, "/proc/", 6) != 0)
        return -ESPIPE;
    *file = fopen(path, "r");
    return *file ? 0 : -errno;
}

/* The whole file, which the caller frees. 0 or -errno. */
static int check_load_file(const char *path, char **text, size_t *bytes)
{
    FILE *file = NULL;
    int error = check_open_file(path, &file);

    *text = error ? NULL : malloc(GV_CHECK_FILE_BYTES);
    if (!error && !*text)
        error = -ENOMEM;
    if (!error)
        *bytes = fread(*text, 1, GV_CHECK_FILE_BYTES, file);
    if (!error && ferror(file))
        error = -errno;
    if (!error && *bytes == GV_CHECK_FILE_BYTES)
        error = -EFBIG;
    if (file)
        fclose(file);
    return error;
}

/* 0, or the exit code, after a message. */
static int check_read_file(const struct gv_command *command, const char *path, gv_check_line *add,
                           void *into)
{
    char why[GV_CHECK_WHY_BYTES] = "", *text = NULL;
    size_t bytes = 0;
    int error = check_load_file(path, &text, &bytes);

    if (error) {
        gv_message("cannot read %s: %s", path, strerror(-error));
        free(text);
        return GV_EXIT_FAILED;
    }
    error = gv_check_lines(text, bytes, add, into, why);
    free(text);
    return error ? gv_arguments_refuse(command, "%s: %s", path,
                                       error == -EINVAL ? why : strerror(-error))
                 : 0;
}

/* Which known things the rules are about. */
static void check_find_rules(const struct gv_check_rules *rules, struct gv_check_accept *accept)
{
    accept->least_share = 2;
    for (size_t i = 0; i < rules->count; i++) {
        enum gv_option_id option = rules->rules[i].check->option;
        if (option == GV_OPTION_check_max_stall || option == GV_OPTION_check_max_stall_in ||
            option == GV_OPTION_check_no_stall)
            accept->of_stalls = true;
        if (option == GV_OPTION_check_max_finding && rules->rules[i].fraction < accept->least_share)
            accept->least_share = rules->rules[i].fraction;
    }
}

/* 0, or the exit code, after a message. */
static int check_collect_accept(const struct gv_arguments *arguments, struct gv_check_rules *rules,
                                struct gv_check_accept *accept)
{
    const struct gv_given any = {.option = GV_OPTION_check_no_stall, .text = "any"};
    char why[GV_CHECK_WHY_BYTES];

    accept->path = gv_arguments_text(arguments, GV_OPTION_check_accept, NULL);
    accept->update = gv_arguments_has(arguments, GV_OPTION_check_update);
    if (!accept->path)
        return accept->update ? gv_arguments_refuse(arguments->command, "--update needs --accept")
                              : 0;
    check_find_rules(rules, accept);
    if (!accept->of_stalls && accept->least_share > 1) {
        if (gv_check_rules_add(rules, &any, why))
            return gv_arguments_refuse(arguments->command, "%s", strerror(ENOMEM));
        accept->of_stalls = true;
    }
    accept->is_new = accept->update && access(accept->path, F_OK) < 0 && errno == ENOENT;
    return accept->is_new
               ? 0
               : check_read_file(arguments->command, accept->path, gv_check_accept_line, accept);
}

/* 0, or the exit code, after a message. */
static int check_collect(const struct gv_arguments *arguments, struct gv_check_rules *rules,
                         struct gv_check_accept *accept)
{
    char why[GV_CHECK_WHY_BYTES] = "";
    int code = 0;

    for (size_t i = 0; i < arguments->given_count && !code; i++) {
        const struct gv_given *given = &arguments->given[i];
        if (given->option == GV_OPTION_check_rules) {
            code = check_read_file(arguments->command, given->text, gv_check_rules_line, rules);
            continue;
        }
        int error = gv_check_rules_add(rules, given, why);
        if (error)
            code = gv_arguments_refuse(arguments->command, "%s",
                                       error == -EINVAL ? why : strerror(-error));
    }
    if (!code)
        code = check_collect_accept(arguments, rules, accept);
    if (!code && rules->count == 0)
        code = gv_arguments_refuse(arguments->command, "no rule to check; --help shows "
                                                       "them");
    return code;
}

static void check_put(FILE *out, const struct gv_check_rule *rule,
                      const struct gv_check_result *result)
{
    fprintf(out, "%s: ", check_words[result->outcome]);
    gv_check_rule_print(out, rule);
    if (result->is_said) {
        fputs(": ", out);
        gv_format_text(out, result->found, GV_CHECK_WORDS, 0);
    }
}

/* As wide as the terminal; without one, one line for grep. */
static void check_print_one(const struct gv_check_rule *rule, const struct gv_check_result *result)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = gv_terminal_width(stdout) ? open_memstream(&text, &bytes) : NULL;

    check_put(out ? out : stdout, rule, result);
    if (!out)
        putchar('\n');
    else if (fclose(out) == 0)
        gv_text_lines_on(stdout, 4, 0, text, gv_terminal_columns(stdout));
    free(text);
}

static void check_print_text(const struct gv_check_rules *rules,
                             const struct gv_check_result *results, bool all)
{
    const size_t unknown = gv_check_count(rules, results, GV_CHECK_UNKNOWN);

    for (size_t i = 0; i < rules->count; i++)
        if (results[i].is_said || all)
            check_print_one(&rules->rules[i], &results[i]);
    printf("%zu rule%s: %zu broken", rules->count, rules->count == 1 ? "" : "s",
           gv_check_count(rules, results, GV_CHECK_BROKEN));
    if (unknown)
        printf(", %zu cannot be checked with this trace", unknown);
    putchar('\n');
}

static int check_print_rows(const struct gv_check_rules *rules,
                            const struct gv_check_result *results, enum gv_format format)
{
    static const struct gv_column columns[] = {{"rule", GV_COLUMN_TEXT},
                                               {"value", GV_COLUMN_TEXT},
                                               {"outcome", GV_COLUMN_TEXT},
                                               {"found", GV_COLUMN_TEXT}};
    char name[GV_OPTION_NAME_BYTES];
    struct gv_rows rows;

    gv_rows_begin(&rows, stdout, format, columns, 4, NULL);
    for (size_t i = 0; i < rules->count; i++) {
        gv_rows_text(&rows, gv_option_name(&gv_options[rules->rules[i].check->option], name));
        gv_rows_text(&rows, rules->rules[i].text);
        gv_rows_text(&rows, check_words[results[i].outcome]);
        gv_rows_text(&rows, results[i].is_said ? results[i].found : NULL);
    }
    return gv_rows_end(&rows);
}

static int check_write_junit(const char *path, const char *trace,
                             const struct gv_check_rules *rules,
                             const struct gv_check_result *results)
{
    struct gv_output_file file;
    int error = gv_output_file_open(&file, path, 0666);

    if (!error) {
        gv_check_junit_print(file.out, trace, rules, results);
        error = gv_output_file_close(&file);
    }
    if (error)
        gv_message("cannot write %s: %s", path, strerror(-error));
    return error;
}

/* Losses make "none" less certain. */
static void check_warn(sqlite3 *trace)
{
    int64_t lost = 0;

    if (gv_database_number(trace, "SELECT sum(count) FROM losses", NULL, 0, &lost) == 0 && lost > 0)
        gv_message("%" PRId64
                   " record%s of this trace %s lost; --max-losses 0 makes the check fail for that",
                   lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were");
}

struct gv_check_work {
    const struct gv_arguments *arguments;
    struct gv_check_rules rules;
    struct gv_check_accept accept;
    struct gv_check_result *results; /* of each rule */
};

static int check_trace(sqlite3 *trace, void *context)
{
    struct gv_check_work *work = context;
    const struct gv_check_rules *rules = &work->rules;
    const char *format = gv_arguments_text(work->arguments, GV_OPTION_check_format, "text");
    const char *junit = gv_arguments_text(work->arguments, GV_OPTION_check_junit, NULL);
    int error;

    gv_progress_begin(trace, "gpuverify: checking");
    error = gv_check_prepare(trace);
    if (!error)
        error = gv_check_accept_apply(trace, &work->accept);
    for (size_t i = 0; i < rules->count && !error; i++)
        error = gv_check_rule_run(trace, &rules->rules[i], &work->results[i]);
    gv_progress_end(trace);
    if (error)
        return error;
    if (!gv_arguments_has(work->arguments, GV_OPTION_check_max_losses))
        check_warn(trace);
    if (junit && gv_output_file_is_stdout(junit))
        ; /* stdout is only for that */
    else if (strcmp(format, "text") == 0)
        check_print_text(rules, work->results,
                         gv_arguments_has(work->arguments, GV_OPTION_check_all));
    else
        error = check_print_rows(rules, work->results, gv_format_find(format));
    if (!error && junit)
        error = check_write_junit(junit, work->arguments->operands[0], rules, work->results);
    if (!error)
        error = gv_check_accept_tell(&work->accept);
    if (!error && gv_check_count(rules, work->results, GV_CHECK_BROKEN))
        return GV_EXIT_FINDING;
    return error || gv_check_count(rules, work->results, GV_CHECK_UNKNOWN) ? GV_EXIT_FAILED
                                                                           : GV_EXIT_FINE;
}

int gv_command_check(const struct gv_arguments *arguments)
{
    struct gv_check_work work = {.arguments = arguments};
    const char *junit = gv_arguments_text(arguments, GV_OPTION_check_junit, NULL);

    if (!arguments->operands[0])
        return gv_arguments_refuse(arguments->command,
                                   "FILE is missing: a gate must name the trace it checks");
    if (junit && gv_output_file_is_stdout(junit) &&
        gv_arguments_has(arguments, GV_OPTION_check_format))
        return gv_arguments_refuse(arguments->command, "--junit - cannot be used with --format");
    int code = check_collect(arguments, &work.rules, &work.accept);

    if (code == 0) {
        work.results = calloc(work.rules.count, sizeof(*work.results));
        code = work.results ? gv_trace_view_read(gv_offer_join(arguments, arguments->operand_count),
                                                 check_trace, &work)
                            : GV_EXIT_FAILED;
    }
    for (size_t i = 0; work.results && i < work.rules.count; i++)
        free(work.results[i].found);
    free(work.results);
    gv_check_rules_free(&work.rules);
    gv_check_accept_free(&work.accept);
    return code;
}
