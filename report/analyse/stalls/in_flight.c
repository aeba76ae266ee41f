#include "report/analyse/stalls/in_flight.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/stalls/advice.h"
#include "report/analyse/stalls/run.h"
#include "report/show/format.h"
#include "report/store/database.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLIGHTS_MOST 1024

struct gv_flight {
    int64_t row;
    char name[65];
    char kernel[GV_KERNEL_NAME_BYTES]; /* "": unknown */
};

/* evidence[i] belongs to list[i]; its call number is i + 1. */
struct gv_flights {
    struct gv_stall_run run;
    struct gv_flight_work work;
    size_t count;
    struct gv_flight list[FLIGHTS_MOST];
    struct gv_stall_call evidence[FLIGHTS_MOST];
};

/* What a call launched; unchanged if that is not known. */
static int read_launched(struct gv_stall_run *run, int64_t call, char kernel[128])
{
    int error;
    sqlite3_stmt *row = gv_stall_row(run, GV_STALL_CALL_KERNEL, call, &error);
    const char *name = row ? (const char *)sqlite3_column_text(row, 0) : NULL;
    char plain[112] = "";

    if (name)
        gv_kernel_name_short(name, plain, sizeof(plain));
    if (row && sqlite3_column_int(row, 1) != 0)
        snprintf(kernel, 128, name ? "host function %s" : "a host function%s", plain);
    else if (row)
        snprintf(kernel, 128, "%s", plain);
    return error;
}

static int read_work(struct gv_stall_run *run, int64_t process, struct gv_flight_work *work)
{
    struct gv_stall_launch first = {0}, meeting = {0};
    int error = gv_stall_infer_now(run, process, &first, &meeting, &work->unfinished);

    work->call = first.call;
    work->start_ns = first.start_ns;
    work->meets = meeting.call != 0;
    if (!error)
        error = read_launched(run, first.call, work->kernel);
    return error || !work->meets ? error : read_launched(run, meeting.call, work->meeting);
}

static void close_run(struct gv_stall_run *run)
{
    gv_stall_infer_close(run);
    gv_stall_run_close(run);
}

int gv_flight_work_read(sqlite3 *trace, int64_t process, struct gv_flight_work *work)
{
    struct gv_stall_run run;
    int error = gv_stall_run_open(&run, trace);

    memset(work, 0, sizeof(*work));
    if (!error)
        error = read_work(&run, process, work);
    close_run(&run);
    return error;
}

/* ---- evidence ---- */

/* The call does not return, so there must be something that it waits for. */
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
        .start_ns = gv_time_column(row, 2),
        .end_ns = GV_STALL_FOREVER_NS,
        .kernel = sqlite3_column_int64(row, 3),
        .stream = sqlite3_column_int64(row, 7),
        .first_use = sqlite3_column_int(row, 8) != 0,
    };
    complete_evidence(flights, call);
}

static int read_flights(struct gv_flights *flights, int64_t process)
{
    int error = gv_stall_script(flights->run.trace, GV_STALL_NOTE_KERNELS);
    sqlite3_stmt *rows = NULL;

    if (!error)
        rows = gv_stall_statement(&flights->run, GV_STALL_FLIGHTS, &error);
    if (rows)
        sqlite3_bind_int64(rows, 1, process);
    while (flights->count < FLIGHTS_MOST && gv_stall_next(&flights->run, rows, &error))
        take_flight(flights, process, rows);
    return error;
}

/* ---- in words ---- */

/* The call that holds this one up, or itself. */
static size_t find_waiting(const struct gv_flights *flights, size_t i)
{
    int64_t by = flights->evidence[i].blocked_by;

    return by ? (size_t)by - 1 : i;
}

#define STATE_BYTES    1024
#define add_state(...) gv_format_add(out, STATE_BYTES, __VA_ARGS__)

static void tell_meeting(const struct gv_flight_work *work, enum gv_cause cause, char *out)
{
    if (work->meets && (gv_cause_drains(cause) || gv_cause_is_expected(cause)))
        add_state(" %s is a collective of NCCL, which ends only when all ranks have arrived%s.",
                  work->meeting[0] ? work->meeting : "One of them",
                  gv_cause_drains(cause)
                      ? ": if one of them waits for this rank, this is a deadlock"
                      : "");
}

