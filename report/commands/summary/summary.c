#include "report/commands/summary/summary.h"

#include "report/analyse/stalls/causes.h"
#include "report/analyse/stalls/sums.h"
#include "report/commands/doctor/driver_file.h"
#include "report/commands/offer.h"
#include "report/commands_summary_summary.inc"
#include "report/show/format.h"
#include "report/show/shown_path.h"
#include "report/show/sparkline.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GV_SUMMARY_NAME 120
/* Columns of a finding's number and name. */
#define GV_SUMMARY_INDENT 5
#define GV_SUMMARY_WORD   15
/* With fewer columns than these, a finding's text has its own lines. */
#define GV_SUMMARY_NARROW       90
#define GV_SUMMARY_LINE_COLUMNS 20
/* Lines of stalls to print. */
#define GV_SUMMARY_STALLS     3u
#define GV_SUMMARY_TEXT_BYTES 2048
/* Saving less than this share of the run is "little". */
#define GV_SUMMARY_LITTLE 100

/* One finding as it is printed. */
struct gv_item {
    const char *name;
    int64_t cost_ns;  /* -1: it is not about time */
    int64_t saves_ns; /* -1: not known */
    bool good;        /* it costs nothing */
    bool may;         /* it is not sure */
    const char *evidence;
    char text[GV_SUMMARY_TEXT_BYTES];
    char fix[GV_SUMMARY_TEXT_BYTES];
};

static const char *s(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* "12 034" */
static const char *say_count(char out[GV_FORMAT_BYTES], int64_t count)
{
    char digits[GV_FORMAT_BYTES];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, count), used = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && length > 4 && (length - i) % 3 == 0 && used < (int)GV_FORMAT_BYTES - 2)
            out[used++] = ' ';
        if (used < (int)GV_FORMAT_BYTES - 1)
            out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

/* ---- what a finding would save ---- */

static int64_t gv_least(int64_t one, int64_t other)
{
    int64_t least = one < other ? one : other;

    return least > 0 ? least : 0;
}

/* The GPU must do its work in any case: without a stall the run gets shorter by at most the idle
 * time of the busiest device. */
static int64_t saves_of_wait(const struct gv_run_facts *facts, int64_t lost_ns)
{
    if (!facts->gpu_whole || facts->devices_used == 0)
        return gv_least(lost_ns, facts->window_ns);
    return gv_least(lost_ns, facts->window_ns - facts->busiest_ns);
}

int64_t gv_summary_saves(const struct gv_run_facts *facts, enum gv_verdict_class class)
{
    int64_t devices = facts->devices_used > 0 ? facts->devices_used : 1;
    int64_t idle_ns = gv_run_facts_device_ns(facts) - facts->busy_ns;
    double underfilled = gv_run_facts_underfilled(facts) * (1 - gv_run_facts_filled(facts));

    switch (class) {
    case GV_VERDICT_LAUNCH_BLOCKING:
        return saves_of_wait(facts, facts->blocking_ns);
    case GV_VERDICT_STALLED:
        return saves_of_wait(facts, facts->wait_ns);
    case GV_VERDICT_DESCHEDULED:
        return saves_of_wait(facts, facts->delay_ns);
    case GV_VERDICT_UNEXPLAINED:
        return saves_of_wait(facts, facts->unknown_ns);
    case GV_VERDICT_LOAD:
        return saves_of_wait(facts,
                             gv_time_sum(facts->first_use_ns - facts->start_ns, facts->unsure_ns));
    case GV_VERDICT_TRANSFER:
        if (facts->operations == 0)
            return gv_least(facts->thread_copy_ns, facts->window_ns);
        return gv_least(gv_time_sum(facts->busy_ns - facts->kernel_ns, facts->copy_gap_ns) /
                            devices,
                        facts->window_ns);
    case GV_VERDICT_LAUNCH:
        return gv_least(facts->operations ? facts->launch_gap_ns / devices
                                          : facts->thread_launch_ns,
                        facts->window_ns);
    case GV_VERDICT_IDLE:
        return gv_least(idle_ns / devices, facts->window_ns);
    case GV_VERDICT_UNDERFILLED:
        return gv_least((int64_t)((double)facts->kernel_ns * underfilled) / devices,
                        facts->window_ns);
    default:
        return -1;
    }
}

