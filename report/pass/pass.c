#include "report/pass/pass.h"

#include "report/pass_pass.inc"
#include "report/store/beside.h"
#include "report/store/id_table.h"
#include "report/store/key_map.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_READY 600 /* CUDA_ERROR_NOT_READY: what polls return */

/* Of all processes: in memory each takes up to 85 bytes. */
#define NODES_MOST (1u << 19)

struct gv_pass {
    struct gv_pass_sorted *calls, *operations, *untimed;
    struct gv_beside stacks, folds;
    struct gv_pass_times *places;
    size_t place_count;            /* one more than the highest id */
    struct gv_id_table process_of; /* a place */
    struct gv_key_map nodes;       /* by process and node: its number, and the stack */
    int error;                     /* of a row */
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
    CALL_RESULT,
    CALL_BYTES,
    CALL_OBJECT,
    CALL_COLUMNS
};
enum operation_column {
    OP_ID,
    OP_START,
    OP_DURATION,
    OP_CALL,
    OP_PLACE,
    OP_SHAPE,
    OP_KIND,
    OP_COPY_KIND,
    OP_BYTES,
    OP_GRAPH_NODE,
    OP_IS_OF_THREAD,
    OP_COLUMNS
};

static uint32_t id_of(sqlite3_value *value)
{
    int64_t id = sqlite3_value_int64(value);

    return id > 0 && id < UINT32_MAX ? (uint32_t)id : 0;
}

static bool is_null(sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_NULL;
}

/* Rows come as the arguments of a function: that costs two thirds of what stepping from row to row
 * does. */
static int take_call(struct gv_pass *pass, sqlite3_value **row)
{
    int64_t id = sqlite3_value_int64(row[CALL_ID]);
    int64_t start_ns = gv_time_limited(sqlite3_value_int64(row[CALL_START]));
    int64_t duration_ns = gv_time_limited_duration(sqlite3_value_int64(row[CALL_DURATION]));
    struct gv_pass_call call = {
        .key = {start_ns, id, start_ns + duration_ns},
        .duration_ns = duration_ns,
        .thread = id_of(row[CALL_THREAD]),
        .api = id_of(row[CALL_API]),
        .kernel = id_of(row[CALL_KERNEL]),
        .stream = id_of(row[CALL_STREAM]),
        .context = id_of(row[CALL_CONTEXT]),
        .result = sqlite3_value_int(row[CALL_RESULT]),
        .bytes = sqlite3_value_int64(row[CALL_BYTES]),
        .object = sqlite3_value_int64(row[CALL_OBJECT]),
    };
    bool has_stack, folded = false;
    int error = gv_beside_find(&pass->stacks, 0, id, &has_stack);

    if (!error && call.result == NOT_READY)
        error = gv_beside_find(&pass->folds, 0, id, &folded);
    if (error)
        return error;
    if (has_stack) {
        call.stack = id_of(sqlite3_column_value(pass->stacks.rows, 2));
        call.one_of = id_of(sqlite3_column_value(pass->stacks.rows, 3));
        call.has_other_stack = sqlite3_column_int(pass->stacks.rows, 4) != 0;
    }
    if (folded) {
        call.folded = id_of(sqlite3_column_value(pass->folds.rows, 2));
        call.key.end_ns = start_ns + gv_time_column_duration(pass->folds.rows, 3);
    }
    return gv_pass_sorted_add(pass->calls, &call);
}

/* A node's number, and below that its stack. */
#define NODE(number, stack) ((int64_t)((uint64_t)(number) << 32 | (stack)))

static int find_node(struct gv_pass *pass, sqlite3_value **row, int64_t *found)
{
    const struct gv_key key = {
        {(uint64_t)gv_id_table_get(&pass->process_of, id_of(row[OP_PLACE]), 0),
         (uint64_t)sqlite3_value_int64(row[OP_GRAPH_NODE])}};

    *found = is_null(row[OP_GRAPH_NODE]) ? 0 : gv_key_map_find(&pass->nodes, &key);
    if (*found || is_null(row[OP_GRAPH_NODE]) || pass->nodes.used >= NODES_MOST)
        return 0;
    *found = NODE(pass->nodes.used + 1, 0);
    return gv_key_map_add(&pass->nodes, &key, *found);
}

