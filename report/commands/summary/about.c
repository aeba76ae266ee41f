/* The beginning of a summary: the run. */
#include "report/analyse/names/stack_text.h"
#include "report/analyse/steps/compare.h"
#include "report/commands/summary/activity.h"
#include "report/commands/summary/summary.h"
#include "report/commands_summary_summary.inc"
#include "report/show/format.h"
#include "report/show/sparkline.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"
#include "trace/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* With fewer columns than these, there is no line of levels, which has so many. */
#define GV_SUMMARY_NARROW       70
#define GV_SUMMARY_LINE_COLUMNS 20
/* 0.1 % in millionths: own costs below this are not shown. */
#define GV_SUMMARY_OWN_COST 1000
#define GV_SUMMARY_ONCE_NS  1000000
/* Lines of GPU time are of interest if the GPU was busy for a tenth of the time. */
#define GV_SUMMARY_BUSY 10
/* A share with a larger standard error is "about" that. */
#define GV_SUMMARY_EXACT 0.0025

#define add(text, ...) gv_format_add(text, GV_SUMMARY_TEXT_BYTES, __VA_ARGS__)

/* The program's name, how long it took, and where. */
static int say_head(void *context, sqlite3_stmt *row)
{
    const struct gv_summary *summary = context;
    const struct gv_run_facts *facts = summary->facts;
    FILE *out = summary->out;
    const char *name = (const char *)sqlite3_column_text(row, 0);
    char text[GV_SUMMARY_TEXT_BYTES] = "", took[GV_FORMAT_BYTES], recorded[GV_FORMAT_BYTES];

    add(text, "%.*s ran", GV_SUMMARY_NAME, name ? name : "-");
    /* Not for a process that was killed before its first call. */
    if (sqlite3_column_int64(row, 1) > 0)
        add(text, " %s", gv_format_duration(took, sqlite3_column_int64(row, 1)));
    if (facts->device[0] || facts->simulated)
        add(text, " on %.*s", GV_SUMMARY_NAME,
            facts->simulated ? "a simulated GPU" : facts->device);
    if (facts->devices_used > 1)
        add(text, " and %" PRId64 " more", facts->devices_used - 1);
    if (facts->process_ns > facts->recorded_ns) {
        add(text, "; recorded %s%s of %s", facts->older.minutes > 0 ? "in full " : "",
            gv_format_duration(recorded, facts->recorded_ns),
            gv_format_duration(took, facts->process_ns));
        if (facts->recorded_periods > 1)
            add(text, ", in %s periods", gv_format_count(took, facts->recorded_periods));
    }
    fprintf(out, "%sgpuverify:%s ", gv_colour(out, GV_COLOUR_BOLD), gv_colour(out, GV_COLOUR_NONE));
    gv_text_lines_on(out, 2, (int)strlen("gpuverify: "), text, summary->columns);
    return 0;
}

/* Adds pieces to a line, each after three blanks, or on a new line. */
__attribute__((format(printf, 3, 4))) static void print_piece(const struct gv_summary *summary,
                                                              int *column, const char *format, ...)
{
    char piece[160];
    va_list values;

    va_start(values, format);
    vsnprintf(piece, sizeof(piece), format, values);
    va_end(values);
    int width = (int)gv_text_width(piece);
    if (*column > 2 && *column + 3 + width > summary->columns) {
        fputs("\n  ", summary->out);
        *column = 2;
    } else if (*column > 2) {
        fputs("   ", summary->out);
        *column += 3;
    }
    fputs(piece, summary->out);
    *column += width;
}

static void print_busy(const struct gv_summary *summary, int *column)
{
    const struct gv_run_facts *facts = summary->facts;
    double levels[GV_SUMMARY_LINE_COLUMNS];
    char busy[GV_SUMMARY_BUSY_BYTES];

    gv_summary_busy(facts, busy);
    print_piece(summary, column, "GPU%s busy %s", facts->devices_used > 1 ? "s" : "", busy);
    if (summary->columns < GV_SUMMARY_NARROW ||
        gv_summary_levels(summary->trace, facts, levels, GV_SUMMARY_LINE_COLUMNS) != 0)
        return;
    fputs("  ", summary->out);
    gv_sparkline(summary->out, levels, GV_SUMMARY_LINE_COLUMNS);
    *column += GV_SUMMARY_LINE_COLUMNS + 2;
}

/* Prints whether the GPU did the work, how busy it was, and the counts. */
static void print_numbers(const struct gv_summary *summary)
{
    const struct gv_run_facts *facts = summary->facts;
    bool ran = facts->operations > 0 && facts->kernels_run + facts->graphs > 0;
    bool headline = !ran || !facts->whole || !facts->complete;
    bool some = facts->known_ns < facts->window_ns || facts->gpu_lost > facts->operations_lost ||
                gv_run_facts_lacks_launches(facts);
    const char *least = some ? "at least " : "";
    char count[GV_FORMAT_BYTES];
    int column = 2;

    if (headline)
        gv_text_lines(summary->out, 2, "", summary->verdict->headline, summary->columns);
    fputs("  ", summary->out);
    if (ran && !facts->ranges[0])
        print_busy(summary, &column);
    if (ran && facts->kernels_run > 0)
        print_piece(summary, &column, "%s%s kernel%s", least,
                    gv_format_count(count, facts->kernels_run),
                    gv_format_plural(facts->kernels_run));
    if (ran && facts->graphs > 0)
        print_piece(summary, &column, "%s graph%s", gv_format_count(count, facts->graphs),
                    gv_format_plural(facts->graphs));
    if (!ran)
        print_piece(summary, &column, "%s call%s", gv_format_count(count, facts->calls),
                    gv_format_plural(facts->calls));
    print_piece(summary, &column, "%s stall%s", gv_format_count(count, facts->stalls),
                gv_format_plural(facts->stalls));
    print_piece(summary, &column, "%s error%s", gv_format_count(count, facts->failed),
                gv_format_plural(facts->failed));
    if (facts->lost > 0)
        print_piece(summary, &column, "%s record%s lost", gv_format_count(count, facts->lost),
                    gv_format_plural(facts->lost));
    else
        print_piece(summary, &column, "nothing lost");
    fputc('\n', summary->out);
}

