#include "report/analyse/verdict/run_facts.h"

#include "report/analyse/idle/reason_words.h"
#include "report/analyse/idle/sums.h"
#include "report/analyse/names/stack_text.h"
#include "report/store/time_sum.h"
#include "report/analyse/time_union.h"
#include "report/analyse/totals/totals.h"
#include "report/analyse_verdict_waits.inc"
#include "report/store/database.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const fact_queries[] = {
#define GV_SQL(name, help, text) text,
#include "report/analyse_verdict_run_facts.inc"
};

#define GV_NUMBER(member)                                                                          \
    {                                                                                              \
#member, offsetof(struct gv_run_facts, member), 0                                          \
    }
#define GV_TEXT(member)                                                                            \
    {                                                                                              \
#member, offsetof(struct gv_run_facts, member), sizeof(((struct gv_run_facts *)0)->member) \
    }

/* Names of rows of the table fact and of query columns. */
static const struct gv_fact_member {
    const char *name;
    size_t offset;
    size_t size; /* of a text; 0: a number */
} gv_fact_members[] = {
#define GV_RUN_FACT(name) GV_NUMBER(name),
#include "report/analyse/verdict/run_facts.def"
    GV_NUMBER(processes),
    GV_NUMBER(first_process),
    GV_NUMBER(lived_ns),
    GV_NUMBER(seen_processes),
    GV_NUMBER(unseen_processes),
    GV_NUMBER(killed),
    GV_NUMBER(threads),
    GV_NUMBER(devices_used),
    GV_NUMBER(busiest_ns),
    GV_NUMBER(seen_kernel_ns),
    GV_TEXT(device),
    GV_NUMBER(multiprocessors),
    GV_NUMBER(simulated),
    GV_NUMBER(kernel_names),
    GV_NUMBER(kernels_run),
    GV_TEXT(top_kernel),
    GV_NUMBER(least_blocks),
    GV_NUMBER(copies),
    GV_NUMBER(copied_bytes),
    GV_NUMBER(pageable_bytes),
    GV_NUMBER(pinned_bytes),
    GV_TEXT(gap_call),
    GV_NUMBER(gap_call_ns),
    GV_NUMBER(copy_stack),
    GV_NUMBER(launch_median_ns),
    GV_NUMBER(failed),
    GV_TEXT(failed_most),
    GV_NUMBER(stalls),
    GV_NUMBER(stall_ns),
    GV_NUMBER(delays),
    GV_NUMBER(unknowns),
    GV_NUMBER(waits),
    GV_NUMBER(wait_jit_ns),
    GV_NUMBER(unsure_ns),
    GV_TEXT(top_stall),
    GV_NUMBER(top_stall_ns),
    GV_NUMBER(top_stall_count),
    GV_NUMBER(snapshot_ns),
    GV_NUMBER(in_flight),
    GV_NUMBER(sync_flights),
    GV_NUMBER(own_costs),
    GV_NUMBER(own_cost_ppm),
    GV_NUMBER(own_cost_once_ns),
    GV_TEXT(own_cost_most),
    GV_NUMBER(own_cost_most_ppm),
    GV_NUMBER(stacks_spared),
    GV_TEXT(flight),
    GV_NUMBER(flight_process),
    GV_NUMBER(flight_ns),
    GV_NUMBER(flight_running),
    GV_NUMBER(lost),
    GV_NUMBER(gpu_lost),
    GV_NUMBER(operations_lost),
    GV_NUMBER(launches_missing),
    GV_NUMBER(full),
    GV_NUMBER(gpu_full),
    GV_NUMBER(load_failed),
    GV_NUMBER(copy_failed),
    GV_NUMBER(init_result),
    GV_TEXT(launch_failed_most),
    GV_NUMBER(launch_result),
    GV_TEXT(launch_blocking),
    GV_TEXT(hidden_devices),
    GV_TEXT(refused),
    GV_NUMBER(refused_bytes),
    GV_NUMBER(refused_stack),
    GV_NUMBER(refused_ended_well),
    GV_NUMBER(device_bytes),
    GV_NUMBER(held_bytes),
    GV_TEXT(held_where),
    GV_NUMBER(peak_bytes),
    GV_NUMBER(outside_bytes),
    GV_NUMBER(other_bytes),
};

static const char sql_stopped[] = "SELECT EXISTS (SELECT 1 FROM recording_change)";
static const char sql_complete[] = "SELECT 1 FROM meta WHERE key = 'state' AND value = 'complete'";

