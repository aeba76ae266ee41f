/*
 * The analysis: goes through the long calls chunk by chunk: gathers evidence, decides each cause,
 * stores what it found.
 */
#include "report/analyse/stalls/analysis.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/run.h"
#include "report/store/database.h"
#include "report/store/shadow.h"
#include "trace/settings.h"

#include <errno.h>
#include <stdlib.h>

/* Reads what the analysis needs besides the small tables. */
static int open_analysis(struct gv_stall_run *run, sqlite3 *trace, int64_t threshold_ns,
                         struct gv_pass *pass)
{
    int error = gv_stall_run_open(run, trace);

    run->judge.threshold_ns = threshold_ns;
    run->pass = pass;
    run->next_id = 1;
    run->calls = calloc(GV_STALL_CHUNK, sizeof(*run->calls));
    run->first_calls = calloc(run->kernels.rows + 1, sizeof(*run->first_calls));
    if (!error && (!run->calls || !run->first_calls))
        error = -ENOMEM;
    if (!error)
        error = gv_stall_script(trace, GV_STALL_DROP_FACTS);
    if (!error)
        error = gv_stall_script(trace, GV_STALL_NEW_FACTS);
    if (!error)
        error = gv_stall_pools_find(run);
    if (!error)
        error = gv_database_number(trace, "SELECT EXISTS (SELECT 1 FROM temp.stall_jit)", NULL, 0,
                                   &run->any_jit);
    if (!error)
        error = gv_database_number(trace, "SELECT EXISTS (SELECT 1 FROM host_function)", NULL, 0,
                                   &run->any_host);
    if (!error)
        error = gv_database_number(trace,
                                   "SELECT EXISTS (SELECT 1 FROM gpu_shape WHERE local_bytes > 0)",
                                   NULL, 0, &run->judge.any_local);
    if (!error)
        error = gv_gpu_unseen_read(trace, &run->unseen);
    if (!error)
        error = gv_stopped_read(trace, &run->stopped);
    if (!error)
        error = gv_stall_others_open(run);
    if (!error && pass && run->any_measured)
        error = gv_stall_measure_open(run);
    return error;
}

/* ---- the calls ---- */

/* Asked of each call, in their order. */
static bool starts_cuda(struct gv_stall_run *run, const struct gv_pass_call *call)
{
    int64_t of = gv_id_table_get(&run->threads, call->thread, 0);
    const struct gv_stall_api *api = GV_STALL_ROW(run->apis, run->api_count, call->api);
    struct gv_stall_process *process = GV_STALL_ROW(run->processes, run->process_count, of);

    return api && process &&
           gv_starting_is(&process->starting, api->class, api->runtime, call->duration_ns);
}

static int take_call(struct gv_stall_run *run, const struct gv_pass_call *from, bool starts_cuda,
                     struct gv_stall_call *call)
{
    static const struct gv_stall_rule starts = {.cause = GV_CAUSE_UNKNOWN,
                                                .flags = GV_CALL_WORKS | GV_CALL_SLOWS_OTHERS};
    const struct gv_stall_api *api;
    const struct gv_stall_process *process;
    bool is_long = from->duration_ns >= run->judge.threshold_ns;
    int error;
    sqlite3_stmt *row = gv_stall_row(run, GV_STALL_DETAILS, from->key.id, &error);

