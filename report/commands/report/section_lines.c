/* Sections drawn as lines of heights for people: the run over time, and samples. */
#include "report/store/time_sum.h"
#include "report/commands/report/report.h"
#include "report/commands/summary/activity.h"
#include "report/commands_report_section_lines.inc"
#include "report/show/format.h"
#include "report/show/sparkline.h"
#include "report/show/terminal.h"
#include "report/store/database.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define GV_LINE_LABEL   14
#define GV_LINE_MOST    120
#define GV_LINE_NUMBERS 30 /* columns after a line of samples */
#define GV_LINE_NAME    64

struct gv_line {
    double levels[GV_LINE_MOST];
    size_t count;
    int64_t from_ns, to_ns;
};

static void line_begin(struct gv_line *line, const struct gv_report *report, int columns)
{
    memset(line, 0, sizeof(*line));
    line->count = columns > GV_LINE_MOST ? GV_LINE_MOST : columns > 10 ? (size_t)columns : 10;
    line->from_ns = report->facts.first_ns;
    line->to_ns = report->facts.last_ns > line->from_ns ? report->facts.last_ns : line->from_ns + 1;
}

/* Spreads `taken` of [start, end) over the line's columns. */
static void line_add(struct gv_line *line, int64_t start_ns, int64_t end_ns, double taken_ns)
{
    double column_ns = (double)(line->to_ns - line->from_ns) / (double)line->count;
    double first = ((double)start_ns - (double)line->from_ns) / column_ns;
    double last = ((double)end_ns - (double)line->from_ns) / column_ns;
    double from = first > 0 ? first : 0;
    double to = last < (double)line->count ? last : (double)line->count;

    if (last <= first || to <= from)
        return;
    taken_ns = taken_ns / (to - from);
    for (double at = floor(from); at < to; at += 1) {
        double part = (at + 1 < to ? at + 1 : to) - (at > from ? at : from);
        line->levels[(size_t)at] += taken_ns * part / column_ns;
    }
}

static void line_print(FILE *out, const char *label, const struct gv_line *line)
{
    gv_format_text(out, label, GV_LINE_LABEL, 1);
    gv_sparkline(out, line->levels, line->count);
    fputc('\n', out);
}

/* "busy 1" is the first device of the table device_total. */
static void line_label(struct gv_report *report, const char *lane, char label[GV_LINE_NAME])
{
    int number;

    if (sscanf(lane, "busy %d", &number) == 1 && report->facts.devices_used > 1)
        snprintf(label, GV_LINE_NAME, "GPU %d busy", number - 1);
    else if (strncmp(lane, "busy", 4) == 0)
        snprintf(label, GV_LINE_NAME, "GPU busy");
    else
        snprintf(label, GV_LINE_NAME, "%s",
                 strcmp(lane, "copy") == 0   ? "copying"
                 : strcmp(lane, "sync") == 0 ? "host waits"
                 : strcmp(lane, "load") == 0 ? "host loads"
                                             : lane);
}

static int timeline_print(struct gv_report *report, const char *lane, const char *label,
                          struct gv_line *line)
{
    bool of_gpu = strncmp(lane, "busy", 4) == 0 || strcmp(lane, "copy") == 0;
    int error = of_gpu ? gv_summary_blank_unseen(report->trace, line->from_ns, line->to_ns,
                                                 line->levels, line->count)
                       : 0;

    if (lane[0])
        line_print(report->out, label, line);
    return error;
}

static int timeline_lanes(struct gv_report *report, struct gv_line *line)
{
    sqlite3_stmt *rows = NULL;
    char lane[GV_LINE_NAME] = "", label[GV_LINE_NAME] = "";
    int error = 0, result = sqlite3_prepare_v2(report->trace, sql_lanes, -1, &rows, NULL);

    while (!error && (result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        if (strncmp(lane, name ? name : "", sizeof(lane) - 1) != 0) {
            error = timeline_print(report, lane, label, line);
            line_begin(line, report, report->columns - GV_LINE_LABEL);
            snprintf(lane, sizeof(lane), "%s", name ? name : "");
            line_label(report, lane, label);
        }
        line_add(line, sqlite3_column_int64(rows, 1), sqlite3_column_int64(rows, 2),
                 sqlite3_column_double(rows, 3));
    }
    sqlite3_finalize(rows);
    if (!error)
        error = timeline_print(report, lane, label, line);
    return error ? error : gv_database_error(report->trace, result);
}

static int timeline_stalls(struct gv_report *report, struct gv_line *line)
{
    sqlite3_stmt *rows = NULL;
    bool any = false;
    int result = sqlite3_prepare_v2(report->trace, sql_longest_stalls, -1, &rows, NULL);

    line_begin(line, report, report->columns - GV_LINE_LABEL);
    if (result == SQLITE_OK)
        gv_report_bind(report, rows);
    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        int64_t start_ns = sqlite3_column_int64(rows, 0);
        line_add(line, start_ns, gv_time_sum(start_ns, sqlite3_column_int64(rows, 1)),
                 sqlite3_column_double(rows, 2));
        any = true;
    }
    sqlite3_finalize(rows);
    if (any)
        line_print(report->out, "stalls", line);
    return gv_database_error(report->trace, result);
}

int gv_section_timeline(struct gv_report *report)
{
    struct gv_line line;
    char from[GV_FORMAT_BYTES], to[GV_FORMAT_BYTES];
    int error;

    if (report->facts.calls == 0)
        return 0;
    fprintf(report->out, "\n%sOver time%s, from %s to %s\n", gv_colour(report->out, GV_COLOUR_BOLD),
            gv_colour(report->out, GV_COLOUR_NONE),
            gv_format_duration(from, report->facts.first_ns),
            gv_format_duration(to, report->facts.last_ns));
    error = timeline_lanes(report, &line);
    return error ? error : timeline_stalls(report, &line);
}

