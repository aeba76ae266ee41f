/* A comparison for people: text and markdown. */
#include "report/commands/diff/diff.h"

#include "report/analyse/names/kernel_name.h"
#include "report/show/format.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What report/commands/diff/areas.sql calls these times. */
#define GV_RUN_STALLED "stalled"
#define GV_RUN_ASKED   "requested waits"

#define GV_DIFF_INDENT     8
#define GV_DIFF_LINE_BYTES 1400
#define GV_DIFF_COLUMNS    6u
#define GV_DIFF_FIRST      3 /* the first so many in the head */
#define GV_DIFF_NAME_BYTES (2 * GV_KERNEL_NAME_BYTES)

/* A line of the head; `first` is no longer than the indent. */
static void diff_line(const struct gv_diff_style *style, const char *first, const char *text)
{
    bool markdown = style->format == GV_FORMAT_MARKDOWN;

    if (markdown)
        fputs(first[0] ? "- " : "  ", style->out);
    gv_text_lines(style->out, markdown ? 0 : GV_DIFF_INDENT, first, text, style->columns);
}

struct diff_keys {
    size_t traces;
    const char *head;
    char text[GV_DIFF_LINE_BYTES];
};

/* "waits loss.py log_loss (2 of 3)" */
static int diff_say_key(void *context, sqlite3_stmt *row)
{
    struct diff_keys *keys = context;
    size_t told = (size_t)sqlite3_column_int64(row, 1);

    gv_format_add(keys->text, sizeof(keys->text), "%s%s", keys->text[0] ? "; " : keys->head,
                  (const char *)sqlite3_column_text(row, 0));
    if (told < keys->traces)
        gv_format_add(keys->text, sizeof(keys->text), " (%zu of %zu)", told, keys->traces);
    return 0;
}

static int diff_print_side(const struct gv_diff *diff, const struct gv_diff_style *style,
                           size_t side)
{
    const struct gv_diff_run *run = &diff->runs[side ? diff->counts[0] : 0];
    struct diff_keys keys = {.traces = diff->counts[side], .head = "findings: "};
    struct diff_keys facts = {.traces = diff->counts[side], .head = "facts: "};
    char text[GV_DIFF_LINE_BYTES];
    int error = gv_diff_each(diff, side, GV_DIFF_FINDINGS, GV_DIFF_FIRST, diff_say_key, &keys);

    if (!error)
        error = gv_diff_each(diff, side, GV_DIFF_FACTS, -1, diff_say_key, &facts);

    if (diff->counts[side] > 1)
        snprintf(text, sizeof(text), "%.800s and %zu more", run->path, diff->counts[side] - 1);
    else
        snprintf(text, sizeof(text), "%.800s: %s", run->path, run->headline);
    diff_line(style, side == 0 ? "before  " : "after   ", text);
    diff_line(style, "", keys.text[0] ? keys.text : "no finding");
    if (facts.text[0])
        diff_line(style, "", facts.text);
    return error;
}

/* Prints what weakens the comparison. */
static void diff_print_doubts(const struct gv_diff *diff, size_t number,
                              const struct gv_diff_style *style)
{
    const struct gv_diff_run *first = &diff->runs[0], *run = &diff->runs[number];
    char text[GV_DIFF_LINE_BYTES];

    if (run->gpu_seen && first->gpu_seen && strcmp(first->device, run->device) != 0) {
        snprintf(text, sizeof(text), "%.400s ran on %.200s, %.400s on %.200s.", run->path,
                 run->device[0] ? run->device : "a device without a name", first->path,
                 first->device[0] ? first->device : "one without a name");
        diff_line(style, "!", text);
    }
    if (!run->complete) {
        snprintf(text, sizeof(text), "%.400s is not complete: its program still ran.", run->path);
        diff_line(style, "!", text);
    }
    if (run->sampled) {
        snprintf(text, sizeof(text),
                 "%.400s has samples of the GPU side: its GPU times are estimates.", run->path);
        diff_line(style, "!", text);
    }
    if (run->lost > 0) {
        snprintf(text, sizeof(text), "%.400s lost %" PRId64 " record%s.", run->path, run->lost,
                 run->lost == 1 ? "" : "s");
        diff_line(style, "!", text);
    }
}