/* ---- findings ---- */

/* The time that a finding concerns; -1: it is not about time. */
static int64_t item_cost(const struct gv_run_facts *facts, enum gv_verdict_class class)
{
    bool seen = facts->operations > 0;

    switch (class) {
    case GV_VERDICT_LAUNCH_BLOCKING:
        return facts->blocking_ns;
    case GV_VERDICT_UNFINISHED:
        return facts->flight_ns;
    case GV_VERDICT_STALLED:
        return facts->wait_ns;
    case GV_VERDICT_DESCHEDULED:
        return facts->delay_ns;
    case GV_VERDICT_UNEXPLAINED:
        return facts->unknown_ns;
    case GV_VERDICT_LOAD:
        return gv_time_sum(facts->first_use_ns, facts->unsure_ns);
    case GV_VERDICT_TRANSFER:
        return seen ? gv_time_sum(facts->host_copy_ns, facts->copy_gap_ns) : facts->thread_copy_ns;
    case GV_VERDICT_LAUNCH:
        return seen ? facts->launch_gap_ns : facts->thread_launch_ns;
    case GV_VERDICT_UNDERFILLED:
        return (int64_t)((double)facts->kernel_ns * gv_run_facts_underfilled(facts));
    case GV_VERDICT_IDLE:
        return gv_run_facts_device_ns(facts) - facts->busy_ns;
    case GV_VERDICT_ACCELERATED:
        return facts->kernel_ns;
    default:
        return -1;
    }
}

static void item_say(const struct gv_run_facts *facts, const struct gv_finding *finding, char *out,
                     size_t size)
{
    char one[GV_FORMAT_BYTES], two[GV_FORMAT_BYTES], three[GV_FORMAT_BYTES];
    int64_t loading_ns = facts->loading_ns - facts->compiling_ns;

    switch (finding->class) {
    case GV_VERDICT_UNFINISHED:
        snprintf(out, size, "%.100s %s", facts->flight,
                 facts->flight_running ? "has not returned"
                                       : "had not returned when its process ended");
        break;
    case GV_VERDICT_DESCHEDULED:
        snprintf(out, size, "%" PRId64 " call%s: the thread was ready to run, but waited for a CPU",
                 facts->delays, s(facts->delays));
        break;
    case GV_VERDICT_UNEXPLAINED:
        snprintf(out, size, "%" PRId64 " call%s took too long; nothing recorded explains it",
                 facts->unknowns, s(facts->unknowns));
        break;
    case GV_VERDICT_LOAD:
        if (facts->gpu_whole)
            snprintf(out, size, "starting CUDA %s, loading code %s, compiling it %s",
                     gv_format_duration(one, facts->start_ns),
                     gv_format_duration(two, loading_ns > 0 ? loading_ns : 0),
                     gv_format_duration(three, facts->compiling_ns));
        else
            snprintf(out, size, "starting CUDA %s, loading or compiling code %s",
                     gv_format_duration(one, facts->start_ns),
                     gv_format_duration(two, gv_time_sum(facts->loading_ns, facts->unsure_ns)));
        break;
    case GV_VERDICT_TRANSFER:
        if (facts->operations == 0)
            snprintf(out, size, "%s", finding->evidence);
        else
            snprintf(out, size, "%s between host and device in %" PRId64 " cop%s%s%s",
                     gv_format_size(one, facts->copied_bytes), facts->copies,
                     facts->copies == 1 ? "y" : "ies", facts->copy_where[0] ? ": " : "",
                     facts->copy_where);
        break;
    case GV_VERDICT_LAUNCH:
        if (facts->operations == 0 || facts->launch_gaps == 0)
            snprintf(out, size, "%s", finding->evidence);
        else
            snprintf(out, size, "%s kernels of %s each, %s apart",
                     say_count(one, facts->kernels_run),
                     gv_format_duration(two, facts->kernel_time_ns / facts->kernels_run),
                     gv_format_duration(three, facts->launch_gaps_ns / facts->launch_gaps));
        break;
    case GV_VERDICT_UNDERFILLED:
        if (facts->least_blocks > 0 && facts->least_blocks < facts->multiprocessors)
            snprintf(out, size, "%" PRId64 " block%s on %" PRId64 " multiprocessors: %.200s",
                     facts->least_blocks, s(facts->least_blocks), facts->multiprocessors,
                     facts->top_kernel);
        else
            snprintf(out, size,
                     "kernels had fewer blocks than the GPU's %" PRId64 " multiprocessors",
                     facts->multiprocessors);
        break;
    case GV_VERDICT_IDLE:
        if (gv_run_facts_idle_in_calls(facts) && facts->gap_call_ns > 0)
            snprintf(out, size, "no work for the GPU; the host was in CUDA calls, most in %.80s",
                     facts->gap_call);
        else
            snprintf(out, size, "no work for the GPU; the host was outside of CUDA for %s",
                     gv_format_duration(one, gv_run_facts_outside_ns(facts)));
        break;
    case GV_VERDICT_ACCELERATED:
        snprintf(out, size, "the GPU computed, most in %.200s",
                 facts->graph_time_ns > facts->kernel_time_ns ? "graphs" : facts->top_kernel);
        break;
    default:
        snprintf(out, size, "%s", finding->evidence);
        break;
    }
}