    if (!row)
        return error;
    *call = (struct gv_stall_call){
        .call = from->key.id,
        .process = gv_id_table_get(&run->threads, from->thread, 0),
        .thread = from->thread,
        .api = from->api,
        .start_ns = from->key.at_ns,
        .end_ns = from->key.at_ns + from->duration_ns,
        .stream = from->stream,
        .context = from->context,
        .bytes = from->bytes > 0 ? from->bytes : 0,
        .kernel = from->kernel,
        .loads = sqlite3_column_type(row, 0) != SQLITE_NULL,
        .lazy = sqlite3_column_int(row, 0) != 0,
        .ptx = sqlite3_column_int(row, 1) != 0,
        .delay_ns = is_long ? gv_time_column_duration(row, 2) : 0,
        .freeing_ns = is_long ? gv_time_column_duration(row, 3) : 0,
        .remaps = is_long && sqlite3_column_int(row, 4) != 0,
        .source = GV_STALL_INFERRED,
    };
    if (call->delay_ns > gv_stall_call_ns(call))
        call->delay_ns = gv_stall_call_ns(call);
    gv_stall_call_complete(run, call);
    call->first_use = call->kernel && call->kernel < (int64_t)run->kernels.rows &&
                      run->first_calls[call->kernel] == call->call;
    api = GV_STALL_ROW(run->apis, run->api_count, call->api);
    call->rule = api && api->rule ? api->rule : &starts; /* the file may name a missing row */
    process = GV_STALL_ROW(run->processes, run->process_count, call->process);
    if (starts_cuda && !call->loads && !gv_cause_is_expected(call->rule->cause))
        call->rule = &starts;
    /* One that waited for missing operations would look as if it had worked. */
    if (process && process->measured &&
        !gv_gpu_unseen_overlaps(&run->unseen, call->process, call->start_ns, call->end_ns)) {
        call->source = GV_STALL_MEASURED;
        call->freeing_ns = 0;
    }
    return 0;
}

/* Reads the next chunk of calls that took long or loaded code, in the order of their start. An
 * empty chunk is the end. */
static int next_chunk(struct gv_stall_run *run)
{
    const struct gv_pass_call *from = NULL;
    int error = 0;

    run->call_count = 0;
    while (!error && run->call_count < GV_STALL_CHUNK) {
        error = gv_pass_next_call(run->pass, &from);
        if (error || !from)
            break;
        struct gv_stall_call *call = &run->calls[run->call_count];
        if (from->kernel && from->kernel < run->kernels.rows && !run->first_calls[from->kernel])
            run->first_calls[from->kernel] = from->key.id;
        bool starts = starts_cuda(run, from), loads;
        error = gv_beside_find(&run->code, from->key.at_ns, from->key.id, &loads);
        if (!error && !loads && (from->duration_ns < run->judge.threshold_ns || from->folded))
            continue;
        if (!error)
            error = take_call(run, from, starts, call);
        run->call_count += !error && !gv_stopped_has(&run->stopped, call->process, call->start_ns);
    }
    return error;
}

/* ---- what was found ---- */

static int store_loads(struct gv_stall_run *run, const struct gv_stall_call *call)
{
    int error, busy = -1;
    sqlite3_stmt *loads = gv_stall_statement(run, GV_STALL_CALL_LOADS, &error), *add;

    if (call->source == GV_STALL_MEASURED)
        busy = call->busy_until_ns > call->start_ns;
    else if (call->in_context.count == 0)
        busy = 0;
    if (loads)
        sqlite3_bind_int64(loads, 1, call->call);
    /* The wait counts for the longest of a call's loads. */
    for (bool longest = true; gv_stall_next(run, loads, &error); longest = false) {
        add = gv_stall_statement(run, GV_STALL_ADD_LOAD, &error);
        if (error)
            break;
        sqlite3_bind_int64(add, 1, sqlite3_column_int64(loads, 0));
        sqlite3_bind_int64(add, 2, longest ? call->wait_ns : 0);
        if (busy < 0)
            sqlite3_bind_null(add, 3);
        else
            sqlite3_bind_int(add, 3, busy);
        gv_stall_next(run, add, &error);
    }
    return error;
}

static void bind_known(sqlite3_stmt *statement, int index, int64_t value)
{
    if (value)
        sqlite3_bind_int64(statement, index, value);
    else
        sqlite3_bind_null(statement, index);
}

/* What the other process of the last stall did. */
static int store_other(struct gv_stall_run *run, const struct gv_stall_call *call)
{
    static const char *const did[] = {[GV_OTHER_CALLED] = "call",
                                      [GV_OTHER_STARTED] = "start",
                                      [GV_OTHER_ENDED] = "end",
                                      [GV_OTHER_USED] = "use"};
    int error;
    sqlite3_stmt *add = gv_stall_statement(run, GV_STALL_ADD_OTHER, &error);

    if (!add)
        return error;
    sqlite3_bind_int64(add, 1, run->next_id - 1);
    bind_known(add, 2, call->by.process);
    bind_known(add, 3, call->by.other);
    sqlite3_bind_text(add, 4, did[call->by.did], -1, SQLITE_STATIC);
    return gv_database_step(add);
}

