/* gpuverify idle [FILE]: when a device had no work, and why; longest first. */
#include "report/analyse/idle/listed.h"
#include "report/analyse/idle/where_words.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/totals/totals.h"
#include "report/store/time_sum.h"
#include "report/commands/account_words.h"
#include "report/commands/commands.h"
#include "report/commands/offer.h"
#include "report/commands/range_view.h"
#include "report/commands/sql_values.h"
#include "report/commands/statement_rows.h"
#include "report/commands/trace_view.h"
#include "report/commands_idle_idle.inc"
#include "report/show/format.h"
#include "report/show/rows.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <inttypes.h>
#include <string.h>

#define GV_IDLE_WHERE_BYTES   4096
#define GV_IDLE_TOP           20
#define GV_IDLE_REASONS_BYTES 512

static const struct gv_column idle_table[] = {
    {"idle", GV_COLUMN_TEXT},
    {"when", GV_GIVES_WAY(2, GV_COLUMN_MOMENT)},
    {"took", GV_COLUMN_DURATION},
    {"gaps", GV_GIVES_WAY(1, GV_COLUMN_NUMBER)},
    {"device", GV_GIVES_WAY(1, GV_COLUMN_NUMBER)},
    {"reason", GV_COLUMN_TEXT},
    {"what", GV_COLUMN_TEXT},
    {"where", GV_COLUMN_TEXT},
};

/* docs/json/idle.json describes them. */
static const struct gv_column idle_fields[] = {
    {"id", GV_COLUMN_NUMBER},
    {"process", GV_COLUMN_NUMBER},
    {"device", GV_COLUMN_NUMBER},
    {"thread", GV_COLUMN_NUMBER},
    {"start_ns", GV_COLUMN_NUMBER},
    {"duration_ns", GV_COLUMN_NUMBER},
    {"gap", GV_COLUMN_NUMBER},
    {"gaps", GV_COLUMN_NUMBER},
    {"reason", GV_COLUMN_TEXT},
    {"detail", GV_COLUMN_TEXT},
    {"where", GV_COLUMN_TEXT},
    {"samples", GV_COLUMN_NUMBER},
    {"confidence", GV_COLUMN_TEXT},
    {"previous_call", GV_COLUMN_NUMBER},
    {"previous_call_name", GV_COLUMN_TEXT},
    {"next_call", GV_COLUMN_NUMBER},
    {"next_call_name", GV_COLUMN_TEXT},
    {"next_kernel", GV_COLUMN_TEXT},
};

#define GV_IDLE_COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

struct gv_idle {
    const struct gv_arguments *arguments;
    const char *path;
    enum gv_format format;
    struct gv_idle_filter filter;
    size_t top;                     /* rows; 0: all */
    struct gv_range_choice *ranges; /* in which to be idle; NULL: anywhere */
};

static void idle_put_device(struct gv_rows *out, const struct gv_idle_listed *row)
{
    if (row->device >= 0)
        gv_rows_number(out, row->device);
    else
        gv_rows_null(out);
}

/* `named`: the row is one of the trace, so that its name means it in other commands too. */
static void idle_put_line(sqlite3 *trace, struct gv_rows *out, const struct gv_idle_listed *row,
                          bool named)
{
    char where[GV_IDLE_WHERE_BYTES], beside[GV_IDLE_WHERE_BYTES], id[32];
    const char *place = gv_stack_where(trace, row->stack, where, sizeof(where));

    snprintf(id, sizeof(id), "i%" PRId64, row->id);
    gv_rows_text(out, named ? id : NULL);
    gv_rows_number(out, row->start_ns);
    gv_rows_number(out, row->duration_ns);
    gv_rows_number(out, row->gaps);
    idle_put_device(out, row);
    gv_rows_text(out, row->reason);
    gv_rows_text(out, gv_idle_detail_beside(row->detail, place, beside, sizeof(beside)));
    gv_rows_text(out, place);
}

static void idle_put_fields(sqlite3 *trace, struct gv_rows *out, const struct gv_idle_listed *row,
                            bool named)
{
    char where[GV_IDLE_WHERE_BYTES];

    gv_rows_known(out, named ? row->id : 0);
    gv_rows_known(out, row->process);
    idle_put_device(out, row);
    gv_rows_known(out, row->thread);
    gv_rows_number(out, row->start_ns);
    gv_rows_number(out, row->duration_ns);
    gv_rows_known(out, row->gap);
    gv_rows_number(out, row->gaps);
    gv_rows_text(out, row->reason);
    gv_rows_text(out, row->detail);
    gv_rows_text(out, gv_stack_where(trace, row->stack, where, sizeof(where)));
    gv_rows_number(out, row->samples);
    gv_rows_text(out, row->confidence);
    gv_rows_known(out, row->previous_call);
    gv_rows_text(out, row->previous_name);
    gv_rows_known(out, row->next_call);
    gv_rows_text(out, row->next_name);
    gv_rows_text(out, row->next_kernel);
}

