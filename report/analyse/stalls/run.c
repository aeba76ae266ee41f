#include "report/analyse/stalls/run.h"

#include "report/analyse/gpu_unseen.h"
#include "report/analyse/names/stack_text.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const gv_stall_sql[] = {
#define GV_STALL_STATEMENT(name, sql) sql,
#include "report/analyse/stalls/statements.def"
};

/* Facts that only few calls have, found by the call; they go to temporary files when they are many.
 */
static const char gv_stall_facts_sql[] =
    "CREATE TEMP TABLE stall_load AS SELECT call, id AS load, duration_ns, 0 AS lazy,"
    /* text that was loaded before is compiled already */
    " image IS 'ptx' AND row_number() OVER (PARTITION BY hash ORDER BY start_ns) = 1 AS ptx"
    " FROM load WHERE call IS NOT NULL UNION ALL"
    " SELECT call, -id, 0, 1, 0 FROM gpu_module WHERE call IS NOT NULL;"
    "CREATE INDEX temp.stall_load_call ON stall_load (call);"
    "CREATE TEMP TABLE stall_code (call INTEGER PRIMARY KEY, lazy INTEGER, ptx INTEGER);"
    "INSERT INTO temp.stall_code SELECT call, max(lazy), max(ptx) FROM temp.stall_load"
    " GROUP BY call;"
    "CREATE TEMP TABLE stall_jit AS SELECT call, start_ns, duration_ns FROM jit"
    " WHERE call IS NOT NULL;"
    "CREATE INDEX temp.stall_jit_call ON stall_jit (call);"
    /* A library is in all contexts. */
    "CREATE TEMP TABLE stall_again (load INTEGER PRIMARY KEY, count INTEGER, total_ns INTEGER);"
    "INSERT INTO temp.stall_again SELECT id, count, total_ns FROM (SELECT l.id AS id, count(*) OVER"
    " same AS count, sum(l.duration_ns) OVER same AS total_ns FROM load l JOIN thread t ON t.id ="
    " l.thread JOIN call c ON c.id = l.call JOIN api a ON a.id = c.api WHERE l.hash IS NOT NULL AND"
    " l.result = 0 AND (c.context IS NOT NULL OR a.every_context) WINDOW same AS"
    " (PARTITION BY t.process, l.hash, c.context)) WHERE count > 1;";

static const char gv_stall_facts_drop_sql[] = "DROP TABLE IF EXISTS temp.stall_load;"
                                              "DROP TABLE IF EXISTS temp.stall_again;"
                                              "DROP TABLE IF EXISTS temp.stall_code;"
                                              "DROP TABLE IF EXISTS temp.stall_caller;"
                                              "DROP TABLE IF EXISTS temp.stall_path;"
                                              "DROP TABLE IF EXISTS temp.stall_jit;";

int gv_stall_error(sqlite3 *trace, int result)
{
    return gv_database_error(trace, result);
}

int gv_stall_execute(sqlite3 *trace, const char *sql)
{
    return gv_database_error(trace, sqlite3_exec(trace, sql, NULL, NULL, NULL));
}

sqlite3_stmt *gv_stall_statement(struct gv_stall_run *run, enum gv_stall_statement statement,
                                 int *error)
{
    sqlite3_stmt **prepared = &run->statements[statement];

    *error = 0;
    if (*prepared)
        sqlite3_reset(*prepared);
    else
        *error =
            gv_database_error(run->trace, sqlite3_prepare_v2(run->trace, gv_stall_sql[statement],
                                                             -1, prepared, NULL));
    return *prepared;
}

/* One of the small tables: how it is read, and where each row goes. */
struct gv_stall_table {
    const char *highest, *rows;
    size_t row_bytes;
    void (*take)(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id);
};

static void gv_stall_take_process(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->processes[id].measured = sqlite3_column_int(row, 1) != 0;
    run->processes[id].unseen_ns = INT64_MAX;
    run->any_measured |= run->processes[id].measured;
}

