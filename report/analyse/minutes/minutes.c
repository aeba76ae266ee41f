#include "report/analyse/minutes/minutes.h"

#include "report/analyse/minutes/change_point.h"
#include "report/analyse_minutes_minutes.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GV_MINUTES_NS INT64_C(60000000000)
/* Of kernels that take less in a minute, no change is of interest. */
#define GV_MINUTES_LEAST_KERNEL_NS INT64_C(60000000)
#define GV_MINUTES_FAR             (INT64_C(1) << 61)
/* A change is of interest from these shares of the time on, and by this factor. */
#define GV_MINUTES_LEAST       0.01
#define GV_MINUTES_LEAST_STALL 0.001
#define GV_MINUTES_FACTOR      1.5
/* How busy a device is: of any factor. */
#define GV_MINUTES_LEAST_BUSY 0.05
/* A kernel with a share of GV_MINUTES_LEAST: of the mean of one. */
#define GV_MINUTES_FACTOR_MEAN 1.2

/* The series of one device, reason, cause or kernel: a bin for some minutes. */
struct gv_minutes_series {
    char *name;
    char what[16];
    double total_ns[GV_CHANGE_POINT_MOST], count[GV_CHANGE_POINT_MOST];
};

struct gv_minutes_run {
    sqlite3 *trace;
    int64_t first_ns, last_ns, unix_ns; /* minutes, and the session's start by the clock */
    int64_t offset_ns;                  /* from a local midnight to the session's start */
    int64_t step_ns;                    /* of the bins */
    double time_ns[GV_CHANGE_POINT_MOST], seen_ns[GV_CHANGE_POINT_MOST];
    struct gv_minutes_series series;
    sqlite3_stmt *near, *change;
    struct gv_minutes_minute {
        int64_t at_ns;
        double total_ns, count, time_ns;
    } * minutes; /* around a change */
    size_t count, room;
};

/* Two levels of a series, and the bin in which the second begins. */
struct gv_minutes_level {
    size_t at;
    double share[2], mean_ns[2];
    bool of_mean; /* that is what changed */
};

static int older_take(void *context, sqlite3_stmt *row)
{
    *(struct gv_minutes_older *)context = (struct gv_minutes_older){
        .minutes = sqlite3_column_int64(row, 0),
        .from_ns = sqlite3_column_int64(row, 1),
        .to_ns = sqlite3_column_int64(row, 2),
    };
    return 0;
}

int gv_minutes_older_read(sqlite3 *trace, int64_t from_ns, int64_t to_ns,
                          struct gv_minutes_older *older)
{
    *older = (struct gv_minutes_older){0};
    return gv_database_each(trace, sql_older, (const int64_t[]){from_ns, to_ns}, 2, older_take,
                            older);
}

int gv_minutes_keep(sqlite3 *trace)
{
    struct gv_minutes_older older;
    int error = gv_minutes_older_read(trace, INT64_MIN, INT64_MAX, &older);

    if (error || older.minutes == 0)
        return error;
    error = gv_database_script(trace, sql_keep, NULL, 0);
    return error ? gv_database_end_writing(trace, error) : 0;
}

bool gv_minutes_have(const struct gv_totals_part *part)
{
    return part->thread == 0 && part->device < 0 && !part->ranges;
}

/* A trace may hold any number. */
static int64_t bounded(int64_t ns, int64_t least_ns, int64_t most_ns)
{
    return ns < least_ns ? least_ns : ns > most_ns ? most_ns : ns;
}

static int extent_take(void *context, sqlite3_stmt *row)
{
    struct gv_minutes_run *run = context;

    if (sqlite3_column_type(row, 0) == SQLITE_NULL)
        return 0;
    run->first_ns = bounded(sqlite3_column_int64(row, 0), -GV_MINUTES_FAR, GV_MINUTES_FAR);
    run->last_ns = bounded(sqlite3_column_int64(row, 1), run->first_ns, GV_MINUTES_FAR);
    run->unix_ns = bounded(sqlite3_column_int64(row, 2), 0, GV_MINUTES_FAR);
    return 0;
}

/* Buckets begin at full hours and days of the clock, as it is at the trace's end. */
static void find_offset(struct gv_minutes_run *run)
{
    time_t last = (time_t)((run->unix_ns + run->last_ns) / 1000000000);
    struct tm local;

    run->offset_ns = run->unix_ns;
    if (localtime_r(&last, &local))
        run->offset_ns += (int64_t)local.tm_gmtoff * 1000000000;
}

/* The shortest step, and a usual one, with which a part has at most so many buckets. */
static int64_t find_step(const struct gv_minutes_run *run, int64_t most)
{
    static const int minutes[] = {1, 5, 15, 60, 180, 720, 1440, 4320, 30240, 302400};
    int64_t step_ns = GV_MINUTES_NS;

    for (size_t i = 0; most > 0 && i < sizeof(minutes) / sizeof(minutes[0]); i++) {
        step_ns = minutes[i] * GV_MINUTES_NS;
        if ((run->last_ns + run->offset_ns) / step_ns - (run->first_ns + run->offset_ns) / step_ns <
            most)
            break;
    }
    return step_ns;
}