static size_t idle_shown(const struct gv_idle *idle, const struct gv_idle_list *rows)
{
    return idle->top && idle->top < rows->count ? idle->top : rows->count;
}

static int idle_put(sqlite3 *trace, const struct gv_idle *idle, const struct gv_idle_list *rows,
                    struct gv_json *json)
{
    enum gv_format format = idle->format;
    bool people = format == GV_FORMAT_TABLE || format == GV_FORMAT_MARKDOWN;
    struct gv_rows out;

    if (people)
        gv_rows_begin(&out, stdout, format, idle_table, GV_IDLE_COUNT(idle_table), NULL);
    else
        gv_rows_begin(&out, stdout, format, idle_fields, GV_IDLE_COUNT(idle_fields), json);
    for (size_t i = 0; i < idle_shown(idle, rows); i++) {
        if (people)
            idle_put_line(trace, &out, &rows->rows[i], !idle->ranges);
        else
            idle_put_fields(trace, &out, &rows->rows[i], !idle->ranges);
    }
    return gv_rows_end(&out);
}

/* What the lanes of the shown part were idle for, together. */
struct idle_sums {
    int64_t run_ns, idle_ns, lanes, rows;
    bool inferred; /* of a device that was not seen */
    bool looked;   /* threads were looked at */
};

static int idle_take_sums(void *context, sqlite3_stmt *row)
{
    struct idle_sums *sums = context;

    *sums = (struct idle_sums){
        .run_ns = gv_time_column(row, 0),
        .idle_ns = gv_time_column(row, 1),
        .lanes = sqlite3_column_int64(row, 2),
        .rows = sqlite3_column_int64(row, 3),
        .inferred = sqlite3_column_int(row, 4) != 0,
        .looked = sqlite3_column_int(row, 5) != 0,
    };
    return 0;
}

/* Why the trace cannot tell why devices were idle, as a clause; NULL: it can. */
static const char *idle_lack(const struct idle_sums *sums)
{
    return sums->looked || sums->rows == 0
               ? NULL
               : "no looks at the program's threads were recorded (GPUVERIFY_IDLE_HZ=0, an earlier"
                 " version, or a short run)";
}

/* Adds ": waiting for data 19.0 s", or another one. */
static int idle_tell_reason(void *context, sqlite3_stmt *row)
{
    char *told = context;
    const char *reason = (const char *)sqlite3_column_text(row, 0);
    unsigned what = gv_account_find(reason);
    char ns[GV_FORMAT_BYTES];

    gv_format_add(told, GV_IDLE_REASONS_BYTES, "%s%s %s", told[0] ? ", " : ": ",
                  what < GV_ACCOUNTS ? gv_account_say(what).meaning : reason,
                  gv_format_duration(ns, gv_time_column_duration(row, 1)));
    return 0;
}

static int idle_put_sums(sqlite3 *trace, const struct gv_idle *idle, const struct idle_sums *sums)
{
    char total[GV_FORMAT_BYTES], run[GV_FORMAT_BYTES], reasons[GV_IDLE_REASONS_BYTES] = "",
                                                       see[GV_OFFER_BYTES];
    char who[64] = "A device";
    const char *lack = idle_lack(sums);
    int columns = gv_terminal_columns(stdout);
    int error = gv_database_each(trace, sql_reasons, NULL, 0, idle_tell_reason, reasons);

    if (error)
        return error;
    if (sums->lanes > 1)
        snprintf(who, sizeof(who), "%" PRId64 " devices together", sums->lanes);
    gv_range_view_print(idle->ranges, stdout, columns);
    if (sums->rows > 0) {
        gv_text_say(stdout, 0, "", columns, "%s had no work for %s%s of %s%s.", who,
                    sums->inferred ? "at least " : "", gv_format_duration(total, sums->idle_ns),
                    gv_format_duration(run, sums->run_ns), reasons);
        if (!idle->ranges)
            gv_text_say(stdout, 0, "", columns, "By line: %s",
                        gv_offer_fill(see, sizeof(see), "gpuverify query FILE idle-lines",
                                      idle->path, true));
    } else if (!lack) {
        puts("No idle time.");
    }
    if (sums->inferred)
        gv_text_say(stdout, 0, "", columns,
                    "Inferred from the calls, because GPU activity was not recorded.");
    if (lack)
        gv_text_say(stdout, 0, "", columns, "The reasons come from the calls alone: %s.", lack);
    return 0;
}

