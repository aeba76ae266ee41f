/* The options --from and --to of the report. */
#include "report/commands/report/report.h"

#include "report/commands/exit.h"
#include "report/commands_report_moments.inc"
#include "report/show/message.h"
#include "report/store/database.h"

#include <stdbool.h>
#include <stdlib.h>

#define GV_MOMENTS_SECOND_NS 1000000000
#define GV_MOMENTS_TEXT      24
/* A trace may hold any number: 200 years. */
#define GV_MOMENTS_FAR_NS INT64_C(6300000000000000000)

struct gv_moments_span {
    int64_t start_s, last_s; /* of the trace, by the clock */
    int64_t unix_ns;
};

static int span_take(void *context, sqlite3_stmt *row)
{
    struct gv_moments_span *span = context;
    int64_t unix_ns = sqlite3_column_int64(row, 0), last_ns = sqlite3_column_int64(row, 1);

    span->unix_ns = unix_ns < 0 || unix_ns > GV_MOMENTS_FAR_NS ? 0 : unix_ns;
    last_ns = last_ns < 0                                   ? 0
              : last_ns > GV_MOMENTS_FAR_NS - span->unix_ns ? GV_MOMENTS_FAR_NS - span->unix_ns
                                                            : last_ns;
    span->start_s = span->unix_ns / GV_MOMENTS_SECOND_NS;
    span->last_s = (span->unix_ns + last_ns) / GV_MOMENTS_SECOND_NS;
    return 0;
}

/* A time of the clock, which is there twice when summer time ends: the last one in the trace, or
 * the first one after `after_s`, unless that is NULL. */
static int64_t clock_pick(const struct tm *local, const struct gv_moments_span *span,
                          const int64_t *after_s)
{
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (int is_summer = 0; is_summer < 2; is_summer++) {
        struct tm time = *local;
        time.tm_isdst = is_summer;
        int64_t second = mktime(&time);
        if (time.tm_hour != local->tm_hour || time.tm_min != local->tm_min) {
            time = *local; /* it is in the other one only, or in none */
            time.tm_isdst = -1;
            second = mktime(&time);
        }
        first = second < first ? second : first;
        last = second > last ? second : last;
    }
    if (after_s)
        return first > *after_s ? first : last;
    return last <= span->last_s ? last : first;
}

/* A time of day, on the day of a second. */
static struct tm clock_on(const struct tm *time, int64_t second)
{
    struct tm local = {0};

    localtime_r(&(time_t){second}, &local);
    local.tm_hour = time->tm_hour;
    local.tm_min = time->tm_min;
    local.tm_sec = time->tm_sec;
    return local;
}

static int64_t clock_second(const struct gv_moment *moment, const struct gv_moments_span *span,
                            const int64_t *after_s)
{
    struct tm local = moment->local;

    if (moment->kind == GV_MOMENT_TIME) {
        local = clock_on(&moment->local, after_s ? *after_s : span->last_s);
        int64_t second = clock_pick(&local, span, after_s);
        if (after_s ? second > *after_s : second <= span->last_s)
            return second;
        local.tm_mday += after_s ? 1 : -1;
    }
    return clock_pick(&local, span, after_s);
}

static const char *clock_say(char out[GV_MOMENTS_TEXT], int64_t second)
{
    struct tm local = {0};

    localtime_r(&(time_t){second}, &local);
    if (strftime(out, GV_MOMENTS_TEXT, "%Y-%m-%d %H:%M:%S", &local) == 0)
        out[0] = '\0';
    return out;
}

/* A time of the clock must be in the trace, or what is printed is of another time than the user
 * believes. An end may be later, a day's start earlier. */
static int clock_read(const struct gv_moments_span *span, const struct gv_given *given,
                      const int64_t *after_s, int64_t *ns)
{
    char start[GV_MOMENTS_TEXT], last[GV_MOMENTS_TEXT];
    int64_t second = clock_second(&given->moment, span, after_s);
    bool is_end = given->option == GV_OPTION_report_to;

    bool may_be_before = !is_end && given->moment.kind == GV_MOMENT_DAY;
    if ((second < span->start_s && !may_be_before) || (second > span->last_s && !is_end)) {
        gv_message("%s is not in this trace, which goes from %s to %s", given->text,
                   clock_say(start, span->start_s), clock_say(last, span->last_s));
        return GV_EXIT_FAILED;
    }
    *ns = second * GV_MOMENTS_SECOND_NS - span->unix_ns;
    return 0;
}

static int moment_read(const struct gv_moments_span *span, const struct gv_given *given,
                       const int64_t *after_s, int64_t *ns)
{
    if (!given)
        return 0;
    if (given->moment.kind != GV_MOMENT_SINCE)
        return clock_read(span, given, after_s, ns);
    *ns = given->moment.since_ns;
    return 0;
}

int gv_report_moments_read(sqlite3 *trace, const struct gv_arguments *arguments,
                           struct gv_totals_part *part)
{
    const struct gv_given *from = gv_arguments_find(arguments, GV_OPTION_report_from);
    const struct gv_given *to = gv_arguments_find(arguments, GV_OPTION_report_to);
    struct gv_moments_span span = {0};
    int code = from || to ? gv_database_each(trace, sql_span, NULL, 0, span_take, &span) : 0;

    if (!code)
        code = moment_read(&span, from, NULL, &part->from_ns);
    if (!code) {
        int64_t after_s = span.start_s + part->from_ns / GV_MOMENTS_SECOND_NS;
        code = moment_read(&span, to, from ? &after_s : NULL, &part->to_ns);
    }
    if (!code && part->from_ns >= part->to_ns)
        return gv_arguments_refuse(arguments->command, "--from is not before --to");
    return code;
}