/* An estimate from fewer windows has no error that means anything. */
#define GV_FACTS_WINDOWS 4
/* If one of so many launches is like none that was seen, that does not matter. */
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

/* Simultaneous waits of threads and processes count once. */
struct gv_facts_waits {
    const struct gv_run_facts *facts;
    struct gv_time_union avoidable, top, descheduled, unknown;
};

static int facts_take_wait(void *context, sqlite3_stmt *row)
{
    struct gv_facts_waits *waits = context;
    int64_t start_ns = facts_sound(sqlite3_column_int64(row, 0));
    int64_t end_ns = start_ns + facts_sound(sqlite3_column_int64(row, 1));
    const char *cause = (const char *)sqlite3_column_text(row, 3);

    if (sqlite3_column_int(row, 2))
        gv_time_union_add(&waits->avoidable, start_ns, end_ns);
    if (cause && strcmp(cause, waits->facts->top_stall) == 0)
        gv_time_union_add(&waits->top, start_ns, end_ns);
    if (cause && strcmp(cause, "descheduled") == 0)
        gv_time_union_add(&waits->descheduled, start_ns, end_ns);
    if (cause && strcmp(cause, "unknown") == 0)
        gv_time_union_add(&waits->unknown, start_ns, end_ns);
    return 0;
}

static int facts_waits(sqlite3 *trace, const int64_t part[4], struct gv_run_facts *facts)
{
    struct gv_facts_waits waits = {.facts = facts};
    int error = gv_database_each(trace, sql_waits, part, 4, facts_take_wait, &waits);

    facts->wait_ns = facts_sound(waits.avoidable.sum_ns);
    facts->top_stall_ns = facts_sound(waits.top.sum_ns);
    facts->delay_ns = facts_sound(waits.descheduled.sum_ns);
    facts->unknown_ns = facts_sound(waits.unknown.sum_ns);
    return error;
}

/* Calls and stalls have findings of their own. Without a look at a thread that was outside of
 * calls, what came before the first operation and after the last one is starting and ending CUDA.
 */
static bool facts_tells_idle(const struct gv_idle_line *line, unsigned traits)
{
    return !(traits & GV_IDLE_TOLD_ELSEWHERE) &&
           (line->samples > 0 || !(traits & GV_IDLE_IN_CALLS)) &&
           ((line->where[0] && line->samples > 0) || !(traits & GV_IDLE_EDGE));
}

static int facts_idle(sqlite3 *trace, const struct gv_totals_part *part, struct gv_run_facts *facts)
{
    struct gv_idle_sums sums;
    int error = gv_idle_sums_read(trace, part, &sums);

    for (size_t i = 0; i < sums.count && !error; i++) {
        const struct gv_idle_line *line = &sums.lines[i];
        const struct gv_idle_reason_words *words = gv_idle_reason_find(line->reason);
        unsigned traits = words ? words->traits : 0;
        bool is_own = traits & GV_IDLE_OWN;
        if (is_own)
            facts->own_idle_ns = gv_time_sum(facts->own_idle_ns, line->total_ns);
        if (facts->idle_lines == GV_FACTS_IDLE || !facts_tells_idle(line, traits))
            continue;
        struct gv_facts_idle *idle = &facts->idle[facts->idle_lines++];
        *idle = (struct gv_facts_idle){.id = line->longest,
                                       .total_ns = facts_sound(line->total_ns),
                                       .saves_ns = facts_sound(line->saves_ns),
                                       .inside_ns = facts_sound(line->inside_ns),
                                       .gaps = line->gaps,
                                       .inferred = line->inferred,
                                       .own = is_own};
        snprintf(idle->reason, sizeof(idle->reason), "%s", line->reason);
        gv_idle_reason_say(line->reason, line->detail, line->where, idle->text, sizeof(idle->text));
    }
    facts->idle_ns = facts_sound(sums.total_ns);
    facts->own_idle_ns = facts_sound(facts->own_idle_ns);
    facts->run_ns = facts_sound(sums.run_ns);
    facts->idle_lack = gv_idle_sums_lack(&sums);
    gv_idle_sums_free(&sums);
    return error;
}

int64_t gv_run_facts_device_ns(const struct gv_run_facts *facts)
{
    return gv_time_product(facts->known_ns, facts->devices_used > 1 ? facts->devices_used : 1);
}