static int idle_print_table(sqlite3 *trace, const struct gv_idle *idle,
                            const struct gv_idle_list *rows, const struct idle_sums *sums)
{
    char command[64], text[GV_OFFER_BYTES], total[GV_FORMAT_BYTES];
    const struct gv_idle_listed *longest = rows->rows;
    int64_t total_ns = 0;
    size_t shown = idle_shown(idle, rows);
    int error = rows->count ? idle_put(trace, idle, rows, NULL) : 0;

    if (error)
        return error;
    if (rows->count)
        putchar('\n');
    else if (sums->rows > 0)
        puts("No idle time matches.");
    for (size_t i = 0; i < rows->count; i++)
        total_ns = gv_time_sum(total_ns, rows->rows[i].duration_ns);
    if (rows->count && (int64_t)rows->count < sums->rows)
        printf("Matching: %s. All:\n", gv_format_duration(total, total_ns));
    error = idle_put_sums(trace, idle, sums);
    if (error)
        return error;
    for (size_t i = 0; i < shown; i++)
        if (rows->rows[i].duration_ns > longest->duration_ns)
            longest = &rows->rows[i];
    if (rows->count && !idle->ranges) {
        /* To be copied: in one line. */
        snprintf(command, sizeof(command), "gpuverify explain FILE i%" PRId64, longest->id);
        printf("Next: %s\n", gv_offer_fill(text, sizeof(text), command, idle->path, false));
    }
    if (shown < rows->count)
        printf("%zu more not listed; --top 0 lists all.\n", rows->count - shown);
    return 0;
}

static int idle_print_json(sqlite3 *trace, const struct gv_idle *idle,
                           const struct gv_idle_list *rows, const struct idle_sums *sums)
{
    const int64_t named = !idle->ranges;
    struct gv_json json;
    int error;

    gv_json_begin(&json, stdout, '{');
    gv_json_text(&json, "trace", idle->path);
    gv_json_number(&json, "run_ns", sums->run_ns);
    gv_json_number(&json, "idle_ns", sums->idle_ns);
    gv_json_bool(&json, "inferred", sums->inferred);
    gv_json_text(&json, "lacks", idle_lack(sums));
    gv_json_open(&json, "lines", '[');
    error = gv_statement_rows_ask(trace, sql_lines, &named, 1, stdout, GV_FORMAT_JSON, &json);
    gv_json_close(&json, ']');
    gv_json_open(&json, "idle", '[');
    if (!error)
        error = idle_put(trace, idle, rows, &json);
    gv_json_close(&json, ']');
    gv_json_end(&json, '}');
    return error;
}

static int idle_print(sqlite3 *trace, void *context)
{
    struct gv_totals_part part = GV_TOTALS_ALL;
    struct gv_idle *idle = context;
    struct gv_idle_list rows = {0};
    struct idle_sums sums = {0};
    int error = gv_range_view_open(trace, idle->arguments, GV_OPTION_idle_range, &idle->ranges);

    part.ranges = idle->ranges;
    if (!error)
        error = gv_totals_ensure(trace, &part);
    if (!error)
        error = gv_sql_values_register(trace, true);
    if (!error)
        error = gv_database_each(trace, sql_sums, NULL, 0, idle_take_sums, &sums);
    if (!error)
        error = gv_idle_listed_read(trace, &idle->filter, &rows);
    if (!error && idle->format == GV_FORMAT_TABLE)
        error = idle_print_table(trace, idle, &rows, &sums);
    else if (!error && idle->format == GV_FORMAT_JSON)
        error = idle_print_json(trace, idle, &rows, &sums);
    else if (!error)
        error = idle_put(trace, idle, &rows, NULL);
    gv_range_choice_close(idle->ranges);
    gv_idle_listed_free(&rows);
    return error;
}

int gv_command_idle(const struct gv_arguments *arguments)
{
    enum gv_format format =
        gv_format_find(gv_arguments_text(arguments, GV_OPTION_idle_format, "table"));
    int64_t top = format == GV_FORMAT_TABLE ? GV_IDLE_TOP : 0; /* programs want all of them */
    struct gv_idle idle = {
        .arguments = arguments,
        .format = format,
        .top = (size_t)gv_arguments_number(arguments, GV_OPTION_idle_top, top),
        .filter = {
            .least_ns = gv_arguments_number(arguments, GV_OPTION_idle_min, 0),
            .pid = gv_arguments_number(arguments, GV_OPTION_idle_process, 0),
            .tid = gv_arguments_number(arguments, GV_OPTION_idle_thread, 0),
            .device = gv_arguments_number(arguments, GV_OPTION_idle_device, -1),
            .by_start =
                strcmp(gv_arguments_text(arguments, GV_OPTION_idle_sort, "time"), "start") == 0,
        }};
    const char *reason = gv_arguments_text(arguments, GV_OPTION_idle_reason, NULL);
    char room[GV_ACCOUNT_WORDS_BYTES];
    int code = GV_EXIT_FAILED;

    if (reason && !(idle.filter.reasons = gv_account_words_of(reason, room)))
        return gv_arguments_refuse_word(arguments->command, "reason", reason, gv_account_words);
    idle.path = gv_offer_choose(arguments->command,
                                gv_offer_join(arguments, arguments->operand_count), &code);
    return idle.path ? gv_trace_view_read(idle.path, idle_print, &idle) : code;
}