static void item_make(const struct gv_summary *summary, const struct gv_finding *finding,
                      struct gv_item *item)
{
    char fix[GV_OFFER_BYTES];

    *item = (struct gv_item){
        .name = gv_verdict_name(finding->class),
        .cost_ns = item_cost(summary->facts, finding->class),
        .saves_ns = gv_summary_saves(summary->facts, finding->class),
        .good = finding->class == GV_VERDICT_ACCELERATED,
        .may = finding->class == GV_VERDICT_UNEXPLAINED ||
               (finding->class == GV_VERDICT_LOAD && summary->facts->unsure_ns > 0),
        .evidence = finding->evidence,
    };
    item_say(summary->facts, finding, item->text, sizeof(item->text));
    if (strncmp(item->text, finding->evidence, strlen(item->text)) == 0) {
        if (summary->evidence)
            snprintf(item->text, sizeof(item->text), "%s", finding->evidence);
        item->evidence = NULL;
    }
    snprintf(item->fix, sizeof(item->fix), "%s: %s", item->good ? "next" : "fix",
             gv_offer_fill(fix, sizeof(fix), finding->next, summary->path, false));
}

static void item_of_line(const struct gv_summary *summary, const struct gv_stall_line *line,
                         const char *evidence, struct gv_item *item)
{
    const struct gv_stall_row *worst = line->worst;
    char calls[40] = "", behind[128] = "", lost[GV_FORMAT_BYTES];
    bool inferred = worst->confidence && strcmp(worst->confidence, "inferred") == 0;

    *item = (struct gv_item){
        .name = gv_verdict_name(GV_VERDICT_STALLED),
        .cost_ns = line->lost_ns,
        .saves_ns = saves_of_wait(summary->facts, line->lost_ns),
        .may = inferred || worst->unsure,
        .evidence = evidence,
    };
    if (line->count > 1)
        snprintf(calls, sizeof(calls), " (%" PRId64 " calls)", line->count);
    if (line->behind_count > 0)
        snprintf(behind, sizeof(behind), "; %" PRId64 " call%s behind %s lost %s",
                 line->behind_count, s(line->behind_count), line->count > 1 ? "them" : "it",
                 gv_format_duration(lost, line->behind_ns));
    snprintf(item->text, sizeof(item->text), "s%" PRId64 " %.40s: %.200s%s%.200s%s%.600s%s%s",
             worst->id, worst->cause ? worst->cause : "?", worst->name ? worst->name : "a call",
             line->kernel ? " of " : "", line->kernel ? line->kernel : "",
             line->where[0] ? ", " : "", line->where, calls, behind);
    if (worst->advice)
        snprintf(item->fix, sizeof(item->fix), "fix: %s", worst->advice);
}

/* ---- printing ---- */

