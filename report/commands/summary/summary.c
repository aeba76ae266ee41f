#include "report/commands/summary/summary.h"

#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/causes.h"
#include "report/analyse/stalls/rows.h"
#include "report/analyse/stalls/sums.h"
#include "report/analyse/steps/compare.h"
#include "report/analyse/totals/totals.h"
#include "report/commands/doctor/driver_file.h"
#include "report/commands/offer.h"
#include "report/commands/summary/notes.h"
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
#include <math.h>
#include <stdarg.h>
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
#define GV_SUMMARY_STALLS 3u
/* 0.1 % in millionths: own costs below this are not shown. */
#define GV_SUMMARY_OWN_COST 1000
#define GV_SUMMARY_ONCE_NS  1000000
/* Lines of GPU time are of interest if the GPU was busy for a tenth of the time. */
#define GV_SUMMARY_BUSY 10
/* A share with a larger standard error is "about" that. */
#define GV_SUMMARY_EXACT 0.0025
/* Saving less than this share of the run is "little". */
#define GV_SUMMARY_LITTLE 100

#define GV_STALL_LINES_WHERE_BYTES 4096
/* The longest stalls, from which the lines are found: other lines lost little. */
#define GV_STALL_LINES_READ 5000

/* The findings of a summary, one after the other. */
struct gv_summary_walk {
    const struct gv_summary *summary;
    gv_summary_visit *visit;
    void *context;
    int64_t stall, idle; /* the first of each, to be explained next */
    bool flight;         /* an unfinished call is among them */
};

/* The ending of what there are `count` of. */
static const char *plural(int64_t count)
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

/* The saved part of a time: no more than `most`, and not negative. */
static int64_t saved_ns(int64_t ns, int64_t most_ns)
{
    int64_t least = ns < most_ns ? ns : most_ns;

    return least > 0 ? least : 0;
}

/* The GPU must do its work in any case: without a stall the run gets shorter by at most the idle
 * time of the busiest device. */
static int64_t saves_of_wait(const struct gv_run_facts *facts, int64_t lost_ns)
{
    if (!facts->gpu_known || facts->devices_used == 0)
        return saved_ns(lost_ns, facts->window_ns);
    return saved_ns(lost_ns, facts->window_ns - facts->busiest_ns);
}

int64_t gv_summary_saves(const struct gv_run_facts *facts, const struct gv_finding *finding)
{
    int64_t devices = facts->devices_used > 0 ? facts->devices_used : 1;
    int64_t idle_ns = gv_run_facts_device_ns(facts) - facts->busy_ns, rest_ns;
    double underfilled = gv_run_facts_underfilled(facts) * (1 - gv_run_facts_filled(facts));

    switch (finding->class) {
    case GV_VERDICT_LAUNCH_BLOCKING:
        return saves_of_wait(facts, facts->blocking_ns);
    case GV_VERDICT_STALLED:
        return saves_of_wait(facts, facts->wait_ns);
    case GV_VERDICT_LATE_RANK:
        return saved_ns(facts->late.total_ns, facts->window_ns); /* GPUs that wait are busy */
    case GV_VERDICT_DESCHEDULED:
        return saves_of_wait(facts, facts->delay_ns);
    case GV_VERDICT_UNEXPLAINED:
        return saves_of_wait(facts, facts->unknown_ns);
    case GV_VERDICT_LOAD:
        return saves_of_wait(facts,
                             gv_time_sum(facts->first_use_ns - facts->start_ns, facts->unsure_ns));
    case GV_VERDICT_TRANSFER:
        if (facts->operations == 0)
            return saved_ns(facts->thread_copy_ns, facts->window_ns);
        return saved_ns(gv_time_sum(facts->busy_ns - facts->kernel_ns, facts->copy_gap_ns) /
                            devices,
                        facts->window_ns);
    case GV_VERDICT_LAUNCH:
        return saved_ns(facts->operations ? facts->launch_gap_ns / devices
                                          : facts->thread_launch_ns,
                        facts->window_ns);
    case GV_VERDICT_IDLE_LINE:
        return gv_verdict_idle_saves(facts, finding);
    case GV_VERDICT_IDLE:
        /* Its weight leaves out what other findings tell. */
        rest_ns = (int64_t)(finding->weight * (double)gv_run_facts_device_ns(facts));
        return saved_ns((rest_ns < idle_ns ? rest_ns : idle_ns) / devices, facts->window_ns);
    case GV_VERDICT_UNDERFILLED:
        return saved_ns((int64_t)((double)facts->kernel_ns * underfilled) / devices,
                        facts->window_ns);
    default:
        return -1;
    }
}

