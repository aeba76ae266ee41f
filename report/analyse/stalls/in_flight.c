#include "report/analyse/stalls/in_flight.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/stalls/advice.h"
#include "report/analyse/stalls/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLIGHTS_MOST 1024

struct gv_flight {
    int64_t row;
    char name[65];
    char kernel[GV_KERNEL_NAME_BYTES]; /* "": not known */
};

/* evidence[i] is of flights[i]; its number, as a call, is i + 1. */
struct gv_flights {
    struct gv_stall_run run;
    struct gv_flight_work work;
    size_t count;
    struct gv_flight list[FLIGHTS_MOST];
    struct gv_stall_call evidence[FLIGHTS_MOST];
};

static int read_kernel(sqlite3 *trace, struct gv_flight_work *work)
{
    sqlite3_stmt *row = NULL;
    int result = gv_database_ask(
        trace, "SELECT k.name FROM call c JOIN kernel k ON k.id = c.kernel WHERE c.id = ?1",
        &work->call, 1, &row);

    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    if (result == SQLITE_ROW)
        gv_kernel_name_short((const char *)sqlite3_column_text(row, 0), work->kernel,
                             sizeof(work->kernel));
    sqlite3_finalize(row);
    return gv_database_error(trace, result);
}

static int read_work(struct gv_stall_run *run, int64_t process, struct gv_flight_work *work)
{
    struct gv_stall_launch first = {0};
    int error = gv_stall_infer_now(run, process, &first, &work->unfinished);

    work->call = first.call;
    work->start_ns = first.start_ns;
    if (!error && first.call)
        error = read_kernel(run->trace, work);
    return error;
}

int gv_flight_work_read(sqlite3 *trace, int64_t process, struct gv_flight_work *work)
{
    struct gv_stall_run run;
    int error = gv_stall_run_open(&run, trace);

    memset(work, 0, sizeof(*work));
    if (!error)
        error = read_work(&run, process, work);
    gv_stall_run_close(&run);
    return error;
}

/* ---- evidence ---- */

/* The kernels of all calls so far, kept from look to look since calls have no index of them: only
 * those that came since the last time are read. Row 0 has the last of these. */
static int note_kernels(sqlite3 *trace)
{
    return gv_stall_execute(
        trace,
        "CREATE TEMP TABLE IF NOT EXISTS used_kernel (kernel INTEGER PRIMARY KEY, call INTEGER);"
        "INSERT OR IGNORE INTO temp.used_kernel (kernel, call) VALUES (0, 0);"
        "INSERT OR IGNORE INTO temp.used_kernel (kernel) SELECT kernel FROM call WHERE id >"
        " (SELECT call FROM temp.used_kernel WHERE kernel = 0) AND kernel IS NOT NULL;"
        "UPDATE temp.used_kernel SET call = coalesce((SELECT max(id) FROM call), 0)"
        " WHERE kernel = 0");
}

/* What a call of its kind waits for is there, even if it was not seen: it does not return. */
static void complete_evidence(const struct gv_flights *flights, struct gv_stall_call *call)
{
    gv_stall_call_complete(&flights->run, call);
    gv_stall_infer(&flights->run, call);
    if (call->stream == 0)
        call->in_stream = call->in_context;
    if (call->in_stream.count == 0)
        call->in_stream.count = 1;
    if (call->in_context.count == 0)
        call->in_context.count = 1;
}

static void take_flight(struct gv_flights *flights, int64_t process, sqlite3_stmt *row)
{
    struct gv_flight *flight = &flights->list[flights->count];
    struct gv_stall_call *call = &flights->evidence[flights->count++];
    const char *name = (const char *)sqlite3_column_text(row, 4);
    const char *class_name = (const char *)sqlite3_column_text(row, 5);
    const char *kernel = (const char *)sqlite3_column_text(row, 6);

    flight->row = sqlite3_column_int64(row, 0);
    snprintf(flight->name, sizeof(flight->name), "%s", name ? name : "");
    snprintf(flight->kernel, sizeof(flight->kernel), "%s", kernel ? kernel : "");
    *call = (struct gv_stall_call){
        .source = GV_STALL_IN_FLIGHT,
        .rule = gv_stall_rule_find(flight->name, class_name ? class_name : ""),
        .call = (int64_t)flights->count,
        .process = process,
        .thread = sqlite3_column_int64(row, 1),
        .start_ns = gv_stall_ns(row, 2),
        .end_ns = GV_STALL_FOREVER_NS,
        .kernel = sqlite3_column_int64(row, 3),
        .stream = sqlite3_column_int64(row, 7),
        .first_use = sqlite3_column_int(row, 8) != 0,
    };
    complete_evidence(flights, call);
}

