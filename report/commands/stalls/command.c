/* gpuverify stalls [FILE]: the stalls, longest first. */
#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/causes.h"
#include "report/analyse/stalls/rows.h"
#include "report/analyse/stalls/sums.h"
#include "report/analyse/time_union.h"
#include "report/commands/account_words.h"
#include "report/commands/commands.h"
#include "report/commands/offer.h"
#include "report/commands/range_view.h"
#include "report/commands/silence_note.h"
#include "report/commands/trace_view.h"
#include "report/show/format.h"
#include "report/show/rows.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"

#include <inttypes.h>
#include <stdlib.h>

#define GV_STALL_WHERE_BYTES 4096
#define GV_STALLS_TOP        20

static const struct gv_column stalls_table[] = {
    {"stall", GV_COLUMN_TEXT},    {"when", GV_GIVES_WAY(1, GV_COLUMN_MOMENT)},
    {"lost", GV_COLUMN_DURATION}, {"cause", GV_COLUMN_TEXT},
    {"call", GV_COLUMN_TEXT},     {"waited for", GV_COLUMN_NAME},
    {"where", GV_COLUMN_TEXT},
};

/* docs/json/stalls.json describes them. */
static const struct gv_column stalls_fields[] = {
    {"id", GV_COLUMN_NUMBER},
    {"call", GV_COLUMN_NUMBER},
    {"name", GV_COLUMN_TEXT},
    {"cause", GV_COLUMN_TEXT},
    {"expected", GV_COLUMN_NUMBER},
    {"start_ns", GV_COLUMN_NUMBER},
    {"duration_ns", GV_COLUMN_NUMBER},
    {"wait_ns", GV_COLUMN_NUMBER},
    {"work_ns", GV_COLUMN_NUMBER},
    {"jit_ns", GV_COLUMN_NUMBER},
    {"waited_for", GV_COLUMN_NUMBER},
    {"waited_for_name", GV_COLUMN_TEXT},
    {"blocked_by", GV_COLUMN_NUMBER},
    {"blocked_by_name", GV_COLUMN_TEXT},
    {"confidence", GV_COLUMN_TEXT},
    {"process", GV_COLUMN_NUMBER},
    {"thread", GV_COLUMN_NUMBER},
    {"kernel", GV_COLUMN_TEXT},
    {"where", GV_COLUMN_TEXT},
    {"advice", GV_COLUMN_TEXT},
    {"other_pid", GV_COLUMN_NUMBER},
    {"other_name", GV_COLUMN_TEXT},
    {"other_did", GV_COLUMN_TEXT},
    {"host_function", GV_COLUMN_NUMBER},
    {"host_function_name", GV_COLUMN_TEXT},
    {"own_stack", GV_COLUMN_NUMBER},
};

struct gv_stalls {
    const struct gv_arguments *arguments;
    const char *path;
    enum gv_format format;
    struct gv_stall_filter filter;
    struct gv_range_choice *ranges; /* NULL: all calls */
};

#define GV_STALLS_COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

static const char *stall_waited_for(const struct gv_stall_row *row)
{
    if (row->blocked_name)
        return row->blocked_name;
    if (row->host_function)
        return row->host_name ? row->host_name : "a host function";
    return row->waited_name ? row->waited_name : row->other_name;
}

static void stall_put_line(sqlite3 *trace, struct gv_rows *out, const struct gv_stall_row *row)
{
    char where[GV_STALL_WHERE_BYTES], id[32];

    snprintf(id, sizeof(id), "s%" PRId64, row->id);
    gv_rows_text(out, id);
    gv_rows_number(out, row->start_ns);
    gv_rows_number(out, gv_stall_lost_ns(row));
    gv_rows_text(out, row->cause);
    gv_rows_text(out, row->name);
    gv_rows_text(out, stall_waited_for(row));
    gv_rows_text(out, gv_stack_where(trace, row->stack, where, sizeof(where)));
}

static void stall_put_fields(sqlite3 *trace, struct gv_rows *out, const struct gv_stall_row *row)
{
    char where[GV_STALL_WHERE_BYTES];

    gv_rows_number(out, row->id);
    gv_rows_known(out, row->call);
    gv_rows_text(out, row->name);
    gv_rows_text(out, row->cause);
    gv_rows_number(out, row->expected);
    gv_rows_number(out, row->start_ns);
    gv_rows_number(out, row->duration_ns);
    gv_rows_number(out, row->wait_ns);
    gv_rows_number(out, row->work_ns);
    gv_rows_number(out, row->jit_ns);
    gv_rows_known(out, row->waited_for);
    gv_rows_text(out, row->waited_name);
    gv_rows_known(out, row->blocked_by);
    gv_rows_text(out, row->blocked_name);
    gv_rows_text(out, row->confidence);
    gv_rows_known(out, row->process);
    gv_rows_known(out, row->thread);
    gv_rows_text(out, row->kernel);
    gv_rows_text(out, gv_stack_where(trace, row->stack, where, sizeof(where)));
    gv_rows_text(out, row->advice);
    gv_rows_known(out, row->other_pid);
    gv_rows_text(out, row->other_name);
    gv_rows_text(out, row->other_did);
    gv_rows_known(out, row->host_function);
    gv_rows_text(out, row->host_name);
    if (row->stack)
        gv_rows_number(out, !row->stack_of_other);
    else
        gv_rows_null(out);
}

