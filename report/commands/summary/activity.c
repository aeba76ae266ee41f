#include "report/commands/summary/activity.h"

#include "report/commands_summary_summary.inc"
#include "report/show/format.h"
#include "report/store/database.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NVML's utilisation is of windows of up to a second, which the run's start and end cut. Below
 * UTILISATION_SAMPLES, that is too much of the run. */
#define UTILISATION_SAMPLES 20
#define UTILISATION_ERROR   5

/* It counts kernels, and simultaneous ones once. */
static bool utilisation_differs(const struct gv_run_facts *facts)
{
    double percent = 100 / fmax(1, (double)gv_run_facts_device_ns(facts));
    double sum = fmin(100, (double)facts->kernel_ns * percent);
    double error = 2 * (double)facts->sampled_error_ns * percent + UTILISATION_ERROR;

    return facts->utilisation_samples >= UTILISATION_SAMPLES &&
           fabs(sum - (double)facts->utilisation_percent) > error;
}

void gv_summary_busy(const struct gv_run_facts *facts, char out[GV_SUMMARY_BUSY_BYTES])
{
    char busy[GV_FACTS_SHARE_BYTES], calls[GV_FORMAT_BYTES], all[GV_FORMAT_BYTES];

    snprintf(out, GV_SUMMARY_BUSY_BYTES, "%s %s, by %s of %s launches and copies",
             gv_run_facts_lacks_launches(facts) ? "at least" : "about",
             gv_run_facts_busy(facts, busy), gv_format_count(calls, facts->sampled_calls),
             gv_format_count(all, facts->sampled_operations));
    if (utilisation_differs(facts))
        gv_format_add(out, GV_SUMMARY_BUSY_BYTES, "; NVML says %" PRId64 " %%",
                      facts->utilisation_percent);
}

/* The columns of a line of levels. */
struct gv_summary_line {
    double from_ns, column_ns, devices;
    size_t count;
    double *unseen;
};

/* Adds to each column its part of what a time [from, to), in columns, took of `length`. */
static void add_time(const struct gv_summary_line *line, double *columns, double from, double to,
                     double taken, double length)
{
    size_t first = from > 0 ? (size_t)fmin(from, 1e6) : 0;

    for (size_t i = first; i < line->count && (double)i < to; i++)
        columns[i] += taken * (fmin(to, (double)i + 1) - fmax(from, (double)i)) / length;
}

static int take_unseen(void *context, sqlite3_stmt *row)
{
    const struct gv_summary_line *line = context;

    add_time(line, line->unseen, (sqlite3_column_double(row, 0) - line->from_ns) / line->column_ns,
             (sqlite3_column_double(row, 1) - line->from_ns) / line->column_ns, 1, 1);
    return 0;
}

int gv_summary_blank_unseen(sqlite3 *trace, int64_t from_ns, int64_t to_ns, double *levels,
                            size_t count)
{
    double *unseen = calloc(count + 1, sizeof(*unseen));
    struct gv_summary_line line = {.from_ns = (double)from_ns,
                                   .column_ns = ((double)to_ns - (double)from_ns) / (double)count,
                                   .count = count,
                                   .unseen = unseen};
    int error =
        unseen ? gv_database_each(trace, sql_unseen_times, NULL, 0, take_unseen, &line) : -ENOMEM;

    for (size_t i = 0; unseen && i < count; i++)
        if (levels[i] == 0 && unseen[i] >= 0.9999)
            levels[i] = -1;
    free(unseen);
    return error;
}
