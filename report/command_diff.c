/* gpuverify diff BEFORE AFTER: what changed between runs. */
#include "report/commands.h"
#include "report/diff.h"
#include "report/format.h"
#include "report/kernel_name.h"
#include "report/progress.h"
#include "report/rows.h"
#include "report/trace_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GV_DIFF_TOP   10
#define GV_DIFF_SMALL 0.05
/* Of the longer run: less time than that is not worth a line. */
#define GV_DIFF_SHORT 0.001

struct gv_diff_output {
    const struct gv_diff *diff;
    char **operands;
    size_t split; /* the first of the other side */
    enum gv_format format;
    int64_t top;
    bool all;
    size_t hidden;
};

static const struct gv_column gv_diff_people[] = {
    {"", GV_COLUMN_TEXT},
    {"what", GV_COLUMN_TEXT},
    {"before", GV_COLUMN_TEXT},
    {"after", GV_COLUMN_TEXT},
    {"change", GV_COLUMN_TEXT},
    {"times", GV_COLUMN_TEXT},
    {"more than noise", GV_COLUMN_TEXT},
};

static const struct gv_column gv_diff_programs[] = {
    {"area", GV_COLUMN_TEXT},
    {"what", GV_COLUMN_TEXT},
    {"unit", GV_COLUMN_TEXT},
    {"before", GV_COLUMN_NUMBER},
    {"after", GV_COLUMN_NUMBER},
    {"change", GV_COLUMN_NUMBER},
    {"before_min", GV_COLUMN_NUMBER},
    {"before_max", GV_COLUMN_NUMBER},
    {"after_min", GV_COLUMN_NUMBER},
    {"after_max", GV_COLUMN_NUMBER},
    {"more_than_noise", GV_COLUMN_NUMBER},
};

static bool gv_diff_is_for_people(const struct gv_diff_output *output)
{
    return output->format == GV_FORMAT_TABLE || output->format == GV_FORMAT_MARKDOWN;
}

static bool gv_diff_has_several(const struct gv_diff *diff)
{
    return diff->traces[0] > 1 && diff->traces[1] > 1;
}

static double gv_diff_times(const struct gv_diff_change *change)
{
    return (double)change->sides[1].middle / (double)change->sides[0].middle;
}

/* Whether a change is worth a line. */
static bool gv_diff_matters(const struct gv_diff_output *output,
                            const struct gv_diff_change *change)
{
    double size = change->change < 0 ? -(double)change->change : (double)change->change;
    int64_t before = change->sides[0].middle, after = change->sides[1].middle;

    if (change->change == 0)
        return false;
    if (output->all)
        return true;
    if (change->noise_known && !change->more_than_noise)
        return false;
    if (change->unit == GV_DIFF_NS && size < GV_DIFF_SHORT * (double)output->diff->window_ns)
        return false;
    return size >= GV_DIFF_SMALL * (double)(before > after ? before : after);
}

static void gv_diff_put(struct gv_rows *rows, enum gv_diff_unit unit, int64_t value, bool sign)
{
    char number[GV_FORMAT_BYTES], text[GV_FORMAT_BYTES + 2];
    int64_t shown = sign && value < 0 && value != INT64_MIN ? -value : value;

    if (unit == GV_DIFF_NS)
        gv_format_duration(number, shown);
    else if (unit == GV_DIFF_BYTES)
        gv_format_size(number, shown);
    else
        snprintf(number, sizeof(number), "%" PRId64, shown);
    snprintf(text, sizeof(text), "%s%s", !sign ? "" : value < 0 ? "-" : "+", number);
    gv_rows_text(rows, text);
}

static void gv_diff_row_for_people(struct gv_rows *rows, const struct gv_diff_change *change)
{
    char times[GV_FORMAT_BYTES], name[GV_KERNEL_NAME_BYTES];
    bool kernel = strcmp(change->area, "kernels") == 0;

    if (kernel)
        gv_kernel_name_short(change->what, name, sizeof(name));
    gv_rows_text(rows, change->area);
    gv_rows_text(rows, kernel ? name : change->what);
    gv_diff_put(rows, change->unit, change->sides[0].middle, false);
    gv_diff_put(rows, change->unit, change->sides[1].middle, false);
    gv_diff_put(rows, change->unit, change->change, true);
    if (change->sides[0].middle > 0)
        snprintf(times, sizeof(times), "%.2f", gv_diff_times(change));
    else
        snprintf(times, sizeof(times), "new");
    gv_rows_text(rows, change->sides[1].middle == 0 ? "gone" : times);
    if (change->noise_known)
        gv_rows_text(rows, change->more_than_noise ? "yes" : "no");
}

