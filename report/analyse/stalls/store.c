#include "report/analyse/stalls/run.h"

static int gv_stall_store_loads(struct gv_stall_run *run, const struct gv_held *held)
{
    int result = SQLITE_ROW, error = 0, busy = -1;
    sqlite3_stmt *loads = gv_stall_statement(run, GV_STALL_CALL_LOADS, &error), *add = NULL;

    if (held->measured)
        busy = held->busy_until_ns > held->start_ns;
    else if (held->unfinished == 0)
        busy = 0;
    if (loads)
        sqlite3_bind_int64(loads, 1, held->call);
    /* The longest one of a call's loads has waited. */
    for (bool longest = true; !error && (result = sqlite3_step(loads)) == SQLITE_ROW;
         longest = false) {
        add = gv_stall_statement(run, GV_STALL_ADD_LOAD, &error);
        if (error)
            break;
        sqlite3_bind_int64(add, 1, sqlite3_column_int64(loads, 0));
        sqlite3_bind_int64(add, 2, longest ? held->wait_ns : 0);
        if (busy < 0)
            sqlite3_bind_null(add, 3);
        else
            sqlite3_bind_int(add, 3, busy);
        error = gv_stall_error(run->trace, sqlite3_step(add));
        sqlite3_reset(add);
    }
    if (loads)
        sqlite3_reset(loads);
    return error ? error : gv_stall_error(run->trace, result);
}

static void gv_stall_bind_known(sqlite3_stmt *statement, int index, int64_t value)
{
    if (value)
        sqlite3_bind_int64(statement, index, value);
    else
        sqlite3_bind_null(statement, index);
}

static int gv_stall_store_row(struct gv_stall_run *run, const struct gv_held *held)
{
    int64_t duration_ns = held->end_ns - held->start_ns;
    int error, result;
    sqlite3_stmt *add = gv_stall_statement(run, GV_STALL_ADD, &error);

    if (!add)
        return error;
    sqlite3_bind_int64(add, 1, run->next_id++);
    sqlite3_bind_int64(add, 2, held->call);
    sqlite3_bind_text(add, 3, gv_cause_name(held->cause), -1, SQLITE_STATIC);
    sqlite3_bind_int(add, 4, gv_cause_is_expected(held->cause));
    sqlite3_bind_int64(add, 5, held->jit_ns);
    sqlite3_bind_int64(add, 6, held->wait_ns);
    sqlite3_bind_int64(add, 7, duration_ns - held->jit_ns - held->wait_ns);
    gv_stall_bind_known(add, 8, held->waited_for);
    gv_stall_bind_known(add, 9, held->blocked_by);
    gv_stall_bind_known(add, 10, held->drained_count);
    if (held->drained_count && held->measured)
        sqlite3_bind_int64(add, 11, held->drained_ns);
    else
        sqlite3_bind_null(add, 11);
    /* The kernel has measured the one, whatever is known of the GPU. */
    sqlite3_bind_text(
        add, 12, held->measured || held->cause == GV_CAUSE_DESCHEDULED ? "measured" : "inferred",
        -1, SQLITE_STATIC);
    gv_stall_bind_known(add, 13, held->presumed);
    result = sqlite3_step(add);
    sqlite3_reset(add);
    return gv_stall_error(run->trace, result);
}

int gv_stall_store(struct gv_stall_run *run)
{
    int error = 0;

    for (size_t i = 0; i < run->held_count && !error; i++) {
        const struct gv_held *held = &run->held[i];
        if (held->loads)
            error = gv_stall_store_loads(run, held);
        if (!error && held->stalled)
            error = gv_stall_store_row(run, held);
    }
    return error;
}
