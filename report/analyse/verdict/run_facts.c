#include "report/analyse/verdict/run_facts.h"

#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/new_ptx.h"
#include "report/analyse/time_sum.h"
#include "report/analyse/time_union.h"
#include "report/store/database.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Where a column of a query's only row goes. */
struct gv_fact_column {
    size_t offset;
    size_t size; /* of a text; 0: a number */
};

#define GV_NUMBER(member)                                                                          \
    {                                                                                              \
        offsetof(struct gv_run_facts, member), 0                                                   \
    }
#define GV_TEXT(member)                                                                            \
    {                                                                                              \
        offsetof(struct gv_run_facts, member), sizeof(((struct gv_run_facts *)0)->member)          \
    }

#define GV_FACT_COLUMNS 8

/* A query of one row at most; ?1 to ?4 say which part of the trace: process, thread, from, to. */
struct gv_fact_query {
    const char *sql;
    struct gv_fact_column columns[GV_FACT_COLUMNS];
};

#define GV_PART(process, thread, start)                                                            \
    "(?1 = 0 OR " process " = ?1) AND (?2 = 0 OR " thread " = ?2) AND " start " >= ?3 AND " start  \
    " < ?4"

/* What a program can do something about. */
#define GV_FACTS_WAITS "NOT expected AND cause NOT IN ('descheduled', 'unknown')"