/* One line of the program, after the others; "about" if it is an estimate. */
static int gpu_lines_say(void *context, sqlite3_stmt *row)
{
    const struct gv_frame_names frame = {
        .function = (const char *)sqlite3_column_text(row, 0),
        .library = (const char *)sqlite3_column_text(row, 1),
        .file = (const char *)sqlite3_column_text(row, 2),
        .line = sqlite3_column_int64(row, 3),
    };
    char *text = context, place[GV_SUMMARY_TEXT_BYTES / 4];

    gv_frame_text(&frame, place, sizeof(place));
    add(text, "%s %s %s%.0f %%", text[0] ? "," : "Most GPU time:", place,
        sqlite3_column_double(row, 5) > GV_SUMMARY_EXACT ? "about " : "",
        sqlite3_column_double(row, 4) * 100);
    return 0;
}

/* The lines that asked for most of the GPU's time, unless it had little to do. */
static int print_gpu_lines(const struct gv_summary *summary)
{
    const struct gv_run_facts *facts = summary->facts;
    char text[GV_SUMMARY_TEXT_BYTES] = "";
    int error = 0;

    if (facts->whole && facts->busy_ns >= gv_run_facts_device_ns(facts) / GV_SUMMARY_BUSY)
        error = gv_database_each(summary->trace, sql_gpu_lines, NULL, 0, gpu_lines_say, text);
    if (text[0])
        gv_text_lines(summary->out, 2, "", text, summary->columns);
    return error;
}

/* The program's steps: how many, how long, and which took longer. Not of chosen ranges only. */
static int print_steps(const struct gv_summary *summary)
{
    struct gv_steps_compared steps;
    char text[GV_SUMMARY_TEXT_BYTES] = "", count[GV_FORMAT_BYTES], took[GV_FORMAT_BYTES];
    int error = summary->facts->ranges[0] ? 0 : gv_steps_compare(summary->trace, &steps);

    if (error || summary->facts->ranges[0] || steps.count == 0)
        return error;
    add(text, "%s step%s of %s", gv_format_count(count, steps.count), gv_format_plural(steps.count),
        gv_format_duration(took, steps.median_ns));
    if (steps.name[0])
        add(text, " (%s `%s`)", steps.source, steps.name);
    if (steps.kinds > 1)
        add(text, ", of %" PRId64 " kinds", steps.kinds);
    if (steps.warmup > 0)
        add(text, "; the first %s%s took %s%s%s",
            steps.warmup > 1 ? gv_format_count(count, steps.warmup) : "",
            steps.warmup > 1 ? "" : "one", gv_format_duration(took, steps.warmup_ns),
            steps.warmup_why[0] ? ": " : "", steps.warmup_why);
    if (steps.slowest > 0)
        add(text, "; the slowest, number %" PRId64 ", took %s longer%s%s%s%s%s", steps.slowest,
            gv_format_duration(took, steps.lost_ns), steps.slowest_range[0] ? ", mostly in `" : "",
            steps.slowest_range, steps.slowest_range[0] ? "`" : "",
            steps.slowest_why[0] ? ": " : "", steps.slowest_why);
    if (steps.drift != 0)
        add(text, "; the later half takes %.0f %% %s",
            (steps.drift > 0 ? steps.drift : -steps.drift) * 100,
            steps.drift > 0 ? "longer" : "less");
    gv_text_say(summary->out, 2, "", summary->columns, "%s", text);
    return 0;
}

/* What gpuverify itself cost, of the time of a whole run. */
static void print_own_cost(const struct gv_summary *summary)
{
    const struct gv_run_facts *facts = summary->facts;
    char text[GV_SUMMARY_TEXT_BYTES] = "", part[GV_FORMAT_BYTES];
    bool little = facts->own_cost_ppm < GV_SUMMARY_OWN_COST;

    if (!facts->whole || facts->own_costs == 0)
        return;
    add(text, "gpuverify cost %s%.1f %% of this run", little ? "less than " : "",
        little ? 0.1 : (double)facts->own_cost_ppm / 1e4);
    if (facts->own_cost_most_ppm >= GV_SUMMARY_OWN_COST)
        add(text, " (%s %.1f %%)", facts->own_cost_most, (double)facts->own_cost_most_ppm / 1e4);
    if (facts->own_cost_once_ns >= GV_SUMMARY_ONCE_NS)
        add(text, ", and %s at its start and end",
            gv_format_duration(part, facts->own_cost_once_ns));
    if (facts->stacks_spared > 0)
        add(text, "; %s stack%s skipped to save time", gv_format_count(part, facts->stacks_spared),
            gv_format_plural(facts->stacks_spared));
    gv_text_lines(summary->out, 2, "", text, summary->columns);
}

int gv_summary_print_about(const struct gv_summary *summary)
{
    int error = gv_database_each(summary->trace, sql_head, &summary->facts->last_ns, 1, say_head,
                                 (void *)summary);

    if (error)
        return error;
    print_numbers(summary);
    error = print_steps(summary);
    if (!error)
        error = print_gpu_lines(summary);
    if (!error)
        print_own_cost(summary);
    return error;
}
