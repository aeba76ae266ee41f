#include "report/analyse/steps/compare.h"

#include "report/analyse/rank_test.h"
#include "report/analyse_steps_compare.inc"
#include "report/show/format.h"
#include "report/store/database.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A step stands out if it takes half as long again as others of its kind. */
#define COMPARE_STANDS_OUT 1.5
#define COMPARE_KINDS      64
/* There is drift if it is at least this large, and if chance alone shows such a difference less
 * than once in a thousand runs. */
#define COMPARE_SURE   0.001
#define COMPARE_DRIFT  0.03
#define COMPARE_BLOCKS 40u
/* With fewer blocks, chance cannot be excluded. */
#define COMPARE_LEAST 16u

enum figure {
    FIGURE_DURATION,
    FIGURE_LAUNCHES,
    FIGURE_GPU,
    FIGURE_STALLS,
    FIGURE_IDLE,
    FIGURE_LOADS,
    FIGURE_ALLOCATIONS,
    FIGURES
};

struct figures {
    int64_t of[FIGURES];
};

struct compare {
    sqlite3 *trace;
    struct gv_steps_compared *compared;
    struct figures medians[COMPARE_KINDS]; /* by kind */
    bool known[COMPARE_KINDS];
    double blocks[COMPARE_BLOCKS];
    size_t block_count;
};

static int take_figures(void *context, sqlite3_stmt *row)
{
    struct figures *figures = context;

    for (int i = 0; i < FIGURES; i++)
        figures->of[i] = sqlite3_column_int64(row, i);
    return 0;
}

/* What most of the lost time was for; `more`: than steps of the kind have. */
static void say_why(const struct figures *more, char *out, size_t size)
{
    char time[GV_FORMAT_BYTES];
    int64_t much_ns = more->of[FIGURE_DURATION] / 2;

    out[0] = '\0';
    if (much_ns <= 0)
        return;
    if (more->of[FIGURE_LOADS] >= much_ns)
        snprintf(out, size, "loading code took %s longer",
                 gv_format_duration(time, more->of[FIGURE_LOADS]));
    else if (more->of[FIGURE_STALLS] >= much_ns)
        snprintf(out, size, "stalls took %s longer",
                 gv_format_duration(time, more->of[FIGURE_STALLS]));
    else if (more->of[FIGURE_GPU] >= much_ns && more->of[FIGURE_LAUNCHES] > 0)
        snprintf(out, size, "%" PRId64 " more launches took %s on the GPU",
                 more->of[FIGURE_LAUNCHES], gv_format_duration(time, more->of[FIGURE_GPU]));
    else if (more->of[FIGURE_GPU] >= much_ns)
        snprintf(out, size, "the same launches took %s longer on the GPU",
                 gv_format_duration(time, more->of[FIGURE_GPU]));
    else if (more->of[FIGURE_IDLE] >= much_ns && more->of[FIGURE_ALLOCATIONS] > 0)
        snprintf(out, size,
                 "the GPU was idle %s longer, and there were %" PRId64 " more allocations",
                 gv_format_duration(time, more->of[FIGURE_IDLE]), more->of[FIGURE_ALLOCATIONS]);
    else if (more->of[FIGURE_IDLE] >= much_ns)
        snprintf(out, size, "the GPU was idle %s longer",
                 gv_format_duration(time, more->of[FIGURE_IDLE]));
    else if (more->of[FIGURE_ALLOCATIONS] > 0)
        snprintf(out, size, "%" PRId64 " more allocations", more->of[FIGURE_ALLOCATIONS]);
}

static int medians_of(struct compare *compare, int64_t kind, const struct figures **medians)
{
    size_t place = kind > 0 && kind < COMPARE_KINDS ? (size_t)kind : 0;
    const int64_t values[] = {compare->compared->series, kind};
    int error = 0;

    *medians = &compare->medians[place];
    if (!compare->known[place])
        error = gv_database_each(compare->trace, sql_medians, values, 2, take_figures,
                                 &compare->medians[place]);
    compare->known[place] = true;
    return error;
}

static int take_series(void *context, sqlite3_stmt *row)
{
    struct gv_steps_compared *compared = context;

    compared->series = sqlite3_column_int64(row, 0);
    snprintf(compared->source, sizeof(compared->source), "%s",
             (const char *)sqlite3_column_text(row, 1));
    snprintf(compared->name, sizeof(compared->name), "%s",
             (const char *)sqlite3_column_text(row, 2));
    compared->kinds = sqlite3_column_int64(row, 3);
    compared->count = sqlite3_column_int64(row, 4);
    compared->more = sqlite3_column_int64(row, 5) > 1;
    return 0;
}

