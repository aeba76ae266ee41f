#include "report/analyse/facts/run_facts.h"

#include "report/analyse/names/stack_text.h"
#include "report/store/time_sum.h"
#include "report/analyse/totals/totals.h"
#include "report/store/database.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const fact_queries[] = {
#define GV_SQL(name, help, text) text,
#include "report/analyse_facts_run_facts.inc"
};

/* Names of rows of the table fact and of query columns. */
static const struct gv_fact_member {
    const char *name;
    size_t offset;
    size_t size; /* of a text; 0: a number */
} gv_fact_members[] = {
#define SIZE_NUMBER(name)       0
#define SIZE_TEXT(name)         sizeof(((struct gv_run_facts *)0)->name)
#define SIZE_LONG               SIZE_TEXT
#define GV_RUN_FACT(type, name) {#name, offsetof(struct gv_run_facts, name), SIZE_##type(name)},
#include "report/analyse/facts/run_facts.def"
};

static const char sql_stopped[] = "SELECT EXISTS (SELECT 1 FROM recording_change)";
static const char sql_complete[] = "SELECT 1 FROM meta WHERE key = 'state' AND value = 'complete'";

/* If one of so many launches is like none that was measured, that does not matter. */
#define GV_FACTS_LAUNCHES 1000

/* Two years in nanoseconds: anything beyond is invalid, and must not overflow a sum. */
#define GV_FACTS_MOST (INT64_C(1) << 56)

static int64_t facts_sound(int64_t number)
{
    if (number > GV_FACTS_MOST)
        return GV_FACTS_MOST;
    return number < -GV_FACTS_MOST ? -GV_FACTS_MOST : number;
}

static void facts_take(struct gv_run_facts *facts, const char *name, sqlite3_stmt *row, int column)
{
    for (size_t i = 0; name && i < sizeof(gv_fact_members) / sizeof(gv_fact_members[0]); i++) {
        const struct gv_fact_member *member = &gv_fact_members[i];
        char *place = (char *)facts + member->offset;
        const unsigned char *text;

        if (strcmp(member->name, name) != 0)
            continue;
        if (member->size == 0)
            *(int64_t *)(void *)place = facts_sound(sqlite3_column_int64(row, column));
        else if ((text = sqlite3_column_text(row, column)))
            snprintf(place, member->size, "%s", (const char *)text);
    }
}

/* A row whose columns are named like members. */
static int facts_take_columns(void *context, sqlite3_stmt *row)
{
    for (int i = 0; i < sqlite3_column_count(row); i++)
        facts_take(context, sqlite3_column_name(row, i), row, i);
    return 0;
}

/* A row of the table fact. */
static int facts_take_kept(void *context, sqlite3_stmt *row)
{
    facts_take(context, (const char *)sqlite3_column_text(row, 0), row, 1);
    return 0;
}

int64_t gv_run_facts_device_ns(const struct gv_run_facts *facts)
{
    return gv_time_product(facts->known_ns, facts->devices_used > 1 ? facts->devices_used : 1);
}

bool gv_run_facts_lacks_launches(const struct gv_run_facts *facts)
{
    return facts->sampled_unknown > facts->sampled_operations / GV_FACTS_LAUNCHES;
}

const char *gv_run_facts_busy(const struct gv_run_facts *facts, char out[GV_FACTS_SHARE_BYTES])
{
    int64_t device_ns = gv_run_facts_device_ns(facts);
    double percent = device_ns > 0 ? 100 * (double)facts->busy_ns / (double)device_ns : 0;
    double error = device_ns > 0 ? 200 * (double)facts->sampled_error_ns / (double)device_ns : 0;
    int decimals = (percent > 0 && percent < 9.95) || (error > 0 && error < 0.95);

    if (percent > 100)
        percent = 100;
    if (error >= percent && error >= 0.05) /* "62 ± 117 %" says less than nothing */
        snprintf(out, GV_FACTS_SHARE_BYTES, "0 to %.*f %%", decimals,
                 percent + error < 100 ? percent + error : 100);
    else if (error >= 0.05)
        snprintf(out, GV_FACTS_SHARE_BYTES, "%.*f ± %.*f %%", decimals, percent, decimals, error);
    else
        snprintf(out, GV_FACTS_SHARE_BYTES, "%.*f %%", percent > 0 && percent < 9.95 ? 1 : 0,
                 percent);
    return out;
}

bool gv_run_facts_are_of_little(const struct gv_run_facts *facts)
{
    return facts->whole && facts->known_ns == facts->window_ns &&
           facts->window_ns < facts->lived_ns / 10 * 9;
}

double gv_run_facts_underfilled(const struct gv_run_facts *facts)
{
    int64_t all_ns = gv_time_sum(facts->kernel_time_ns, facts->graph_time_ns);

    return all_ns > 0 ? (double)facts->underfilled_ns / (double)all_ns : 0;
}