static int take_operation(struct gv_pass *pass, sqlite3_value **row)
{
    int64_t start_ns = gv_time_limited(sqlite3_value_int64(row[OP_START]));
    int64_t duration_ns = gv_time_limited_duration(sqlite3_value_int64(row[OP_DURATION]));
    int64_t kind = sqlite3_value_int64(row[OP_KIND]), node;
    int error = find_node(pass, row, &node);
    const struct gv_pass_operation operation = {
        .key = {start_ns, sqlite3_value_int64(row[OP_ID]), start_ns + duration_ns},
        .call = sqlite3_value_int64(row[OP_CALL]),
        .bytes = sqlite3_value_int64(row[OP_BYTES]),
        .place = id_of(row[OP_PLACE]),
        .shape = id_of(row[OP_SHAPE]),
        .node = (uint32_t)((uint64_t)node >> 32),
        .stack = (uint32_t)node,
        .copy_kind = sqlite3_value_int(row[OP_COPY_KIND]),
        .kind = kind > 0 && kind <= UINT8_MAX ? (uint8_t)kind : 0,
        .has_start = !is_null(row[OP_START]),
        .is_of_thread = sqlite3_value_int(row[OP_IS_OF_THREAD]) != 0,
    };

    if (error)
        return error;
    if (!operation.has_start || is_null(row[OP_DURATION]))
        return gv_pass_sorted_add(pass->untimed, &operation);
    if (operation.place < pass->place_count) {
        struct gv_pass_times *times = &pass->places[operation.place];
        if (start_ns < times->first_ns)
            times->first_ns = start_ns;
        if (operation.key.end_ns > times->last_ns)
            times->last_ns = operation.key.end_ns;
        times->total_ns = gv_time_sum(times->total_ns, duration_ns);
    }
    return gv_pass_sorted_add(pass->operations, &operation);
}

#define POINTER "gv_pass" /* users' SQL can't make one */

static void take_row(sqlite3_context *context, int count, sqlite3_value **row)
{
    struct gv_pass *pass = sqlite3_value_pointer(row[count - 1], POINTER);
    int (*const *take)(struct gv_pass * pass, sqlite3_value * *row) = sqlite3_user_data(context);

    if (pass && !pass->error)
        pass->error = (*take)(pass, row);
    if (!pass || pass->error)
        sqlite3_result_error_code(context, SQLITE_ABORT);
}

static void end_rows(sqlite3_context *context)
{
    sqlite3_result_null(context);
}

static int (*const takes[])(struct gv_pass *pass, sqlite3_value **row) = {take_call,
                                                                          take_operation};

