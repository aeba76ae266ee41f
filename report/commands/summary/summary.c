#include "report/commands/summary/summary.h"

#include "report/analyse/names/stack_text.h"
#include "report/commands/offer.h"
#include "report/commands/summary/notes.h"
#include "report/commands_summary_summary.inc"
#include "report/show/format.h"
#include "report/show/shown_path.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a finding's number, of its name, and of its time. */
#define GV_SUMMARY_INDENT 5
#define GV_SUMMARY_WORD   15
#define GV_SUMMARY_TIME   8
/* With fewer columns than these, a finding's text has its own lines. */
#define GV_SUMMARY_NARROW 90
/* A share with a larger standard error is "about" that. */
#define GV_SUMMARY_EXACT 0.0025
/* Kernels that leave so much of the GPU empty are worth saying. */
#define GV_SUMMARY_UNDERFILLED 0.5

#define add(text, ...) gv_format_add(text, GV_SUMMARY_TEXT_BYTES, __VA_ARGS__)

struct row {
    const char *number, *name, *share, *text;
    int64_t ns; /* -1: none */
    enum gv_colour colour;
};

static void print_row(const struct gv_summary *summary, const struct row *row)
{
    FILE *out = summary->out;
    char time[GV_FORMAT_BYTES] = "";
    int column = GV_SUMMARY_INDENT, name = (int)strlen(row->name);

    if (row->ns >= 0)
        gv_format_duration(time, row->ns);
    fprintf(out, "  %-3s%s%-*s%s %s%*s%s", row->number, gv_colour(out, GV_COLOUR_BOLD),
            GV_SUMMARY_WORD, row->name, gv_colour(out, GV_COLOUR_NONE), gv_colour(out, row->colour),
            GV_SUMMARY_TIME, time, gv_colour(out, GV_COLOUR_NONE));
    column += (name > GV_SUMMARY_WORD ? name : GV_SUMMARY_WORD) + 1 +
              (strlen(time) > GV_SUMMARY_TIME ? (int)strlen(time) : GV_SUMMARY_TIME);
    if (row->share[0]) {
        fprintf(out, "  %4s", row->share);
        column += 2 + (strlen(row->share) > 4 ? (int)strlen(row->share) : 4);
    }
    if (!row->text[0]) {
        fputc('\n', out);
    } else if (summary->columns < GV_SUMMARY_NARROW) {
        fputc('\n', out);
        gv_text_lines(out, GV_SUMMARY_INDENT, "     ", row->text, summary->columns);
    } else {
        fputs("  ", out);
        gv_text_lines_on(out, column + 2, column + 2, row->text, summary->columns);
    }
}

/* What is true beside the ledger; not what its first line says anyway. */
static void print_facts(const struct gv_summary *summary)
{
    char next[GV_OFFER_BYTES];

    for (size_t i = 0; i < summary->list->count; i++) {
        const struct gv_fact *fact = &summary->list->facts[i];
        if (fact->name == GV_FACT_ACCELERATED)
            continue;
        fprintf(summary->out, "%s  %s%s%s   ", i ? "" : "\n",
                gv_colour(summary->out, GV_COLOUR_COST), fact->text,
                gv_colour(summary->out, GV_COLOUR_NONE));
        gv_text_lines_on(summary->out, GV_SUMMARY_INDENT, (int)strlen(fact->text) + 5, fact->detail,
                         summary->columns);
        gv_text_say(summary->out, GV_SUMMARY_INDENT, "", summary->columns, "fix: %s",
                    gv_offer_fill(next, sizeof(next), fact->next, summary->path, false));
    }
}

static int print_finding(const struct gv_summary *summary, const struct gv_summary_ledger *ledger,
                         const struct gv_summary_finding *finding)
{
    char share[GV_FORMAT_BYTES], number[24], *text = calloc(1, GV_SUMMARY_TEXT_BYTES);
    const struct gv_summary_finding *same;

    if (!text)
        return -ENOMEM;
    snprintf(number, sizeof(number), "%" PRId64, finding->id);
    /* What is below one hundredth is no alarm. */
    bool is_much = finding->lost_ns >= ledger->shown_ns / GV_SUMMARY_LITTLE;
    bool is_placed = finding->place[0] || finding->saves_ns >= 0;

    add(text, "%s%s%s",
        finding->place[0] ? finding->place
        : is_placed       ? "line not known"
                          : "",
        is_placed && finding->title[0] ? ": " : "", finding->title);
    print_row(
        summary,
        &(struct row){.number = number,
                      .name = finding->what,
                      .share = finding->saves_ns < 0
                                   ? "" /* other findings have this time */
                                   : gv_summary_share(finding->lost_ns, ledger->shown_ns, share),
                      .text = text,
                      .ns = finding->lost_ns > 0 ? gv_summary_lost_ns(ledger, finding) : -1,
                      .colour = !is_much        ? GV_COLOUR_NONE
                                : finding->sure ? GV_COLOUR_COST
                                                : GV_COLOUR_MAY});
    for (same = ledger->findings; same < finding && strcmp(same->fix, finding->fix) != 0; same++)
        ;
    gv_summary_fix(summary, finding, same < finding ? same->id : 0, text);
    if (text[0])
        gv_text_lines(summary->out, GV_SUMMARY_INDENT, "", text, summary->columns);
    free(text);
    return 0;
}

