/* The beginning of a summary: the run. */
#include "report/analyse/names/stack_text.h"
#include "report/analyse/steps/compare.h"
#include "report/analyse/facts/text.h"
#include "report/commands/summary/activity.h"
#include "report/commands/summary/summary.h"
#include "report/commands_summary_summary.inc"
#include "report/show/format.h"
#include "report/show/sparkline.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"
#include "trace/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* With fewer columns than these, there is no bar, which has so many. */
#define GV_SUMMARY_NARROW 70
#define GV_SUMMARY_BAR    40
#define COPIES_TOLD       5 /* of busy time: above a fifth */
/* 0.1 % in millionths: own costs below this are not shown. */
#define GV_SUMMARY_OWN_COST 1000

#define add(text, ...) gv_format_add(text, GV_SUMMARY_TEXT_BYTES, __VA_ARGS__)

struct head {
    const struct gv_summary *summary;
    const struct gv_summary_ledger *ledger;
};

/* ": 6.9 s before CUDA, start 9.1 s, 136 steps of 79.5 ms, end 0.1 s" */
static void say_phases(const struct gv_summary_ledger *ledger, int64_t took_ns, char *text)
{
    const struct gv_summary_lane *lane = &ledger->lanes[0];
    int64_t ns[GV_SUMMARY_PHASES];
    char took[GV_FORMAT_BYTES], count[GV_FORMAT_BYTES];
    const char *comma = ":";

    if (ledger->lanes_told == 0)
        return;
    for (size_t i = 0; i < GV_SUMMARY_PHASES; i++)
        ns[i] = gv_summary_time_sum(&lane->phases[i]);
    if (lane->begin_ns > took_ns / GV_SUMMARY_LITTLE) {
        add(text, "%s %s before CUDA", comma, gv_format_duration(took, lane->begin_ns));
        comma = ",";
    }
    if (ns[0] > 0) {
        add(text, "%s start %s", comma, gv_format_duration(took, ns[0]));
        comma = ",";
    }
    if (lane->steps > 0 && ns[1] > 0) {
        add(text, "%s %s step%s of %s", comma, gv_format_count(count, lane->steps),
            gv_format_plural(lane->steps), gv_format_duration(took, ns[1] / lane->steps));
        /* A few long ones, or time between them, say little of the others. */
        if (ns[1] / lane->steps / 3 >= lane->median_ns / 2)
            add(text, " on average (median %s)", gv_format_duration(took, lane->median_ns));
    } else if (ns[1] > 0)
        add(text, "%s main %s", comma, gv_format_duration(took, ns[1]));
    if (ns[2] > 0 && ns[0] + ns[1] > 0)
        add(text, ", end %s", gv_format_duration(took, ns[2]));
}

/* The program's name, how long it took, where, and the phases of the lane that computes most. */
static int say_head(void *context, sqlite3_stmt *row)
{
    const struct head *head = context;
    const struct gv_summary *summary = head->summary;
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
    say_phases(head->ledger, sqlite3_column_int64(row, 1), text);
    fprintf(out, "%sgpuverify:%s ", gv_colour(out, GV_COLOUR_BOLD), gv_colour(out, GV_COLOUR_NONE));
    gv_text_lines_on(out, 2, (int)strlen("gpuverify: "), text, summary->columns);
    return 0;
}

/* What the run is, if its ledger does not say that. */
static void print_headline(const struct gv_summary *summary)
{
    const struct gv_run_facts *facts = summary->facts;
    bool ran = facts->operations > 0 && facts->kernels_run + facts->graphs > 0;
    char headline[GV_FACTS_SENTENCE_BYTES], busy[GV_SUMMARY_BUSY_BYTES];

    gv_facts_say_headline(facts, headline);
    if (!ran || !facts->whole || !facts->complete)
        gv_text_lines(summary->out, 2, "", headline, summary->columns);
    if (facts->sampled_calls == 0 || facts->ranges[0])
        return;
    gv_summary_busy(facts, busy);
    gv_text_say(summary->out, 2, "", summary->columns, "GPU%s busy %s",
                facts->devices_used > 1 ? "s" : "", busy);
}

bool gv_summary_worked(const struct gv_summary_ledger *ledger)
{
    return ledger->lanes_told > 0 && ledger->shown_ns > 0;
}