static bool is_of(const struct gv_minutes_series *series, const char *what)
{
    return strcmp(series->what, what) == 0;
}

/* Only what was seen of the GPU side tells of it. */
static const char *time_of(const struct gv_minutes_series *series)
{
    return is_of(series, "kernel") || is_of(series, "busy") ? "seen" : "time";
}

/* The time of which a series has a share. */
static const double *series_time(const struct gv_minutes_run *run)
{
    return strcmp(time_of(&run->series), "seen") == 0 ? run->seen_ns : run->time_ns;
}

/* Of the bins [from, to). */
static void find_level(const struct gv_minutes_run *run, size_t from, size_t to, double *share,
                       double *mean_ns)
{
    const double *time_ns = series_time(run);
    double total_ns = 0, count = 0, all_ns = 0;

    for (size_t i = from; i < to; i++) {
        total_ns += run->series.total_ns[i];
        count += run->series.count[i];
        all_ns += time_ns[i];
    }
    *share = all_ns > 0 ? total_ns / all_ns : 0;
    *mean_ns = count > 0 ? total_ns / count : 0;
}

static bool differs(const double level[2], double least, double factor)
{
    double low = fmin(level[0], level[1]), high = fmax(level[0], level[1]);

    return high - low >= least && high >= factor * low;
}

static bool is_of_weight(const struct gv_minutes_run *run, const struct gv_minutes_level *level)
{
    double least = is_of(&run->series, "stall") ? GV_MINUTES_LEAST_STALL : GV_MINUTES_LEAST;

    if (is_of(&run->series, "busy"))
        return differs(level->share, GV_MINUTES_LEAST_BUSY, 1);
    if (level->of_mean)
        return fmax(level->share[0], level->share[1]) >= least &&
               differs(level->mean_ns, 0, GV_MINUTES_FACTOR_MEAN);
    return differs(level->share, least, GV_MINUTES_FACTOR);
}

/* Looks for a change of the share, or of the mean. */
static bool find_change(const struct gv_minutes_run *run, bool of_mean,
                        struct gv_minutes_level *level)
{
    const struct gv_minutes_series *series = &run->series;
    const double *time_ns = series_time(run);
    double values[GV_CHANGE_POINT_MOST];
    size_t bins[GV_CHANGE_POINT_MOST], count = 0;

    for (size_t i = 0; i < GV_CHANGE_POINT_MOST; i++) {
        double whole = of_mean ? series->count[i] : time_ns[i];
        if (whole <= 0)
            continue;
        bins[count] = i;
        values[count++] = series->total_ns[i] / whole;
    }
    size_t at = gv_change_point_find(values, count);
    if (at == 0)
        return false;
    *level = (struct gv_minutes_level){.at = bins[at], .of_mean = of_mean};
    find_level(run, 0, level->at, &level->share[0], &level->mean_ns[0]);
    find_level(run, level->at, GV_CHANGE_POINT_MOST, &level->share[1], &level->mean_ns[1]);
    return is_of_weight(run, level);
}

static int bind_series(sqlite3_stmt *statement, const struct gv_minutes_series *series)
{
    int result = sqlite3_bind_text(statement, 3, series->what, -1, SQLITE_STATIC);

    return result == SQLITE_OK ? sqlite3_bind_text(statement, 4, series->name, -1, SQLITE_STATIC)
                               : result;
}

static int minute_take(void *context, sqlite3_stmt *row)
{
    struct gv_minutes_run *run = context;
    int error = gv_array_room(&run->minutes, run->count, &run->room, sizeof(*run->minutes));

    if (!error)
        run->minutes[run->count++] = (struct gv_minutes_minute){
            .at_ns = sqlite3_column_int64(row, 0),
            .total_ns = sqlite3_column_double(row, 1),
            .count = sqlite3_column_double(row, 2),
            .time_ns = sqlite3_column_double(row, 3),
        };
    return error;
}