/* What no finding above is about, and what the GPU did. */
static int print_sums(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    const struct gv_summary_time time = gv_summary_time_of(&ledger->lanes[0], ledger->stepped);
    int64_t all_ns = ledger->shown_ns, rest_ns = gv_summary_rest_ns(ledger);
    int64_t more = ledger->finding_count - (int64_t)ledger->told;
    char share[GV_FORMAT_BYTES], offer[GV_OFFER_BYTES];
    char *text = calloc(1, GV_SUMMARY_TEXT_BYTES);
    int error = text ? 0 : -ENOMEM;

    if (!error && more > 0)
        add(text, "%" PRId64 " more: %s", more,
            gv_offer_fill(offer, sizeof(offer), "gpuverify query FILE findings", summary->path,
                          false));
    if (!error && gv_summary_each_ns(ledger, rest_ns) > 0)
        print_row(summary, &(struct row){.number = "",
                                         .name = "the rest",
                                         .share = gv_summary_share(rest_ns, all_ns, share),
                                         .text = text,
                                         .ns = gv_summary_each_ns(ledger, rest_ns)});
    if (!error)
        error = gv_summary_say_busy(summary, ledger, text);
    if (!error && (time.busy_ns > 0 || text[0])) {
        print_row(summary, &(struct row){.number = "",
                                         .name = "busy",
                                         .share = gv_summary_share(time.busy_ns, all_ns, share),
                                         .text = text,
                                         .ns = gv_summary_each_ns(ledger, time.busy_ns)});
    }
    free(text);
    return error;
}

/* One line for each lane but the first. */
static void print_lanes(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    char text[GV_SUMMARY_TEXT_BYTES], share[GV_FORMAT_BYTES], all[GV_FORMAT_BYTES];
    char offer[GV_OFFER_BYTES];

    for (size_t i = 1; i < ledger->lanes_told; i++) {
        const struct gv_summary_lane *lane = &ledger->lanes[i];
        const struct gv_summary_time time = gv_summary_time_of(lane, false);
        int64_t all_ns = gv_summary_time_sum(&time);
        text[0] = '\0';
        if (lane->device >= 0)
            add(text, "Device %" PRId64 " of process %" PRId64, lane->device, lane->pid);
        else
            add(text, "Process %" PRId64, lane->pid);
        add(text, ": GPU busy %s of %s", gv_summary_share(time.busy_ns, all_ns, share),
            gv_format_duration(all, all_ns));
        if (lane->first.id)
            add(text, "; first f%" PRId64 ", %s%s%s", lane->first.id, lane->first.what,
                lane->first.place[0] ? " at " : "", lane->first.place);
        gv_text_lines(summary->out, 2, "", text, summary->columns);
    }
    if (ledger->lane_count > (int64_t)ledger->lanes_told)
        gv_text_say(summary->out, 2, "", summary->columns,
                    "and %" PRId64 " more devices of processes: %s",
                    ledger->lane_count - (int64_t)ledger->lanes_told,
                    gv_offer_fill(offer, sizeof(offer), "gpuverify query FILE ledger",
                                  summary->path, false));
}

static int print_findings(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    const struct gv_summary_time time = gv_summary_time_of(&ledger->lanes[0], ledger->stepped);
    char none[GV_SUMMARY_TEXT_BYTES];
    int error = 0;

    if (!gv_summary_worked(ledger))
        return 0;
    fputc('\n', summary->out);
    for (size_t i = 0; i < ledger->told && !error; i++)
        error = print_finding(summary, ledger, &ledger->findings[i]);
    if (ledger->told == 0 && time.busy_ns > 0) {
        gv_summary_say_none(ledger, none);
        gv_text_say(summary->out, 2, "", summary->columns, "%s.", none);
    }
    if (!error)
        error = print_sums(summary, ledger);
    print_lanes(summary, ledger);
    return error;
}