static int diff_print_head(const struct gv_diff *diff, const struct gv_diff_style *style)
{
    char text[GV_DIFF_LINE_BYTES];
    bool seen = true;
    int error = 0;

    for (size_t side = 0; side < GV_DIFF_SIDES && !error; side++)
        error = diff_print_side(diff, style, side);
    for (size_t run = 0; run < diff->counts[0] + diff->counts[1]; run++) {
        diff_print_doubts(diff, run, style);
        seen &= diff->runs[run].gpu_seen;
    }
    fputs(style->format == GV_FORMAT_MARKDOWN ? "\n" : "", style->out);
    if (!seen)
        gv_text_lines(style->out, 0, "",
                      "GPU activity was not recorded completely on both sides: only calls are"
                      " compared.",
                      style->columns);
    gv_diff_say_test(text, sizeof(text), diff);
    gv_text_lines(style->out, 0, "", text, style->columns);
    return error;
}

/* A change of one of the run's times; 0: not shown. */
static double diff_of_run(const struct gv_diff *diff, const char *what)
{
    for (size_t i = 0; i < diff->count; i++)
        if (diff->changes[i].area == GV_DIFF_AREA_run && diff->changes[i].unit == GV_DIFF_NS &&
            diff->changes[i].different && strcmp(diff->changes[i].what, what) == 0)
            return diff->changes[i].change;
    return 0;
}

/* Prints if a stall is gone, but the run takes as long as before. */
static void diff_print_freed(const struct gv_diff *diff, const struct gv_diff_style *style)
{
    double stalled = -diff_of_run(diff, GV_RUN_STALLED);
    double asked = diff_of_run(diff, GV_RUN_ASKED);
    char time[GV_FORMAT_BYTES], waited[GV_FORMAT_BYTES];

    if (stalled <= 0 || asked < stalled / 2)
        return;
    fputc('\n', style->out);
    gv_text_say(
        style->out, 0, "", style->columns,
        "Stalls cost %s less than before, but requested waits take %s more: until the program"
        " reaches them, the host is free for other work.",
        gv_format_duration(time, gv_diff_whole(stalled)),
        gv_format_duration(waited, gv_diff_whole(asked)));
}

static void diff_print_title(const struct gv_diff_style *style, const char *title)
{
    if (style->format == GV_FORMAT_MARKDOWN)
        fprintf(style->out, "\n## %s\n\n", title);
    else
        fprintf(style->out, "\n%s%s%s\n", gv_colour(style->out, GV_COLOUR_BOLD), title,
                gv_colour(style->out, GV_COLOUR_NONE));
}

/* The row of a count next to those of times says what it counts; one of each time says that. */
static void diff_say_what(char out[GV_DIFF_NAME_BYTES], const struct gv_diff_change *change,
                          const char *name)
{
    const char *counted = gv_diff_areas[change->area].counted;

    snprintf(out, GV_DIFF_NAME_BYTES, "%s%s%s%s", name,
             change->unit == GV_DIFF_COUNT && counted[0] ? ", " : "",
             change->unit == GV_DIFF_COUNT ? counted : "",
             change->times <= 0                    ? ""
             : gv_diff_areas[change->area].by_step ? ", a step"
                                                   : ", each");
}

static void diff_print_change(const struct gv_diff *diff, const struct gv_diff_change *change,
                              struct gv_rows *rows)
{
    char text[GV_DIFF_TEXT_BYTES], name[GV_KERNEL_NAME_BYTES], what[GV_DIFF_NAME_BYTES];

    if (gv_diff_areas[change->area].kernels)
        gv_kernel_name_short(change->what, name, sizeof(name));
    diff_say_what(what, change, gv_diff_areas[change->area].kernels ? name : change->what);
    gv_rows_text(rows, what);
    for (size_t side = 0; side < GV_DIFF_SIDES; side++)
        gv_rows_text(rows, gv_diff_say_range(text, change, side));
    gv_rows_text(rows, gv_diff_say_change(text, change));
    gv_rows_text(rows, gv_diff_say_ratio(text, change));
    if (diff->test != GV_DIFF_TEST_NONE)
        gv_rows_text(rows, gv_diff_say_noise(text, change));
}