static void gv_diff_row(struct gv_rows *rows, const struct gv_diff_change *change)
{
    static const char *const units[] = {
        [GV_DIFF_NS] = "ns", [GV_DIFF_BYTES] = "bytes", [GV_DIFF_COUNT] = "count"};

    gv_rows_text(rows, change->area);
    gv_rows_text(rows, change->what);
    gv_rows_text(rows, units[change->unit]);
    gv_rows_number(rows, change->sides[0].middle);
    gv_rows_number(rows, change->sides[1].middle);
    gv_rows_number(rows, change->change);
    for (size_t side = 0; side < GV_DIFF_SIDES; side++) {
        gv_rows_number(rows, change->sides[side].least);
        gv_rows_number(rows, change->sides[side].most);
    }
    if (change->noise_known)
        gv_rows_number(rows, change->more_than_noise);
    else
        gv_rows_null(rows);
}

static int gv_diff_print_rows(struct gv_diff_output *output, struct gv_json *json)
{
    const struct gv_diff *diff = output->diff;
    bool people = gv_diff_is_for_people(output);
    struct gv_rows rows;
    int64_t shown = 0;

    size_t columns = sizeof(gv_diff_programs) / sizeof(gv_diff_programs[0]);
    /* The last column for people is only there if it is known. */
    if (people)
        columns = sizeof(gv_diff_people) / sizeof(gv_diff_people[0]) - !gv_diff_has_several(diff);
    gv_rows_begin(&rows, stdout, output->format, people ? gv_diff_people : gv_diff_programs,
                  columns, json);
    for (size_t i = 0; i < diff->change_count; i++) {
        const struct gv_diff_change *change = &diff->changes[i], *last = change - 1;
        if (i == 0 || last->unit != change->unit || strcmp(last->area, change->area) != 0)
            shown = 0;
        if (!gv_diff_matters(output, change)) {
            output->hidden += change->change != 0;
            continue;
        }
        if (output->top && shown++ >= output->top) {
            output->hidden++;
            continue;
        }
        if (people)
            gv_diff_row_for_people(&rows, change);
        else
            gv_diff_row(&rows, change);
    }
    return gv_rows_end(&rows);
}

static bool gv_diff_has_any(const struct gv_diff_output *output)
{
    for (size_t i = 0; i < output->diff->change_count; i++)
        if (gv_diff_matters(output, &output->diff->changes[i]))
            return true;
    return false;
}

static bool gv_diff_changed(const struct gv_diff *diff)
{
    for (size_t i = 0; i < diff->change_count; i++)
        if (diff->changes[i].change != 0)
            return true;
    return false;
}

static void gv_diff_print_side(const struct gv_diff_output *output, size_t side)
{
    const char *first = output->operands[side == 0 ? 0 : output->split];
    const char *between = "";

    fputs(side == 0 ? "before  " : "after   ", stdout);
    gv_format_text(stdout, first, 200, 0);
    if (output->diff->traces[side] > 1)
        printf(" and %zu more", output->diff->traces[side] - 1);
    fputs(": ", stdout);
    for (size_t class = 0; class < GV_VERDICT_CLASSES; class ++)
        if (output->diff->classes[side][class]) {
            printf("%s%s", between, gv_verdict_name((enum gv_verdict_class) class));
            between = ", ";
        }
    puts(*between ? "" : "nothing to say");
}