/* ---- the lines of the program at which most time was lost ---- */

/* Calls of one name that lost time at one line for one cause; or calls that waited behind those of
 * one name at one line, which are no stalls themselves: there is the line to change. */
struct gv_stall_line {
    char *where; /* empty: not known */
    int64_t stack;
    const char *holder; /* the name of the call in the way; NULL: none, or it is a stall */
    const struct gv_stall_row *worst;
    const char *kernel; /* that all of them launched; or else NULL */
    int64_t count;
    int64_t lost_ns;
    int64_t behind_count, behind_ns; /* calls that waited for these, and lost so much themselves */
    bool waits_behind;               /* it is among the calls that another line counts so */
};

struct gv_stall_lines {
    struct gv_stall_line *lines; /* most time first, unexplained ones last */
    size_t count;
    struct gv_stall_rows rows;
};

static bool stall_lines_same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

/* Most calls share a stack with an earlier one, and looking up lines takes time. */
static void stall_lines_where(sqlite3 *trace, const struct gv_stall_lines *list, int64_t stack,
                              char where[GV_STALL_LINES_WHERE_BYTES])
{
    where[0] = '\0';
    for (size_t i = 0; i < list->count; i++)
        if (list->lines[i].stack == stack) {
            strcpy(where, list->lines[i].where);
            return;
        }
    if (gv_stack_text(trace, stack, 1, where, GV_STALL_LINES_WHERE_BYTES) != 0)
        where[0] = '\0';
}

/* The rows are sorted, so the first of a line is its worst. */
static int stall_lines_add(sqlite3 *trace, struct gv_stall_lines *list,
                           const struct gv_stall_row *row)
{
    const char *holder = row->blocked_by && !row->blocked_stall ? row->blocked_name : NULL;
    int64_t stack = holder ? row->blocked_stack : row->stack;
    char where[GV_STALL_LINES_WHERE_BYTES];
    struct gv_stall_line *line = NULL;

    stall_lines_where(trace, list, stack, where);
    for (size_t i = 0; i < list->count && !line; i++) {
        struct gv_stall_line *known = &list->lines[i];
        /* Without a line, the kernel says more than nothing. */
        if (strcmp(known->where, where) == 0 && stall_lines_same(known->holder, holder) &&
            stall_lines_same(known->worst->cause, row->cause) &&
            (holder || (stall_lines_same(known->worst->name, row->name) &&
                        (where[0] || stall_lines_same(known->kernel, row->kernel)))))
            line = known;
    }
    if (!line) {
        line = &list->lines[list->count];
        *line = (struct gv_stall_line){.where = strdup(where),
                                       .stack = stack,
                                       .holder = holder,
                                       .worst = row,
                                       .kernel = row->kernel};
        if (!line->where)
            return -ENOMEM;
        list->count++;
    }
    line->count++;
    line->lost_ns = gv_time_sum(line->lost_ns, gv_stall_lost_ns(row));
    if (!stall_lines_same(line->kernel, row->kernel))
        line->kernel = NULL;
    return 0;
}

/* The line whose worst stall another line's worst one waited for: most of both losses is the
 * same time. */
static void stall_lines_chain(struct gv_stall_lines *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct gv_stall_line *line = &list->lines[i];
        for (size_t j = 0; j < list->count && line->worst->blocked_stall; j++) {
            struct gv_stall_line *before = &list->lines[j];
            if (i == j || before->waits_behind || before->worst->id != line->worst->blocked_stall)
                continue;
            before->behind_count += line->count;
            before->behind_ns = gv_time_sum(before->behind_ns, line->lost_ns);
            line->waits_behind = true;
            break;
        }
    }
}