/* The Linux kernel measures "descheduled", and our wrapper host functions, with or without the GPU
 * side; nothing measures what another process keeps. */
static bool is_measured(const struct gv_stall_call *call)
{
    return call->cause == GV_CAUSE_DESCHEDULED ||
           (call->host_function && call->cause != GV_CAUSE_LOCK) ||
           (call->source == GV_STALL_MEASURED && call->cause != GV_CAUSE_OTHER_PROCESS);
}

static int store_stall(struct gv_stall_run *run, const struct gv_stall_call *call)
{
    bool measured = call->source == GV_STALL_MEASURED;
    int error;
    sqlite3_stmt *add = gv_stall_statement(run, GV_STALL_ADD, &error);

    if (!add)
        return error;
    sqlite3_bind_int64(add, 1, run->next_id++);
    sqlite3_bind_int64(add, 2, call->call);
    sqlite3_bind_text(add, 3, gv_cause_name(call->cause), -1, SQLITE_STATIC);
    sqlite3_bind_int(add, 4, gv_cause_is_expected(call->cause));
    sqlite3_bind_int64(add, 5, call->jit_ns);
    sqlite3_bind_int64(add, 6, call->wait_ns);
    sqlite3_bind_int64(add, 7, gv_stall_call_ns(call) - call->jit_ns - call->wait_ns);
    bind_known(add, 8, call->waited_for);
    bind_known(add, 9, call->blocked_by);
    bind_known(add, 10, call->drained_count);
    if (call->drained_count && measured)
        sqlite3_bind_int64(add, 11, call->drained_ns);
    else
        sqlite3_bind_null(add, 11);
    sqlite3_bind_text(add, 12, is_measured(call) ? "measured" : "inferred", -1, SQLITE_STATIC);
    bind_known(add, 13, call->presumed);
    error = gv_database_step(add);
    if (!error && call->cause == GV_CAUSE_OTHER_PROCESS)
        error = store_other(run, call);
    return error || !call->host_function
               ? error
               : gv_stall_put(run, GV_STALL_ADD_HOST,
                              (const int64_t[]){run->next_id - 1, call->host_function}, 2);
}

static int store_call(struct gv_stall_run *run, const struct gv_stall_call *call)
{
    int error = call->loads ? store_loads(run, call) : 0;

    if (!error && call->wait_ns + call->jit_ns >= run->judge.threshold_ns)
        error = store_stall(run, call);
    return error;
}

/* ---- all of it ---- */

int64_t gv_stalls_threshold_ns(void)
{
    struct gv_settings *settings = calloc(1, sizeof(*settings));
    int64_t threshold_ns = 100000;

    if (settings) {
        gv_settings_read(settings, NULL, NULL);
        threshold_ns = settings->stall_us * 1000;
    }
    free(settings);
    return threshold_ns;
}

static int analyse_chunk(struct gv_stall_run *run)
{
    int error = gv_stall_measure_chunk(run);

    if (!error)
        error = gv_stall_infer_chunk(run);
    for (size_t i = 0; i < run->call_count && !error; i++) {
        error = gv_stall_decide(&run->judge, &run->calls[i], run->call_count - 1 - i);
        if (!error)
            error = store_call(run, &run->calls[i]);
    }
    return error;
}

static int analyse_chunks(struct gv_stall_run *run)
{
    int error;

    run->code.rows = gv_stall_statement(run, GV_STALL_CODE, &error);
    if (!error)
        error = gv_beside_next(&run->code);
    if (!error)
        error = gv_pass_begin_calls(run->pass);
    if (!error)
        error = next_chunk(run);
    while (!error && run->call_count > 0) {
        error = analyse_chunk(run);
        if (!error)
            error = next_chunk(run);
    }
    return error;
}