/* Prints a finding's text, with what it saves at the end of the first line. */
static void item_print_text(const struct gv_summary *summary, int column, const char *text,
                            const char *saves)
{
    int room = summary->columns - (saves[0] ? (int)strlen(saves) + 2 : 0);
    char *lines = NULL, *end;
    size_t bytes = 0;
    FILE *out = open_memstream(&lines, &bytes);

    if (out)
        gv_text_lines_on(out, column, column, text, room);
    if (!out || fclose(out) == EOF || !(end = strchr(lines, '\n'))) {
        fputc('\n', summary->out);
        free(lines);
        return;
    }
    *end = '\0';
    fputs(lines, summary->out);
    if (saves[0])
        fprintf(summary->out, "%*s%s", room - column - (int)gv_text_width(lines) + 2, "", saves);
    fprintf(summary->out, "\n%s", end + 1);
    free(lines);
}

static void item_print_more(const struct gv_summary *summary, const char *text)
{
    fprintf(summary->out, "%*s", GV_SUMMARY_INDENT, "");
    gv_text_lines_on(summary->out, GV_SUMMARY_INDENT, GV_SUMMARY_INDENT, text, summary->columns);
}

static void item_print(const struct gv_summary *summary, size_t number, const struct gv_item *item)
{
    FILE *out = summary->out;
    char cost[GV_FORMAT_BYTES] = "", saves[64] = "", text[GV_SUMMARY_TEXT_BYTES];
    int column, name = (int)strlen(item->name);

    if (item->cost_ns >= 0)
        gv_format_duration(cost, item->cost_ns);
    if (item->saves_ns >= summary->facts->window_ns / GV_SUMMARY_LITTLE)
        snprintf(saves, sizeof(saves), "%s up to %s", item->may ? "may save" : "saves",
                 gv_format_duration(text, item->saves_ns));
    else if (item->saves_ns >= 0)
        snprintf(saves, sizeof(saves), "saves little");
    fprintf(out, "  %zu  %s%-*s %s%8s%s", number, gv_colour(out, GV_COLOUR_BOLD), GV_SUMMARY_WORD,
            item->name,
            gv_colour(out, item->good  ? GV_COLOUR_NONE
                           : item->may ? GV_COLOUR_MAY
                                       : GV_COLOUR_COST),
            cost, gv_colour(out, GV_COLOUR_NONE));
    column = GV_SUMMARY_INDENT + (name > GV_SUMMARY_WORD ? name : GV_SUMMARY_WORD) + 1 +
             (strlen(cost) > 8 ? (int)strlen(cost) : 8) + 2;
    if (summary->columns < GV_SUMMARY_NARROW) {
        fprintf(out, "%s%s\n%*s", saves[0] ? "   " : "", saves, GV_SUMMARY_INDENT, "");
        item_print_text(summary, GV_SUMMARY_INDENT, item->text, "");
    } else {
        fputs("  ", out);
        item_print_text(summary, column, item->text, saves);
    }
    if (summary->evidence && item->evidence) {
        snprintf(text, sizeof(text), "%s.", item->evidence);
        item_print_more(summary, text);
    }
    if (item->fix[0])
        item_print_more(summary, item->fix);
}

/* Some causes have a finding of their own; `waits`: so does compiling. */
static bool line_is_wait(const struct gv_stall_line *line, bool waits)
{
    enum gv_cause cause = gv_cause_find(line->worst->cause ? line->worst->cause : "");

    return !line->waits_behind && !(waits && line->worst->wait_ns == 0) &&
           cause != GV_CAUSE_LAUNCH_BLOCKING && cause != GV_CAUSE_DESCHEDULED &&
           cause != GV_CAUSE_UNKNOWN;
}

