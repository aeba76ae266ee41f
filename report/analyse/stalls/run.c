#include "report/analyse/stalls/run.h"

#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const statements_sql[] = {
#define GV_SQL(name, help, text) text,
#include "report/analyse_stalls_stalls.inc"
};

int gv_stall_script(sqlite3 *trace, enum gv_stall_statement script)
{
    return gv_database_error(trace, sqlite3_exec(trace, statements_sql[script], NULL, NULL, NULL));
}

sqlite3_stmt *gv_stall_statement(struct gv_stall_run *run, enum gv_stall_statement statement,
                                 int *error)
{
    sqlite3_stmt **prepared = &run->statements[statement];

    *error = 0;
    if (*prepared)
        sqlite3_reset(*prepared);
    else
        *error = gv_database_compile(run->trace, statements_sql[statement], prepared);
    return *prepared;
}

bool gv_stall_next(struct gv_stall_run *run, sqlite3_stmt *rows, int *error)
{
    int result = rows && !*error ? sqlite3_step(rows) : SQLITE_DONE;

    if (result == SQLITE_ROW)
        return true;
    if (rows)
        sqlite3_reset(rows);
    if (!*error)
        *error = gv_database_error(run->trace, result);
    return false;
}

sqlite3_stmt *gv_stall_row(struct gv_stall_run *run, enum gv_stall_statement statement,
                           int64_t value, int *error)
{
    sqlite3_stmt *row = gv_stall_statement(run, statement, error);

    if (row)
        sqlite3_bind_int64(row, 1, value);
    return gv_stall_next(run, row, error) ? row : NULL;
}

int gv_stall_put(struct gv_stall_run *run, enum gv_stall_statement statement, const int64_t *values,
                 int count)
{
    int error;
    sqlite3_stmt *put = gv_stall_statement(run, statement, &error);

    return put ? gv_database_add(put, values, count) : error;
}

/* ---- the small tables ---- */

/* How to read one of the small tables. */
struct gv_stall_table {
    struct gv_stall_run *run;
    const char *highest, *rows;
    size_t row_bytes;
    void (*take)(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id);
    void **array;
    size_t *count;
};

static void take_process(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->processes[id].measured = sqlite3_column_int(row, 1) != 0;
    run->processes[id].blocking = sqlite3_column_int(row, 2) != 0;
    run->processes[id].loading = (enum gv_stall_loading)sqlite3_column_int(row, 3);
    run->processes[id].machine = sqlite3_column_int64(row, 4);
    run->any_measured |= run->processes[id].measured;
}

static void take_api(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const char *class_name = (const char *)sqlite3_column_text(row, 2);

    run->apis[id].rule = gv_stall_rule_find(name ? name : "", class_name ? class_name : "");
    run->apis[id].runtime = name && gv_api_is_runtime(name);
    run->apis[id].class = gv_api_class_find(class_name ? class_name : "");
}

static void take_stream(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->streams[id].context = sqlite3_column_int64(row, 1);
    run->streams[id].legacy = sqlite3_column_int(row, 2) != 0;
}

static void take_place(struct gv_stall_run *run, sqlite3_stmt *row, int64_t id)
{
    run->places[id].process = sqlite3_column_int64(row, 1);
}

#define IDS_FOR_ROW 64
#define IDS_SPARE   1024

static int read_highest(sqlite3 *trace, const char *sql, size_t *count)
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
    /* Rows are numbered from 1. An untrusted file must not make us allocate all memory or walk
     * huge gaps. */
    if (highest < 0 || highest > 1 << 24 || highest / IDS_FOR_ROW > rows + IDS_SPARE)
        return -EPROTO;
    *count = (size_t)highest + 1;
    return gv_database_error(trace, result);
}

static int take_row(void *context, sqlite3_stmt *row)
{
    const struct gv_stall_table *table = context;
    int64_t id = sqlite3_column_int64(row, 0);

    if (id > 0 && (uint64_t)id < *table->count)
        table->take(table->run, row, id);
    return 0;
}