/* Writes the advice of all stalls, after it has found them in the pass; NULL: they are known. */
static int analyse(sqlite3 *trace, int64_t threshold_ns, struct gv_pass *pass)
{
    struct gv_stall_run *run = calloc(1, sizeof(*run));
    /* SQLite refuses this while a statement runs. */
    int error = run ? gv_stack_text_install(trace) : -ENOMEM;

    if (!error)
        error = open_analysis(run, trace, threshold_ns, pass);
    if (!error && pass)
        error = analyse_chunks(run);
    if (!error)
        error = gv_stall_advise(run);
    if (run) {
        gv_stall_infer_close(run);
        gv_stall_others_close(run);
        gv_stall_run_close(run);
    }
    free(run);
    gv_stall_script(trace, GV_STALL_DROP_FACTS);
    return error || !pass ? error : gv_stall_script(trace, GV_STALL_LOST_CAPTURES);
}

int gv_stalls_advise(sqlite3 *trace)
{
    int error = gv_database_begin_writing(trace);

    if (!error)
        error = gv_database_script(trace, "DELETE FROM main.stall_advice", NULL, 0);
    return gv_database_end_writing(trace, error ? error : analyse(trace, 0, NULL));
}

/* What the analysis fills. */
static const char *const tables[] = {
#define GV_SCHEMA_MADE_BY_STALLS(table) #table,
#include "report/store_schema_columns.inc"
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

int gv_stalls_analyse(sqlite3 *trace, int64_t threshold_ns, struct gv_pass *pass)
{
    int error = gv_database_begin_writing(trace);

    if (!error)
        error = gv_shadow_each(trace, "DELETE FROM main.%s", tables, TABLES);
    gv_kernel_names_learn(trace); /* for the advice */
    if (!error)
        error = analyse(trace, threshold_ns, pass);
    if (!error)
        error = gv_database_script(trace,
                                   "INSERT OR REPLACE INTO meta (key, value) VALUES ('stalls', ?1),"
                                   " ('stall_threshold_ns', ?2)",
                                   (const int64_t[]){GV_STALLS_VERSION, threshold_ns}, 2);
    return gv_database_end_writing(trace, error);
}

static int analyse_temporary(sqlite3 *trace, int64_t threshold_ns)
{
    static const char *const views[] = {"stalls", "loads", "lost_captures", "minutes"};
    struct gv_pass *pass = NULL;
    int error = gv_shadow_each(trace, "DROP TABLE IF EXISTS temp.%s", tables, TABLES);

    if (!error)
        error = gv_shadow_make_all(trace, "TABLE", tables, TABLES);
    if (!error)
        error = gv_shadow_make_all(trace, "VIEW", views, sizeof(views) / sizeof(views[0]));
    if (!error)
        error = gv_pass_open(&pass, trace, 0);
    if (!error)
        error = analyse(trace, threshold_ns, pass);
    gv_pass_close(pass);
    return error;
}

static const char version_sql[] =
    "SELECT value FROM meta WHERE key = 'stalls' AND EXISTS"
    " (SELECT 1 FROM meta WHERE key = 'state' AND value = 'complete')";

int gv_stalls_ensure(sqlite3 *trace)
{
    int64_t version = 0;
    int error = gv_database_number(trace, version_sql, NULL, 0, &version);

    return error || version == GV_STALLS_VERSION
               ? error
               : analyse_temporary(trace, gv_stalls_threshold_ns());
}

int gv_stalls_of_ranges(sqlite3 *trace)
{
    int64_t temporary = 0;
    int error = gv_database_number(
        trace, "SELECT count(*) FROM temp.sqlite_master WHERE name = 'stall'", NULL, 0, &temporary);

    if (!error && !temporary)
        error = gv_shadow_make(trace, "TABLE", "stall");
    if (!error && !temporary)
        error = gv_shadow_make(trace, "VIEW", "stalls");
    if (!error && !temporary)
        error =
            gv_database_script(trace, "INSERT INTO temp.stall SELECT * FROM main.stall", NULL, 0);
    return error ? error
                 : gv_database_script(trace, "DELETE FROM temp.stall WHERE NOT gv_in_ranges(call)",
                                      NULL, 0);
}