static int read_flights(struct gv_flights *flights, int64_t process)
{
    sqlite3 *trace = flights->run.trace;
    sqlite3_stmt *rows = NULL;
    int result = gv_database_ask(
        trace,
        "SELECT f.rowid, t.id, f.start_ns, f.kernel, a.name, a.class, k.name,"
        " CASE WHEN f.stream_handle IS NULL THEN 0 ELSE coalesce((SELECT s.id FROM stream s"
        "  WHERE s.process = f.process AND s.handle = f.stream_handle AND (s.thread IS NULL OR"
        "  s.thread = t.id) ORDER BY s.id DESC LIMIT 1), -1) END,"
        " f.kernel > 0 AND f.kernel NOT IN (SELECT kernel FROM temp.used_kernel) FROM flight f"
        " LEFT JOIN api a ON a.id = f.api LEFT JOIN kernel k ON k.id = f.kernel"
        " LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial"
        " WHERE f.process = ?1 ORDER BY f.start_ns, f.rowid",
        &process, 1, &rows);

    while ((result == SQLITE_OK || result == SQLITE_ROW) && flights->count < FLIGHTS_MOST) {
        result = sqlite3_step(rows);
        if (result == SQLITE_ROW)
            take_flight(flights, process, rows);
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}

/* ---- in words ---- */

/* The call that has to end before this one can. */
static size_t find_waiting(const struct gv_flights *flights, size_t i)
{
    int64_t by = flights->evidence[i].blocked_by;

    return by ? (size_t)by - 1 : i;
}

/* What it waits for, as far as that is known. */
static void tell_state(const struct gv_flights *flights, size_t i, char *out, size_t size)
{
    size_t by = find_waiting(flights, i), used = 0;
    const struct gv_stall_call *waits = &flights->evidence[by];
    const struct gv_flight_work *work = &flights->work;
    char kernel[128];

    out[0] = '\0';
    if (by != i)
        used =
            (size_t)snprintf(out, size, "Thread %" PRId64 " is in %s since %.3f s into the run. ",
                             waits->thread, flights->list[by].name, (double)waits->start_ns / 1e9);
    if (used >= size || waits->cause == GV_CAUSE_UNKNOWN)
        return;
    if (work->unfinished == 0) {
        snprintf(out + used, size - used, "No launch is known to be unfinished.");
        return;
    }
    used += (size_t)snprintf(
        out + used, size - used,
        "It waits for %s, launched %.3f s into the run, which is not known to have ended",
        work->kernel[0] ? work->kernel : "a kernel", (double)work->start_ns / 1e9);
    if (used < size && work->unfinished > 1)
        used += (size_t)snprintf(out + used, size - used, ", nor are %" PRId64 " launched after it",
                                 work->unfinished - 1);
    gv_kernel_name_short(flights->list[by].kernel, kernel, sizeof(kernel));
    if (used < size &&
        (waits->cause == GV_CAUSE_LAZY_LOAD || waits->cause == GV_CAUSE_LOCAL_MEMORY))
        snprintf(out + used, size - used,
                 ". If it waits for %s in its turn, neither can ever go on.",
                 kernel[0] ? kernel : "this kernel");
    else if (used < size)
        snprintf(out + used, size - used, ".");
}

static int store_flight(const struct gv_flights *flights, size_t i)
{
    sqlite3 *trace = flights->run.trace;
    sqlite3_stmt *update = NULL;
    size_t by = find_waiting(flights, i);
    char state[1024], advice[GV_ADVICE_BYTES] = "";
    int64_t values[] = {flights->list[i].row, by == i ? 0 : flights->evidence[by].thread};
    int result = gv_database_ask(trace,
                                 "UPDATE flight SET blocked_by_thread = nullif(?2, 0), cause = ?3,"
                                 " confidence = 'inferred', state = nullif(?4, ''),"
                                 " advice = nullif(?5, '') WHERE rowid = ?1",
                                 values, 2, &update);

    tell_state(flights, i, state, sizeof(state));
    if (flights->work.unfinished > 0) {
        const char *kernel = flights->list[by].kernel;
        struct gv_advice_facts facts = {.in_flight = true, .kernel = kernel[0] ? kernel : NULL};
        gv_advice_write(&facts, flights->evidence[by].cause, advice);
    }
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(update, 3, gv_cause_name(flights->evidence[i].cause), -1,
                                   SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(update, 4, state, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(update, 5, advice, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_step(update);
    sqlite3_finalize(update);
    return gv_database_error(trace, result);
}

static int count_flights(sqlite3 *trace, int64_t process, int64_t *count)
{
    sqlite3_stmt *row = NULL;
    int result =
        gv_database_ask(trace, "SELECT count(*) FROM flight WHERE process = ?1", &process, 1, &row);

    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    *count = result == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return gv_database_error(trace, result);
}

int gv_flight_causes(struct gv_database *database, int64_t process)
{
    struct gv_flights *flights;
    int64_t count;
    int error = count_flights(database->handle, process, &count);

    if (error || count == 0)
        return error;
    flights = calloc(1, sizeof(*flights));
    error = flights ? gv_stall_run_open(&flights->run, database->handle) : -ENOMEM;
    if (!error)
        error = read_work(&flights->run, process, &flights->work);
    if (!error)
        error = note_kernels(database->handle);
    if (!error)
        error = read_flights(flights, process);
    for (size_t i = 0; !error && i < flights->count; i++)
        error = gv_stall_decide(&flights->run.judge, &flights->evidence[i]);
    for (size_t i = 0; !error && i < flights->count; i++)
        error = store_flight(flights, i);
    if (flights)
        gv_stall_run_close(&flights->run);
    free(flights);
    return error;
}