/* Returns the number of the next finding; *first: the first stall printed. */
static size_t print_stalls(const struct gv_summary *summary, size_t number, const char *evidence,
                           int64_t *first)
{
    struct gv_stall_lines lines;
    struct gv_item *item = malloc(sizeof(*item));
    int error = gv_stall_lines_read(summary->trace, &lines);
    bool waits = evidence != NULL;
    size_t printed = 0, found = 0;
    char more[64], text[GV_OFFER_BYTES + 64], see[GV_OFFER_BYTES];

    *first = 0;
    for (size_t i = 0; i < summary->verdict->count && i < GV_VERDICT_TOLD; i++)
        waits |= summary->verdict->findings[i].class == GV_VERDICT_LOAD;
    for (size_t i = 0; item && !error && i < lines.count; i++) {
        if (!line_is_wait(&lines.lines[i], waits) || ++found > GV_SUMMARY_STALLS)
            continue;
        item_of_line(summary, &lines.lines[i], printed ? NULL : evidence, item);
        item_print(summary, number++, item);
        if (printed++ == 0)
            *first = lines.lines[i].worst->id;
    }
    if (found > printed && printed > 0) {
        snprintf(more, sizeof(more), "and %zu more: ", found - printed);
        snprintf(text, sizeof(text), "%s%s", more,
                 gv_offer_fill(see, sizeof(see), "gpuverify query FILE stall-lines", summary->path,
                               true));
        item_print_more(summary, text);
    }
    gv_stall_lines_free(&lines);
    free(item);
    return number;
}

/* *stall: the first stall printed; *flight: an unfinished call was printed. */
static void print_items(const struct gv_summary *summary, int64_t *stall, bool *flight)
{
    const struct gv_verdict *verdict = summary->verdict;
    bool lines = summary->facts->whole, told = false;
    struct gv_item *item = malloc(sizeof(*item));
    struct gv_stall_sums sums;
    size_t number = 1;
    int64_t small = 0;
    /* After a run, the whole report comes before a stall that is no finding, unless nothing else
     * held up the GPU. */
    bool alone = summary->evidence || verdict->count == 0 ||
                 verdict->findings[0].class == GV_VERDICT_ACCELERATED;

    for (size_t i = 0; item && i < verdict->count && i < GV_VERDICT_TOLD; i++) {
        const struct gv_finding *finding = &verdict->findings[i];
        if (number == 1)
            fputc('\n', summary->out);
        *flight |= finding->class == GV_VERDICT_UNFINISHED;
        if (finding->class == GV_VERDICT_STALLED && lines) {
            number = print_stalls(summary, number, finding->evidence, stall);
            told = true;
        }
        if (finding->class == GV_VERDICT_STALLED && *stall)
            continue;
        item_make(summary, finding, item);
        item_print(summary, number++, item);
    }
    free(item);
    if (told || !lines || gv_stall_sums_read(summary->trace, &sums) != 0 ||
        gv_stall_sums_are_small(&sums))
        return;
    if (number == 1)
        fputc('\n', summary->out);
    print_stalls(summary, number, NULL, alone ? stall : &small);
}

/* The program's name, how long it took, and where. */
static int print_head(const struct gv_summary *summary)
{
    const struct gv_run_facts *facts = summary->facts;
    sqlite3_stmt *row = NULL;
    FILE *out = summary->out;
    char text[4 * GV_SUMMARY_NAME], took[GV_FORMAT_BYTES];
    int length, result = sqlite3_prepare_v2(summary->trace, sql_head, -1, &row, NULL);

    if (result == SQLITE_OK)
        sqlite3_bind_int64(row, 1, facts->last_ns);
    if (result == SQLITE_OK && (result = sqlite3_step(row)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        length = snprintf(text, sizeof(text), "%.*s ran", GV_SUMMARY_NAME, name ? name : "-");
        /* Not for a process that was killed before its first call. */
        if (sqlite3_column_int64(row, 1) > 0)
            length += snprintf(text + length, sizeof(text) - (size_t)length, " %s",
                               gv_format_duration(took, sqlite3_column_int64(row, 1)));
        if (facts->device[0] || facts->simulated)
            length +=
                snprintf(text + length, sizeof(text) - (size_t)length, " on %.*s", GV_SUMMARY_NAME,
                         facts->simulated ? "a simulated GPU" : facts->device);
        if (facts->devices_used > 1)
            snprintf(text + length, sizeof(text) - (size_t)length, " and %" PRId64 " more",
                     facts->devices_used - 1);
        fprintf(out, "%sgpuverify:%s ", gv_colour(out, GV_COLOUR_BOLD),
                gv_colour(out, GV_COLOUR_NONE));
        gv_text_lines_on(out, 2, (int)strlen("gpuverify: "), text, summary->columns);
    }
    sqlite3_finalize(row);
    return gv_database_error(summary->trace, result);
}

/* How busy the devices were over the time of the run. */
static int read_activity(const struct gv_summary *summary, double levels[GV_SUMMARY_LINE_COLUMNS])
{
    const struct gv_run_facts *facts = summary->facts;
    sqlite3_stmt *rows = NULL;
    double column_ns = (double)facts->window_ns / GV_SUMMARY_LINE_COLUMNS;
    int result = sqlite3_prepare_v2(
        summary->trace,
        "SELECT t.stretch * s.value, s.value, total(t.taken_ns) FROM timeline t, fact s WHERE"
        " s.key = 'stretch_ns' AND t.lane GLOB 'busy*' GROUP BY t.stretch",
        -1, &rows, NULL);

    memset(levels, 0, GV_SUMMARY_LINE_COLUMNS * sizeof(*levels));
    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        double from = (sqlite3_column_double(rows, 0) - (double)facts->first_ns) / column_ns;
        double to = from + sqlite3_column_double(rows, 1) / column_ns;
        double taken = sqlite3_column_double(rows, 2) / column_ns / (double)facts->devices_used;
        for (int i = 0; i < GV_SUMMARY_LINE_COLUMNS; i++) {
            double first = from > i ? from : i, last = to < i + 1 ? to : i + 1;
            if (last > first)
                levels[i] += taken * (last - first) / (to - from);
        }
    }
    sqlite3_finalize(rows);
    return gv_database_error(summary->trace, result);
}