void gv_summary_say_time(const struct gv_summary_ledger *ledger, char out[GV_SUMMARY_TEXT_BYTES])
{
    const struct gv_summary_lane *lane = &ledger->lanes[0];
    const struct gv_summary_time time = gv_summary_time_of(lane, ledger->stepped);
    char *text = out, part[GV_FORMAT_BYTES];
    const struct {
        const char *before, *after;
        int64_t ns;
    } rest[] = {{"idle ", "", time.idle_ns},
                {"", " not known", time.unknown_ns},
                {"", " without a request", time.no_request_ns},
                {"", " not seen", time.not_seen_ns}};

    out[0] = '\0';
    if (ledger->lanes_told == 0)
        return;
    add(text, "GPU busy %s%s", lane->device < 0 ? "at least " : "",
        gv_format_duration(part, gv_summary_each_ns(ledger, time.busy_ns)));
    if (time.copy_ns > time.busy_ns / COPIES_TOLD)
        add(text, " (copies %s)",
            gv_format_duration(part, gv_summary_each_ns(ledger, time.copy_ns)));
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
        if (rest[i].ns > 0)
            add(text, ", %s%s%s", rest[i].before,
                gv_format_duration(part, gv_summary_each_ns(ledger, rest[i].ns)), rest[i].after);
}

/* The time in which the GPU was busy, and in which it was not; blanks for what is in no share. */
static void print_bar(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    const struct gv_summary_time time = gv_summary_time_of(&ledger->lanes[0], ledger->stepped);
    double all_ns = (double)gv_summary_time_sum(&time), busy_ns = (double)time.busy_ns;
    double aside_ns = (double)time.no_request_ns + (double)time.not_seen_ns;
    bool wide = summary->columns >= GV_SUMMARY_NARROW;
    char text[GV_SUMMARY_TEXT_BYTES];
    double levels[GV_SUMMARY_BAR];

    if (all_ns <= 0)
        return;
    gv_summary_say_time(ledger, text);
    for (size_t i = 0; i < GV_SUMMARY_BAR; i++) {
        double at_ns = ((double)i + 0.5) / GV_SUMMARY_BAR * all_ns;
        levels[i] = at_ns < busy_ns ? 1 : at_ns < all_ns - aside_ns ? 0 : -1;
    }
    if (busy_ns > 0)
        levels[0] = 1;
    fprintf(summary->out, "  %s   ", ledger->stepped ? "one step" : "the run");
    if (wide) {
        gv_sparkline(summary->out, levels, GV_SUMMARY_BAR);
        fputs("   ", summary->out);
    }
    gv_text_lines_on(summary->out, 2, (ledger->stepped ? 13 : 12) + (wide ? GV_SUMMARY_BAR + 3 : 0),
                     text, summary->columns);
}

