/* gpuverify report: prints the summary, and what a trace has. */
#include "report/commands/commands.h"
#include "report/commands/offer.h"
#include "report/commands/range_view.h"
#include "report/commands/report/report.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"
#include "report/show/terminal.h"

#include <stdlib.h>
#include <string.h>

#define GV_REPORT_TOP 15

struct gv_report_request {
    const struct gv_arguments *arguments;
    struct gv_report *report;
};

/* The id of the process or thread with this number; 0: none. */
static int64_t report_find(sqlite3 *trace, const char *sql, int64_t number)
{
    sqlite3_stmt *row = NULL;
    int64_t id = 0;

    if (sqlite3_prepare_v2(trace, sql, -1, &row, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(row, 1, number);
        if (sqlite3_step(row) == SQLITE_ROW)
            id = sqlite3_column_int64(row, 0);
    }
    sqlite3_finalize(row);
    return id;
}

/* Prints the numbers that exist. */
static void report_refuse_device(sqlite3 *trace, int64_t device)
{
    sqlite3_stmt *row = NULL;
    const char *list = NULL;

    if (sqlite3_prepare_v2(trace,
                           "SELECT group_concat(device, ', ') FROM (SELECT DISTINCT device FROM"
                           " device ORDER BY device LIMIT 64)",
                           -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW)
        list = (const char *)sqlite3_column_text(row, 0);
    if (list)
        gv_message("this trace has no device %lld; it has: %.300s", (long long)device, list);
    else
        gv_message("this trace has no device %lld; it has none", (long long)device);
    sqlite3_finalize(row);
}

/* Reads the part of the trace to report. False: a message was printed. */
static bool report_choose_part(const struct gv_arguments *arguments, struct gv_report *report)
{
    int64_t pid = gv_arguments_number(arguments, GV_OPTION_report_process, 0);
    int64_t tid = gv_arguments_number(arguments, GV_OPTION_report_thread, 0);
    struct gv_totals_part *part = &report->part;

    *part = GV_TOTALS_ALL;
    part->device = gv_arguments_number(arguments, GV_OPTION_report_device, -1);
    if (gv_arguments_has(arguments, GV_OPTION_report_process))
        part->process = report_find(
            report->trace, "SELECT id FROM process WHERE pid = ? ORDER BY id LIMIT 1", pid);
    if (gv_arguments_has(arguments, GV_OPTION_report_thread))
        part->thread = report_find(report->trace,
                                   "SELECT id FROM threads WHERE tid = ? ORDER BY id LIMIT 1", tid);
    if (gv_arguments_has(arguments, GV_OPTION_report_process) && part->process == 0)
        gv_message("this trace has no process %lld; --section processes lists them",
                   (long long)pid);
    else if (gv_arguments_has(arguments, GV_OPTION_report_thread) && part->thread == 0)
        gv_message("this trace has no thread %lld", (long long)tid);
    else if (part->device >= 0 &&
             report_find(report->trace, "SELECT id FROM device WHERE device = ?", part->device) ==
                 0)
        report_refuse_device(report->trace, part->device);
    else
        return true;
    return false;
}

static int report_trace(sqlite3 *trace, void *context)
{
    struct gv_report_request *request = context;
    struct gv_report *report = request->report;
    struct gv_range_choice *ranges;
    int code;

    report->trace = trace;
    if (!report_choose_part(request->arguments, report))
        return GV_EXIT_FAILED;
    code = gv_report_moments_read(trace, request->arguments, &report->part);
    if (code)
        return code;
    code = gv_range_view_open(trace, request->arguments, GV_OPTION_report_range, &ranges);
    report->part.ranges = ranges;
    if (!code)
        code = gv_report_write(report);
    gv_range_choice_close(ranges);
    return code;
}

int gv_command_report(const struct gv_arguments *arguments)
{
    struct gv_report *report;
    const char *path;
    int code = GV_EXIT_USAGE, chosen;

    path = gv_offer_choose(arguments->command, gv_offer_join(arguments, arguments->operand_count),
                           &code);
    if (!path)
        return code;
    report = calloc(1, sizeof(*report));
    if (!report)
        return GV_EXIT_FAILED;
    report->path = path;
    report->out = stdout;
    report->evidence = true;
    report->columns = gv_terminal_columns(stdout);
    report->format = gv_format_find(gv_arguments_text(arguments, GV_OPTION_report_format, "text"));
    report->top = gv_arguments_number(arguments, GV_OPTION_report_top, GV_REPORT_TOP);
    if (report->top == 0)
        report->top = -1;
    chosen = gv_arguments_choose(arguments, GV_OPTION_report_section, "section",
                                 gv_report_section_words, report->wanted);
    report->picked = chosen > 0;
    if (chosen >= 0)
        code = gv_trace_view_read_older(
            path, report_trace,
            &(struct gv_report_request){.arguments = arguments, .report = report});
    free(report);
    return code;
}
