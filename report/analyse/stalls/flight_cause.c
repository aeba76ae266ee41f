#include "report/analyse/stalls/flight_cause.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/stalls/flight_work.h"
#include "report/analyse/stalls/rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GV_FLIGHT_ROWS_MOST 1024
/* Launches in one stream that have not begun, before the driver makes the next one wait. */
#define GV_FLIGHT_QUEUE_FULL 900

struct gv_flight {
    int64_t row;
    int64_t thread; /* row; 0: it has stored nothing yet */
    int64_t start_ns;
    int64_t kernel;
    int64_t stream; /* handle */
    bool stream_known;
    char name[65];
    char class_name[16];
    char kernel_name[128];
    const struct gv_stall_rule *rule;
    enum gv_cause cause; /* GV_CAUSE_COUNT: not found yet */
    int64_t blocked_by;  /* index + 1 of the flight that holds it */
};

struct gv_flights {
    struct gv_flight *list;
    size_t count;
    struct gv_flight_work work;
};

/* What a call is held up by if nothing else is known; GV_CAUSE_COUNT: that depends. */
static enum gv_cause gv_flight_cause_of(const struct gv_stall_rule *rule)
{
    return rule->cause == GV_CAUSE_UNKNOWN || rule->cause == GV_CAUSE_QUEUE_FULL ? GV_CAUSE_COUNT
                                                                                 : rule->cause;
}

static void gv_flight_copy(char *out, size_t size, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    snprintf(out, size, "%s", text ? text : "");
}

static void gv_flight_copy_kernel(char *out, size_t size, sqlite3_stmt *row, int column)
{
    gv_kernel_name_short((const char *)sqlite3_column_text(row, column), out, size);
}