/* What waited for work that is missing would look like a call that took its own time. */
static void gv_stall_take_unseen(void *context, const struct gv_gpu_unseen *unseen)
{
    struct gv_stall_run *run = context;
    struct gv_stall_process *process =
        GV_STALL_ROW(run->processes, run->process_count, unseen->process);

    if (process)
        process->unseen_ns = unseen->launched_ns;
}

static void gv_stall_take_api(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const char *class_name = (const char *)sqlite3_column_text(row, 2);

    run->apis[id].rule = gv_stall_rule_find(name ? name : "", class_name ? class_name : "");
    run->apis[id].runtime = name && gv_api_is_runtime(name);
}

static void gv_stall_take_stream(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->streams[id].context = sqlite3_column_int64(row, 1);
    run->streams[id].legacy = sqlite3_column_int(row, 2) != 0;
}

static void gv_stall_take_kernel(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->kernels[id].module = sqlite3_column_int64(row, 1);
}

static void gv_stall_take_place(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->places[id].process = sqlite3_column_int64(row, 1);
}

static void gv_stall_take_thread(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->threads[id] = sqlite3_column_int64(row, 1);
}

static void gv_stall_take_shape(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->shapes[id] = sqlite3_column_int64(row, 1);
    run->any_local |= run->shapes[id] > 0;
}

static void gv_stall_take_module(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    const struct gv_stall_api *api =
        GV_STALL_ROW(run->apis, run->api_count, sqlite3_column_int64(row, 1));

    run->modules[id] = api && api->rule && api->rule->flags & GV_CALL_DRAINS;
}

#define GV_STALL_IDS_FOR_ROW 64
#define GV_STALL_IDS_SPARE   1024

static int gv_stall_highest(sqlite3 *trace, const char *sql, size_t *count)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(trace, sql, -1, &statement, NULL);
    int64_t highest = 0, rows = 0;

    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        highest = sqlite3_column_int64(statement, 0);
        rows = sqlite3_column_int64(statement, 1);
    }
    sqlite3_finalize(statement);
    /* Rows are numbered from 1; a file that says otherwise is not to make us ask for all memory,
     * nor to go through numbers that nothing has. */
    if (highest < 0 || highest > 1 << 24 ||
        highest / GV_STALL_IDS_FOR_ROW > rows + GV_STALL_IDS_SPARE)
        return -EPROTO;
    *count = (size_t)highest + 1;
    return gv_database_error(trace, result);
}

static int gv_stall_read_table(struct gv_stall_run *run, const struct gv_stall_table *table,
                               void **array, size_t *count)
{
    sqlite3_stmt *statement = NULL;
    int result, error = gv_stall_highest(run->trace, table->highest, count);

    if (error)
        return error;
    *array = calloc(*count, table->row_bytes);
    if (!*array)
        return -ENOMEM;
    if (!table->rows)
        return 0;
    result = sqlite3_prepare_v2(run->trace, table->rows, -1, &statement, NULL);
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(statement);
        int64_t id = result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        if (id > 0 && (uint64_t)id < *count)
            table->take(run, statement, id);
    }
    sqlite3_finalize(statement);
    return gv_database_error(run->trace, result);
}

#define GV_STALL_HIGHEST(table) "SELECT coalesce(max(id), 0), count(*) FROM " table