/* ?1: the thread; ?2: the pass. */
static int read_rows(struct gv_pass *pass, sqlite3 *trace, int which, const char *sql,
                     int64_t thread)
{
    static const char *const names[] = {"gv_take_call", "gv_take_operation"};
    const int columns[] = {CALL_COLUMNS, OP_COLUMNS};
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_create_function(trace, names[which], columns[which] + 1,
                                         SQLITE_UTF8 | SQLITE_DIRECTONLY, (void *)&takes[which],
                                         NULL, take_row, end_rows);

    if (result == SQLITE_OK || result == SQLITE_BUSY) /* busy: it is there already */
        result = gv_database_ask(trace, sql, &thread, 1, &rows);
    if (result == SQLITE_OK)
        result = sqlite3_bind_pointer(rows, 2, pass, POINTER, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(rows);
    sqlite3_finalize(rows);
    return pass->error ? pass->error : gv_database_error(trace, result);
}

static int read_places(struct gv_pass *pass, sqlite3 *trace)
{
    int error = gv_id_table_read(&pass->process_of, trace, "SELECT id, process FROM gpu_place");

    pass->place_count = pass->process_of.rows;
    pass->places = calloc(pass->place_count + 1, sizeof(*pass->places));
    if (!error && !pass->places)
        error = -ENOMEM;
    for (size_t i = 0; i < pass->place_count && !error; i++)
        pass->places[i] = (struct gv_pass_times){INT64_MAX, INT64_MIN, 0};
    return error;
}

static int take_node(void *context, sqlite3_stmt *row)
{
    struct gv_pass *pass = context;
    const struct gv_key key = {
        {(uint64_t)sqlite3_column_int64(row, 0), (uint64_t)sqlite3_column_int64(row, 1)}};
    uint32_t stack = id_of(sqlite3_column_value(row, 2));

    return pass->nodes.used < NODES_MOST
               ? gv_key_map_add(&pass->nodes, &key, NODE(pass->nodes.used + 1, stack))
               : 0;
}

int gv_pass_open(struct gv_pass **made, sqlite3 *trace, int64_t thread)
{
    struct gv_pass *pass = *made = calloc(1, sizeof(*pass));
    int error = pass ? read_places(pass, trace) : -ENOMEM;

    if (!error)
        error = gv_database_each(trace, sql_nodes, NULL, 0, take_node, pass);
    if (!error)
        error = gv_pass_sorted_open(&pass->calls, sizeof(struct gv_pass_call));
    if (!error)
        error = gv_pass_sorted_open(&pass->operations, sizeof(struct gv_pass_operation));
    if (!error)
        error = gv_pass_sorted_open(&pass->untimed, sizeof(struct gv_pass_operation));
    if (!error)
        error = read_rows(pass, trace, 1, sql_operations, thread);
    if (!error)
        error = gv_beside_ask(&pass->stacks, trace, sql_stacks);
    if (!error)
        error = gv_beside_ask(&pass->folds, trace, sql_folds);
    if (!error)
        error = read_rows(pass, trace, 0, sql_calls, thread);
    if (pass) {
        sqlite3_finalize(pass->stacks.rows);
        sqlite3_finalize(pass->folds.rows);
        pass->stacks.rows = pass->folds.rows = NULL;
    }
    return error;
}

void gv_pass_close(struct gv_pass *pass)
{
    if (!pass)
        return;
    gv_pass_sorted_close(pass->calls);
    gv_pass_sorted_close(pass->operations);
    gv_pass_sorted_close(pass->untimed);
    gv_id_table_free(&pass->process_of);
    gv_key_map_free(&pass->nodes);
    free(pass->places);
    free(pass);
}

struct gv_pass_times gv_pass_times_of_place(const struct gv_pass *pass, int64_t place)
{
    return place > 0 && (uint64_t)place < pass->place_count
               ? pass->places[place]
               : (struct gv_pass_times){INT64_MAX, INT64_MIN, 0};
}

int gv_pass_begin_calls(struct gv_pass *pass)
{
    return gv_pass_sorted_begin(pass->calls, INT64_MIN);
}

int gv_pass_next_call(struct gv_pass *pass, const struct gv_pass_call **call)
{
    const void *record;
    int error = gv_pass_sorted_next(pass->calls, &record);

    *call = record;
    return error;
}

static int run_operations(struct gv_pass_sorted *sorted, int64_t from_ns, int64_t to_ns,
                          gv_pass_take_operation *take, void *context)
{
    int error = gv_pass_sorted_begin(sorted, from_ns);
    const struct gv_pass_operation *operation;
    const void *record = sorted;

    while (!error && record) {
        error = gv_pass_sorted_next(sorted, &record);
        operation = record;
        if (!record || error || operation->key.at_ns > to_ns)
            break;
        if (operation->key.end_ns >= from_ns)
            error = take(context, operation);
    }
    return error;
}

int gv_pass_run_between(struct gv_pass *pass, int64_t from_ns, int64_t to_ns,
                        gv_pass_take_operation *take, void *context)
{
    return run_operations(pass->operations, from_ns, to_ns, take, context);
}

int gv_pass_run_untimed(struct gv_pass *pass, gv_pass_take_operation *take, void *context)
{
    return run_operations(pass->untimed, INT64_MIN, INT64_MAX, take, context);
}

static int64_t time_of(const void *record)
{
    return ((const struct gv_pass_key *)record)->at_ns;
}

int gv_pass_run(struct gv_pass *pass, const struct gv_pass_consumer *consumer,
                const struct gv_pass_stream *stream)
{
    struct gv_pass_sorted *const sources[] = {consumer->call ? pass->calls : NULL,
                                              stream ? stream->records : NULL,
                                              consumer->operation ? pass->operations : NULL};
    const void *next[3] = {0};
    int error = 0;

    for (int i = 0; i < 3 && !error; i++) {
        error = sources[i] ? gv_pass_sorted_begin(sources[i], INT64_MIN) : 0;
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