static int gv_flights_read(sqlite3 *trace, int64_t process, struct gv_flights *flights)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(
        trace,
        "SELECT f.rowid, t.id, f.start_ns, f.kernel, a.name, a.class, k.name, f.stream_handle"
        " FROM flight f"
        " LEFT JOIN api a ON a.id = f.api LEFT JOIN kernel k ON k.id = f.kernel"
        " LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial"
        " WHERE f.process = ? ORDER BY f.start_ns, f.rowid",
        -1, &rows, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(rows, 1, process);
    while ((result == SQLITE_OK || result == SQLITE_ROW) && flights->count < GV_FLIGHT_ROWS_MOST) {
        result = sqlite3_step(rows);
        if (result != SQLITE_ROW)
            break;
        struct gv_flight *flight = &flights->list[flights->count++];
        flight->row = sqlite3_column_int64(rows, 0);
        flight->thread = sqlite3_column_int64(rows, 1);
        flight->start_ns = sqlite3_column_int64(rows, 2);
        flight->kernel = sqlite3_column_int64(rows, 3);
        gv_flight_copy(flight->name, sizeof(flight->name), rows, 4);
        gv_flight_copy(flight->class_name, sizeof(flight->class_name), rows, 5);
        gv_flight_copy_kernel(flight->kernel_name, sizeof(flight->kernel_name), rows, 6);
        flight->stream = sqlite3_column_int64(rows, 7);
        flight->stream_known = sqlite3_column_type(rows, 7) != SQLITE_NULL;
        flight->rule = gv_stall_rule_find(flight->name, flight->class_name);
        flight->cause = gv_flight_cause_of(flight->rule);
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}

/* The kernels of all calls so far, kept from look to look since calls have no index of them: only
 * those that came since the last time are read. Row 0 has the last of these. */
static int gv_flight_note_kernels(sqlite3 *trace)
{
    int result = sqlite3_exec(
        trace,
        "CREATE TEMP TABLE IF NOT EXISTS used_kernel (kernel INTEGER PRIMARY KEY, call INTEGER);"
        "INSERT OR IGNORE INTO temp.used_kernel (kernel, call) VALUES (0, 0);"
        "INSERT OR IGNORE INTO temp.used_kernel (kernel) SELECT kernel FROM call WHERE id >"
        " (SELECT call FROM temp.used_kernel WHERE kernel = 0) AND kernel IS NOT NULL;"
        "UPDATE temp.used_kernel SET call = coalesce((SELECT max(id) FROM call), 0)"
        " WHERE kernel = 0",
        NULL, NULL, NULL);

    return gv_database_error(trace, result);
}

/* Whether no launch of the kernel has returned yet. */
static int gv_flight_is_first_use(sqlite3 *trace, const struct gv_flight *flight, bool *first)
{
    sqlite3_stmt *rows = NULL;
    int result, error;

    *first = false;
    if (flight->kernel == 0)
        return 0;
    error = gv_flight_note_kernels(trace);
    if (error)
        return error;
    result = sqlite3_prepare_v2(trace, "SELECT 1 FROM temp.used_kernel WHERE kernel = ?", -1, &rows,
                                NULL);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(rows, 1, flight->kernel);
    if (result == SQLITE_OK) {
        result = sqlite3_step(rows);
        *first = result == SQLITE_DONE;
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}

static bool gv_flight_keeps_out(const struct gv_flight *other, const struct gv_flight *flight)
{
    bool loads = other->cause == GV_CAUSE_LAZY_LOAD;
    bool waits = other->cause == GV_CAUSE_QUEUE_FULL || other->cause == GV_CAUSE_PAGEABLE_COPY;

    return other->thread && !other->blocked_by &&
           (((flight->rule->flags & GV_CALL_HELD) &&
             (loads || (other->rule->flags & GV_CALL_HOLDS))) ||
            ((flight->rule->flags & GV_CALL_HELD_ALLOC) && waits));
}

/* The call of another thread that began first and keeps this one out. */
static void gv_flight_find_holder(struct gv_flights *flights, struct gv_flight *flight)
{
    for (size_t i = 0; &flights->list[i] != flight; i++)
        if (gv_flight_keeps_out(&flights->list[i], flight)) {
            flight->blocked_by = (int64_t)i + 1;
            flight->cause = GV_CAUSE_LOCK;
            return;
        }
}

/* Whether the stream of a launch holds as many others as it can. */
static int gv_flight_is_queue_full(sqlite3 *trace, int64_t process,
                                   const struct gv_flights *flights, const struct gv_flight *flight,
                                   bool *full)
{
    struct gv_flight_work work = flights->work;
    int error = 0;

    if (flight->stream_known && work.unfinished >= GV_FLIGHT_QUEUE_FULL)
        error = gv_flight_work_read(trace, process, &flight->stream, &work);
    *full = work.unfinished >= GV_FLIGHT_QUEUE_FULL;
    return error;
}

static int gv_flight_find_cause(sqlite3 *trace, int64_t process, struct gv_flights *flights,
                                struct gv_flight *flight)
{
    bool first = false, full = false;
    int error = 0;

    gv_flight_find_holder(flights, flight);
    if (flight->cause == GV_CAUSE_COUNT && strcmp(flight->class_name, "launch") == 0) {
        error = gv_flight_is_first_use(trace, flight, &first);
        if (!error && !first)
            error = gv_flight_is_queue_full(trace, process, flights, flight, &full);
        if (first)
            flight->cause = GV_CAUSE_LAZY_LOAD;
        else if (full)
            flight->cause = GV_CAUSE_QUEUE_FULL;
    }
    if (flight->cause == GV_CAUSE_COUNT)
        flight->cause = GV_CAUSE_UNKNOWN;
    return error;
}

/* What it waits for, as far as that is known. */
static void gv_flight_tell_state(const struct gv_flights *flights, const struct gv_flight *flight,
                                 char *out, size_t size)
{
    const struct gv_flight *by = flight->blocked_by ? &flights->list[flight->blocked_by - 1] : NULL;
    const struct gv_flight *waits = by ? by : flight;
    const char *running = flights->work.kernel[0] ? flights->work.kernel : "a kernel";
    size_t used = 0;

    out[0] = '\0';
    if (by)
        used =
            (size_t)snprintf(out, size, "Thread %" PRId64 " is in %s since %.3f s into the run. ",
                             by->thread, by->name, (double)by->start_ns / 1e9);
    if (used >= size || waits->cause == GV_CAUSE_UNKNOWN)
        return;
    if (flights->work.unfinished == 0) {
        snprintf(out + used, size - used, "No launch is known to be unfinished.");
        return;
    }
    used += (size_t)snprintf(
        out + used, size - used,
        "It waits for %s, launched %.3f s into the run, which is not known to have ended", running,
        (double)flights->work.start_ns / 1e9);
    if (used < size && flights->work.unfinished > 1)
        used += (size_t)snprintf(out + used, size - used, ", nor are %" PRId64 " launched after it",
                                 flights->work.unfinished - 1);
    if (used < size && waits->cause == GV_CAUSE_LAZY_LOAD)
        snprintf(out + used, size - used,
                 ". If it waits for %s in its turn, neither can ever go on.",
                 waits->kernel_name[0] ? waits->kernel_name : "this kernel");
    else if (used < size)
        snprintf(out + used, size - used, ".");
}

/* What to do about it, where what it waits for is known; else empty. */
static void gv_flight_advise(const struct gv_flights *flights, const struct gv_flight *flight,
                             char *out, size_t size)
{
    const struct gv_flight *waits =
        flight->blocked_by ? &flights->list[flight->blocked_by - 1] : flight;

    out[0] = '\0';
    if (flights->work.unfinished == 0)
        return;
    if (waits->cause == GV_CAUSE_LAZY_LOAD)
        snprintf(out, size,
                 "Load %s before: cudaFuncGetAttributes or cuKernelGetFunction of it at the start, "
                 "or CUDA_MODULE_LOADING=EAGER.",
                 waits->kernel_name[0] ? waits->kernel_name : "it");
    else if (waits->cause == GV_CAUSE_MODULE_LOAD)
        snprintf(out, size, "Load code before the GPU gets its work.");
}

static int gv_flight_store(sqlite3 *trace, const struct gv_flights *flights,
                           const struct gv_flight *flight)
{
    sqlite3_stmt *update = NULL;
    char state[1024], advice[512];
    int64_t by = flight->blocked_by ? flights->list[flight->blocked_by - 1].thread : 0;
    int result = sqlite3_prepare_v2(
        trace,
        "UPDATE flight SET cause = ?2, blocked_by_thread = nullif(?3, 0),"
        " confidence = 'inferred', state = nullif(?4, ''), advice = nullif(?5, '')"
        " WHERE rowid = ?1",
        -1, &update, NULL);

    gv_flight_tell_state(flights, flight, state, sizeof(state));
    gv_flight_advise(flights, flight, advice, sizeof(advice));
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(update, 1, flight->row);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(update, 2, gv_cause_name(flight->cause), -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(update, 3, by);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(update, 4, state, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(update, 5, advice, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_step(update);
    sqlite3_finalize(update);
    return gv_database_error(trace, result);
}

int gv_flight_causes(struct gv_database *database, int64_t process)
{
    struct gv_flights flights = {.list = calloc(GV_FLIGHT_ROWS_MOST, sizeof(*flights.list))};
    int error;

    if (!flights.list)
        return -ENOMEM;
    error = gv_flights_read(database->handle, process, &flights);
    if (!error && flights.count)
        error = gv_flight_work_read(database->handle, process, NULL, &flights.work);
    for (size_t i = 0; i < flights.count && !error; i++)
        error = gv_flight_find_cause(database->handle, process, &flights, &flights.list[i]);
    for (size_t i = 0; i < flights.count && !error; i++)
        error = gv_flight_store(database->handle, &flights, &flights.list[i]);
    free(flights.list);
    return error;
}