static int stall_lines_compare(const void *one, const void *other)
{
    const struct gv_stall_line *a = one, *b = other;
    bool unknown = gv_cause_is_unknown(a->worst->cause);

    if (unknown != gv_cause_is_unknown(b->worst->cause))
        return unknown ? 1 : -1;
    if (a->lost_ns != b->lost_ns)
        return a->lost_ns < b->lost_ns ? 1 : -1;
    return a->worst->id < b->worst->id ? -1 : a->worst->id > b->worst->id;
}

static bool stall_lines_has(const struct gv_totals_part *part, const struct gv_stall_row *row)
{
    return (!part->process || row->process == part->process) &&
           (!part->thread || row->thread == part->thread) && row->start_ns >= part->from_ns &&
           row->start_ns < part->to_ns;
}

/* Unexpected ones of a part of the trace, of any device. 0 or -errno; *lines is to be freed in any
 * case. */
static int stall_lines_read(sqlite3 *trace, const struct gv_totals_part *part,
                            struct gv_stall_lines *lines)
{
    struct gv_stall_filter filter = {.limit = gv_totals_is_all(part) ? GV_STALL_LINES_READ : 0,
                                     .people = true};
    int error;

    *lines = (struct gv_stall_lines){0};
    error = gv_stall_rows_read(trace, &filter, &lines->rows);
    if (error)
        return error;
    lines->lines = calloc(lines->rows.count ? lines->rows.count : 1, sizeof(*lines->lines));
    if (!lines->lines)
        return -ENOMEM;
    for (size_t i = 0; i < lines->rows.count && !error; i++)
        if (stall_lines_has(part, &lines->rows.rows[i]))
            error = stall_lines_add(trace, lines, &lines->rows.rows[i]);
    stall_lines_chain(lines);
    qsort(lines->lines, lines->count, sizeof(*lines->lines), stall_lines_compare);
    return error;
}

static void stall_lines_free(struct gv_stall_lines *lines)
{
    for (size_t i = 0; lines->lines && i < lines->count; i++)
        free(lines->lines[i].where);
    free(lines->lines);
    gv_stall_rows_free(&lines->rows);
}

/* ---- findings ---- */

/* The time that a finding concerns; -1: it is not about time. */
static int64_t item_cost(const struct gv_run_facts *facts, const struct gv_finding *finding)
{
    bool seen = facts->operations > 0;

    switch (finding->class) {
    case GV_VERDICT_LAUNCH_BLOCKING:
        return facts->blocking_ns;
    case GV_VERDICT_UNFINISHED:
        return facts->flight_ns;
    case GV_VERDICT_STALLED:
        return facts->wait_ns;
    case GV_VERDICT_LATE_RANK:
        return facts->late.total_ns;
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
    case GV_VERDICT_IDLE_LINE:
        return facts->idle[finding->idle].saves_ns;
    case GV_VERDICT_HOST:
        return facts->run_ns - facts->busiest_ns;
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
                 facts->delays, plural(facts->delays));
        break;
    case GV_VERDICT_UNEXPLAINED:
        snprintf(out, size, "%" PRId64 " call%s took too long; nothing recorded explains it",
                 facts->unknowns, plural(facts->unknowns));
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
                     facts->least_blocks, plural(facts->least_blocks), facts->multiprocessors,
                     facts->top_kernel);
        else
            snprintf(out, size,
                     "kernels had fewer blocks than the GPU's %" PRId64 " multiprocessors",
                     facts->multiprocessors);
        break;
    case GV_VERDICT_IDLE_LINE:
        snprintf(out, size, "i%" PRId64 " %s%s", facts->idle[finding->idle].id,
                 facts->idle[finding->idle].text,
                 facts->idle[finding->idle].inferred ? " (at least)" : "");
        break;
    case GV_VERDICT_IDLE:
        if (gv_run_facts_idle_call_is_known(facts))
            snprintf(out, size, "no work for the GPU; the host was in CUDA calls, most in %.80s",
                     facts->gap_call);
        else if (gv_run_facts_idle_in_calls(facts))
            snprintf(out, size, "no work for the GPU; the host was in CUDA calls");
        else
            snprintf(out, size, "no work for the GPU; the host was outside of CUDA for %s%s%s",
                     gv_format_duration(one, gv_run_facts_outside_ns(facts)),
                     facts->idle_lack ? "; the reason is unknown: " : "",
                     facts->idle_lack ? facts->idle_lack : "");
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
                      struct gv_summary_item *item)
{
    char fix[GV_OFFER_BYTES];