/* When the time of a value begins: GPM says it, the others hold since the sample before, unless
 * that is missing. */
#define SINCE_BEFORE                                                                               \
    "at_ns - min(1000000000, at_ns - lag(at_ns, 1, at_ns - 100000000) OVER (ORDER BY at_ns))"
#define SINCE_GPM "at_ns - gpm_ns"

/* One column of the samples: its title, when it begins, its highest value (0: the highest seen),
 * its unit. */
struct gv_sampled {
    const char *label;
    const char *column, *since;
    double most;
    const char *unit;
    double scale;
};

static const struct gv_sampled sampled[] = {
    {"GPU", "gpu_percent", SINCE_BEFORE, 100, "%", 1},
    {"memory bus", "memory_percent", SINCE_BEFORE, 100, "%", 1},
    {"memory used", "memory_used_bytes", SINCE_BEFORE, 0, "GiB", 1.0 / (1 << 30)},
    {"power", "power_mw", SINCE_BEFORE, 0, "W", 0.001},
    {"SM clock", "sm_clock_mhz", SINCE_BEFORE, 0, "MHz", 1},
    {"temperature", "temperature_c", SINCE_BEFORE, 100, "C", 1},
    {"SMs active", "sm_percent", SINCE_GPM, 100, "%", 1},
    {"occupancy", "occupancy_percent", SINCE_GPM, 100, "%", 1},
    {"tensor cores", "tensor_percent", SINCE_GPM, 100, "%", 1},
    {"DRAM", "dram_percent", SINCE_GPM, 100, "%", 1},
    {"PCIe", "pcie_percent", SINCE_GPM, 100, "%", 1},
};

/* A sample counts for as long as it covers of the line. */
static int samples_line(struct gv_report *report, const struct gv_sampled *what, int64_t samples,
                        sqlite3_stmt *rows)
{
    struct gv_line line, covered;
    double sum = 0, sum_ns = 0, most = 0, highest = what->most;
    int result;

    line_begin(&line, report, report->columns - GV_LINE_LABEL - GV_LINE_NUMBERS);
    if (samples > 0 && (uint64_t)samples < line.count)
        line.count = (size_t)samples;
    covered = line;
    while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
        int64_t start_ns = sqlite3_column_int64(rows, 0), end_ns = sqlite3_column_int64(rows, 1);
        double value = sqlite3_column_double(rows, 2), ns;
        start_ns = start_ns > line.from_ns ? start_ns : line.from_ns;
        end_ns = end_ns < line.to_ns ? end_ns : line.to_ns;
        if (sqlite3_column_type(rows, 2) == SQLITE_NULL || end_ns <= start_ns)
            continue;
        ns = (double)end_ns - (double)start_ns;
        line_add(&line, start_ns, end_ns, value * ns);
        line_add(&covered, start_ns, end_ns, ns);
        sum += value * ns;
        sum_ns += ns;
        most = value > most ? value : most;
    }
    if (highest <= 0)
        highest = most;
    for (size_t i = 0; i < line.count; i++)
        line.levels[i] = covered.levels[i] <= 0 ? -1
                         : highest > 0          ? line.levels[i] / covered.levels[i] / highest
                                                : 0;
    if (sum_ns > 0) {
        gv_format_text(report->out, what->label, GV_LINE_LABEL, 1);
        gv_sparkline(report->out, line.levels, line.count);
        fprintf(report->out, "  mean %.4g, most %.4g %s\n", sum / sum_ns * what->scale,
                most * what->scale, what->unit);
    }
    return gv_database_error(report->trace, result);
}

static int samples_device(struct gv_report *report, const char *uuid, int64_t samples)
{
    int error = 0;

    for (size_t i = 0; i < sizeof(sampled) / sizeof(sampled[0]) && !error; i++) {
        sqlite3_stmt *rows = NULL;
        char sql[256];
        sqlite3_snprintf(sizeof(sql), sql,
                         "SELECT %s, at_ns, %s FROM samples WHERE uuid IS ?1 ORDER BY at_ns",
                         sampled[i].since, sampled[i].column);
        error = gv_database_error(report->trace,
                                  sqlite3_prepare_v2(report->trace, sql, -1, &rows, NULL));
        if (!error) {
            sqlite3_bind_text(rows, 1, uuid, -1, SQLITE_TRANSIENT);
            error = samples_line(report, &sampled[i], samples, rows);
        }
        sqlite3_finalize(rows);
    }
    return error;
}

int gv_section_samples(struct gv_report *report)
{
    sqlite3_stmt *rows = NULL;
    int error = 0, result;

    result = sqlite3_prepare_v2(report->trace, sql_sampled_devices, -1, &rows, NULL);
    if (result == SQLITE_OK) {
        sqlite3_bind_int64(rows, 1, report->facts.first_ns);
        sqlite3_bind_int64(rows, 2, report->facts.last_ns);
    }
    while (!error && (result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(rows, 1);
        fprintf(report->out, "\n%sSamples of the device%s ", gv_colour(report->out, GV_COLOUR_BOLD),
                gv_colour(report->out, GV_COLOUR_NONE));
        gv_format_text(report->out, name ? name : (const char *)sqlite3_column_text(rows, 0), 80,
                       0);
        fprintf(report->out, ", %" PRId64 "\n", (int64_t)sqlite3_column_int64(rows, 2));
        error = samples_device(report, (const char *)sqlite3_column_text(rows, 0),
                               sqlite3_column_int64(rows, 2));
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(report->trace, result);
}