/* Adds pieces to a line, each after three blanks, or on a new line. */
static void print_piece(const struct gv_summary *summary, int *column, const char *piece)
{
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
    int64_t device_ns = gv_run_facts_device_ns(facts);
    double percent = device_ns > 0 ? 100.0 * (double)facts->busy_ns / (double)device_ns : 0;
    double levels[GV_SUMMARY_LINE_COLUMNS];
    char text[128], part[64] = "", known[GV_FORMAT_BYTES];

    if (percent > 100)
        percent = 100;
    if (facts->known_ns < facts->window_ns)
        snprintf(part, sizeof(part), " of the first %s",
                 gv_format_duration(known, facts->known_ns));
    snprintf(text, sizeof(text), "GPU%s busy %s%.*f %%%s", facts->devices_used > 1 ? "s" : "",
             facts->gpu_lost > facts->operations_lost ? "at least " : "",
             percent > 0 && percent < 9.95 ? 1 : 0, percent, part);
    print_piece(summary, column, text);
    if (summary->columns < GV_SUMMARY_NARROW - GV_SUMMARY_LINE_COLUMNS ||
        read_activity(summary, levels) != 0)
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
    bool some = facts->known_ns < facts->window_ns || facts->gpu_lost > facts->operations_lost;
    const char *least = some ? "at least " : "";
    char text[160], count[GV_FORMAT_BYTES];
    int column = 2;

    fputs("  ", summary->out);
    if (headline) {
        gv_text_lines_on(summary->out, 2, 2, summary->verdict->headline, summary->columns);
        fputs("  ", summary->out);
    }
    if (ran)
        print_busy(summary, &column);
    if (ran && facts->kernels_run > 0) {
        snprintf(text, sizeof(text), "%s%s kernel%s", least, say_count(count, facts->kernels_run),
                 s(facts->kernels_run));
        print_piece(summary, &column, text);
    }
    if (ran && facts->graphs > 0) {
        snprintf(text, sizeof(text), "%s graph%s", say_count(count, facts->graphs),
                 s(facts->graphs));
        print_piece(summary, &column, text);
    }
    if (!ran) {
        snprintf(text, sizeof(text), "%s call%s", say_count(count, facts->calls), s(facts->calls));
        print_piece(summary, &column, text);
    }
    snprintf(text, sizeof(text), "%s stall%s", say_count(count, facts->stalls), s(facts->stalls));
    print_piece(summary, &column, text);
    snprintf(text, sizeof(text), "%s error%s", say_count(count, facts->failed), s(facts->failed));
    print_piece(summary, &column, text);
    if (facts->lost > 0)
        snprintf(text, sizeof(text), "%s record%s lost", say_count(count, facts->lost),
                 s(facts->lost));
    else
        snprintf(text, sizeof(text), "nothing lost");
    print_piece(summary, &column, text);
    fputc('\n', summary->out);
}