static int read_table(struct gv_stall_table *table)
{
    int error = read_highest(table->run->trace, table->highest, table->count);

    if (error)
        return error;
    *table->array = calloc(*table->count, table->row_bytes);
    if (!*table->array)
        return -ENOMEM;
    return gv_database_each(table->run->trace, table->rows, NULL, 0, take_row, table);
}

#define HIGHEST(table) "SELECT coalesce(max(id), 0), count(*) FROM " table

#define TABLE(table, array, one, rows)                                                             \
    {                                                                                              \
        run, HIGHEST(table), rows, sizeof(*run->array), take_##one, (void **)&run->array,          \
            &run->one##_count                                                                      \
    }

static int read_tables(struct gv_stall_run *run)
{
    struct gv_stall_table all[] = {
        TABLE("process", processes, process, statements_sql[GV_STALL_PROCESSES]),
        TABLE("api", apis, api, "SELECT id, name, class FROM api"),
        TABLE("stream", streams, stream, "SELECT id, context, kind = 'legacy default' FROM stream"),
        TABLE("gpu_place", places, place, "SELECT id, process FROM gpu_place"),
    };
    const struct {
        struct gv_id_table *table;
        const char *rows;
    } numbers[] = {
        {&run->kernels, "SELECT id, module FROM kernel"},
        {&run->threads, "SELECT id, process FROM thread"},
        {&run->shapes, "SELECT id, local_bytes FROM gpu_shape"},
        {&run->modules, "SELECT module, api FROM load WHERE module IS NOT NULL"},
    };
    int error = read_highest(run->trace, HIGHEST("context"), &run->context_count);

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !error; i++)
        error = gv_id_table_read(numbers[i].table, run->trace, numbers[i].rows);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !error; i++)
        error = read_table(&all[i]);
    return error;
}

int gv_stall_run_open(struct gv_stall_run *run, sqlite3 *trace)
{
    memset(run, 0, sizeof(*run));
    run->trace = trace;
    return read_tables(run);
}

void gv_stall_run_close(struct gv_stall_run *run)
{
    for (int i = 0; i < GV_STALL_STATEMENT_COUNT; i++)
        sqlite3_finalize(run->statements[i]);
    free(run->processes);
    free(run->apis);
    free(run->streams);
    free(run->places);
    gv_id_table_free(&run->kernels);
    gv_id_table_free(&run->threads);
    gv_id_table_free(&run->shapes);
    gv_id_table_free(&run->modules);
    free(run->first_calls);
    free(run->unseen.times);
    free(run->stopped.times);
    free(run->calls);
    free(run->judge.jits);
    free(run->judge.holders);
    free(run->judge.keepers);
    memset(run, 0, sizeof(*run));
}

void gv_stall_call_complete(const struct gv_stall_run *run, struct gv_stall_call *call)
{
    const struct gv_stall_stream *stream =
        GV_STALL_ROW(run->streams, run->stream_count, call->stream);
    int64_t module = gv_id_table_get(&run->kernels, call->kernel, 0);
    const struct gv_stall_api *loader =
        GV_STALL_ROW(run->apis, run->api_count, gv_id_table_get(&run->modules, module, 0));
    const struct gv_stall_process *process =
        GV_STALL_ROW(run->processes, run->process_count, call->process);

    if (!call->context && stream)
        call->context = stream->context;
    call->own_stream = stream && !stream->legacy;
    call->machine = process ? process->machine : 0;
    call->blocking = process && process->blocking;
    call->loading = process ? process->loading : GV_STALL_LOADING_UNKNOWN;
    /* Loading a module puts its code onto the GPU; loading a library does not. */
    call->eager = call->loading == GV_STALL_LOADING_EAGER ||
                  (loader && loader->rule && (loader->rule->flags & GV_CALL_DRAINS));
}
