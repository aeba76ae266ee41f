#include "report/analyse/stalls/run.h"

#include <string.h>

static void gv_stall_calls_kernel(const struct gv_stall_run *run, struct gv_held *held)
{
    const struct gv_stall_kernel *kernel =
        GV_STALL_ROW(run->kernels, run->kernel_count, held->kernel);
    const bool *eager =
        kernel ? GV_STALL_ROW(run->modules, run->module_count, kernel->module) : NULL;

    held->first_use = kernel && kernel->first_call == held->call;
    held->eager = eager && *eager;
}

/* A call whose time is the runtime's start in this process: that happens in whichever call comes
 * first, and is that call's work. */
static bool gv_stall_calls_initialises(struct gv_stall_run *run, const struct gv_stall_api *api,
                                       const struct gv_held *held)
{
    struct gv_stall_process *process =
        GV_STALL_ROW(run->processes, run->process_count, held->process);
    bool first = process && api->runtime && !process->initialised;

    if (process && api->runtime)
        process->initialised = true;
    return first;
}

static void gv_stall_calls_take(struct gv_stall_run *run, sqlite3_stmt *row, struct gv_held *held)
{
    static const struct gv_stall_rule starts = {GV_CAUSE_UNKNOWN, GV_SCOPE_NOTHING, GV_CALL_WORKS};
    const struct gv_stall_api *api;
    const struct gv_stall_stream *stream;
    const int64_t *process;

    memset(held, 0, sizeof(*held));
    held->api = sqlite3_column_int64(row, 2);
    api = GV_STALL_ROW(run->apis, run->api_count, held->api);
    held->call = sqlite3_column_int64(row, 0);
    held->thread = sqlite3_column_int64(row, 1);
    process = GV_STALL_ROW(run->threads, run->thread_count, held->thread);
    held->process = process ? *process : 0;
    held->start_ns = gv_stall_ns(row, 3);
    held->end_ns = held->start_ns + gv_stall_duration(row, 4);
    held->stream = sqlite3_column_int64(row, 5);
    held->context = sqlite3_column_int64(row, 6);
    stream = GV_STALL_ROW(run->streams, run->stream_count, held->stream);
    if (!held->context && stream)
        held->context = stream->context;
    held->bytes = gv_stall_duration(row, 7);
    held->kernel = sqlite3_column_int64(row, 8);
    held->loads = sqlite3_column_type(row, 9) != SQLITE_NULL;
    held->lazy = sqlite3_column_int(row, 9) != 0;
    held->ptx = sqlite3_column_int(row, 10) != 0;
    held->delay_ns = gv_stall_duration(row, 11);
    if (held->delay_ns > held->end_ns - held->start_ns)
        held->delay_ns = held->end_ns - held->start_ns;
    gv_stall_calls_kernel(run, held);
    held->rule = api && api->rule ? api->rule : &starts; /* api may be a number without a row */
    if (api && !held->loads && gv_stall_calls_initialises(run, api, held) &&
        !gv_cause_is_expected(held->rule->cause))
        held->rule = &starts;
    if (GV_STALL_ROW(run->processes, run->process_count, held->process))
        held->measured = run->processes[held->process].measured &&
                         held->start_ns < run->processes[held->process].unseen_ns;
}

int gv_stall_calls_next(struct gv_stall_run *run)
{
    sqlite3_stmt *rows = run->statements[GV_STALL_CALLS];
    int result = SQLITE_ROW, error = 0;

    run->held_count = 0;
    if (!rows) {
        rows = gv_stall_statement(run, GV_STALL_CALLS, &error);
        if (!rows)
            return error;
        sqlite3_bind_int64(rows, 1, run->threshold_ns);
    } else if (!sqlite3_stmt_busy(rows)) {
        return 0; /* it was read to its end */
    }
    while (run->held_count < GV_STALL_CHUNK && (result = sqlite3_step(rows)) == SQLITE_ROW)
        gv_stall_calls_take(run, rows, &run->held[run->held_count++]);
    if (result != SQLITE_ROW)
        sqlite3_reset(rows);
    return gv_stall_error(run->trace, result);
}
