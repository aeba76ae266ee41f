#include "report/pass/pass.h"

#include "report/pass_pass.inc"
#include "report/store/database.h"
#include "report/store/id_table.h"
#include "report/store/time_sum.h"

#include <errno.h>
#include <stdlib.h>

struct gv_pass {
    struct gv_pass_sorted *calls, *operations;
    sqlite3_stmt *stacks;
    int64_t stack_call; /* the row of `stacks`; INT64_MAX: the end */
    struct gv_pass_times *places;
    size_t place_count; /* one more than the highest id */
};

enum call_column {
    CALL_ID,
    CALL_START,
    CALL_DURATION,
    CALL_THREAD,
    CALL_API,
    CALL_KERNEL,
    CALL_STREAM,
    CALL_CONTEXT,
    CALL_RESULT
};
enum operation_column {
    OP_ID,
    OP_START,
    OP_DURATION,
    OP_CALL,
    OP_PLACE,
    OP_SHAPE,
    OP_KIND,
    OP_COPY_KIND
};

static uint32_t id_column(sqlite3_stmt *row, int column)
{
    int64_t id = sqlite3_column_int64(row, column);

    return id > 0 && id < UINT32_MAX ? (uint32_t)id : 0;
}

static int next_stack(struct gv_pass *pass)
{
    int result = sqlite3_step(pass->stacks);

    pass->stack_call = result == SQLITE_ROW ? sqlite3_column_int64(pass->stacks, 0) : INT64_MAX;
    return gv_database_error(sqlite3_db_handle(pass->stacks), result);
}

static int take_call(void *context, sqlite3_stmt *row)
{
    struct gv_pass *pass = context;
    int64_t start_ns = gv_time_column(row, CALL_START);
    struct gv_pass_call call = {
        .key = {start_ns, sqlite3_column_int64(row, CALL_ID)},
        .end_ns = start_ns + gv_time_column_duration(row, CALL_DURATION),
        .thread = id_column(row, CALL_THREAD),
        .api = id_column(row, CALL_API),
        .kernel = id_column(row, CALL_KERNEL),
        .stream = id_column(row, CALL_STREAM),
        .context = id_column(row, CALL_CONTEXT),
        .result = sqlite3_column_int(row, CALL_RESULT),
    };
    int error = 0;

    while (!error && pass->stack_call < call.key.id)
        error = next_stack(pass);
    if (!error && pass->stack_call == call.key.id) {
        call.stack = id_column(pass->stacks, 1);
        call.one_of = id_column(pass->stacks, 2);
    }
    return error ? error : gv_pass_sorted_add(pass->calls, &call);
}

static int take_operation(void *context, sqlite3_stmt *row)
{
    struct gv_pass *pass = context;
    int64_t start_ns = gv_time_column(row, OP_START);
    const struct gv_pass_operation operation = {
        .key = {start_ns, sqlite3_column_int64(row, OP_ID)},
        .end_ns = start_ns + gv_time_column_duration(row, OP_DURATION),
        .call = sqlite3_column_int64(row, OP_CALL),
        .place = id_column(row, OP_PLACE),
        .shape = id_column(row, OP_SHAPE),
        .kind = (uint32_t)sqlite3_column_int(row, OP_KIND),
        .copy_kind = sqlite3_column_int(row, OP_COPY_KIND),
    };

    if (operation.place < pass->place_count) {
        struct gv_pass_times *times = &pass->places[operation.place];
        if (operation.key.at_ns < times->first_ns)
            times->first_ns = operation.key.at_ns;
        if (operation.end_ns > times->last_ns)
            times->last_ns = operation.end_ns;
        times->total_ns = gv_time_sum(times->total_ns, operation.end_ns - operation.key.at_ns);
    }
    return gv_pass_sorted_add(pass->operations, &operation);
}

static int read_places(struct gv_pass *pass, sqlite3 *trace)
{
    struct gv_id_table places = {0};
    int error = gv_id_table_read(&places, trace, "SELECT id, 1 FROM gpu_place");

    pass->place_count = places.rows;
    gv_id_table_free(&places);
    pass->places = calloc(pass->place_count + 1, sizeof(*pass->places));
    if (!error && !pass->places)
        error = -ENOMEM;
    for (size_t i = 0; i < pass->place_count && !error; i++)
        pass->places[i] = (struct gv_pass_times){INT64_MAX, INT64_MIN, 0};
    return error;
}

int gv_pass_open(struct gv_pass **made, sqlite3 *trace)
{
    struct gv_pass *pass = *made = calloc(1, sizeof(*pass));
    int error = pass ? read_places(pass, trace) : -ENOMEM;

    if (!error)
        error = gv_pass_sorted_open(&pass->calls, sizeof(struct gv_pass_call));
    if (!error)
        error = gv_pass_sorted_open(&pass->operations, sizeof(struct gv_pass_operation));
    if (!error)
        error = gv_database_error(trace,
                                  sqlite3_prepare_v2(trace, sql_stacks, -1, &pass->stacks, NULL));
    if (!error)
        error = next_stack(pass);
    if (!error)
        error = gv_database_each(trace, sql_calls, NULL, 0, take_call, pass);
    if (!error)
        error = gv_database_each(trace, sql_operations, NULL, 0, take_operation, pass);
    if (pass) {
        sqlite3_finalize(pass->stacks);
        pass->stacks = NULL;
    }
    return error;
}

void gv_pass_close(struct gv_pass *pass)
{
    if (!pass)
        return;
    gv_pass_sorted_close(pass->calls);
    gv_pass_sorted_close(pass->operations);
    free(pass->places);
    free(pass);
}

struct gv_pass_times gv_pass_times_of_place(const struct gv_pass *pass, int64_t place)
{
    return place > 0 && (uint64_t)place < pass->place_count
               ? pass->places[place]
               : (struct gv_pass_times){INT64_MAX, INT64_MIN, 0};
}

static int64_t time_of(const void *record)
{
    return record ? ((const struct gv_pass_key *)record)->at_ns : INT64_MAX;
}

int gv_pass_run(struct gv_pass *pass, const struct gv_pass_consumer *consumer,
                const struct gv_pass_stream *stream)
{
    struct gv_pass_sorted *const sources[] = {pass->calls, stream->records, pass->operations};
    const void *next[3] = {0};
    int error = 0;

    for (int i = 0; i < 3 && !error; i++) {
        error = sources[i] ? gv_pass_sorted_begin(sources[i]) : 0;
        if (!error && sources[i])
            error = gv_pass_sorted_next(sources[i], &next[i]);
    }
    while (!error && (next[0] || next[1] || next[2])) {
        int least = 0;
        for (int i = 1; i < 3; i++)
            if (next[i] && (!next[least] || time_of(next[i]) < time_of(next[least])))
                least = i;
        if (least == 0)
            error = consumer->call(consumer->context, next[0]);
        else if (least == 1)
            error = stream->take(stream->context, next[1]);
        else
            error = consumer->operation(consumer->context, next[2]);
        if (!error)
            error = gv_pass_sorted_next(sources[least], &next[least]);
    }
    return error;
}
