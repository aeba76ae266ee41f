/* Collects what calls do to memory, and what ends with contexts and processes. */
#include "report/analyse/totals/run.h"

#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"

int gv_totals_memory_open(struct gv_totals_run *run)
{
    int error = gv_database_script(run->trace, sql_memory_events, NULL, 0);

    if (!error)
        error = gv_database_error(
            run->trace,
            sqlite3_prepare_v2(run->trace,
                               "INSERT INTO temp.memory_event VALUES (?, ?, ?, ?, ?, ?, ?)", -1,
                               &run->memory_add, NULL));
    return error;
}

/* Where a call worked; 0: unknown. */
static int64_t memory_worked_in(const struct gv_totals_run *run, sqlite3_stmt *row)
{
    int64_t context = sqlite3_column_int64(row, GV_TOTALS_CALL_CONTEXT);

    if (!context)
        context =
            gv_id_table_get(&run->streams, sqlite3_column_int64(row, GV_TOTALS_CALL_STREAM), 0);
    return gv_id_table_get(&run->contexts, context, 0);
}

int64_t gv_totals_memory_context(struct gv_totals_run *run, sqlite3_stmt *row)
{
    int64_t thread = sqlite3_column_int64(row, GV_TOTALS_CALL_THREAD);
    int64_t api = sqlite3_column_int64(row, GV_TOTALS_CALL_API);

    if (thread <= 0 || (uint64_t)thread >= run->threads.rows)
        return 0;
    int64_t *now = &run->thread_times[thread].context, before = *now;
    int64_t context = memory_worked_in(run, row);
    if (gv_id_table_get(&run->memory, api, 0) == GV_MEMORY_CONTEXT_ENDED &&
        sqlite3_column_int64(row, GV_TOTALS_CALL_OBJECT) != 0)
        *now = 0; /* it gives the context that ended, not the current one */
    else if (context)
        *now = context;
    return before ? before : context;
}

static int memory_add(struct gv_totals_run *run, const struct gv_memory_event *event)
{
    const int64_t values[] = {event->at_ns, event->call,           event->process, event->object,
                              event->bytes, (int64_t)event->space, event->context};
    int result = SQLITE_OK;

    for (int i = 0; i < 7 && result == SQLITE_OK; i++)
        result = sqlite3_bind_int64(run->memory_add, i + 1, values[i]);
    if (result == SQLITE_OK)
        result = sqlite3_step(run->memory_add);
    sqlite3_reset(run->memory_add);
    return gv_database_error(run->trace, result);
}

int gv_totals_memory_call(struct gv_totals_run *run, sqlite3_stmt *row, int64_t before)
{
    int64_t thread = sqlite3_column_int64(row, GV_TOTALS_CALL_THREAD);
    int64_t api = sqlite3_column_int64(row, GV_TOTALS_CALL_API);
    int64_t space = gv_id_table_get(&run->memory, api, 0);
    struct gv_memory_event event = {
        .at_ns = gv_time_column(row, GV_TOTALS_CALL_START),
        .process = gv_id_table_get(&run->threads, thread, 0),
        .object = sqlite3_column_int64(row, GV_TOTALS_CALL_OBJECT),
        .bytes = sqlite3_column_int64(row, GV_TOTALS_CALL_BYTES),
        .call = sqlite3_column_int64(row, GV_TOTALS_CALL_ID),
        .space = (enum gv_memory_space)space,
    };

    if (space == 0 || (event.object == 0 && space != GV_MEMORY_DEVICE_RESET))
        return 0;
    if (space == GV_MEMORY_PHYSICAL)
        event.space = GV_MEMORY_DEVICE;
    else if (space == GV_MEMORY_DEVICE_RESET)
        event.context = event.object ? event.object : before; /* at its end there may be none */
    else
        event.context = memory_worked_in(run, row);
    return memory_add(run, &event);
}

static int memory_replay(void *context, sqlite3_stmt *row)
{
    struct gv_totals_run *run = context;
    const struct gv_memory_event event = {
        .at_ns = gv_time_column(row, 0),
        .call = sqlite3_column_int64(row, 1),
        .process = sqlite3_column_int64(row, 2),
        .object = sqlite3_column_int64(row, 3),
        .bytes = sqlite3_column_int64(row, 4),
        .space = (enum gv_memory_space)sqlite3_column_int64(row, 5),
        .context = sqlite3_column_int64(row, 6),
    };

    return gv_memory_log_take(&run->memory_log, &event);
}

int gv_totals_memory_end(struct gv_totals_run *run)
{
    const int64_t values[] = {GV_MEMORY_PROCESS_ENDED, run->part.from_ns, run->part.to_ns};
    int error = gv_database_script(run->trace, sql_memory_ends, values, 3);

    if (!error)
        error = gv_database_each(run->trace, sql_memory_ordered, NULL, 0, memory_replay, run);
    gv_memory_log_end(&run->memory_log);
    return error ? error : gv_database_script(run->trace, "DROP TABLE temp.memory_event", NULL, 0);
}