static bool stalls_is_for_people(enum gv_format format)
{
    return format == GV_FORMAT_TABLE || format == GV_FORMAT_MARKDOWN;
}

static int stalls_put(sqlite3 *trace, const struct gv_stall_rows *rows, enum gv_format format,
                      struct gv_json *json)
{
    bool people = stalls_is_for_people(format);
    struct gv_rows out;

    if (people)
        gv_rows_begin(&out, stdout, format, stalls_table, GV_STALLS_COUNT(stalls_table), NULL);
    else
        gv_rows_begin(&out, stdout, format, stalls_fields, GV_STALLS_COUNT(stalls_fields), json);
    out.fit_names = gv_kernel_names_fit;
    for (size_t i = 0; i < rows->count; i++) {
        if (people)
            stall_put_line(trace, &out, &rows->rows[i]);
        else
            stall_put_fields(trace, &out, &rows->rows[i]);
    }
    return gv_rows_end(&out);
}

static void stalls_put_sums(const struct gv_stalls *stalls, const struct gv_stall_sums *sums,
                            bool silent)
{
    int64_t known = sums->count - sums->unknown_count;
    char lost[GV_FORMAT_BYTES], run[GV_FORMAT_BYTES], each[64] = "", see[GV_OFFER_BYTES];
    int columns = gv_terminal_columns(stdout);

    gv_range_view_print(stalls->ranges, stdout, columns);
    if (sums->processes > 1 && !stalls->ranges)
        snprintf(each, sizeof(each), ", over %" PRId64 " processes", sums->processes);
    if (sums->count == 0)
        gv_text_say(stdout, 0, "", columns, "No unexpected stalls%s.",
                    sums->unfinished || silent ? " in the calls that returned" : "");
    else if (known > 0)
        gv_text_say(stdout, 0, "", columns, "%" PRId64 " call%s lost %s of %s%s; %s%s.", known,
                    known == 1 ? "" : "s", gv_format_duration(lost, sums->known_ns),
                    gv_format_duration(run, sums->run_ns), each,
                    known > 1        ? "simultaneous time counts once"
                    : stalls->ranges ? "that is the time in the ranges"
                                     : "measured from the first call to the last",
                    gv_stall_sums_are_small(sums) ? ". Less than 1 %: not worth a change" : "");
    if (sums->unknown_count > 0)
        gv_text_say(stdout, 0, "", columns,
                    "%" PRId64 " call%s took %s too long; nothing recorded explains it.",
                    sums->unknown_count, sums->unknown_count == 1 ? "" : "s",
                    gv_format_duration(lost, sums->unknown_ns));
    if (sums->unfinished > 0)
        gv_text_say(stdout, 0, "", columns, "%" PRId64 " more call%s not returned: %s",
                    sums->unfinished, sums->unfinished == 1 ? " has" : "s have",
                    gv_offer_fill(see, sizeof(see), "gpuverify explain FILE", stalls->path, false));
    if (sums->expected_count > 0)
        gv_text_say(stdout, 0, "", columns,
                    "%" PRId64
                    " call%s waited %s for the GPU because the program asked to (--all).",
                    sums->expected_count, sums->expected_count == 1 ? "" : "s",
                    gv_format_duration(lost, sums->expected_ns));
}

