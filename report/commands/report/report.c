#include "report/commands/report/report.h"

#include "report/analyse/minutes/minutes.h"
#include "report/analyse/names/kernel_name.h"
#include "report/analyse/totals/totals.h"
#include "report/commands/progress.h"
#include "report/commands/sql_values.h"
#include "report/commands/statement_rows.h"
#include "report/commands/summary/error_notes.h"
#include "report/commands/summary/notes.h"
#include "report/commands/summary/summary.h"
#include "report/commands/trace_view.h"
#include "report/commands_report_sections.inc"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define GV_REPORT_ERRORS  10
#define GV_REPORT_COLUMNS 16
#define GV_REPORT_LABEL   18
#define GV_REPORT_CELL    400
#define GV_REPORT_KEY     40

/* What a table does not know. */
struct gv_section_gaps {
    bool unnamed;  /* a row without its first column */
    bool unplaced; /* a row without its column "where" */
};

struct gv_section {
    const char *name, *title, *sql;
    struct gv_column columns[GV_REPORT_COLUMNS]; /* ended by one without a name */
    bool record;
    bool of_gpu;                           /* empty, it means nothing without the GPU side */
    int (*draw)(struct gv_report *report); /* for people */
    int (*words)(struct gv_report *report, const struct gv_section_gaps *gaps); /* below */
    int (*make)(struct gv_report *report); /* what its query reads */
};

static void words_write(struct gv_report *report, const char *words)
{
    fputc('\n', report->out);
    gv_text_lines(report->out, 0, "", words, report->columns);
}

/* By default, only stalls and the first failures have stacks. */
static int words_of_places(struct gv_report *report, const struct gv_section_gaps *gaps)
{
    if (gaps->unplaced)
        words_write(report, "Set GPUVERIFY_STACKS=all to record where each call was made.");
    return 0;
}

/* The meanings of the results, and what to do. */
static int words_of_errors(struct gv_report *report, const struct gv_section_gaps *gaps)
{
    struct gv_error_notes notes = {
        .path = report->path,
        .first = "  ",
        .most = GV_REPORT_ERRORS,
        .fatal = true,
        .other = true,
    };

    if (gaps->unplaced)
        words_write(report,
                    "The location is recorded for the first four failures of each function, unless"
                    " GPUVERIFY_STACKS=off.");
    if (report->format != GV_FORMAT_TABLE)
        return 0;
    fputc('\n', report->out);
    return gv_error_notes_print(report->out, report->trace, &notes, report->columns);
}

static int words_of_lines(struct gv_report *report, const struct gv_section_gaps *gaps)
{
    if (gaps->unnamed)
        words_write(report,
                    "The last row is the work of calls whose line is unknown, because no stack was"
                    " taken. Set GPUVERIFY_STACKS=all to take every stack.");
    if (report->facts.sampled_calls > 0)
        words_write(report, "The times are estimated from samples.");
    return 0;
}

/* The rows of a function that only asks are its slow calls, and say nothing of the others. */
static int words_of_calls(struct gv_report *report, const struct gv_section_gaps *gaps)
{
    char count[GV_FORMAT_BYTES], words[256];
    int64_t quick = 0;
    int error = gv_totals_is_all(&report->part) && report->facts.older.minutes == 0
                    ? gv_database_number(report->trace, sql_quick_questions, NULL, 0, &quick)
                    : 0;

    (void)gaps;
    if (error || quick <= 0)
        return error;
    snprintf(words, sizeof(words),
             "Not in this table: %s call%s that only asked something and %s answered quickly. The"
             " rows of such functions are their slow or failed calls.",
             gv_format_count(count, quick), gv_format_plural(quick), quick == 1 ? "was" : "were");
    words_write(report, words);
    return 0;
}

/* Without being asked for, they show older time only: the sums of a large trace take seconds. */
static int make_minutes(struct gv_report *report)
{
    int error;

    if (report->minutes)
        return 0;
    report->minutes = true;
    if (!gv_minutes_have(&report->part) && report->picked)
        gv_message("sums by minute are not known of a single thread, device or range");
    gv_progress_begin(report->trace, "gpuverify: adding up minutes");
    error = gv_minutes_make(report->trace, &report->part, report->top,
                            report->picked || report->facts.older.minutes > 0);
    gv_progress_end(report->trace);
    return error;
}

