#include "report/commands/summary/summary.h"

#include "report/commands/doctor/driver_file.h"
#include "report/commands/offer.h"
#include "report/commands/summary/findings.h"
#include "report/commands/summary/notes.h"
#include "report/show/format.h"
#include "report/show/shown_path.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a finding's number and name. */
#define GV_SUMMARY_INDENT 5
#define GV_SUMMARY_WORD   15
/* With fewer columns than these, a finding's text has its own lines. */
#define GV_SUMMARY_NARROW 90
/* Saving less than this share of the run is "little". */
#define GV_SUMMARY_LITTLE 100

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

/* Prints the next command, and the trace's path. */
static void print_next(const struct gv_summary *summary, const struct gv_summary_next *what)
{
    FILE *out = summary->out;
    char next[GV_OFFER_BYTES], trace[GV_SHELL_WORD_BYTES], command[64] = "";
    int width = 2;

    if (what->idle && !what->flight)
        snprintf(command, sizeof(command), "gpuverify explain FILE i%" PRId64, what->idle);
    else if (what->stall && !what->flight)
        snprintf(command, sizeof(command), "gpuverify explain FILE s%" PRId64, what->stall);
    else if (what->flight || !summary->evidence)
        snprintf(command, sizeof(command), "gpuverify %s FILE",
                 what->flight ? "explain" : "report");
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
    struct gv_summary_printed printed = {.summary = summary};
    struct gv_summary_next next;
    int error = gv_summary_print_about(summary);

    if (!error)
        error = print_paragraph(summary, gv_summary_print_broken);
    if (error)
        return error;
    next = gv_summary_each(summary, item_print, &printed);
    error = print_paragraph(summary, gv_summary_print_notes);
    if (error)
        return error;
    fputc('\n', summary->out);
    print_next(summary, &next);
    return 0;
}

/* ---- without a trace ---- */

void gv_summary_print_without(FILE *out, const char *name, const char *program,
                              enum gv_verdict_class class, int columns)
{
    char said[GV_VERDICT_TEXT_BYTES], offered[GV_OFFER_BYTES], why[256];
    const char *next = gv_verdict_next(class), *place = strstr(next, "PROGRAM");
    bool missing = class == GV_VERDICT_NOT_STARTED && !gv_driver_file_loads(why, sizeof(why));

    fprintf(out, "%sgpuverify: ", gv_colour(out, GV_COLOUR_BOLD));
    gv_format_text(out, name, GV_SUMMARY_NAME, 0);
    fprintf(out, "%s %s\n", gv_colour(out, GV_COLOUR_NONE),
            class == GV_VERDICT_NOT_RECORDED ? "left no trace" : "made no CUDA call: no trace");
    gv_text_say(out, 2, "", columns, "%s%s", gv_verdict_meaning(class),
                missing ? " NVIDIA's driver, libcuda.so.1, is not on this machine." : "");
    if (place)
        snprintf(said, sizeof(said), "Next: %.*s%.200s%s", (int)(place - next), next, program,
                 place + strlen("PROGRAM"));
    else
        snprintf(said, sizeof(said), "Next: %s", next);
    gv_text_lines(out, 2, "", gv_offer_fill(offered, sizeof(offered), said, "", true), columns);
}