/* What is known of what it waits for. */
static void tell_state(const struct gv_flights *flights, size_t i, char *out)
{
    size_t by = find_waiting(flights, i);
    const struct gv_stall_call *waits = &flights->evidence[by];
    const struct gv_flight_work *work = &flights->work;
    char kernel[128];

    if (by != i)
        add_state("Thread %" PRId64 " has been in %s since %.3f s into the run. ", waits->thread,
                  flights->list[by].name, (double)waits->start_ns / 1e9);
    if (waits->cause == GV_CAUSE_UNKNOWN)
        return;
    if (waits->cause == GV_CAUSE_LAUNCH_BLOCKING) {
        add_state("It waits for its own work, as CUDA_LAUNCH_BLOCKING asks.");
        return;
    }
    if (work->unfinished == 0) {
        add_state("No launch is known to be unfinished.");
        return;
    }
    add_state("It waits for %s, launched %.3f s into the run, which is not known to have ended",
              work->kernel[0] ? work->kernel : "a kernel", (double)work->start_ns / 1e9);
    if (work->unfinished > 1)
        add_state(", nor are %" PRId64 " launched after it", work->unfinished - 1);
    gv_kernel_name_short(flights->list[by].kernel, kernel, sizeof(kernel));
    if (waits->cause == GV_CAUSE_LAZY_LOAD || waits->cause == GV_CAUSE_LOCAL_MEMORY)
        add_state(". If it waits for %s in turn, this is a deadlock.",
                  kernel[0] ? kernel : "this kernel");
    else
        add_state(".");
    tell_meeting(work, waits->cause, out);
}

static int store_flight(struct gv_flights *flights, size_t i)
{
    size_t by = find_waiting(flights, i);
    const struct gv_stall_call *waits = &flights->evidence[by];
    const char *kernel = flights->list[by].kernel;
    char state[STATE_BYTES] = "", advice[GV_ADVICE_BYTES] = "";
    int error;
    sqlite3_stmt *update = gv_stall_statement(&flights->run, GV_STALL_SET_FLIGHT, &error);

    if (!update)
        return error;
    tell_state(flights, i, state);
    if (flights->work.unfinished > 0 || waits->cause == GV_CAUSE_LAUNCH_BLOCKING)
        gv_advice_write(
            &(struct gv_advice_facts){.in_flight = true, .kernel = kernel[0] ? kernel : NULL},
            waits->cause, advice);
    sqlite3_bind_int64(update, 1, flights->list[i].row);
    sqlite3_bind_int64(update, 2, by == i ? 0 : waits->thread);
    sqlite3_bind_text(update, 3, gv_cause_name(flights->evidence[i].cause), -1, SQLITE_STATIC);
    sqlite3_bind_text(update, 4, state, -1, SQLITE_STATIC);
    sqlite3_bind_text(update, 5, advice, -1, SQLITE_STATIC);
    gv_stall_next(&flights->run, update, &error);
    return error;
}

static int find_causes(struct gv_flights *flights, int64_t process)
{
    int error = read_work(&flights->run, process, &flights->work);

    if (!error)
        error = read_flights(flights, process);
    for (size_t i = 0; !error && i < flights->count; i++)
        error = gv_stall_decide(&flights->run.judge, &flights->evidence[i], 0);
    for (size_t i = 0; !error && i < flights->count; i++)
        error = store_flight(flights, i);
    return error;
}

int gv_flight_causes(struct gv_database *database, int64_t process)
{
    struct gv_flights *flights;
    int64_t any = 0;
    int error = gv_database_number(database->handle, "SELECT 1 FROM flight WHERE process = ?1",
                                   &process, 1, &any);

    if (error || !any)
        return error;
    flights = calloc(1, sizeof(*flights));
    if (!flights)
        return -ENOMEM;
    error = gv_stall_run_open(&flights->run, database->handle);
    if (!error)
        error = find_causes(flights, process);
    close_run(&flights->run);
    free(flights);
    return error;
}