static int stalls_compare(const void *left, const void *right)
{
    const struct gv_stall_row *one = left, *other = right;

    if (one->process != other->process)
        return one->process < other->process ? -1 : 1;
    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

/* What the rows of a list that not all are in cost, added up as the sums of all are. Puts them in
 * the order of time. */
static void stalls_put_listed(struct gv_stall_rows *rows)
{
    int64_t asked_ns = 0, lost = 0, asked = 0;
    struct gv_time_union all = {0};
    char time[GV_FORMAT_BYTES], waited[GV_FORMAT_BYTES];

    if (rows->count)
        qsort(rows->rows, rows->count, sizeof(*rows->rows), stalls_compare);
    for (size_t i = 0; i < rows->count; i++) {
        const struct gv_stall_row *row = &rows->rows[i];
        int64_t held_ns = gv_stall_lost_ns(row);
        if (i > 0 && row->process != row[-1].process)
            gv_time_union_begin(&all);
        if (row->expected)
            asked_ns = gv_time_sum(asked_ns, held_ns);
        else
            gv_time_union_add(&all, row->start_ns, gv_time_sum(row->start_ns, held_ns));
        asked += row->expected;
        lost += !row->expected;
    }
    gv_format_duration(time, all.sum_ns);
    gv_format_duration(waited, asked_ns);
    if (!rows->count)
        puts("No stall matches.");
    if (lost)
        printf("Listed: %" PRId64 " call%s that lost %s%s", lost, lost == 1 ? "" : "s", time,
               asked ? ", " : ".\n");
    if (asked)
        printf("%s%" PRId64 " requested wait%s, %s.\n", lost ? "" : "Listed: ", asked,
               asked == 1 ? "" : "s", waited);
    fputs("All stalls:\n", stdout);
}

/* `found`: how many there are, those that are left out too. */
static int stalls_print_table(sqlite3 *trace, const struct gv_stalls *stalls,
                              struct gv_stall_rows *rows, int64_t found,
                              const struct gv_stall_sums *sums)
{
    int error = rows->count ? stalls_put(trace, rows, GV_FORMAT_TABLE, NULL) : 0;
    int64_t more = found - (int64_t)rows->count, worst = rows->count ? rows->rows[0].id : 0;
    char command[64], text[GV_OFFER_BYTES];
    bool silent = false;

    if (error)
        return error;
    if (rows->count)
        putchar('\n');
    if ((int64_t)rows->count < sums->count + (stalls->filter.expected ? sums->expected_count : 0))
        stalls_put_listed(rows);
    error = gv_silence_note_print(stdout, trace, "", gv_terminal_columns(stdout), &silent);
    if (error)
        return error;
    stalls_put_sums(stalls, sums, silent);
    if (worst) {
        /* To be copied: in one line. */
        snprintf(command, sizeof(command), "gpuverify explain FILE s%" PRId64, worst);
        printf("Next: %s\n", gv_offer_fill(text, sizeof(text), command, stalls->path, false));
    }
    if (more > 0)
        printf("%" PRId64 " more not listed; --top 0 lists all.\n", more);
    return 0;
}

static int stalls_print_json(sqlite3 *trace, const char *path, const struct gv_stall_rows *rows,
                             const struct gv_stall_sums *sums)
{
    struct gv_json json;

    gv_json_begin(&json, stdout, '{');
    gv_json_text(&json, "trace", path);
    gv_json_number(&json, "run_ns", sums->run_ns);
    gv_json_number(&json, "count", sums->count);
    gv_json_number(&json, "lost_ns", sums->lost_ns);
    gv_json_number(&json, "unknown_count", sums->unknown_count);
    gv_json_number(&json, "unknown_ns", sums->unknown_ns);
    gv_json_number(&json, "expected_count", sums->expected_count);
    gv_json_number(&json, "expected_ns", sums->expected_ns);
    gv_json_open(&json, "stalls", '[');
    int error = stalls_put(trace, rows, GV_FORMAT_JSON, &json);
    gv_json_close(&json, ']');
    gv_json_end(&json, '}');
    return error;
}

static int stalls_print(sqlite3 *trace, void *context)
{
    struct gv_stalls *stalls = context;
    struct gv_stall_rows rows = {0};
    struct gv_stall_sums sums;
    int64_t found = 0;
    int error =
        gv_range_view_open(trace, stalls->arguments, GV_OPTION_stalls_range, &stalls->ranges);

    if (!error)
        error = gv_stall_sums_read(trace, &sums);
    if (!error && stalls->ranges)
        sums.run_ns = gv_range_choice_own_ns(stalls->ranges);
    if (!error)
        error = gv_stall_rows_read(trace, &stalls->filter, &rows);
    if (!error && stalls->format == GV_FORMAT_TABLE)
        error = gv_stall_rows_count(trace, &stalls->filter, &found);
    if (error)
        goto out;
    if (stalls->format == GV_FORMAT_TABLE)
        error = stalls_print_table(trace, stalls, &rows, found, &sums);
    else if (stalls->format == GV_FORMAT_JSON)
        error = stalls_print_json(trace, stalls->path, &rows, &sums);
    else
        error = stalls_put(trace, &rows, stalls->format, NULL);
out:
    gv_range_choice_close(stalls->ranges);
    gv_stall_rows_free(&rows);
    return error;
}

int gv_command_stalls(const struct gv_arguments *arguments)
{
    enum gv_format format =
        gv_format_find(gv_arguments_text(arguments, GV_OPTION_stalls_format, "table"));
    int64_t top = format == GV_FORMAT_TABLE ? GV_STALLS_TOP : 0; /* programs want all of them */
    struct gv_stalls stalls = {
        .arguments = arguments,
        .format = format,
        .filter = {
            .cause = gv_arguments_text(arguments, GV_OPTION_stalls_cause, NULL),
            .least_ns = gv_arguments_number(arguments, GV_OPTION_stalls_min, 0),
            .limit = gv_arguments_number(arguments, GV_OPTION_stalls_top, top),
            .expected = gv_arguments_has(arguments, GV_OPTION_stalls_all),
            .people = stalls_is_for_people(format),
        }};
    int code = GV_EXIT_FAILED;

    if (stalls.filter.cause && gv_cause_find(stalls.filter.cause) == GV_CAUSE_COUNT)
        return gv_arguments_refuse_word(arguments->command, "cause", stalls.filter.cause,
                                        gv_cause_words);
    /* A user who names an expected cause wants to see it. */
    stalls.filter.expected |= stalls.filter.cause != NULL;
    stalls.path = gv_offer_choose(arguments->command,
                                  gv_offer_join(arguments, arguments->operand_count), &code);
    return stalls.path ? gv_trace_view_read(stalls.path, stalls_print, &stalls) : code;
}