/* Simultaneous kernels fill the device together, in their share of the computing time. */
double gv_run_facts_filled(const struct gv_run_facts *facts)
{
    int64_t all_ns = gv_time_sum(facts->kernel_time_ns, facts->graph_time_ns);
    double known_ns =
        all_ns > 0 ? (double)facts->seen_kernel_ns * (double)facts->blocks_known_ns / (double)all_ns
                   : 0;

    return known_ns > 0 ? (double)facts->filled_ns / known_ns : 0;
}

static bool facts_ran(const struct gv_run_facts *facts)
{
    return facts->kernels_run > 0 || facts->graphs > 0 || facts->untimed_operations > 0;
}

bool gv_run_facts_launches_failed(const struct gv_run_facts *facts)
{
    return facts->launch_calls > 0 && facts->launch_failed >= facts->launch_calls &&
           !facts_ran(facts);
}

/* Lost, cut off or unselected operations may have run. */
bool gv_run_facts_not_run(const struct gv_run_facts *facts)
{
    return facts->launch_calls > 0 && !facts_ran(facts) && facts->gpu_seen && facts->whole &&
           facts->complete && facts->lost == 0 && facts->in_flight == 0 && facts->killed == 0;
}

/* If operations are missing, shares are of the time in which none is. */
static void facts_known(struct gv_run_facts *facts)
{
    bool whole;

    facts->gpu_seen = facts->seen_processes > 0 && facts->unseen_processes == 0;
    facts->known_ns = facts->last_ns - facts->first_ns - facts->gpu_unseen_ns;
    facts->known_first = facts->known_ns == facts->gpu_known_ns - facts->first_ns;
    if (facts->known_ns != facts->window_ns || facts->operations_lost > 0)
        facts->gpu_seen &= facts->known_ns > 0 && facts->operations > 0;
    whole = facts->gpu_seen && facts->known_ns == facts->window_ns && facts->gpu_lost == 0;
    facts->gpu_whole = whole;
    if (facts->known_ns < 0)
        facts->known_ns = 0;
    facts->busy_ns = facts->gpu_busy_ns;
    facts->kernel_ns = facts->gpu_kernel_ns;
    facts->copied_ns = facts->gpu_copy_ns;
    if (facts->sampled_calls > 0 && facts->operations == 0) {
        facts->known_ns = facts->window_ns;
        facts->kernel_ns = gv_time_sum(facts->sampled_kernel_ns, facts->sampled_graph_ns);
        facts->copied_ns = facts->sampled_copy_ns;
        facts->busy_ns = gv_time_sum(facts->kernel_ns, facts->copied_ns);
    }
}

int gv_run_facts_read(sqlite3 *trace, const struct gv_totals_part *part, struct gv_run_facts *facts)
{
    int error = gv_totals_ensure(trace, part);

    memset(facts, 0, sizeof(*facts));
    return error ? error : gv_run_facts_read_made(trace, part, facts);
}

int gv_run_facts_read_made(sqlite3 *trace, const struct gv_totals_part *part,
                           struct gv_run_facts *facts)
{
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    char short_name[GV_FACTS_TEXT_BYTES];
    int64_t complete = 0, stopped = 0;
    int error;

    memset(facts, 0, sizeof(*facts));
    error = gv_stack_text_install(trace);
    if (!error)
        error =
            gv_database_each(trace, "SELECT key, value FROM fact", NULL, 0, facts_take_kept, facts);
    for (size_t i = 0; i < sizeof(fact_queries) / sizeof(fact_queries[0]) && !error; i++)
        error = gv_database_each(trace, fact_queries[i], values, 4, facts_take_columns, facts);
    if (!error && gv_totals_is_all(part))
        error = gv_late_rank_read(trace, &facts->late);
    if (!error && facts->refused_stack)
        error = gv_stack_text(trace, facts->refused_stack, 1, facts->refused_where,
                              sizeof(facts->refused_where));
    if (!error && facts->grown_stack)
        error = gv_stack_text(trace, facts->grown_stack, 1, facts->grown_where,
                              sizeof(facts->grown_where));
    if (!error)
        error = gv_database_number(trace, sql_complete, NULL, 0, &complete);
    if (!error)
        error = gv_database_number(trace, sql_stopped, NULL, 0, &stopped);
    if (!error)
        error = gv_minutes_older_read(trace, part->from_ns, part->to_ns, &facts->older);
    facts->window_ns = facts->last_ns - facts->first_ns - facts->stopped_ns;
    if (part->ranges)
        gv_range_choice_say(part->ranges, facts->ranges, sizeof(facts->ranges));
    facts_known(facts);
    gv_kernel_name_short(facts->top_kernel, short_name, sizeof(short_name));
    snprintf(facts->top_kernel, sizeof(facts->top_kernel), "%s", short_name);
    facts->stopped = stopped != 0;
    facts->whole = gv_totals_is_all(part) && !facts->stopped;
    facts->complete = complete != 0 && facts->snapshot_ns == 0;
    return error;
}