static int gv_diff_print_text(struct gv_diff_output *output)
{
    const struct gv_diff *diff = output->diff;
    bool several = gv_diff_has_several(diff);
    int error;

    gv_diff_print_side(output, 0);
    gv_diff_print_side(output, 1);
    if (!diff->gpu_seen[0] || !diff->gpu_seen[1])
        puts("What the GPU did was not seen on both sides: only calls are compared.");
    putchar('\n');
    if (!gv_diff_has_any(output)) {
        if (!gv_diff_changed(diff))
            puts("Nothing changed.");
        else
            printf("Nothing changed by much%s (--all shows all).\n",
                   several ? ", or by more than the noise" : "");
        return 0;
    }
    error = gv_diff_print_rows(output, NULL);
    if (output->hidden > 0)
        printf(
            "\n%zu more changed, by less than 5 %%, by little time, %sor are further down (--all,"
            " --top 0)\n",
            output->hidden, several ? "within the noise " : "");
    if (!several)
        puts("Whether it is more than noise: give several traces of each, BEFORE... -- AFTER...");
    return error;
}

static void gv_diff_json_side(struct gv_json *json, const struct gv_diff_output *output,
                              size_t side)
{
    size_t from = side == 0 ? 0 : output->split;

    gv_json_key(json, side == 0 ? "before" : "after");
    gv_json_open(json, '{');
    gv_json_key(json, "traces");
    gv_json_open(json, '[');
    for (size_t i = 0; i < output->diff->traces[side]; i++)
        gv_json_text(json, output->operands[from + i]);
    gv_json_close(json, ']');
    gv_json_key(json, "verdict");
    gv_json_open(json, '[');
    for (size_t class = 0; class < GV_VERDICT_CLASSES; class ++)
        if (output->diff->classes[side][class])
            gv_json_text(json, gv_verdict_name((enum gv_verdict_class) class));
    gv_json_close(json, ']');
    gv_json_key(json, "gpu_seen");
    gv_json_bool(json, output->diff->gpu_seen[side]);
    gv_json_close(json, '}');
}

static int gv_diff_print_json(struct gv_diff_output *output)
{
    struct gv_json json;
    int error;

    gv_json_begin(&json, stdout);
    gv_json_open(&json, '{');
    gv_diff_json_side(&json, output, 0);
    gv_diff_json_side(&json, output, 1);
    gv_json_key(&json, "changes");
    error = gv_diff_print_rows(output, &json);
    gv_json_close(&json, '}');
    gv_json_end(&json);
    return error;
}

/* 0, or an error of which a message was given. */
static int gv_diff_read(struct gv_diff *diff, char **operands, int count, int split)
{
    int error = 0;

    for (int i = 0; i < count && !error; i++) {
        sqlite3 *trace = NULL;
        error = gv_trace_view_open(operands[i], &trace);
        if (error)
            return error;
        gv_progress_begin(trace, "gpuverify: reading");
        error = gv_diff_add(diff, trace, i >= split);
        gv_progress_end(trace);
        if (error)
            gv_message("cannot read %s: %s", operands[i], gv_trace_view_why(trace, error));
        sqlite3_close(trace);
    }
    return error;
}

int gv_command_diff(const struct gv_arguments *arguments)
{
    int split = arguments->parted_at, count = arguments->operand_count, error;
    struct gv_diff *diff;

    if (split < 0 && count == 2)
        split = 1;
    if (split <= 0 || split >= count)
        return gv_arguments_refuse(arguments->command,
                                   "which traces are before, and which after? Part them by --");
    diff = calloc(1, sizeof(*diff));
    if (!diff)
        return GV_EXIT_FAILED;
    struct gv_diff_output output = {
        .diff = diff,
        .operands = arguments->operands,
        .split = (size_t)split,
        .format = gv_format_find(gv_arguments_text(arguments, GV_OPTION_diff_format, "text")),
        .top = gv_arguments_number(arguments, GV_OPTION_diff_top, GV_DIFF_TOP),
        .all = gv_arguments_has(arguments, GV_OPTION_diff_all),
    };
    error = gv_diff_read(diff, arguments->operands, count, split);
    if (!error)
        error = gv_diff_compare(diff);
    if (!error && output.format == GV_FORMAT_JSON)
        error = gv_diff_print_json(&output);
    else if (!error && output.format == GV_FORMAT_TABLE)
        error = gv_diff_print_text(&output);
    else if (!error)
        error = gv_diff_print_rows(&output, NULL);
    gv_diff_free(diff);
    free(diff);
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
