/* gpuverify diff BEFORE AFTER: what changed between runs. */
#include "report/commands/commands.h"
#include "report/commands/diff/diff.h"
#include "report/commands/merge/merge.h"
#include "report/commands/progress.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/show/terminal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GV_DIFF_TOP          10
#define GV_DIFF_LEAST_CHANGE 0.05

static bool is_same_file(const char *one, const char *other)
{
    struct stat first, second;

    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* The rank test takes each for a run of its own. */
static void diff_tell_same(const struct gv_merge_inputs *traces, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        for (size_t k = from; k < i; k++)
            if (is_same_file(traces->paths[i], traces->paths[k])) {
                gv_message("%s is named twice on one side: the same run again proves nothing",
                           gv_shown_path(traces->paths[i]));
                return;
            }
}

/* Sorts the traces to the two sides. 0, or the exit code, after a message. */
static int diff_choose_sides(const struct gv_arguments *arguments, struct gv_diff *diff,
                             struct gv_merge_inputs *traces)
{
    int count = arguments->operand_count, parted_at = arguments->parted_at;

    for (int i = parted_at; i >= 0 && i < count; i++)
        if (arguments->operands[i][0] == '-' && access(arguments->operands[i], F_OK) < 0)
            return gv_arguments_refuse(
                arguments->command,
                "%s comes after the --, where only traces may stand; put options "
                "before it",
                arguments->operands[i]);
    if (parted_at < 0 && count == 2)
        parted_at = 1;
    if (parted_at <= 0 || parted_at >= count)
        return gv_arguments_refuse(
            arguments->command,
            "name the traces to compare: BEFORE AFTER, or BEFORE... -- AFTER...");
    for (int i = 0; i < count; i++) {
        if (gv_merge_inputs_spread(traces, arguments->operands[i]))
            return GV_EXIT_FAILED;
        diff->counts[i >= parted_at] = traces->count - (i < parted_at ? 0 : diff->counts[0]);
    }
    if (traces->count > GV_DIFF_TRACES)
        return gv_arguments_refuse(arguments->command, "%zu traces are too many: at most %u",
                                   traces->count, GV_DIFF_TRACES);
    diff_tell_same(traces, 0, diff->counts[0]);
    diff_tell_same(traces, diff->counts[0], traces->count);
    return 0;
}

struct gv_diff_reading {
    struct gv_diff *diff;
    size_t number; /* of the run */
};

static int diff_read_one(sqlite3 *trace, void *context)
{
    const struct gv_diff_reading *reading = context;

    gv_progress_begin(trace, "gpuverify: reading");
    int error = gv_diff_read(reading->diff, reading->number, trace);
    gv_progress_end(trace);
    return error;
}

/* Reads one trace after the other: only one is open at a time. 0 or the exit code. */
static int diff_read_all(const struct gv_merge_inputs *traces, struct gv_diff *diff)
{
    struct gv_diff_reading reading = {.diff = diff};
    int code = 0;

    for (; reading.number < diff->counts[0] + diff->counts[1] && !code; reading.number++) {
        diff->runs[reading.number].path = traces->paths[reading.number];
        code = gv_trace_view_read(diff->runs[reading.number].path, diff_read_one, &reading);
    }
    return code;
}

static int diff_write(const struct gv_arguments *arguments, const struct gv_diff *diff)
{
    enum gv_format format =
        gv_format_find(gv_arguments_text(arguments, GV_OPTION_diff_format, "text"));
    struct gv_diff_style style = {
        .format = format,
        .out = stdout,
        .columns = format == GV_FORMAT_MARKDOWN ? INT_MAX : gv_terminal_columns(stdout),
        .top = gv_arguments_number(arguments, GV_OPTION_diff_top, GV_DIFF_TOP),
        .all = gv_arguments_has(arguments, GV_OPTION_diff_all),
    };

    return format == GV_FORMAT_JSON || format == GV_FORMAT_CSV ? gv_diff_print_data(diff, &style)
                                                               : gv_diff_print(diff, &style);
}

static int diff_run(const struct gv_arguments *arguments, const struct gv_merge_inputs *traces,
                    struct gv_diff *diff)
{
    int error = gv_diff_begin(diff), code;

    if (error) {
        gv_message("cannot compare: %s", strerror(-error));
        return GV_EXIT_FAILED;
    }
    code = diff_read_all(traces, diff);
    if (code)
        return code;
    error = gv_diff_compare(diff);
    if (!error)
        error = diff_write(arguments, diff);
    if (error) {
        gv_message("cannot compare: %s", strerror(-error));
        return GV_EXIT_FAILED;
    }
    return gv_arguments_has(arguments, GV_OPTION_diff_exit_code) && gv_diff_any(diff)
               ? GV_EXIT_FINDING
               : GV_EXIT_FINE;
}

static int diff_choose_areas(const struct gv_arguments *arguments, struct gv_diff *diff)
{
    int chosen = gv_arguments_choose(arguments, GV_OPTION_diff_section, "section",
                                     gv_diff_area_words, diff->wanted);

    for (size_t i = 0; i < GV_DIFF_AREAS && chosen == 0; i++)
        diff->wanted[i] =
            gv_diff_areas[i].by_range == gv_arguments_has(arguments, GV_OPTION_diff_by_range);
    return chosen < 0 ? GV_EXIT_USAGE : 0;
}

int gv_command_diff(const struct gv_arguments *arguments)
{
    const struct gv_given *least = gv_arguments_find(arguments, GV_OPTION_diff_min_change);
    struct gv_diff diff = {.least_change = least ? least->fraction : GV_DIFF_LEAST_CHANGE};
    struct gv_merge_inputs traces = {0};
    int code = diff_choose_sides(arguments, &diff, &traces);

    if (!code)
        code = diff_choose_areas(arguments, &diff);
    if (!code && !(diff.runs = calloc(traces.count, sizeof(*diff.runs)))) {
        gv_message("out of memory");
        code = GV_EXIT_FAILED;
    }
    if (!code)
        code = diff_run(arguments, &traces, &diff);
    gv_diff_free(&diff);
    free(diff.runs);
    gv_merge_inputs_free(&traces);
    return code;
}