    *item = (struct gv_summary_item){
        .name = gv_verdict_name(finding->class),
        .cost_ns = item_cost(summary->facts, finding),
        .saves_ns = gv_summary_saves(summary->facts, finding),
        .good = finding->class == GV_VERDICT_ACCELERATED || finding->class == GV_VERDICT_HOST,
        .may = finding->class == GV_VERDICT_UNEXPLAINED ||
               (finding->class == GV_VERDICT_LOAD && summary->facts->unsure_ns > 0) ||
               (finding->class == GV_VERDICT_IDLE_LINE &&
                summary->facts->idle[finding->idle].inferred),
    };
    /* The evidence has all that the short text says, except an idle time's name. */
    if (finding->class == GV_VERDICT_IDLE_LINE) {
        item->idle = summary->facts->idle[finding->idle].id;
        item->evidence = strstr(finding->evidence, "meanwhile "); /* not its text again */
    }
    if (summary->evidence && !item->evidence)
        snprintf(item->text, sizeof(item->text), "%s", finding->evidence);
    else
        item_say(summary->facts, finding, item->text, sizeof(item->text));
    snprintf(item->fix, sizeof(item->fix), "%s: %s", item->good ? "next" : "fix",
             gv_offer_fill(fix, sizeof(fix), finding->next, summary->path, false));
}