static int gv_stall_read_tables(struct gv_stall_run *run)
{
    const struct {
        struct gv_stall_table table;
        void **array;
        size_t *count;
    } all[] = {
        {{GV_STALL_HIGHEST("process"), "SELECT id, gpu IS 'cupti' FROM process",
          sizeof(*run->processes), gv_stall_take_process},
         (void **)&run->processes,
         &run->process_count},
        {{GV_STALL_HIGHEST("api"), "SELECT id, name, class FROM api", sizeof(*run->apis),
          gv_stall_take_api},
         (void **)&run->apis,
         &run->api_count},
        {{GV_STALL_HIGHEST("stream"), "SELECT id, context, kind = 'legacy default' FROM stream",
          sizeof(*run->streams), gv_stall_take_stream},
         (void **)&run->streams,
         &run->stream_count},
        {{GV_STALL_HIGHEST("kernel"), "SELECT id, module FROM kernel", sizeof(*run->kernels),
          gv_stall_take_kernel},
         (void **)&run->kernels,
         &run->kernel_count},
        {{GV_STALL_HIGHEST("gpu_place"), "SELECT id, process FROM gpu_place", sizeof(*run->places),
          gv_stall_take_place},
         (void **)&run->places,
         &run->place_count},
        {{GV_STALL_HIGHEST("thread"), "SELECT id, process FROM thread", sizeof(*run->threads),
          gv_stall_take_thread},
         (void **)&run->threads,
         &run->thread_count},
        {{GV_STALL_HIGHEST("gpu_shape"), "SELECT id, local_bytes FROM gpu_shape",
          sizeof(*run->shapes), gv_stall_take_shape},
         (void **)&run->shapes,
         &run->shape_count},
        {{GV_STALL_HIGHEST("context"), NULL, sizeof(*run->finished_ns), NULL},
         (void **)&run->finished_ns,
         &run->context_count},
        {{GV_STALL_HIGHEST("module"), "SELECT module, api FROM load WHERE module IS NOT NULL",
          sizeof(*run->modules), gv_stall_take_module},
         (void **)&run->modules,
         &run->module_count},
    };
    int error = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !error; i++)
        error = gv_stall_read_table(run, &all[i].table, all[i].array, all[i].count);
    return error;
}

/* Which launch of each kernel was its first, or call that asked for it. Calls are stored thread by
 * thread. */
static int gv_stall_first_uses(struct gv_stall_run *run)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(
        run->trace, "SELECT kernel, id, start_ns FROM call WHERE kernel IS NOT NULL", -1, &rows,
        NULL);

    if (result == SQLITE_OK)
        while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
            struct gv_stall_kernel *kernel =
                GV_STALL_ROW(run->kernels, run->kernel_count, sqlite3_column_int64(rows, 0));
            int64_t start_ns = sqlite3_column_int64(rows, 2);
            if (kernel && (!kernel->first_call || start_ns < kernel->first_ns)) {
                kernel->first_call = sqlite3_column_int64(rows, 1);
                kernel->first_ns = start_ns;
            }
        }
    sqlite3_finalize(rows);
    return gv_database_error(run->trace, result);
}

static int gv_stall_any(sqlite3 *trace, const char *sql, bool *any)
{
    size_t count = 0;
    int error = gv_stall_highest(trace, sql, &count);

    *any = count > 1;
    return error;
}

int gv_stall_run_open(struct gv_stall_run *run, sqlite3 *trace, int64_t threshold_ns)
{
    int error;

    memset(run, 0, sizeof(*run));
    run->trace = trace;
    run->threshold_ns = threshold_ns;
    run->next_id = 1;
    run->held = calloc(GV_STALL_CHUNK, sizeof(*run->held));
    if (!run->held)
        return -ENOMEM;
    error = gv_stall_execute(trace, gv_stall_facts_drop_sql);
    if (!error)
        error = gv_stall_execute(trace, gv_stall_facts_sql);
    if (!error)
        error = gv_stall_any(trace, "SELECT EXISTS (SELECT 1 FROM temp.stall_jit)", &run->any_jit);
    if (!error)
        error = gv_stall_read_tables(run);
    if (!error)
        error = gv_gpu_unseen_each(trace, gv_stall_take_unseen, run);
    if (!error)
        error = gv_stall_first_uses(run);
    return error;
}

void gv_stall_run_close(struct gv_stall_run *run)
{
    gv_stall_replay_close(run);
    for (int i = 0; i < GV_STALL_STATEMENT_COUNT; i++)
        sqlite3_finalize(run->statements[i]);
    gv_stall_execute(run->trace, gv_stall_facts_drop_sql);
    free(run->processes);
    free(run->apis);
    free(run->streams);
    free(run->kernels);
    free(run->places);
    free(run->threads);
    free(run->shapes);
    free(run->finished_ns);
    free(run->modules);
    free(run->zones);
    free(run->held);
    free(run->holders);
    memset(run, 0, sizeof(*run));
}