static const struct gv_fact_query gv_fact_queries[] = {
    {"SELECT count(*), count(CASE WHEN gpu = 'cupti' THEN 1 END), count(CASE WHEN gpu <> 'cupti'"
     " THEN 1 END), count(CASE WHEN ended = 'killed' THEN 1 END) FROM process WHERE ?1 = 0 OR id ="
     " ?1",
     {GV_NUMBER(processes), GV_NUMBER(seen_processes), GV_NUMBER(unseen_processes),
      GV_NUMBER(killed)}},
    {"SELECT count(*) FROM threads WHERE (?1 = 0 OR process = ?1) AND (?2 = 0 OR id = ?2)",
     {GV_NUMBER(threads)}},
    {"SELECT count(*), max(busy_ns), CAST(total(kernel_ns) AS INTEGER) FROM device_total",
     {GV_NUMBER(devices_used), GV_NUMBER(busiest_ns), GV_NUMBER(seen_kernel_ns)}},
    {"SELECT d.name, d.multiprocessors FROM device_total t JOIN device d ON d.id = t.device ORDER"
     " BY t.busy_ns DESC LIMIT 1",
     {GV_TEXT(device), GV_NUMBER(multiprocessors)}},
    /* A program that failed may not have used it. */
    {"SELECT EXISTS (SELECT 1 FROM device WHERE name GLOB 'GV_SIM *')", {GV_NUMBER(simulated)}},
    {"SELECT count(*), CAST(total(count) AS INTEGER) FROM kernel_total",
     {GV_NUMBER(kernel_names), GV_NUMBER(kernels_run)}},
    {"SELECT k.name, s.grid_x * s.grid_y * s.grid_z FROM kernel_total k LEFT JOIN gpu_shape s ON"
     " s.id = k.shape ORDER BY k.total_ns DESC, k.rank LIMIT 1",
     {GV_TEXT(top_kernel), GV_NUMBER(least_blocks)}},
    {"SELECT CAST(total(count) AS INTEGER), CAST(total(bytes) AS INTEGER) FROM copy_total WHERE"
     " copy_kind & 15 BETWEEN 1 AND 4",
     {GV_NUMBER(copies), GV_NUMBER(copied_bytes)}},
    {"SELECT CAST(total(CASE copy_kind >> 4 WHEN 1 THEN bytes END) AS INTEGER), CAST(total(CASE"
     " copy_kind >> 4 WHEN 2 THEN bytes END) AS INTEGER) FROM copy_total WHERE copy_kind & 15"
     " BETWEEN 1 AND 4",
     {GV_NUMBER(pageable_bytes), GV_NUMBER(pinned_bytes)}},
    {"SELECT a.name, CAST(total(g.total_ns) AS INTEGER) AS taken FROM gap_call g JOIN api a ON"
     " a.id = g.api GROUP BY a.id ORDER BY taken DESC, a.name LIMIT 1",
     {GV_TEXT(gap_call), GV_NUMBER(gap_call_ns)}},
    {"SELECT s.stack FROM call_stack s JOIN call c ON c.id = s.call JOIN api a ON a.id = c.api LEFT"
     " JOIN thread t ON t.id = c.thread WHERE a.class = 'copy' AND " GV_PART(
         "t.process", "c.thread", "c.start_ns") " GROUP BY s.stack ORDER BY total(c.duration_ns)"
                                                " DESC LIMIT 1",
     {GV_NUMBER(copy_stack)}},
    {"SELECT t.median_ns FROM api_total t JOIN api a ON a.id = t.api WHERE a.class = 'launch' ORDER"
     " BY t.count DESC LIMIT 1",
     {GV_NUMBER(launch_median_ns)}},
    /* Not 4: in every program with a runtime the driver answers so, once it has ended, to what is
     * given back by exit handlers (driver 580). */
    {"SELECT CAST(total(count) AS INTEGER) FROM error_total WHERE result <> 4",
     {GV_NUMBER(failed)}},
    {"SELECT a.name FROM error_total t JOIN api a ON a.id = t.api WHERE t.result <> 4"
     " GROUP BY a.id ORDER BY sum(t.count) DESC, a.name LIMIT 1",
     {GV_TEXT(failed_most)}},
    {"SELECT count(*), CAST(total(wait_ns + jit_ns) AS INTEGER), count(CASE WHEN cause ="
     " 'descheduled' THEN 1 END), count(CASE WHEN cause = 'unknown' THEN 1 END) FROM stalls WHERE"
     " NOT expected AND " GV_PART("process", "thread", "start_ns"),
     {GV_NUMBER(stalls), GV_NUMBER(stall_ns), GV_NUMBER(delays), GV_NUMBER(unknowns)}},
    {"SELECT count(CASE WHEN wait_ns > 0 THEN 1 END), CAST(total(CASE WHEN wait_ns > 0 THEN jit_ns"
     " END) AS INTEGER) FROM stalls WHERE " GV_FACTS_WAITS
     " AND " GV_PART("process", "thread", "start_ns"),
     {GV_NUMBER(waits), GV_NUMBER(wait_jit_ns)}},
    {"SELECT CAST(total(wait_ns) AS INTEGER) FROM stalls s WHERE " GV_NEW_PTX_UNSURE_SQL
     " AND " GV_PART("process", "thread", "start_ns"),
     {GV_NUMBER(unsure_ns)}},
    {"SELECT cause, CAST(total(wait_ns) AS INTEGER) AS lost, count(*) FROM stalls "
     "WHERE " GV_FACTS_WAITS " AND wait_ns > 0 AND " GV_PART(
         "process", "thread", "start_ns") " GROUP BY cause ORDER BY lost DESC,"
                                          " max(wait_ns + jit_ns) DESC, min(id)"
                                          " LIMIT 1",
     {GV_TEXT(top_stall), GV_NUMBER(top_stall_ns), GV_NUMBER(top_stall_count)}},
    {"SELECT count(*), count(CASE WHEN class = 'sync' THEN 1 END) FROM in_flight WHERE ?1 = 0 OR"
     " process = ?1",
     {GV_NUMBER(in_flight), GV_NUMBER(sync_flights)}},
    {"SELECT f.name, f.elapsed_ns, p.ended IS NULL FROM in_flight f JOIN processes p ON"
     " p.id = f.process WHERE (p.ended IS NULL OR p.ended = 'killed') AND " GV_PART(
         "f.process", "f.thread", "f.start_ns") " ORDER BY f.elapsed_ns DESC LIMIT 1",
     {GV_TEXT(flight), GV_NUMBER(flight_ns), GV_NUMBER(flight_running)}},
    /* A record that the spool lacks may be of any kind. */
    {"SELECT CAST(total(count) AS INTEGER), CAST(total(CASE WHEN what LIKE 'GPU %' OR what ="
     " 'record' THEN count END) AS INTEGER), CAST(total(CASE WHEN what = 'GPU operation' THEN "
     "count END) AS INTEGER),"
     " CAST(total(CASE WHEN class = 'missing' THEN count END) AS INTEGER) FROM"
     " loss WHERE ?1 = 0 OR process = ?1",
     {GV_NUMBER(lost), GV_NUMBER(gpu_lost), GV_NUMBER(operations_lost),
      GV_NUMBER(launches_missing)}},
    {"SELECT CAST(total(count) AS INTEGER), CAST(total(CASE what WHEN 'GPU record' THEN count END)"
     " AS INTEGER) FROM loss WHERE (?1 = 0 OR process = ?1) AND what IN ('call', 'load', 'name',"
     " 'thread', 'GPU record') AND class NOT IN ('dropped by CUPTI', 'missing', 'trace taken "
     "away')",
     {GV_NUMBER(full), GV_NUMBER(gpu_full)}},
    {"SELECT CAST(total(CASE a.class WHEN 'load' THEN t.errors END) AS INTEGER), CAST(total(CASE"
     " a.class WHEN 'copy' THEN t.errors END) AS INTEGER) FROM api_total t JOIN api a ON a.id = "
     "t.api",
     {GV_NUMBER(load_failed), GV_NUMBER(copy_failed)}},
    {"SELECT e.result FROM error_total e JOIN api a ON a.id = e.api WHERE a.class = 'init' AND NOT"
     " EXISTS (SELECT 1 FROM api_total t JOIN api b ON b.id = t.api WHERE b.class = 'init' AND"
     " t.errors < t.count) ORDER BY e.count DESC LIMIT 1",
     {GV_NUMBER(init_result)}},
    {"SELECT a.name, e.result FROM error_total e JOIN api a ON a.id = e.api WHERE a.class = "
     "'launch'"
     " AND a.gpu_work > 0 ORDER BY e.count DESC, a.name, e.result LIMIT 1",
     {GV_TEXT(launch_failed_most), GV_NUMBER(launch_result)}},
};