/* Prints the next command, and the trace's path. */
static void print_next(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    FILE *out = summary->out;
    char next[GV_OFFER_BYTES], trace[GV_SHELL_WORD_BYTES], command[64] = "";
    bool hangs = false;
    int width = 2;

    for (size_t i = 0; i < summary->list->count; i++)
        hangs |= summary->list->facts[i].name == GV_FACT_UNFINISHED;
    if (ledger->told > 0 && gv_summary_worked(ledger) && !hangs)
        snprintf(command, sizeof(command), "gpuverify explain FILE f%" PRId64,
                 ledger->findings[0].id);
    else if (hangs || summary->facts->stalls > 0)
        snprintf(command, sizeof(command), "gpuverify explain FILE");
    else if (!summary->evidence)
        snprintf(command, sizeof(command), "gpuverify report FILE");
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

/* ---- what took the busy time ---- */

static int take_gpu_line(void *context, sqlite3_stmt *row)
{
    const struct gv_frame_names frame = {
        .function = (const char *)sqlite3_column_text(row, 0),
        .library = (const char *)sqlite3_column_text(row, 1),
        .file = (const char *)sqlite3_column_text(row, 2),
        .line = sqlite3_column_int64(row, 3),
    };
    char *text = context, place[GV_SUMMARY_TEXT_BYTES / 4];

    gv_frame_text(&frame, place, sizeof(place));
    add(text, "%s%s%.0f %% %s",
        strstr(text, "of it ") ? ", "
        : text[0]              ? "; of it "
                               : "of it ",
        sqlite3_column_double(row, 5) > GV_SUMMARY_EXACT ? "about " : "",
        sqlite3_column_double(row, 4) * 100, place);
    return 0;
}

static int take_words(void *context, sqlite3_stmt *row)
{
    snprintf(context, GV_SUMMARY_TEXT_BYTES, "%s", gv_database_text(row, 0));
    return 0;
}

int gv_summary_say_busy(const struct gv_summary *summary, const struct gv_summary_ledger *ledger,
                        char out[GV_SUMMARY_TEXT_BYTES])
{
    const struct gv_run_facts *facts = summary->facts;
    const int64_t values[] = {ledger->lanes[0].process, ledger->lanes[0].device,
                              ledger->stepped ? GV_SUMMARY_MAIN : GV_SUMMARY_PHASES};
    bool some = facts->known_ns < facts->window_ns || facts->gpu_lost > facts->operations_lost ||
                gv_run_facts_lacks_launches(facts);
    char *text = out, count[GV_FORMAT_BYTES];

    out[0] = '\0';
    int error = gv_database_each(summary->trace, sql_use, values, 3, take_words, out);
    const size_t use = strlen(out);
    if (!error)
        error = gv_database_each(summary->trace, sql_gpu_lines, NULL, 0, take_gpu_line, out);
    if (!out[use] && facts->graph_time_ns > facts->kernel_time_ns)
        add(text, "%smostly graphs", use ? "; " : "");
    else if (!out[use] && facts->top_kernel[0])
        add(text, "%smostly %.200s", use ? "; " : "", facts->top_kernel);
    if (gv_run_facts_underfilled(facts) >= GV_SUMMARY_UNDERFILLED &&
        gv_run_facts_filled(facts) < GV_SUMMARY_UNDERFILLED)
        add(text, "; the GPU's SMs filled to %.*f %%", gv_run_facts_filled(facts) < 0.0995 ? 1 : 0,
            100 * gv_run_facts_filled(facts));
    if (facts->kernels_run > 0)
        add(text, "; %s%s kernel%s in all", some ? "at least " : "",
            gv_format_count(count, facts->kernels_run), gv_format_plural(facts->kernels_run));
    if (facts->graphs > 0)
        add(text, "%s %s graph%s%s", facts->kernels_run > 0 ? "," : ";",
            gv_format_count(count, facts->graphs), gv_format_plural(facts->graphs),
            facts->kernels_run > 0 ? "" : " in all");
    return error;
}

/* A paragraph that a function prints, after an empty line. */
typedef int print_part(const struct gv_summary *summary, const struct gv_summary_ledger *ledger);

static int print_paragraph(const struct gv_summary *summary, const struct gv_summary_ledger *ledger,
                           print_part *print)
{
    struct gv_summary part = *summary;
    char *text = NULL;
    size_t bytes = 0;
    int error;

    part.out = open_memstream(&text, &bytes);
    if (!part.out)
        return -ENOMEM;
    error = print(&part, ledger);
    if (fclose(part.out) == EOF && !error)
        error = -ENOMEM;
    if (!error && bytes > 0)
        fprintf(summary->out, "\n%s", text);
    free(text);
    return error;
}

static int print_broken(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    (void)ledger;
    return gv_summary_print_broken(summary, false);
}

static int print_notes(const struct gv_summary *summary, const struct gv_summary_ledger *ledger)
{
    (void)ledger;
    return gv_summary_print_notes(summary, false);
}

int gv_summary_print(const struct gv_summary *summary)
{
    struct gv_summary_ledger *ledger = malloc(sizeof(*ledger));
    int error = ledger ? gv_summary_ledger_read(summary, ledger) : -ENOMEM;

    if (!error)
        error = gv_summary_print_head(summary, ledger);
    if (!error)
        error = print_paragraph(summary, ledger, print_broken);
    if (!error) {
        print_facts(summary);
        error = print_findings(summary, ledger);
    }
    if (!error)
        error = print_paragraph(summary, ledger, gv_summary_print_rest);
    if (!error)
        error = print_paragraph(summary, ledger, print_notes);
    if (!error) {
        fputc('\n', summary->out);
        print_next(summary, ledger);
    }
    free(ledger);
    return error;
}
