/* Collects what calls do to memory, and what ends with contexts and processes. */
#include "report/analyse/names/places.h"
#include "report/analyse/totals/run.h"

#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"
#include "trace/spool.h"

int gv_totals_memory_open(struct gv_totals_run *run)
{
    int error = gv_database_script(run->trace, sql_memory_events, NULL, 0);

    if (!error)
        error = gv_database_compile(run->trace,
                                    "INSERT INTO temp.memory_event"
                                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                    &run->memory_add);
    return error;
}

/* The row of the context where a call worked; 0: unknown. */
static int64_t memory_worked_in_id(const struct gv_totals_run *run, const struct gv_pass_call *call)
{
    return call->context ? call->context : gv_id_table_get(&run->streams, call->stream, 0);
}

/* Its handle. */
static int64_t memory_worked_in(const struct gv_totals_run *run, const struct gv_pass_call *call)
{
    return gv_id_table_get(&run->contexts, memory_worked_in_id(run, call), 0);
}

int64_t gv_totals_memory_context(struct gv_totals_run *run, const struct gv_pass_call *call)
{
    if (!call->thread || call->thread >= run->threads.rows)
        return 0;
    int64_t *now = &run->thread_times[call->thread].context, before = *now;
    int64_t context = memory_worked_in(run, call);
    if (gv_id_table_get(&run->memory, call->api, 0) == GV_MEMORY_CONTEXT_ENDED && call->object != 0)
        *now = 0; /* it gives the context that ended, not the current one */
    else if (context)
        *now = context;
    return before ? before : context;
}

static int memory_add(struct gv_totals_run *run, const struct gv_memory_event *event)
{
    const int64_t values[] = {event->at_ns,      event->call,  event->process,
                              event->object,     event->bytes, (int64_t)event->space,
                              event->context,    event->api,   (int64_t)event->device,
                              event->duration_ns};

    return gv_database_add(run->memory_add, values, sizeof(values) / sizeof(values[0]));
}

/* A block is there from the end of the call that makes it to the start of the one that frees it:
 * another thread gets the same address in between. */
static bool memory_counts_at_end(enum gv_memory_space space)
{
    return space < GV_MEMORY_FREE || space == GV_MEMORY_CONTEXT_MADE || space == GV_MEMORY_MAPPED ||
           space == GV_MEMORY_RETAINED;
}

int gv_totals_memory_call(struct gv_totals_run *run, const struct gv_pass_call *call,
                          int64_t before)
{
    int64_t space = gv_id_table_get(&run->memory, call->api, 0);
    int64_t start_ns = call->key.at_ns, end_ns = start_ns + call->duration_ns;
    struct gv_memory_event event = {
        .at_ns = memory_counts_at_end((enum gv_memory_space)space) ? end_ns : start_ns,
        .duration_ns = end_ns - start_ns,
        .process = gv_id_table_get(&run->threads, call->thread, 0),
        .object = call->object,
        .bytes = call->bytes,
        .call = call->key.id,
        .space = (enum gv_memory_space)space,
        .api = call->api,
    };

    if (space == 0 || (event.object == 0 && space != GV_MEMORY_DEVICE_RESET))
        return 0;
    if (space == GV_MEMORY_DEVICE_RESET)
        event.context = event.object ? event.object : before; /* at its end there may be none */
    else if (space < GV_MEMORY_PHYSICAL) {
        int64_t context = memory_worked_in_id(run, call);
        event.context = gv_id_table_get(&run->contexts, context, 0);
        event.device = (size_t)gv_id_table_get(&run->contexts, context, 1);
    }
    return memory_add(run, &event);
}

/* Memory that a call made in physical memory of the host is not on a device. */
static void memory_locate(struct gv_memory_event *event, int64_t location)
{
    if (event->space != GV_MEMORY_PHYSICAL || !location ||
        (uint64_t)location >> 32 == GV_LOCATION_DEVICE)
        return;
    event->device = GV_MEMORY_ON_HOST;
}

static int memory_replay(void *context, sqlite3_stmt *row)
{
    struct gv_totals_run *run = context;
    int64_t device = sqlite3_column_int64(row, 8), stack = sqlite3_column_int64(row, 11);
    struct gv_memory_event event = {
        .at_ns = gv_time_column(row, 0),
        .call = sqlite3_column_int64(row, 1),
        .process = sqlite3_column_int64(row, 2),
        .object = sqlite3_column_int64(row, 3),
        .bytes = sqlite3_column_int64(row, 4),
        .space = (enum gv_memory_space)sqlite3_column_int64(row, 5),
        .context = sqlite3_column_int64(row, 6),
        .api = sqlite3_column_int64(row, 7),
        .device = device > 0 && device < GV_MEMORY_ON_HOST ? (size_t)device : 0,
        .duration_ns = gv_time_column_duration(row, 9),
        .second = sqlite3_column_int64(row, 10),
    };
    int error = stack ? gv_place_of_stack(run->trace, &run->stack_places, stack, &event.place) : 0;

    memory_locate(&event, event.second);
    return error ? error : gv_memory_log_take(&run->memory_log, &event);
}

int gv_totals_memory_end(struct gv_totals_run *run)
{
    const int64_t values[] = {GV_MEMORY_PROCESS_ENDED, run->part.from_ns, run->part.to_ns,
                              GV_MEMORY_SAMPLED};
    int error = gv_database_script(run->trace, sql_memory_ends, values, 4);

    if (!error)
        error = gv_database_each(run->trace, sql_memory_ordered, NULL, 0, memory_replay, run);
    gv_memory_log_end(&run->memory_log);
    return error ? error : gv_database_script(run->trace, "DROP TABLE temp.memory_event", NULL, 0);
}