/* Two years in nanoseconds: beyond that it is no fact, and may not overflow what it is added to. */
#define GV_FACTS_MOST (INT64_C(1) << 56)

static int64_t gv_facts_sound(int64_t number)
{
    if (number > GV_FACTS_MOST)
        return GV_FACTS_MOST;
    return number < -GV_FACTS_MOST ? -GV_FACTS_MOST : number;
}

static int64_t *gv_facts_number(struct gv_run_facts *facts, size_t offset)
{
    return (int64_t *)(void *)((char *)facts + offset);
}

static void gv_facts_take(struct gv_run_facts *facts, const struct gv_fact_query *query,
                          sqlite3_stmt *row)
{
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        const struct gv_fact_column *column = &query->columns[i];
        if (column->size == 0) {
            *gv_facts_number(facts, column->offset) = gv_facts_sound(sqlite3_column_int64(row, i));
            continue;
        }
        const unsigned char *text = sqlite3_column_text(row, i);
        snprintf((char *)facts + column->offset, column->size, "%s",
                 text ? (const char *)text : "");
    }
}

static int gv_facts_query(sqlite3 *trace, const struct gv_totals_part *part,
                          const struct gv_fact_query *query, struct gv_run_facts *facts)
{
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    sqlite3_stmt *row = NULL;
    int result = gv_database_ask(trace, query->sql, values, 4, &row);

    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    if (result == SQLITE_ROW)
        gv_facts_take(facts, query, row);
    sqlite3_finalize(row);
    return gv_database_error(trace, result);
}

static int gv_facts_kept(sqlite3 *trace, struct gv_run_facts *facts)
{
    static const struct {
        const char *key;
        size_t offset;
    } keys[] = {
#define GV_RUN_FACT(name) {#name, offsetof(struct gv_run_facts, name)},
#include "report/analyse/verdict/run_facts.def"
    };
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(trace, "SELECT key, value FROM fact", -1, &rows, NULL);

    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(rows, 0);
        for (size_t i = 0; key && i < sizeof(keys) / sizeof(keys[0]); i++)
            if (strcmp(keys[i].key, key) == 0)
                *gv_facts_number(facts, keys[i].offset) =
                    gv_facts_sound(sqlite3_column_int64(rows, 1));
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}

/* Adds the waits of a part: those of one cause, or all that a program can do something about. */
static int gv_facts_wait(sqlite3 *trace, const struct gv_totals_part *part, const char *cause,
                         int64_t *wait_ns)
{
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    struct gv_time_union waits = {0};
    sqlite3_stmt *rows = NULL;
    int result = gv_database_ask(
        trace,
        "SELECT start_ns, wait_ns FROM stalls WHERE NOT expected AND wait_ns > 0 AND"
        " (?5 IS NULL AND " GV_FACTS_WAITS
        " OR cause = ?5) AND " GV_PART("process", "thread", "start_ns") " ORDER BY start_ns",
        values, 4, &rows);

    if (result == SQLITE_OK)
        result = sqlite3_bind_text(rows, 5, cause, -1, SQLITE_STATIC);
    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        int64_t start_ns = gv_facts_sound(sqlite3_column_int64(rows, 0));
        gv_time_union_add(&waits, start_ns,
                          start_ns + gv_facts_sound(sqlite3_column_int64(rows, 1)));
    }
    sqlite3_finalize(rows);
    *wait_ns = gv_facts_sound(waits.sum_ns);
    return gv_database_error(trace, result);
}

/* Threads and processes that wait at the same time lose that time once. */
static int gv_facts_waits(sqlite3 *trace, const struct gv_totals_part *part,
                          struct gv_run_facts *facts)
{
    int error = gv_facts_wait(trace, part, NULL, &facts->wait_ns);