#define SECTION_TABLE             .record = false
#define SECTION_RECORD            .record = true
#define SECTION_TABLE_OF_GPU      .of_gpu = true
#define SECTION_RECORD_OF_GPU     .record = true, .of_gpu = true
#define SECTION_TABLE_WITH(below) .words = words_of_##below
#define SECTION_TABLE_OF(by)      .make = make_##by
#define SECTION_PICTURE(by)       .draw = by

static const struct gv_section sections[] = {
    {.name = "findings"}, {.name = "verdict"}, /* the same */
#define GV_SECTION(name, shape, title, ...)                                                        \
    {#name, title, sql_##name, {__VA_ARGS__}, SECTION_##shape},
#include "report/commands/report/sections.def"
};

const char gv_report_section_words[] = " findings verdict"
#define GV_SECTION(name, shape, title, ...) " " #name
#include "report/commands/report/sections.def"
    ;

static size_t section_columns(const struct gv_section *section)
{
    size_t count = 0;

    while (count < GV_REPORT_COLUMNS && section->columns[count].name)
        count++;
    return count;
}

/* People see errors only if there are any. */
static bool section_ends_in_error(const struct gv_section *section, size_t columns)
{
    return columns > 0 && strcmp(section->columns[columns - 1].name, "standard error") == 0;
}

/* A column's name for programs: a word with its unit. */
static const char *section_key(const struct gv_column *column, char key[GV_REPORT_KEY])
{
    size_t length = 0;
    const char *unit = "";

    if (GV_COLUMN_KIND(column->kind) == GV_COLUMN_DURATION ||
        GV_COLUMN_KIND(column->kind) == GV_COLUMN_MOMENT)
        unit = "_ns";
    else if (GV_COLUMN_KIND(column->kind) == GV_COLUMN_SIZE)
        unit = "_bytes";
    for (const char *at = column->name; *at && length < GV_REPORT_KEY - 8; at++)
        key[length++] = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '_';
    key[length] = '\0';
    if (!gv_format_ends_in(key, unit))
        strcpy(key + length, unit);
    return key;
}

/* The type of the column's value. An untrusted trace may have a text in place of a number: treat
 * it as unknown. */
static int section_type(sqlite3_stmt *row, int column, enum gv_column_kind kind)
{
    int type = sqlite3_column_type(row, column);
    bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;

    return is_number || kind == GV_COLUMN_TEXT || kind == GV_COLUMN_NAME ? type : SQLITE_NULL;
}

/* The next value of a row, from the query's column. */
static void section_value(struct gv_rows *rows, sqlite3_stmt *row, int column)
{
    switch (section_type(row, column, GV_COLUMN_KIND(rows->columns[column].kind))) {
    case SQLITE_NULL:
        gv_rows_null(rows);
        break;
    case SQLITE_INTEGER:
        gv_rows_number(rows, sqlite3_column_int64(row, column));
        break;
    case SQLITE_FLOAT:
        gv_rows_real(rows, sqlite3_column_double(row, column));
        break;
    default:
        gv_rows_text(rows, (const char *)sqlite3_column_text(row, column));
        break;
    }
}

static void report_title(struct gv_report *report, const char *title)
{
    if (report->format == GV_FORMAT_MARKDOWN)
        fprintf(report->out, "\n## %s\n\n", title);
    else if (report->format == GV_FORMAT_TABLE)
        fprintf(report->out, "\n%s%s%s\n", gv_colour(report->out, GV_COLOUR_BOLD), title,
                gv_colour(report->out, GV_COLOUR_NONE));
}

/* Whether an empty section shows anything: without the GPU side, it says nothing of GPU
 * activity. */
static const char *section_empty(const struct gv_report *report, const struct gv_section *section)
{
    return section->of_gpu && !report->facts.gpu_whole
               ? "unknown: GPU activity was not recorded completely\n"
           : section->make && !gv_minutes_have(&report->part) ? "unknown\n"
                                                              : "none\n";
}

/* Also for an empty result, if the section was named. */
static int section_table(struct gv_report *report, const struct gv_section *section,
                         sqlite3_stmt *query)
{
    struct gv_rows rows;
    struct gv_column named[GV_REPORT_COLUMNS];
    char keys[GV_REPORT_COLUMNS][GV_REPORT_KEY];
    bool read_by_people = report->format == GV_FORMAT_TABLE || report->format == GV_FORMAT_MARKDOWN;
    int columns = (int)section_columns(section), result = sqlite3_step(query), error;

    if (read_by_people && report->facts.sampled_calls == 0 &&
        section_ends_in_error(section, (size_t)columns))
        columns--;
    if (result == SQLITE_DONE && !report->picked && read_by_people)
        return 0;
    if (result == SQLITE_DONE && report->format == GV_FORMAT_TABLE) {
        report_title(report, section->title);
        fputs(section_empty(report, section), report->out);
        return 0;
    }
    for (int i = 0; i < columns; i++) {
        named[i] = section->columns[i];
        if (!read_by_people)
            named[i].name = section_key(&named[i], keys[i]);
    }
    struct gv_section_gaps gaps = {0};
    report_title(report, section->title);
    gv_rows_begin(&rows, report->out, report->format, named, (size_t)columns,
                  report->format == GV_FORMAT_JSON ? &report->json : NULL);
    rows.fit_names = gv_kernel_names_fit;
    for (; result == SQLITE_ROW; result = sqlite3_step(query))
        for (int i = 0; i < columns; i++) {
            section_value(&rows, query, i);
            bool is_null = sqlite3_column_type(query, i) == SQLITE_NULL;
            gaps.unnamed |= is_null && i == 0;
            gaps.unplaced |= is_null && strcmp(named[i].name, "where") == 0;
        }
    error = gv_rows_end(&rows);
    if (!error && read_by_people && section->words)
        error = section->words(report, &gaps);
    return error ? error : gv_database_error(report->trace, result);
}

static void section_print_value(FILE *out, enum gv_column_kind kind, sqlite3_stmt *row, int column)
{
    char text[GV_FORMAT_BYTES];
    int64_t number = sqlite3_column_int64(row, column);

    if (section_type(row, column, kind) == SQLITE_NULL)
        fputc('-', out);
    else if (kind == GV_COLUMN_DURATION || kind == GV_COLUMN_MOMENT)
        fputs(gv_format_duration(text, number), out);
    else if (kind == GV_COLUMN_SIZE)
        fputs(gv_format_size(text, number), out);
    else if (kind == GV_COLUMN_SHARE)
        fprintf(out, "%.1f %%", sqlite3_column_double(row, column) * 100);
    else
        gv_format_text(out, (const char *)sqlite3_column_text(row, column), GV_REPORT_CELL, 0);
}

/* A suffix for values whose column name does not say enough. */
static const char *section_gloss(const char *name)
{
    static const char *const glosses[][2] = {
        {"with their call", "operations whose call is known"},
        {"queued on average", "operations that had not begun"},
    };

    for (size_t i = 0; i < sizeof(glosses) / sizeof(glosses[0]); i++)
        if (strcmp(glosses[i][0], name) == 0)
            return glosses[i][1];
    return NULL;
}

static int section_record(struct gv_report *report, const struct gv_section *section,
                          sqlite3_stmt *query)
{
    int result;

    if (report->format != GV_FORMAT_TABLE)
        return section_table(report, section, query);
    result = sqlite3_step(query);
    if (result == SQLITE_ROW || report->picked)
        report_title(report, section->title);
    if (result == SQLITE_DONE && report->picked)
        fputs(section_empty(report, section), report->out);
    for (int i = 0; result == SQLITE_ROW && i < (int)section_columns(section); i++) {
        fprintf(report->out, "%-*s", GV_REPORT_LABEL, section->columns[i].name);
        const char *gloss = section_gloss(section->columns[i].name);
        section_print_value(report->out, GV_COLUMN_KIND(section->columns[i].kind), query, i);
        if (gloss && sqlite3_column_type(query, i) != SQLITE_NULL)
            fprintf(report->out, " (%s)", gloss);
        fputc('\n', report->out);
    }
    return gv_database_error(report->trace, result);
}

/* Pictures keep their form in Markdown, between fences. */
static int report_draw(struct gv_report *report, int (*draw)(struct gv_report *))
{
    FILE *out = report->out;
    char *text = NULL;
    size_t bytes = 0;

    if (report->format != GV_FORMAT_MARKDOWN)
        return draw(report);
    report->out = open_memstream(&text, &bytes);
    if (!report->out) {
        report->out = out;
        return -errno;
    }
    int error = draw(report);
    if (fclose(report->out) == EOF && !error)
        error = -errno;
    report->out = out;
    if (bytes > 0)
        fprintf(out, "\n```\n%s```\n", text + (text[0] == '\n'));
    free(text);
    return error;
}

static int section_write(struct gv_report *report, enum gv_section_id id)
{
    const struct gv_section *section = &sections[id];
    sqlite3_stmt *query = NULL;
    int error;

    if (section->draw &&
        (report->format == GV_FORMAT_TABLE || report->format == GV_FORMAT_MARKDOWN))
        return report_draw(report, section->draw);
    error = section->make ? section->make(report) : 0;
    if (!error)
        error = gv_database_error(
            report->trace, sqlite3_prepare_v2(report->trace, section->sql, -1, &query, NULL));
    if (!error) {
        gv_report_bind(report, query);
        if (report->format == GV_FORMAT_JSON)
            gv_json_open(&report->json, section->name, '[');
        error = section->record ? section_record(report, section, query)
                                : section_table(report, section, query);
        if (report->format == GV_FORMAT_JSON)
            gv_json_close(&report->json, ']');
    }
    sqlite3_finalize(query);
    return error;
}

/* The numbers of the run, for programs. */
static void report_json_facts(struct gv_report *report)
{
    const struct gv_run_facts *facts = &report->facts;
    const struct {
        const char *key;
        int64_t value;
        bool known;
    } values[] = {
#define GV_REPORT_FACT(key, label, value, known) {key, value, known},
#include "report/commands/report/facts.def"
    };

    gv_json_open(&report->json, "numbers", '{');
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        gv_json_known(&report->json, values[i].key, values[i].value, values[i].known);
    gv_json_close(&report->json, '}');
}

/* What is estimated from samples. */
static void report_json_sampled(struct gv_report *report)
{
    const struct gv_run_facts *facts = &report->facts;

    if (facts->sampled_calls == 0) {
        gv_json_null(&report->json, "sampled");
        return;
    }
    gv_json_open(&report->json, "sampled", '{');
    gv_json_number(&report->json, "samples", facts->sampled_calls);
    gv_json_number(&report->json, "calls", facts->sampled_operations);
    gv_json_number(&report->json, "unknown_calls", facts->sampled_unknown);
    gv_json_number(&report->json, "kernels_ns", facts->sampled_kernel_ns);
    gv_json_number(&report->json, "graphs_ns", facts->sampled_graph_ns);
    gv_json_number(&report->json, "copies_ns", facts->sampled_copy_ns);
    gv_json_number(&report->json, "error_ns", facts->sampled_error_ns);
    gv_json_close(&report->json, '}');
}

struct gv_summary gv_report_summary(const struct gv_report *report)
{
    return (struct gv_summary){
        .trace = report->trace,
        .path = report->path,
        .out = report->out,
        .columns = report->columns,
        .part = &report->part,
        .facts = &report->facts,
        .list = &report->list,
        .ended = &report->ended,
        .evidence = report->evidence,
    };
}

/* As in text, each on its own line. */
static int report_json_notes(struct gv_report *report)
{
    struct gv_summary summary = gv_report_summary(report);
    char *text = NULL, *rest = NULL;
    size_t bytes = 0;
    FILE *lines = open_memstream(&text, &bytes);
    int error = lines ? 0 : -ENOMEM;

    summary.out = lines;
    summary.columns = INT_MAX;
    if (!error)
        error = gv_summary_print_broken(&summary, true);
    if (!error)
        error = gv_summary_print_notes(&summary, true);
    if (lines && fclose(lines) != 0 && !error)
        error = -ENOMEM;
    gv_json_open(&report->json, "notes", '[');
    for (char *line = error ? NULL : strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        line += strlen(GV_SUMMARY_NOTE);
        gv_json_text(&report->json, NULL, line + strspn(line, " "));
    }
    gv_json_close(&report->json, ']');
    free(text);
    return error;
}

/* A view under its own name. */
static int report_json_view(struct gv_report *report, const char *name, const char *sql)
{
    int error;

    gv_json_open(&report->json, name, '[');
    error = gv_statement_rows_ask(report->trace, sql, NULL, 0, report->out, GV_FORMAT_JSON,
                                  &report->json);
    gv_json_close(&report->json, ']');
    return error;
}

static const char sql_all_findings[] = "SELECT * FROM findings ORDER BY id";

static int report_json_findings(struct gv_report *report)
{
    int error = report_json_view(report, "facts", "SELECT * FROM facts");

    if (!error)
        error = report_json_view(report, "findings", sql_all_findings);
    return error ? error : report_json_notes(report);
}

static int report_summary(struct gv_report *report)
{
    struct gv_summary summary = gv_report_summary(report);

    return gv_summary_print(&summary);
}

/* A picture for people is thousands of rows for programs, so they get it only if they ask for
 * it. */
static bool report_is_for_programs(const struct gv_report *report, size_t section)
{
    return report->wanted[section] && (report->picked || !sections[section].draw);
}

static int report_json(struct gv_report *report)
{
    int error = 0;

    gv_json_begin(&report->json, report->out, '{');
    gv_json_text(&report->json, "trace", report->path);
    gv_json_known(&report->json, "snapshot_ns", report->facts.snapshot_ns,
                  report->facts.snapshot_ns > 0);
    gv_json_number(&report->json, "older_minutes", report->facts.older.minutes);
    report_json_facts(report);
    report_json_sampled(report);
    if (report->wanted[GV_SECTION_findings])
        error = report_json_findings(report);
    gv_json_open(&report->json, "sections", '{');
    for (size_t i = GV_SECTION_verdict + 1; i < GV_SECTIONS_COUNT && !error; i++)
        if (report_is_for_programs(report, i))
            error = section_write(report, (enum gv_section_id)i);
    gv_json_close(&report->json, '}');
    gv_json_end(&report->json, '}');
    return error;
}

/* A single section is only a table. */
static int report_csv(struct gv_report *report)
{
    size_t wanted = 0, written = 0;
    int error = 0;

    for (size_t i = 0; i < GV_SECTIONS_COUNT; i++)
        wanted += i != GV_SECTION_verdict && report_is_for_programs(report, i);
    for (size_t i = 0; i < GV_SECTIONS_COUNT && !error; i++) {
        if (i == GV_SECTION_verdict || !report_is_for_programs(report, i))
            continue;
        if (wanted > 1)
            fprintf(report->out, "%s# %s\n", written++ ? "\n" : "", sections[i].name);
        error = i == GV_SECTION_findings
                    ? gv_statement_rows_ask(report->trace, sql_all_findings, NULL, 0, report->out,
                                            GV_FORMAT_CSV, NULL)
                    : section_write(report, (enum gv_section_id)i);
    }
    return error;
}

/* Whether a section other than those of sums by minute is wanted. */
static bool wants_full(const struct gv_report *report)
{
    for (size_t i = 0; i < GV_SECTIONS_COUNT; i++)
        if (report->wanted[i] && !sections[i].make)
            return true;
    return false;
}

int gv_report_write(struct gv_report *report)
{
    bool programs = report->format == GV_FORMAT_JSON || report->format == GV_FORMAT_CSV;
    int error = gv_sql_values_register(report->trace, programs);

    gv_progress_begin(report->trace, "gpuverify: reading");
    if (!error)
        error = gv_run_facts_read(report->trace, &report->part, &report->facts);
    gv_progress_end(report->trace);
    if (error)
        return error;
    gv_facts_make(&report->facts, &report->list);
    report->wanted[GV_SECTION_findings] |= report->wanted[GV_SECTION_verdict];
    if (!report->wanted[GV_SECTION_findings] && report->facts.older.minutes > 0 &&
        wants_full(report))
        gv_trace_view_say_older(report->trace, report->path);
    if (report->format == GV_FORMAT_JSON)
        return report_json(report);
    if (report->format == GV_FORMAT_CSV)
        return report_csv(report);
    if (report->wanted[GV_SECTION_findings])
        error = report_draw(report, report_summary);
    for (size_t i = GV_SECTION_verdict + 1; i < GV_SECTIONS_COUNT && !error; i++)
        if (report->wanted[i])
            error = section_write(report, (enum gv_section_id)i);
    return error;
}