/* The program's steps, if they differ. Not of chosen ranges only. */
static int print_steps(const struct gv_summary *summary)
{
    struct gv_steps_compared steps;
    char text[GV_SUMMARY_TEXT_BYTES] = "", count[GV_FORMAT_BYTES], took[GV_FORMAT_BYTES];
    int error = summary->facts->ranges[0] ? 0 : gv_steps_compare(summary->trace, &steps);

    if (error || summary->facts->ranges[0] || steps.count == 0)
        return error;
    if (steps.warmup == 0 && steps.slowest == 0 && steps.drift == 0 && steps.kinds <= 1 &&
        !steps.name[0])
        return 0;
    add(text, "Of all %s step%s", gv_format_count(count, steps.count),
        gv_format_plural(steps.count));
    if (steps.name[0])
        add(text, " (%s `%s`)", steps.source, steps.name);
    add(text, " the median took %s", gv_format_duration(took, steps.median_ns));
    if (steps.warmup > 0)
        add(text, "; the first %s took %s%s%s%s",
            steps.warmup > 1 ? gv_format_count(count, steps.warmup) : "one",
            gv_format_duration(took, steps.warmup_ns), steps.warmup > 1 ? " together" : "",
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

/* Who else had the GPU while queued work waited, or steps were slow. */
static int say_other(void *context, sqlite3_stmt *row)
{
    const struct gv_summary *summary = context;
    int64_t bytes = sqlite3_column_int64(row, 2);
    char from[GV_FORMAT_BYTES], to[GV_FORMAT_BYTES], size[GV_FORMAT_BYTES];

    gv_text_say(summary->out, 2, "", summary->columns,
                "Another process also used the GPU from %s to %s%s%s%.110s; present for %.200s",
                gv_format_duration(from, gv_time_column(row, 0)),
                gv_format_duration(to, gv_time_column(row, 1)), bytes > 0 ? ", with up to " : "",
                bytes > 0 ? gv_format_size(size, bytes) : "", gv_database_text(row, 3),
                gv_database_text(row, 4));
    return 0;
}

/* What gpuverify itself cost, of the time of a whole run. */
static void print_own_cost(const struct gv_summary *summary)
{
    const struct gv_run_facts *facts = summary->facts;
    bool little = facts->own_cost_ppm < GV_SUMMARY_OWN_COST;

    if (!facts->whole || facts->own_costs == 0)
        return;
    gv_text_say(summary->out, 2, "", summary->columns, "gpuverify cost %s%.1f %% of this run%s",
                little                     ? "less than "
                : facts->own_cost_is_least ? "at least "
                                           : "",
                little ? 0.1 : (double)facts->own_cost_ppm / 1e4,
                little && facts->own_cost_is_least ? ", without what CUPTI costs the GPU"
                : !little && facts->own_cost_once_ppm > facts->own_cost_ppm / 2
                    ? ", most of it at its start and end"
                    : "");
}

/* The calls that should have returned at once, with the worst. */
static int take_worst(void *context, sqlite3_stmt *row)
{
    const struct gv_summary *summary = context;
    const struct gv_run_facts *facts = summary->facts;
    const char *cause = (const char *)sqlite3_column_text(row, 1);
    const char *name = (const char *)sqlite3_column_text(row, 4);
    bool is_known = cause && strcmp(cause, "unknown") != 0;
    char where[GV_SUMMARY_TEXT_BYTES / 4], lost[GV_FORMAT_BYTES], count[GV_FORMAT_BYTES];
    int error =
        gv_stack_text(summary->trace, sqlite3_column_int64(row, 3), 1, where, sizeof(where));

    gv_text_say(summary->out, 2, "", summary->columns,
                "Calls that should return at once, but waited: %s, the worst for %s (%s%s%.400s; "
                "explain s%" PRId64 ").",
                gv_format_count(count, facts->stalls),
                gv_format_duration(lost, gv_time_column_duration(row, 2)), is_known ? cause : "",
                is_known ? ", " : "",
                !error && where[0] ? where
                : name             ? name
                                   : "a call",
                (int64_t)sqlite3_column_int64(row, 0));
    return error;
}

static int take_start(void *context, sqlite3_stmt *row)
{
    char *text = context, took[GV_FORMAT_BYTES];

    add(text, "%s %.40s %s", text[0] ? "," : "Start:", (const char *)sqlite3_column_text(row, 0),
        gv_format_duration(took, gv_time_column_duration(row, 1)));
    return 0;
}

/* What the time before the loop was. */
static int print_start(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    const int64_t values[] = {ledger->lanes[0].process, ledger->lanes[0].device};
    char text[GV_SUMMARY_TEXT_BYTES] = "";
    int error = ledger->stepped
                    ? gv_database_each(summary->trace, sql_start, values, 2, take_start, text)
                    : 0;

    if (text[0])
        gv_text_lines(summary->out, 2, "", text, summary->columns);
    return error;
}

int gv_summary_print_head(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    struct head head = {.summary = summary, .ledger = ledger};
    int error =
        gv_database_each(summary->trace, sql_head, &summary->facts->last_ns, 1, say_head, &head);

    if (error)
        return error;
    print_headline(summary);
    if (gv_summary_worked(ledger))
        print_bar(summary, ledger);
    return 0;
}

int gv_summary_print_rest(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    const struct gv_totals_part *part = summary->part;
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    const int64_t lane[] = {ledger->lanes[0].process, ledger->lanes[0].device};
    int error =
        gv_database_each(summary->trace, sql_worst_stall, values, 4, take_worst, (void *)summary);

    if (!error)
        error = print_start(summary, ledger);
    if (!error)
        error = print_steps(summary);
    if (!error)
        error = gv_database_each(summary->trace, sql_other_process, lane, 2, say_other,
                                 (void *)summary);
    if (!error)
        print_own_cost(summary);
    return error;
}