bool gv_run_facts_lacks_launches(const struct gv_run_facts *facts)
{
    return facts->scaled_unknown > (facts->launch_calls + facts->copy_calls) / GV_FACTS_LAUNCHES;
}

const char *gv_run_facts_busy(const struct gv_run_facts *facts, char out[GV_FACTS_SHARE_BYTES])
{
    int64_t device_ns = gv_run_facts_device_ns(facts);
    double percent = device_ns > 0 ? 100 * (double)facts->busy_ns / (double)device_ns : 0;
    double error = device_ns > 0 ? 200 * (double)facts->gpu_busy_error_ns / (double)device_ns : 0;
    int decimals = (percent > 0 && percent < 9.95) || (error > 0 && error < 0.95);

    if (percent > 100)
        percent = 100;
    if (facts->scaled && facts->scaled_windows >= GV_FACTS_WINDOWS && error >= 0.05)
        snprintf(out, GV_FACTS_SHARE_BYTES, "%.*f ± %.*f %%", decimals, percent, decimals, error);
    else
        snprintf(out, GV_FACTS_SHARE_BYTES, "%.*f %%", percent > 0 && percent < 9.95 ? 1 : 0,
                 percent);
    return out;
}

const char *gv_run_facts_seen(const struct gv_run_facts *facts, const char *of,
                              char out[GV_FACTS_SEEN_BYTES])
{
    double percent = (double)facts->scaled_seen_ppm / 1e4;

    out[0] = '\0';
    if (facts->scaled && facts->scaled_windows < GV_FACTS_WINDOWS)
        snprintf(out, GV_FACTS_SEEN_BYTES,
                 ", seen for %.1f %% of %s, too little to say how exact that is", percent, of);
    else if (facts->scaled)
        snprintf(out, GV_FACTS_SEEN_BYTES, ", seen for %.1f %% of %s", percent, of);
    return out;
}

bool gv_run_facts_are_of_little(const struct gv_run_facts *facts)
{
    return facts->whole && facts->known_ns == facts->window_ns &&
           facts->window_ns < facts->lived_ns / 10 * 9;
}

int64_t gv_run_facts_outside_ns(const struct gv_run_facts *facts)
{
    return facts->window_ns > facts->thread_ns ? facts->window_ns - facts->thread_ns : 0;
}

bool gv_run_facts_idle_in_calls(const struct gv_run_facts *facts)
{
    int64_t devices = facts->devices_used > 1 ? facts->devices_used : 1;
    int64_t idle_ns = (gv_run_facts_device_ns(facts) - facts->busy_ns) / devices;

    return facts->known_ns == facts->window_ns && gv_run_facts_outside_ns(facts) < idle_ns / 2;
}

bool gv_run_facts_idle_call_is_known(const struct gv_run_facts *facts)
{
    return gv_run_facts_idle_in_calls(facts) && facts->gap_call_ns > 0 &&
           facts->gap_call_ns >= (gv_run_facts_device_ns(facts) - facts->busy_ns) / 10;
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
    if (facts->scaled) {
        facts->known_ns = facts->window_ns;
        facts->gpu_seen &= facts->operations > 0;
    }
    if (facts->known_ns != facts->window_ns || facts->operations_lost > 0)
        facts->gpu_seen &= facts->known_ns > 0 && facts->operations > 0;
    whole = facts->gpu_seen && facts->known_ns == facts->window_ns && facts->gpu_lost == 0;
    facts->gpu_whole = whole && !facts->scaled;
    facts->gpu_known = whole && (!facts->scaled || (facts->scaled_windows >= GV_FACTS_WINDOWS &&
                                                    !gv_run_facts_lacks_launches(facts)));
    if (facts->known_ns < 0)
        facts->known_ns = 0;
    facts->busy_ns = facts->gpu_busy_ns;
    facts->kernel_ns = facts->gpu_kernel_ns;
    facts->copied_ns = facts->gpu_copy_ns;
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
    if (!error)
        error = facts_waits(trace, values, facts);
    if (!error)
        error = facts_idle(trace, part, facts);
    if (!error && gv_totals_is_all(part))
        error = gv_late_rank_read(trace, &facts->late);
    if (!error && facts->copy_stack)
        error = gv_stack_text(trace, facts->copy_stack, 1, facts->copy_where,
                              sizeof(facts->copy_where));
    if (!error && facts->refused_stack)
        error = gv_stack_text(trace, facts->refused_stack, 1, facts->refused_where,
                              sizeof(facts->refused_where));
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