/* Prints the next command, and the trace's path. */
static void print_next(const struct gv_summary *summary, int64_t stall, bool flight)
{
    FILE *out = summary->out;
    char next[GV_OFFER_BYTES], trace[GV_SHELL_WORD_BYTES], command[64] = "";
    int width = 2;

    if (stall && !flight)
        snprintf(command, sizeof(command), "gpuverify explain FILE s%" PRId64, stall);
    else if (flight || !summary->evidence)
        snprintf(command, sizeof(command), "gpuverify %s FILE", flight ? "explain" : "report");
    gv_shown_word(trace, summary->path);
    fprintf(out, "%s  ", gv_colour(out, GV_COLOUR_DIM));
    if (command[0]) {
        gv_offer_fill(next, sizeof(next), command, summary->path, false);
        width += 6 + (int)gv_text_width(next) + 3;
        fprintf(out, "Next: %s%s", next,
                width + 7 + (int)gv_text_width(trace) <= summary->columns ? "   " : "\n  ");
    }
    fprintf(out, "trace: %s%s\n", trace, gv_colour(out, GV_COLOUR_NONE));
}

/* A paragraph that a function prints, after an empty line. */
static int print_paragraph(const struct gv_summary *summary,
                           int (*print)(const struct gv_summary *, bool))
{
    struct gv_summary part = *summary;
    char *text = NULL;
    size_t bytes = 0;
    int error;

    part.out = open_memstream(&text, &bytes);
    if (!part.out)
        return -ENOMEM;
    error = print(&part, false);
    if (fclose(part.out) == EOF && !error)
        error = -ENOMEM;
    if (!error && bytes > 0)
        fprintf(summary->out, "\n%s", text);
    free(text);
    return error;
}

int gv_summary_print(const struct gv_summary *summary)
{
    bool flight = false;
    int64_t stall = 0;
    int error = print_head(summary);

    if (error)
        return error;
    print_numbers(summary);
    error = print_paragraph(summary, gv_summary_print_broken);
    if (error)
        return error;
    print_items(summary, &stall, &flight);
    error = print_paragraph(summary, gv_summary_print_notes);
    if (error)
        return error;
    fputc('\n', summary->out);
    print_next(summary, stall, flight);
    return 0;
}

/* ---- without a trace ---- */

/* The next step, with the program in place of PROGRAM. */
static void say_next(char *out, size_t size, const char *next, const char *program)
{
    const char *place = strstr(next, "PROGRAM");

    if (place)
        snprintf(out, size, "Next: %.*s%.200s%s", (int)(place - next), next, program,
                 place + strlen("PROGRAM"));
    else
        snprintf(out, size, "Next: %s", next);
}

void gv_summary_print_without(FILE *out, const char *name, const char *program,
                              enum gv_verdict_class class, int columns)
{
    char text[GV_VERDICT_TEXT_BYTES], offered[GV_OFFER_BYTES], why[256];
    bool missing = class == GV_VERDICT_NOT_STARTED && !gv_driver_file_loads(why, sizeof(why));

    fprintf(out, "%sgpuverify: ", gv_colour(out, GV_COLOUR_BOLD));
    gv_format_text(out, name, GV_SUMMARY_NAME, 0);
    fprintf(out, "%s %s\n", gv_colour(out, GV_COLOUR_NONE),
            class == GV_VERDICT_NOT_RECORDED ? "left no trace" : "made no CUDA call: no trace");
    snprintf(text, sizeof(text), "%s%s", gv_verdict_meaning(class),
             missing ? " NVIDIA's driver, libcuda.so.1, is not on this machine." : "");
    gv_text_lines(out, 2, "  ", text, columns);
    say_next(text, sizeof(text), gv_verdict_next(class), program);
    gv_text_lines(out, 2, "  ", gv_offer_fill(offered, sizeof(offered), text, "", true), columns);
}