static void item_of_line(const struct gv_summary *summary, const struct gv_stall_line *line,
                         const char *evidence, struct gv_summary_item *item)
{
    const struct gv_stall_row *worst = line->worst;
    char calls[40] = "", behind[128] = "", lost[GV_FORMAT_BYTES];
    bool inferred = worst->confidence && strcmp(worst->confidence, "inferred") == 0;

    *item = (struct gv_summary_item){
        .stall = worst->id,
        .name = gv_verdict_name(GV_VERDICT_STALLED),
        .cost_ns = line->lost_ns,
        .saves_ns = saves_of_wait(summary->facts, line->lost_ns),
        .may = inferred || worst->unsure,
        .evidence = evidence,
    };
    if (line->count > 1)
        snprintf(calls, sizeof(calls), line->holder ? "%" PRId64 " calls" : " (%" PRId64 " calls)",
                 line->count);
    if (line->behind_count > 0)
        snprintf(behind, sizeof(behind), "; %" PRId64 " call%s behind %s lost %s",
                 line->behind_count, plural(line->behind_count), line->count > 1 ? "them" : "it",
                 gv_format_duration(lost, line->behind_ns));
    if (line->holder)
        snprintf(item->text, sizeof(item->text), "s%" PRId64 " %.40s: %.200s behind %.200s%s%.600s",
                 worst->id, worst->cause ? worst->cause : "?",
                 calls[0]      ? calls
                 : worst->name ? worst->name
                               : "a call",
                 line->holder, line->where[0] ? ", " : "", line->where);
    else
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

struct gv_summary_printed {
    const struct gv_summary *summary;
    size_t count;
};

static void item_print(void *context, const struct gv_summary_item *item)
{
    struct gv_summary_printed *printed = context;
    const struct gv_summary *summary = printed->summary;
    FILE *out = summary->out;
    char cost[GV_FORMAT_BYTES] = "", saves[64] = "", most[GV_FORMAT_BYTES];
    int column, name = (int)strlen(item->name);

    if (!item->name[0]) {
        gv_text_lines(out, GV_SUMMARY_INDENT, "", item->text, summary->columns);
        return;
    }
    if (printed->count++ == 0)
        fputc('\n', out);
    if (item->cost_ns >= 0)
        gv_format_duration(cost, item->cost_ns);
    if (item->saves_ns >= summary->facts->window_ns / GV_SUMMARY_LITTLE)
        snprintf(saves, sizeof(saves), "%s up to %s", item->may ? "may save" : "saves",
                 gv_format_duration(most, item->saves_ns));
    else if (item->saves_ns >= 0)
        snprintf(saves, sizeof(saves), "saves little");
    fprintf(out, "  %zu  %s%-*s %s%8s%s", printed->count, gv_colour(out, GV_COLOUR_BOLD),
            GV_SUMMARY_WORD, item->name,
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
    if (summary->evidence && item->evidence)
        gv_text_say(out, GV_SUMMARY_INDENT, "", summary->columns, "%s.", item->evidence);
    if (item->fix[0])
        gv_text_lines(out, GV_SUMMARY_INDENT, "", item->fix, summary->columns);
}

/* Some causes have a finding of their own; `waits`: so does compiling. */
static bool line_is_wait(const struct gv_stall_line *line, bool waits)
{
    enum gv_cause cause = gv_cause_find(line->worst->cause ? line->worst->cause : "");

    return !line->waits_behind && !(waits && line->worst->wait_ns == 0) &&
           cause != GV_CAUSE_LAUNCH_BLOCKING && cause != GV_CAUSE_DESCHEDULED &&
           cause != GV_CAUSE_UNKNOWN;
}

/* Returns the first of them; 0: there is none. */
static int64_t walk_stalls(const struct gv_summary_walk *walk, const char *evidence)
{
    const struct gv_summary *summary = walk->summary;
    struct gv_stall_lines lines;
    struct gv_summary_item *item = malloc(sizeof(*item));
    int error = stall_lines_read(summary->trace, summary->part, &lines);
    bool waits = evidence != NULL;
    size_t told = 0, found = 0;
    int64_t first = 0;
    char see[GV_OFFER_BYTES];

    for (size_t i = 0; i < summary->verdict->count && i < GV_VERDICT_TOLD; i++)
        waits |= summary->verdict->findings[i].class == GV_VERDICT_LOAD;
    for (size_t i = 0; item && !error && i < lines.count; i++) {
        if (!line_is_wait(&lines.lines[i], waits) || ++found > GV_SUMMARY_STALLS)
            continue;
        item_of_line(summary, &lines.lines[i], told ? NULL : evidence, item);
        walk->visit(walk->context, item);
        if (told++ == 0)
            first = lines.lines[i].worst->id;
    }
    if (found > told && told > 0 && summary->facts->whole) {
        *item = (struct gv_summary_item){.name = ""};
        snprintf(item->text, sizeof(item->text), "and %zu more: %s", found - told,
                 gv_offer_fill(see, sizeof(see), "gpuverify query FILE stall-lines", summary->path,
                               true));
        walk->visit(walk->context, item);
    }
    stall_lines_free(&lines);
    free(item);
    return first;
}

/* The stalls of a run that has no such finding, unless they cost little. */
static void walk_small_stalls(struct gv_summary_walk *walk)
{
    const struct gv_summary *summary = walk->summary;
    const struct gv_verdict *verdict = summary->verdict;
    struct gv_stall_sums sums;
    int64_t first;

    if (!summary->facts->whole || gv_stall_sums_read(summary->trace, &sums) != 0 ||
        gv_stall_sums_are_small(&sums))
        return;
    first = walk_stalls(walk, NULL);
    /* After a run, the whole report comes before a stall that is no finding, unless nothing else
     * held up the GPU. */
    if (summary->evidence || verdict->count == 0 ||
        verdict->findings[0].class == GV_VERDICT_ACCELERATED)
        walk->stall = first;
}

static void walk_items(struct gv_summary_walk *walk)
{
    const struct gv_summary *summary = walk->summary;
    const struct gv_verdict *verdict = summary->verdict;
    bool told = false; /* of the stalls */
    struct gv_summary_item *item = malloc(sizeof(*item));

    for (size_t i = 0; item && i < verdict->count && i < GV_VERDICT_TOLD; i++) {
        const struct gv_finding *finding = &verdict->findings[i];
        if (finding->class == GV_VERDICT_UNEXPLAINED && !told) {
            walk_small_stalls(walk);
            told = true;
        }
        walk->flight |= finding->class == GV_VERDICT_UNFINISHED;
        /* Which device a stall is about is not known. */
        if (finding->class == GV_VERDICT_STALLED && summary->part->device < 0) {
            walk->stall = walk_stalls(walk, finding->evidence);
            told = true;
        }
        if (finding->class == GV_VERDICT_STALLED && walk->stall)
            continue;
        if (finding->class == GV_VERDICT_IDLE_LINE && !walk->stall && !walk->idle)
            walk->idle = summary->facts->idle[finding->idle].id;
        item_make(summary, finding, item);
        walk->visit(walk->context, item);
    }
    free(item);
    if (!told)
        walk_small_stalls(walk);
}

void gv_summary_each(const struct gv_summary *summary, gv_summary_visit *visit, void *context)
{
    struct gv_summary_walk walk = {.summary = summary, .visit = visit, .context = context};

    walk_items(&walk);
}

/* ", in 3 periods"; nothing for one. */
static const char *say_periods(char out[64], int64_t periods)
{
    char count[GV_FORMAT_BYTES];

    out[0] = '\0';
    if (periods > 1)
        snprintf(out, 64, ", in %s periods", say_count(count, periods));
    return out;
}

/* The program's name, how long it took, and where. */
static int print_head(const struct gv_summary *summary)
{
    const struct gv_run_facts *facts = summary->facts;
    sqlite3_stmt *row = NULL;
    FILE *out = summary->out;
    char text[4 * GV_SUMMARY_NAME], took[GV_FORMAT_BYTES], recorded[GV_FORMAT_BYTES], periods[64];
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
            length += snprintf(text + length, sizeof(text) - (size_t)length,
                               " and %" PRId64 " more", facts->devices_used - 1);
        if (facts->process_ns > facts->recorded_ns)
            snprintf(text + length, sizeof(text) - (size_t)length, "; recorded %s%s of %s%s",
                     facts->older.minutes > 0 ? "in full " : "",
                     gv_format_duration(recorded, facts->recorded_ns),
                     gv_format_duration(took, facts->process_ns),
                     say_periods(periods, facts->recorded_periods));
        fprintf(out, "%sgpuverify:%s ", gv_colour(out, GV_COLOUR_BOLD),
                gv_colour(out, GV_COLOUR_NONE));
        gv_text_lines_on(out, 2, (int)strlen("gpuverify: "), text, summary->columns);
    }
    sqlite3_finalize(row);
    return gv_database_error(summary->trace, result);
}

int gv_summary_blank_unseen(sqlite3 *trace, int64_t from_ns, int64_t to_ns, double *levels,
                            size_t count)
{
    sqlite3_stmt *rows = NULL;
    double column_ns = ((double)to_ns - (double)from_ns) / (double)count;
    double *unseen = calloc(2 * count + 1, sizeof(*unseen)), *between = unseen + count;
    int result = sqlite3_prepare_v2(trace, sql_unseen_times, -1, &rows, NULL);

    while (unseen && (result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        double start = (sqlite3_column_double(rows, 0) - (double)from_ns) / column_ns;
        double end = (sqlite3_column_double(rows, 1) - (double)from_ns) / column_ns;
        double *times = sqlite3_column_int(rows, 2) ? between : unseen;
        for (size_t i = start > 0 ? (size_t)fmin(start, 1e6) : 0; i < count && (double)i < end; i++)
            times[i] += fmin(end, (double)i + 1) - fmax(start, (double)i);
    }
    /* What was seen in windows stands for the rest. */
    for (size_t i = 0; unseen && i < count; i++) {
        if (levels[i] == 0 && unseen[i] + between[i] >= 0.9999)
            levels[i] = -1;
        else if (between[i] > 0)
            levels[i] = fmin(levels[i] / fmax(1 - between[i], 0.0001), 1);
    }
    free(unseen);
    sqlite3_finalize(rows);
    return unseen ? gv_database_error(trace, result) : -ENOMEM;
}

/* How busy the devices were over the time of the run. */
static int read_activity(const struct gv_summary *summary, double levels[GV_SUMMARY_LINE_COLUMNS])
{
    const struct gv_run_facts *facts = summary->facts;
    sqlite3_stmt *rows = NULL;
    double column_ns = (double)(facts->last_ns - facts->first_ns) / GV_SUMMARY_LINE_COLUMNS;
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
    if (result != SQLITE_DONE)
        return gv_database_error(summary->trace, result);
    return gv_summary_blank_unseen(summary->trace, facts->first_ns, facts->last_ns, levels,
                                   GV_SUMMARY_LINE_COLUMNS);
}

static void print_piece(const struct gv_summary *summary, int *column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds pieces to a line, each after three blanks, or on a new line. */
static void print_piece(const struct gv_summary *summary, int *column, const char *format, ...)
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

void gv_summary_busy(const struct gv_run_facts *facts, char out[GV_SUMMARY_BUSY_BYTES])
{
    char part[GV_FACTS_SEEN_BYTES], known[GV_FORMAT_BYTES], busy[GV_FACTS_SHARE_BYTES];

    gv_run_facts_seen(facts, "the time", part);
    if (facts->known_ns < facts->window_ns)
        snprintf(part, sizeof(part), facts->known_first ? " of the first %s" : " of the %s seen",
                 gv_format_duration(known, facts->known_ns));
    else if (!facts->scaled && gv_run_facts_are_of_little(facts))
        snprintf(part, sizeof(part), " of the %s from first to last call",
                 gv_format_duration(known, facts->window_ns));
    snprintf(out, GV_SUMMARY_BUSY_BYTES, "%s%s%s",
             facts->gpu_lost > facts->operations_lost || gv_run_facts_lacks_launches(facts)
                 ? "at least "
                 : "",
             gv_run_facts_busy(facts, busy), part);
}

static void print_busy(const struct gv_summary *summary, int *column)
{
    const struct gv_run_facts *facts = summary->facts;
    double levels[GV_SUMMARY_LINE_COLUMNS];
    char busy[GV_SUMMARY_BUSY_BYTES];

    gv_summary_busy(facts, busy);
    print_piece(summary, column, "GPU%s busy %s", facts->devices_used > 1 ? "s" : "", busy);
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
        print_piece(summary, &column, "%s%s kernel%s", least, say_count(count, facts->kernels_run),
                    plural(facts->kernels_run));
    if (ran && facts->graphs > 0)
        print_piece(summary, &column, "%s graph%s", say_count(count, facts->graphs),
                    plural(facts->graphs));
    if (!ran)
        print_piece(summary, &column, "%s call%s", say_count(count, facts->calls),
                    plural(facts->calls));
    print_piece(summary, &column, "%s stall%s", say_count(count, facts->stalls),
                plural(facts->stalls));
    print_piece(summary, &column, "%s error%s", say_count(count, facts->failed),
                plural(facts->failed));
    if (facts->lost > 0)
        print_piece(summary, &column, "%s record%s lost", say_count(count, facts->lost),
                    plural(facts->lost));
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
    size_t used = strlen(context);
    char place[GV_SUMMARY_TEXT_BYTES / 4];

    gv_frame_text(&frame, place, sizeof(place));
    snprintf((char *)context + used, GV_SUMMARY_TEXT_BYTES - used, "%s %s %s%.0f %%",
             used ? "," : "Most GPU time:", place,
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
    int used, error = summary->facts->ranges[0] ? 0 : gv_steps_compare(summary->trace, &steps);

    if (error || summary->facts->ranges[0] || steps.count == 0)
        return error;
    used = snprintf(text, sizeof(text), "%s step%s of %s", say_count(count, steps.count),
                    plural(steps.count), gv_format_duration(took, steps.median_ns));
    if (steps.name[0])
        used += snprintf(text + used, sizeof(text) - (size_t)used, " (%s `%s`)", steps.source,
                         steps.name);
    if (steps.kinds > 1)
        used += snprintf(text + used, sizeof(text) - (size_t)used, ", of %" PRId64 " kinds",
                         steps.kinds);
    if (steps.warmup > 0)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "; the first %s%s took %s%s%s",
                         steps.warmup > 1 ? say_count(count, steps.warmup) : "",
                         steps.warmup > 1 ? "" : "one", gv_format_duration(took, steps.warmup_ns),
                         steps.warmup_why[0] ? ": " : "", steps.warmup_why);
    if (steps.slowest > 0)
        used += snprintf(text + used, sizeof(text) - (size_t)used,
                         "; the slowest, number %" PRId64 ", took %s longer%s%s%s%s%s",
                         steps.slowest, gv_format_duration(took, steps.lost_ns),
                         steps.slowest_range[0] ? ", mostly in `" : "", steps.slowest_range,
                         steps.slowest_range[0] ? "`" : "", steps.slowest_why[0] ? ": " : "",
                         steps.slowest_why);
    if (steps.drift != 0)
        snprintf(text + used, sizeof(text) - (size_t)used, "; the later half takes %.0f %% %s",
                 (steps.drift > 0 ? steps.drift : -steps.drift) * 100,
                 steps.drift > 0 ? "longer" : "less");
    gv_text_say(summary->out, 2, "", summary->columns, "%s", text);
    return 0;
}

/* What gpuverify itself cost, of the time of a whole run. */
static void print_own_cost(const struct gv_summary *summary)
{
    const struct gv_run_facts *facts = summary->facts;
    char most[64 + GV_FACTS_TEXT_BYTES] = "", spared[64] = "", count[GV_FORMAT_BYTES];
    char once[64] = "", took[GV_FORMAT_BYTES];
    double percent = (double)facts->own_cost_ppm / 1e4;

    if (!facts->whole || facts->own_costs == 0)
        return;
    if (facts->own_cost_most_ppm >= GV_SUMMARY_OWN_COST)
        snprintf(most, sizeof(most), " (%s %.1f %%)", facts->own_cost_most,
                 (double)facts->own_cost_most_ppm / 1e4);
    if (facts->own_cost_once_ns >= GV_SUMMARY_ONCE_NS)
        snprintf(once, sizeof(once), ", and %s at its start and end",
                 gv_format_duration(took, facts->own_cost_once_ns));
    if (facts->stacks_spared > 0)
        snprintf(spared, sizeof(spared), "; %s stack%s skipped to save time",
                 say_count(count, facts->stacks_spared), plural(facts->stacks_spared));
    gv_text_say(summary->out, 2, "", summary->columns, "gpuverify cost %s%.1f %% of this run%s%s%s",
                facts->own_cost_ppm < GV_SUMMARY_OWN_COST ? "less than " : "",
                facts->own_cost_ppm < GV_SUMMARY_OWN_COST ? 0.1 : percent, most, once, spared);
}

/* Prints the next command, and the trace's path. */
static void print_next(const struct gv_summary *summary, int64_t stall, int64_t idle, bool flight)
{
    FILE *out = summary->out;
    char next[GV_OFFER_BYTES], trace[GV_SHELL_WORD_BYTES], command[64] = "";
    int width = 2;

    if (idle && !flight)
        snprintf(command, sizeof(command), "gpuverify explain FILE i%" PRId64, idle);
    else if (stall && !flight)
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

int gv_summary_print_about(const struct gv_summary *summary)
{
    int error = print_head(summary);

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

int gv_summary_print(const struct gv_summary *summary)
{
    struct gv_summary_printed printed = {.summary = summary};
    struct gv_summary_walk walk = {.summary = summary, .visit = item_print, .context = &printed};
    int error = gv_summary_print_about(summary);

    if (!error)
        error = print_paragraph(summary, gv_summary_print_broken);
    if (error)
        return error;
    walk_items(&walk);
    error = print_paragraph(summary, gv_summary_print_notes);
    if (error)
        return error;
    fputc('\n', summary->out);
    print_next(summary, walk.stall, walk.idle, walk.flight);
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
    char next[GV_VERDICT_TEXT_BYTES], offered[GV_OFFER_BYTES], why[256];
    bool missing = class == GV_VERDICT_NOT_STARTED && !gv_driver_file_loads(why, sizeof(why));

    fprintf(out, "%sgpuverify: ", gv_colour(out, GV_COLOUR_BOLD));
    gv_format_text(out, name, GV_SUMMARY_NAME, 0);
    fprintf(out, "%s %s\n", gv_colour(out, GV_COLOUR_NONE),
            class == GV_VERDICT_NOT_RECORDED ? "left no trace" : "made no CUDA call: no trace");
    gv_text_say(out, 2, "", columns, "%s%s", gv_verdict_meaning(class),
                missing ? " NVIDIA's driver, libcuda.so.1, is not on this machine." : "");
    say_next(next, sizeof(next), gv_verdict_next(class), program);
    gv_text_lines(out, 2, "", gv_offer_fill(offered, sizeof(offered), next, "", true), columns);
}