/* The changes from `first` on that belong to one area. Returns the first of the next one. */
static size_t diff_print_area(const struct gv_diff *diff, const struct gv_diff_style *style,
                              size_t first, size_t *written, int *error)
{
    const struct gv_diff_area *area = &gv_diff_areas[diff->changes[first].area];
    const struct gv_column columns[GV_DIFF_COLUMNS] = {
        {area->what, area->kernels ? GV_COLUMN_NAME : GV_COLUMN_TEXT},
        {"before", GV_COLUMN_TEXT},
        {"after", GV_COLUMN_TEXT},
        {"change", GV_COLUMN_TEXT},
        {"by", GV_COLUMN_TEXT},
        {"more than noise", GV_COLUMN_TEXT}};
    size_t thing = SIZE_MAX, i;
    int64_t shown = 0;
    struct gv_rows rows;
    bool begun = false;

    for (i = first; i < diff->count && diff->changes[i].area == diff->changes[first].area; i++) {
        if (!gv_diff_shows(&diff->changes[i], style, &shown, &thing))
            continue;
        if (!begun) {
            diff_print_title(style, area->title);
            gv_rows_begin(&rows, style->out, style->format, columns,
                          GV_DIFF_COLUMNS - (diff->test == GV_DIFF_TEST_NONE), NULL);
            rows.fit_names = gv_kernel_names_fit;
        }
        begun = true;
        (*written)++;
        diff_print_change(diff, &diff->changes[i], &rows);
    }
    if (begun)
        *error = gv_rows_end(&rows);
    return i;
}

/* Names what changed much, as far as it is known. */
static void diff_print_unsure(const struct gv_diff *diff, const struct gv_diff_style *style)
{
    char text[GV_DIFF_LINE_BYTES] = "", change[GV_DIFF_TEXT_BYTES], name[GV_DIFF_NAME_BYTES];
    size_t told = 0;

    for (size_t i = 0; i < diff->count && !style->all && told < GV_DIFF_FIRST; i++) {
        if (!diff->changes[i].unsure || !diff->wanted[diff->changes[i].area])
            continue;
        diff_say_what(name, &diff->changes[i], diff->changes[i].what);
        gv_format_add(text, sizeof(text), "%s%.200s (%s)", told++ ? "; " : "", name,
                      gv_diff_say_change(change, &diff->changes[i]));
    }
    if (!told)
        return;
    fputc('\n', style->out);
    gv_text_say(style->out, 0, "", style->columns,
                "Large, but within twice the standard error: %s. --all lists them.", text);
}

/* Prints how to see the rest. */
static void diff_print_end(const struct gv_diff *diff, const struct gv_diff_style *style,
                           size_t written)
{
    bool several = diff->test != GV_DIFF_TEST_NONE;

    if (diff->empty)
        fputs("\nNothing to compare: no trace has anything here.\n", style->out);
    else if (diff->count == 0)
        fputs("\nNothing changed.\n", style->out);
    else if (!gv_diff_any(diff))
        fprintf(style->out, "\nNo notable change%s%s.\n",
                several ? ", and none beyond the noise" : "",
                style->all ? "" : " (--all shows all)");
    else if (written < diff->count) {
        fputc('\n', style->out);
        gv_text_say(
            style->out, 0, "", style->columns,
            "%zu smaller change%s not shown: under %.3g %%, %sof little time, or further down"
            " (--all, --top 0).",
            diff->count - written, diff->count - written == 1 ? " is" : "s are",
            diff->least_change * 100, several ? "within the noise, " : "");
    }
}

int gv_diff_print(const struct gv_diff *diff, const struct gv_diff_style *style)
{
    size_t written = 0;
    int error = diff_print_head(diff, style);

    diff_print_freed(diff, style);
    for (size_t i = 0; i < diff->count && !error;)
        i = diff_print_area(diff, style, i, &written, &error);
    if (!error)
        diff_print_unsure(diff, style);
    if (!error)
        diff_print_end(diff, style, written);
    return error;
}
