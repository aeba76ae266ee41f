#include "report/analyse/jobs/collectives.h"

#include "report/analyse/idle/where_words.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse_jobs_jobs.inc"
#include "report/store/database.h"

#include <stdio.h>
#include <string.h>

/* What the others do not notice. */
#define LEAST_NS 1000000

struct reading {
    sqlite3 *trace;
    struct gv_late_rank *late;
    int64_t group; /* one of those at this line */
    bool is_stall;
    char reason[64], detail[256];
    int64_t stack;
};

static void copy_text(char *out, size_t size, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    snprintf(out, size, "%.*s", (int)size - 1, text ? text : "");
}

static int take_late(void *context, sqlite3_stmt *row)
{
    struct reading *reading = context;

    reading->late->process = sqlite3_column_int64(row, 0);
    reading->late->rank = sqlite3_column_int64(row, 1);
    reading->late->total_ns = sqlite3_column_int64(row, 2);
    reading->group = sqlite3_column_int64(row, 3);
    copy_text(reading->reason, sizeof(reading->reason), row, 4);
    copy_text(reading->detail, sizeof(reading->detail), row, 5);
    reading->stack = sqlite3_column_int64(row, 6);
    reading->is_stall = sqlite3_column_int(row, 7) != 0;
    return 0;
}

static int take_steps(void *context, sqlite3_stmt *row)
{
    struct gv_late_rank *late = context;
    int64_t steps = sqlite3_column_int64(row, 1);

    if (steps == 0)
        return 0;
    late->of = sqlite3_column_int64(row, 0);
    late->steps = steps;
    late->late_ns = sqlite3_column_int64(row, 2) / steps;
    late->are_steps = sqlite3_column_int(row, 3) != 0;
    return 1;
}

static int say_why(struct reading *reading)
{
    struct gv_late_rank *late = reading->late;
    char where[256] = "";
    int error =
        reading->stack ? gv_stack_text(reading->trace, reading->stack, 1, where, sizeof(where)) : 0;

    if (error)
        return error;
    if (strcmp(reading->reason, "gpu-work") == 0)
        snprintf(late->text, sizeof(late->text), "its GPU was busy");
    else if (reading->is_stall)
        snprintf(late->text, sizeof(late->text), "a stall (%s): %s%s%s", reading->reason,
                 reading->detail, where[0] ? ", " : "", where);
    else
        gv_idle_say(gv_account_say(gv_account_find(reading->reason)).meaning, reading->detail,
                    where, late->text, sizeof(late->text));
    return 0;
}

int gv_late_rank_read(sqlite3 *trace, struct gv_late_rank *late)
{
    struct reading reading = {.trace = trace, .late = late};
    const int64_t least_ns = LEAST_NS;
    int error;

    *late = (struct gv_late_rank){0};
    error = gv_database_each(trace, sql_late_rank, &least_ns, 1, take_late, &reading);
    if (error || !late->process)
        return error;
    const int64_t values[] = {late->process, reading.group, least_ns};
    error = gv_database_each(trace, sql_late_steps, values, 3, take_steps, late);
    if (!error)
        error = gv_database_each(trace, sql_late_collectives, values, 3, take_steps, late);
    if (error > 0)
        error = 0;
    return error ? error : say_why(&reading);
}