static int take_warmups(void *context, sqlite3_stmt *row)
{
    struct compare *compare = context;
    struct gv_steps_compared *compared = compare->compared;
    struct figures more;

    compared->warmup = sqlite3_column_int64(row, FIGURES);
    take_figures(&more, row);
    compared->warmup_ns = more.of[FIGURE_DURATION];
    for (int i = 0; i < FIGURES; i++)
        more.of[i] -= compared->warmup * compare->medians[0].of[i];
    say_why(&more, compared->warmup_why, sizeof(compared->warmup_why));
    return 0;
}

static int take_steady(void *context, sqlite3_stmt *row)
{
    struct compare *compare = context;
    struct gv_steps_compared *compared = compare->compared;
    const struct figures *medians;
    struct figures more;
    int64_t duration_ns = sqlite3_column_int64(row, FIGURE_DURATION);
    int error = medians_of(compare, sqlite3_column_int64(row, FIGURES + 1), &medians);

    if (error)
        return error;
    take_figures(&more, row);
    for (int i = 0; i < FIGURES; i++)
        more.of[i] -= medians->of[i];
    if (more.of[FIGURE_DURATION] <= compared->lost_ns ||
        (double)duration_ns < COMPARE_STANDS_OUT * (double)medians->of[FIGURE_DURATION])
        return 0;
    compared->slowest = sqlite3_column_int64(row, FIGURES);
    compared->lost_ns = more.of[FIGURE_DURATION];
    say_why(&more, compared->slowest_why, sizeof(compared->slowest_why));
    return 0;
}

static int take_range(void *context, sqlite3_stmt *row)
{
    struct gv_steps_compared *compared = context;

    snprintf(compared->slowest_range, sizeof(compared->slowest_range), "%s",
             (const char *)sqlite3_column_text(row, 0));
    return 0;
}

static int take_block(void *context, sqlite3_stmt *row)
{
    struct compare *compare = context;

    if (compare->block_count < COMPARE_BLOCKS)
        compare->blocks[compare->block_count++] = (double)sqlite3_column_int64(row, 0);
    return 0;
}

static int compare_values(const void *left, const void *right)
{
    double one = *(const double *)left, other = *(const double *)right;

    return one < other ? -1 : one > other;
}

static double median_of(const double *values, size_t count)
{
    double sorted[COMPARE_BLOCKS];

    memcpy(sorted, values, count * sizeof(*values));
    qsort(sorted, count, sizeof(*sorted), compare_values);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The earlier half against the later one. */
static double drift_of(const struct compare *compare)
{
    size_t half = compare->block_count / 2;
    const double *later = compare->blocks + compare->block_count - half;
    double before, drift;

    if (compare->block_count < COMPARE_LEAST ||
        gv_rank_test(compare->blocks, half, later, half) > COMPARE_SURE)
        return 0;
    before = median_of(compare->blocks, half);
    drift = before > 0 ? median_of(later, half) / before - 1 : 0;
    return drift >= COMPARE_DRIFT || drift <= -COMPARE_DRIFT ? drift : 0;
}

int gv_steps_compare(sqlite3 *trace, struct gv_steps_compared *compared)
{
    struct compare compare = {.trace = trace, .compared = compared};
    const struct figures *medians;
    int64_t kind = 0;
    int error;

    memset(compared, 0, sizeof(*compared));
    error = gv_database_each(trace, sql_longest_series, NULL, 0, take_series, compared);
    if (error || compared->count == 0)
        return error;
    error = gv_database_number(trace, sql_kind_most, &compared->series, 1, &kind);
    if (!error)
        error = medians_of(&compare, kind, &medians);
    if (error)
        return error;
    compare.medians[0] = *medians;
    compared->median_ns = medians->of[FIGURE_DURATION];
    error = gv_database_each(trace, sql_warmups, &compared->series, 1, take_warmups, &compare);
    if (!error)
        error = gv_database_each(trace, sql_steadies, &compared->series, 1, take_steady, &compare);
    if (!error && compared->slowest > 0)
        error = gv_database_each(trace, sql_slowest_range,
                                 (const int64_t[]){compared->series, compared->slowest,
                                                   compared->lost_ns / 2, compared->count},
                                 4, take_range, compared);
    if (!error)
        error = gv_database_each(trace, sql_blocks, (const int64_t[]){compared->series, kind}, 2,
                                 take_block, &compare);
    if (!error)
        compared->drift = drift_of(&compare);
    return error;
}