    if (!error && facts->top_stall[0])
        error = gv_facts_wait(trace, part, facts->top_stall, &facts->top_stall_ns);
    if (!error)
        error = gv_facts_wait(trace, part, "descheduled", &facts->delay_ns);
    if (!error)
        error = gv_facts_wait(trace, part, "unknown", &facts->unknown_ns);
    return error;
}

static bool gv_facts_is_complete(sqlite3 *trace)
{
    sqlite3_stmt *row = NULL;
    bool complete = sqlite3_prepare_v2(trace,
                                       "SELECT 1 FROM meta WHERE key = 'state' AND value ="
                                       " 'complete'",
                                       -1, &row, NULL) == SQLITE_OK &&
                    sqlite3_step(row) == SQLITE_ROW;

    sqlite3_finalize(row);
    return complete;
}

int64_t gv_run_facts_device_ns(const struct gv_run_facts *facts)
{
    return gv_time_product(facts->known_ns, facts->devices_used > 1 ? facts->devices_used : 1);
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

double gv_run_facts_underfilled(const struct gv_run_facts *facts)
{
    int64_t all_ns = gv_time_sum(facts->kernel_time_ns, facts->graph_time_ns);

    return all_ns > 0 ? (double)facts->underfilled_ns / (double)all_ns : 0;
}

/* Kernels that run at the same time fill it together: their part of the time that is computed. */
double gv_run_facts_filled(const struct gv_run_facts *facts)
{
    int64_t all_ns = gv_time_sum(facts->kernel_time_ns, facts->graph_time_ns);
    double known_ns =
        all_ns > 0 ? (double)facts->seen_kernel_ns * (double)facts->blocks_known_ns / (double)all_ns
                   : 0;

    return known_ns > 0 ? (double)facts->filled_ns / known_ns : 0;
}

static bool gv_facts_ran(const struct gv_run_facts *facts)
{
    return facts->kernels_run > 0 || facts->graphs > 0 || facts->untimed_operations > 0;
}

bool gv_run_facts_launches_failed(const struct gv_run_facts *facts)
{
    return facts->launch_calls > 0 && facts->launch_failed >= facts->launch_calls &&
           !gv_facts_ran(facts);
}

/* What was lost, cut off or is not asked for may have run. */
bool gv_run_facts_not_run(const struct gv_run_facts *facts)
{
    return facts->launch_calls > 0 && !gv_facts_ran(facts) && facts->gpu_seen && facts->whole &&
           facts->complete && facts->lost == 0 && facts->in_flight == 0 && facts->killed == 0;
}

/* Where operations are missing, shares are of the time before the first of them. */
static void gv_facts_known(struct gv_run_facts *facts)
{
    facts->gpu_seen = facts->seen_processes > 0 && facts->unseen_processes == 0;
    facts->known_ns = facts->window_ns;
    if (facts->gpu_known_ns < facts->last_ns)
        facts->known_ns = facts->gpu_known_ns - facts->first_ns;
    if (facts->known_ns != facts->window_ns || facts->operations_lost > 0)
        facts->gpu_seen &= facts->known_ns > 0 && facts->operations > 0;
    facts->gpu_whole =
        facts->gpu_seen && facts->known_ns == facts->window_ns && facts->gpu_lost == 0;
    if (facts->known_ns < 0)
        facts->known_ns = 0;
    facts->busy_ns = facts->gpu_busy_ns;
    facts->kernel_ns = facts->gpu_kernel_ns;
    facts->copied_ns = facts->gpu_copy_ns;
}

int gv_run_facts_read(sqlite3 *trace, const struct gv_totals_part *part, struct gv_run_facts *facts)
{
    char short_name[GV_FACTS_TEXT_BYTES];
    int error;

    memset(facts, 0, sizeof(*facts));
    error = gv_totals_ensure(trace, part);
    if (!error)
        error = gv_facts_kept(trace, facts);
    for (size_t i = 0; i < sizeof(gv_fact_queries) / sizeof(gv_fact_queries[0]) && !error; i++)
        error = gv_facts_query(trace, part, &gv_fact_queries[i], facts);
    if (!error)
        error = gv_facts_waits(trace, part, facts);
    if (!error && facts->copy_stack)
        error = gv_stack_text(trace, facts->copy_stack, 1, facts->copy_where,
                              sizeof(facts->copy_where));
    facts->window_ns = facts->last_ns - facts->first_ns;
    gv_facts_known(facts);
    gv_kernel_name_short(facts->top_kernel, short_name, sizeof(short_name));
    snprintf(facts->top_kernel, sizeof(facts->top_kernel), "%s", short_name);
    facts->whole = gv_totals_is_all(part);
    facts->complete = gv_facts_is_complete(trace);
    return error;
}