/* The minute of a change whose bin is known: in that bin, or the one before. */
static int find_minute(struct gv_minutes_run *run, const struct gv_minutes_level *level,
                       int64_t *at_ns)
{
    int64_t start_ns = run->first_ns + (int64_t)level->at * run->step_ns;
    const double *levels = level->of_mean ? level->mean_ns : level->share;
    int result = bind_series(run->near, &run->series);
    size_t count = 0;

    if (result == SQLITE_OK)
        result = sqlite3_bind_text(run->near, 5, time_of(&run->series), -1, SQLITE_STATIC);
    run->count = 0;
    int error = gv_database_error(run->trace, result);
    if (!error)
        error = gv_database_rows(
            run->near, (const int64_t[]){start_ns - run->step_ns, start_ns + run->step_ns}, 2,
            minute_take, run);
    double *values = error ? NULL : calloc(run->count + 1, sizeof(*values));
    if (!values)
        return error ? error : -ENOMEM;
    for (size_t i = 0; i < run->count; i++) { /* a minute without any has no mean */
        const struct gv_minutes_minute *minute = &run->minutes[i];
        double whole = level->of_mean ? minute->count : minute->time_ns;
        if (whole <= 0)
            continue;
        run->minutes[count] = *minute;
        values[count++] = minute->total_ns / whole;
    }
    size_t at = gv_change_point_place(values, count, levels[0], levels[1]);
    *at_ns = at < count ? run->minutes[at].at_ns : start_ns + run->step_ns;
    free(values);
    return 0;
}

static int store_change(const struct gv_minutes_run *run, const struct gv_minutes_level *level,
                        int64_t at_ns)
{
    sqlite3_stmt *change = run->change;
    int result = bind_series(change, &run->series);

    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(change, 1, at_ns);
    for (int i = 0; i < 2 && result == SQLITE_OK; i++) {
        result = sqlite3_bind_double(change, 5 + i, level->share[i]);
        if (result == SQLITE_OK) /* of none, there is no mean */
            result =
                level->mean_ns[i] > 0
                    ? sqlite3_bind_int64(change, 7 + i,
                                         (int64_t)fmin(level->mean_ns[i], (double)GV_MINUTES_FAR))
                    : sqlite3_bind_null(change, 7 + i);
    }
    int error = gv_database_error(run->trace, result);
    return error ? error : gv_database_step(change);
}

/* Ends a series. */
static int series_end(struct gv_minutes_run *run)
{
    struct gv_minutes_level level;
    int64_t at_ns;
    int error = 0;

    if (run->series.name && (find_change(run, false, &level) ||
                             (is_of(&run->series, "kernel") && find_change(run, true, &level)))) {
        error = find_minute(run, &level, &at_ns);
        if (!error)
            error = store_change(run, &level, at_ns);
    }
    free(run->series.name);
    memset(&run->series, 0, sizeof(run->series));
    return error;
}

static int series_take(void *context, sqlite3_stmt *row)
{
    struct gv_minutes_run *run = context;
    const char *what = (const char *)sqlite3_column_text(row, 0);
    const char *name = (const char *)sqlite3_column_text(row, 1);
    int64_t at = sqlite3_column_int64(row, 2);
    double total_ns = sqlite3_column_double(row, 3);
    int error = 0;

    if (!what || at < 0 || at >= (int64_t)GV_CHANGE_POINT_MOST)
        return 0;
    if (strcmp(what, "time") == 0 || strcmp(what, "seen") == 0) {
        (what[0] == 't' ? run->time_ns : run->seen_ns)[at] = total_ns;
        return 0;
    }
    if (!name)
        return 0;
    if (!run->series.name || strcmp(run->series.name, name) != 0 ||
        strcmp(run->series.what, what) != 0) {
        error = series_end(run);
        snprintf(run->series.what, sizeof(run->series.what), "%s", what);
        run->series.name = strdup(name);
        if (!run->series.name)
            error = -ENOMEM;
    }
    run->series.total_ns[at] = total_ns;
    run->series.count[at] = sqlite3_column_double(row, 4);
    return error;
}

static int find_changes(struct gv_minutes_run *run)
{
    int error = gv_database_compile(run->trace, sql_near, &run->near);

    run->step_ns =
        ((run->last_ns - run->first_ns) / GV_MINUTES_NS / GV_CHANGE_POINT_MOST + 1) * GV_MINUTES_NS;
    if (!error)
        error = gv_database_compile(run->trace, sql_change, &run->change);
    if (!error)
        error =
            gv_database_each(run->trace, sql_series, (const int64_t[]){run->step_ns, run->first_ns},
                             2, series_take, run);
    int ended = series_end(run);
    sqlite3_finalize(run->near);
    sqlite3_finalize(run->change);
    free(run->minutes);
    return error ? error : ended;
}

int gv_minutes_make(sqlite3 *trace, const struct gv_totals_part *part, int64_t rows, bool wanted)
{
    struct gv_minutes_run run = {.trace = trace};
    int error = gv_database_script(trace, sql_make_tables, NULL, 0);

    if (error || !wanted || !gv_minutes_have(part))
        return error;
    error = gv_database_script(
        trace, sql_read,
        (const int64_t[]){part->process, part->from_ns, part->to_ns, GV_MINUTES_LEAST_KERNEL_NS},
        4);
    if (!error)
        error = gv_database_each(trace, sql_extent, NULL, 0, extent_take, &run);
    if (error)
        return error;
    find_offset(&run);
    error = gv_database_script(trace, sql_buckets,
                               (const int64_t[]){find_step(&run, rows), run.offset_ns}, 2);
    return error ? error : find_changes(&run);
}
