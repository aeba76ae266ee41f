/*
 * Evidence from the GPU's operations. For each, a binary search finds the calls that it concerns;
 * for this, the chunk's calls are sorted by process, context, stream and number.
 */
#include "report/analyse/stalls/run.h"
#include "report/store/array.h"

#include <errno.h>
#include <stdlib.h>

/* How many calls of a place are read to learn its stream and context. */
#define PLACE_TRIES 16
/* Operations are looked for until so long after their call. */
#define LATER_NS 1000000000
/* How many calls are looked at for one operation: rarely do more threads wait at once, and without
 * a limit a stranger's trace makes the search take quadratic time. */
#define WAITING_MOST 256

/* One row of gpu_op. */
struct gv_stall_op {
    int64_t id, start_ns, end_ns, call, local_bytes, host_memory;
    int64_t host; /* a host function, which has no id */
    const struct gv_stall_place *place;
    bool in_graph;
};

/* The positions of one key in an order. */
struct gv_stall_span {
    uint32_t first, count;
};

/* The chunk's calls, sorted by a key (the row of a table) and by time. */
struct gv_stall_order {
    uint32_t *positions;
    size_t count;
    struct gv_stall_span *spans; /* by key */
    size_t rows;
};

/* What an operation notes at the first call that it concerns; it holds for all later calls too. */
struct gv_stall_mark {
    int64_t busy_until_ns, local_bytes;
};

struct gv_stall_orders {
    struct gv_stall_order process, context, stream, call;
    int64_t *last_ns;            /* beside process: see note_ends */
    struct gv_stall_mark *marks; /* beside context */
    int64_t *ahead;              /* beside stream: the difference to the previous call */
    unsigned int waiting;        /* calls found for the current operation: see op_ended */
    struct {
        int64_t call; /* 0: none yet */
        int64_t thread, start_ns;
        bool found;
    } launch; /* the call that the last operation came from */
};

static void take_op(const struct gv_stall_run *run, const struct gv_pass_operation *operation,
                    struct gv_stall_op *op)
{
    *op = (struct gv_stall_op){
        .id = operation->key.id,
        .start_ns = operation->key.at_ns,
        .end_ns = operation->key.end_ns,
        .call = operation->call,
        .local_bytes = gv_id_table_get(&run->shapes, operation->shape, 0),
        .host_memory = operation->copy_kind >> 4,
        .place = GV_STALL_ROW(run->places, run->place_count, operation->place),
        .in_graph = operation->node != 0,
    };
}

/* ---- once: where the places are ---- */

static bool is_learned(const struct gv_stall_place *place)
{
    return place->tries == PLACE_TRIES || (place->stream && place->context);
}

/* Ends the run when all are known. A program may make a stream, and so a place, in each step. */
static int learn_place(void *context, const struct gv_pass_operation *operation)
{
    struct gv_stall_run *run = context;
    struct gv_stall_place *place = GV_STALL_ROW(run->places, run->place_count, operation->place);
    int error;

    if (!place || !operation->call || is_learned(place))
        return 0;
    sqlite3_stmt *row = gv_stall_row(run, GV_STALL_CALL_PLACE, operation->call, &error);
    place->tries++;
    if (row && !place->stream && !operation->node)
        place->stream = sqlite3_column_int64(row, 0);
    if (row && !place->context)
        place->context = sqlite3_column_int64(row, 1);
    run->places_to_learn -= is_learned(place);
    return error ? error : run->places_to_learn == 0;
}

int gv_stall_measure_open(struct gv_stall_run *run)
{
    run->places_to_learn = 0;
    for (size_t i = 1; i < run->place_count; i++) {
        const struct gv_pass_times times = gv_pass_times_of_place(run->pass, (int64_t)i);
        run->places_to_learn += times.first_ns <= times.last_ns && !is_learned(&run->places[i]);
    }
    int error = gv_pass_run_between(run->pass, INT64_MIN, INT64_MAX, learn_place, run);

    return error < 0 ? error : 0;
}

/* ---- the chunk's calls in order ---- */

/* A call and what it is ordered by. */
struct gv_stall_key {
    int64_t key, from_ns;
    uint32_t position;
};

static int compare_keys(const void *left, const void *right)
{
    const struct gv_stall_key *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

typedef bool key_of(const struct gv_stall_call *call, struct gv_stall_key *key);

/* What an operation ends in when it ends between two times: after the first, not after the second.
 * Those of a thread do not overlap, even if its calls do. */
static int64_t waits_from(const struct gv_stall_call *call)
{
    int64_t start_ns = call->start_ns - GV_STALL_SLACK_NS;

    return call->before_ns > start_ns ? call->before_ns : start_ns;
}

static bool key_process(const struct gv_stall_call *call, struct gv_stall_key *key)
{
    key->key = call->process;
    key->from_ns = waits_from(call);
    return call->process > 0;
}

/* May wait for the whole context. */
static bool key_context(const struct gv_stall_call *call, struct gv_stall_key *key)
{
    key->key = call->context;
    return call->context > 0 && !gv_cause_is_expected(call->rule->cause);
}

static bool key_stream(const struct gv_stall_call *call, struct gv_stall_key *key)
{
    key->key = call->stream;
    return call->stream > 0 && call->own_start_ns && (call->rule->flags & GV_CALL_SUBMITS);
}

static bool key_call(const struct gv_stall_call *call, struct gv_stall_key *key)
{
    key->key = call->call;
    return (call->rule->flags & GV_CALL_SUBMITS) != 0;
}

/* Sorts the measured calls that have a key. The chunk is in order of time, which is kept among
 * calls of one key. Keys below `rows` get a span. */
static int make_order(struct gv_stall_order *order, const struct gv_stall_run *run,
                      key_of *find_key, size_t rows)
{
    struct gv_stall_key *keys = calloc(run->call_count + 1, sizeof(*keys));

    order->positions = calloc(run->call_count + 1, sizeof(*order->positions));
    order->spans = calloc(rows + 1, sizeof(*order->spans));
    order->rows = rows;
    if (keys && order->positions && order->spans) {
        for (size_t i = 0; i < run->call_count; i++) {
            keys[order->count].position = (uint32_t)i;
            if (run->calls[i].source == GV_STALL_MEASURED &&
                find_key(&run->calls[i], &keys[order->count]))
                order->count++;
        }
        qsort(keys, order->count, sizeof(*keys), compare_keys);
    }
    for (size_t i = 0; i < order->count; i++) {
        struct gv_stall_span *span = GV_STALL_ROW(order->spans, rows, keys[i].key);
        order->positions[i] = keys[i].position;
        if (span && span->count++ == 0)
            span->first = (uint32_t)i;
    }
    free(keys);
    return keys && order->positions && order->spans ? 0 : -ENOMEM;
}

static void free_order(struct gv_stall_order *order)
{
    free(order->positions);
    free(order->spans);
}

/* Notes for each call when its thread's previous calls had ended. */
static int find_predecessors(struct gv_stall_run *run)
{
    uint32_t *last = calloc(run->threads.rows + 1, sizeof(*last)); /* position + 1 */

    for (size_t i = 0; i < run->call_count && last; i++) {
        struct gv_stall_call *call = &run->calls[i];
        uint32_t *before = GV_STALL_ROW(last, run->threads.rows, call->thread);
        call->before_ns = before && *before ? run->calls[*before - 1].end_ns : INT64_MIN;
        if (before && call->source == GV_STALL_MEASURED && call->end_ns > call->before_ns)
            *before = (uint32_t)i + 1;
    }
    free(last);
    return last ? 0 : -ENOMEM;
}

/* Makes a search tree of a process's calls, by waits_from(): the middle of each range, of each of
 * its halves, and so on, notes the latest end of the range. */
static int64_t note_ends(const struct gv_stall_run *run, struct gv_stall_orders *orders, size_t low,
                         size_t high)
{
    size_t middle = low + (high - low) / 2;
    const struct gv_stall_call *call;
    int64_t last_ns, left_ns, right_ns;

    if (low == high)
        return INT64_MIN;
    call = &run->calls[orders->process.positions[middle]];
    last_ns = call->end_ns > waits_from(call) ? call->end_ns : INT64_MIN;
    left_ns = note_ends(run, orders, low, middle);
    right_ns = note_ends(run, orders, middle + 1, high);
    if (left_ns > last_ns)
        last_ns = left_ns;
    if (right_ns > last_ns)
        last_ns = right_ns;
    orders->last_ns[middle] = last_ns;
    return last_ns;
}

static int make_orders(struct gv_stall_orders *orders, struct gv_stall_run *run)
{
    int error = find_predecessors(run);

    if (!error)
        error = make_order(&orders->process, run, key_process, run->process_count);
    if (!error)
        error = make_order(&orders->context, run, key_context, run->context_count);
    if (!error)
        error = make_order(&orders->call, run, key_call, 0);
    orders->last_ns = calloc(orders->process.count + 1, sizeof(*orders->last_ns));
    orders->marks = calloc(orders->context.count + 1, sizeof(*orders->marks));
    if (!error && (!orders->last_ns || !orders->marks))
        error = -ENOMEM;
    for (size_t i = 0; i < orders->process.rows && !error; i++) {
        const struct gv_stall_span *span = &orders->process.spans[i];
        note_ends(run, orders, span->first, span->first + span->count);
    }
    return error;
}

/* Comes after the calls' own operations are known. */
static int make_stream_order(struct gv_stall_orders *orders, const struct gv_stall_run *run)
{
    int error = make_order(&orders->stream, run, key_stream, run->stream_count);

    orders->ahead = calloc(orders->stream.count + 1, sizeof(*orders->ahead));
    return !error && !orders->ahead ? -ENOMEM : error;
}

static void free_orders(struct gv_stall_orders *orders)
{
    free_order(&orders->process);
    free_order(&orders->context);
    free_order(&orders->stream);
    free_order(&orders->call);
    free(orders->last_ns);
    free(orders->marks);
    free(orders->ahead);
}

/* How many of these calls, which are sorted by it, have no more than `most` in a field. */
static uint32_t count_until(const struct gv_stall_run *run, const uint32_t *positions, size_t count,
                            size_t field, int64_t most)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *call = (const char *)&run->calls[positions[middle]];
        if (*(const int64_t *)(call + field) <= most)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* How many of a span's calls began at a time or before. */
static uint32_t begun(const struct gv_stall_run *run, const struct gv_stall_order *order,
                      const struct gv_stall_span *span, int64_t at_ns)
{
    return count_until(run, order->positions + span->first, span->count,
                       offsetof(struct gv_stall_call, start_ns), at_ns);
}

/* ---- for each operation ---- */

typedef int visit_op(struct gv_stall_run *run, struct gv_stall_orders *orders,
                     const struct gv_stall_op *op);

struct visit {
    struct gv_stall_run *run;
    struct gv_stall_orders *orders;
    int64_t from_ns, to_ns;
    visit_op *visit;
};

static int visit_one(void *context, const struct gv_pass_operation *operation)
{
    const struct visit *visit = context;
    struct gv_stall_op op;

    take_op(visit->run, operation, &op);
    return op.place && operation->has_start && op.end_ns >= visit->from_ns &&
                   op.start_ns <= visit->to_ns
               ? visit->visit(visit->run, visit->orders, &op)
               : 0;
}

/* Visits the operations that ran between two times. */
static int visit_ops(struct gv_stall_run *run, struct gv_stall_orders *orders, int64_t from_ns,
                     int64_t to_ns, visit_op *visit)
{
    struct visit context = {run, orders, from_ns, to_ns, visit};
    int error = gv_pass_run_between(run->pass, from_ns, to_ns, visit_one, &context);

    return error ? error : gv_pass_run_untimed(run->pass, visit_one, &context);
}

/* The same for host functions. */
static int visit_hosts(struct gv_stall_run *run, struct gv_stall_orders *orders, int64_t from_ns,
                       int64_t to_ns, visit_op *visit)
{
    int error = 0;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_HOST_FUNCTIONS, &error);

    if (!rows)
        return error;
    sqlite3_bind_int64(rows, 1, from_ns);
    sqlite3_bind_int64(rows, 2, to_ns);
    while (gv_stall_next(run, rows, &error)) {
        const struct gv_stall_place place = {.process = sqlite3_column_int64(rows, 4),
                                             .context = sqlite3_column_int64(rows, 5),
                                             .stream = sqlite3_column_int64(rows, 6)};
        struct gv_stall_op op = {.host = sqlite3_column_int64(rows, 0),
                                 .start_ns = gv_time_column(rows, 1),
                                 .call = sqlite3_column_int64(rows, 3),
                                 .place = &place};
        op.end_ns = op.start_ns + gv_time_column_duration(rows, 2);
        error = visit(run, orders, &op);
    }
    return error;
}

/* The call of this id, if it puts work on the GPU. */
static struct gv_stall_call *find_call(const struct gv_stall_run *run,
                                       const struct gv_stall_order *order, int64_t number)
{
    size_t until = count_until(run, order->positions, order->count,
                               offsetof(struct gv_stall_call, call), number);
    struct gv_stall_call *call = until ? &run->calls[order->positions[until - 1]] : NULL;

    return call && call->call == number ? call : NULL;
}

/* Host functions come after all operations. */
static void add_op(struct gv_stall_work *work, const struct gv_stall_call *call,
                   const struct gv_stall_op *op)
{
    if (!work->count || op->start_ns < work->first_ns)
        work->first_ns = op->start_ns;
    if (!work->count || op->end_ns > work->last_ns) {
        work->last_ns = op->end_ns;
        work->last_start_ns = op->start_ns;
        if (op->id)
            work->op = op->id;
    }
    if (op->host)
        gv_stall_work_ran(work, call, op->host, op->start_ns, op->end_ns);
    work->count++;
}

static int op_is_own(struct gv_stall_run *run, struct gv_stall_orders *orders,
                     const struct gv_stall_op *op)
{
    struct gv_stall_call *call = op->call ? find_call(run, &orders->call, op->call) : NULL;

    if (!call)
        return 0;
    add_op(&call->own, call, op);
    call->own_start_ns = call->own.first_ns;
    if (op->local_bytes > call->own_local_bytes)
        call->own_local_bytes = op->local_bytes;
    if (op->host_memory && (!call->own_host_memory || op->host_memory < call->own_host_memory))
        call->own_host_memory = op->host_memory;
    return 0;
}

/* Notes that it was running. */
static void op_ran(const struct gv_stall_run *run, struct gv_stall_orders *orders,
                   const struct gv_stall_op *op)
{
    const struct gv_stall_span *span =
        GV_STALL_ROW(orders->context.spans, orders->context.rows, op->place->context);
    uint32_t first = span ? begun(run, &orders->context, span, op->start_ns) : 0;
    struct gv_stall_mark *mark;

    if (!span || first == span->count)
        return;
    mark = &orders->marks[span->first + first];
    if (op->end_ns > mark->busy_until_ns)
        mark->busy_until_ns = op->end_ns;
    if (op->local_bytes > mark->local_bytes)
        mark->local_bytes = op->local_bytes;
}

/* A stream runs its operations in order: one that ended after the call began, and began before
 * the call's own operation, was ahead of it in the queue. */
static void op_was_queued(const struct gv_stall_run *run, struct gv_stall_orders *orders,
                          const struct gv_stall_op *op)
{
    const struct gv_stall_span *span =
        GV_STALL_ROW(orders->stream.spans, orders->stream.rows, op->place->stream);
    uint32_t low, last;

    if (!span || span->count == 0)
        return;
    last = begun(run, &orders->stream, span, op->end_ns - 1);
    low = count_until(run, orders->stream.positions + span->first, last,
                      offsetof(struct gv_stall_call, own_start_ns), op->start_ns);
    if (low >= last)
        return;
    orders->ahead[span->first + low]++;
    if (last < span->count)
        orders->ahead[span->first + last]--;
}

/* The call that launched an operation, read once for all threads that waited for it. */
static int find_launch(struct gv_stall_run *run, struct gv_stall_orders *orders, int64_t call)
{
    sqlite3_stmt *row;
    int error;

    if (orders->launch.call == call)
        return 0;
    row = gv_stall_row(run, GV_STALL_CALL_START, call, &error);
    orders->launch.call = call;
    orders->launch.found = row != NULL;
    orders->launch.start_ns = row ? sqlite3_column_int64(row, 0) : 0;
    orders->launch.thread = row ? sqlite3_column_int64(row, 1) : 0;
    return error;
}

/* Whether it was launched before the call began. A call does not wait for what another thread
 * launches meanwhile. */
static int was_launched_before(struct gv_stall_run *run, struct gv_stall_orders *orders,
                               const struct gv_stall_call *call, const struct gv_stall_op *op,
                               bool *before)
{
    int error;

    *before = true;
    if (op->start_ns <= call->start_ns || !op->call || gv_cause_is_expected(call->rule->cause))
        return 0;
    error = find_launch(run, orders, op->call);
    if (!error && orders->launch.found)
        *before = orders->launch.thread == call->thread ? op->call < call->call
                                                        : orders->launch.start_ns < call->start_ns;
    return error;
}

/* A copy waits only for what ends before its own operation begins. */
static bool is_later(const struct gv_stall_call *call, const struct gv_stall_op *op)
{
    enum gv_cause cause = call->rule->cause;

    return (cause == GV_CAUSE_PAGEABLE_COPY || cause == GV_CAUSE_SYNC_COPY) && call->own_start_ns &&
           op->end_ns > call->own_start_ns + GV_STALL_SLACK_NS;
}

static int op_ended_in(struct gv_stall_run *run, struct gv_stall_orders *orders,
                       struct gv_stall_call *call, const struct gv_stall_op *op)
{
    const struct gv_stall_place *place = op->place;
    bool in_context = !call->context || !place->context || call->context == place->context;
    bool in_stream = call->stream && call->stream == place->stream, before;
    int error;

    if (call->call == op->call || is_later(call, op) || !(in_context || in_stream))
        return 0;
    error = was_launched_before(run, orders, call, op, &before);
    if (error || !before)
        return error;
    if (in_context)
        add_op(&call->in_context, call, op);
    if (in_stream)
        add_op(&call->in_stream, call, op);
    return 0;
}

/* Finds the call that each thread was in when the operation ended, or had just left. */
static int op_ended(struct gv_stall_run *run, struct gv_stall_orders *orders, size_t low,
                    size_t high, const struct gv_stall_op *op)
{
    size_t middle = low + (high - low) / 2;
    int64_t at_ns = op->end_ns - GV_STALL_SLACK_NS;
    struct gv_stall_call *call;
    int error;

    if (low == high || orders->last_ns[middle] < at_ns)
        return 0;
    call = &run->calls[orders->process.positions[middle]];
    error = op_ended(run, orders, low, middle, op);
    if (error || waits_from(call) >= at_ns || orders->waiting == WAITING_MOST)
        return error;
    if (call->end_ns >= at_ns) {
        orders->waiting++;
        error = op_ended_in(run, orders, call, op);
    }
    return error ? error : op_ended(run, orders, middle + 1, high, op);
}

static int op_was_seen(struct gv_stall_run *run, struct gv_stall_orders *orders,
                       const struct gv_stall_op *op)
{
    const struct gv_stall_span *span =
        GV_STALL_ROW(orders->process.spans, orders->process.rows, op->place->process);

    op_ran(run, orders, op);
    op_was_queued(run, orders, op);
    orders->waiting = 0;
    return span ? op_ended(run, orders, span->first, span->first + span->count, op) : 0;
}

/* Gives each call what was running and queued when it began. */
static void tell_calls(struct gv_stall_run *run, const struct gv_stall_orders *orders)
{
    for (size_t context = 0; context < orders->context.rows; context++) {
        const struct gv_stall_span *span = &orders->context.spans[context];
        struct gv_stall_mark most = {0};
        for (uint32_t i = span->first; i < span->first + span->count; i++) {
            struct gv_stall_call *call = &run->calls[orders->context.positions[i]];
            if (orders->marks[i].busy_until_ns > most.busy_until_ns)
                most.busy_until_ns = orders->marks[i].busy_until_ns;
            if (orders->marks[i].local_bytes > most.local_bytes)
                most.local_bytes = orders->marks[i].local_bytes;
            call->busy_until_ns = most.busy_until_ns;
            call->local_before_bytes = most.local_bytes;
        }
    }
    for (size_t stream = 0; stream < orders->stream.rows; stream++) {
        const struct gv_stall_span *span = &orders->stream.spans[stream];
        int64_t ahead = 0;
        for (uint32_t i = span->first; i < span->first + span->count; i++) {
            ahead += orders->ahead[i];
            run->calls[orders->stream.positions[i]].ahead = ahead;
        }
    }
}

/* ---- for each chunk ---- */

/* The time of all measured calls of the chunk. false: there are none. */
static bool find_times(const struct gv_stall_run *run, int64_t *from_ns, int64_t *to_ns)
{
    bool any = false;

    for (size_t i = 0; i < run->call_count; i++) {
        const struct gv_stall_call *call = &run->calls[i];
        if (call->source != GV_STALL_MEASURED)
            continue;
        if (!any || call->start_ns < *from_ns)
            *from_ns = call->start_ns;
        if (!any || call->end_ns > *to_ns)
            *to_ns = call->end_ns;
        any = true;
    }
    *to_ns += GV_STALL_SLACK_NS;
    return any;
}

/* Operations ahead of a call's own may run long after the call. */
static int64_t last_own(const struct gv_stall_run *run, int64_t to_ns)
{
    for (size_t i = 0; i < run->call_count; i++)
        if (run->calls[i].own_start_ns > to_ns)
            to_ns = run->calls[i].own_start_ns;
    return to_ns;
}

/* CUPTI's records of compiling, limited to the call. */
static int read_jits(struct gv_stall_run *run, struct gv_stall_call *call)
{
    struct gv_stall_judge *judge = &run->judge;
    int error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_JITS, &error);

    if (rows)
        sqlite3_bind_int64(rows, 1, call->call);
    while (gv_stall_next(run, rows, &error)) {
        struct gv_stall_jit jit = {gv_time_column(rows, 0),
                                   gv_time_column(rows, 0) + gv_time_column_duration(rows, 1)};
        error = gv_array_room(&judge->jits, judge->jit_count, &judge->jit_room, sizeof(jit));
        if (error)
            return error;
        if (jit.start_ns < call->start_ns)
            jit.start_ns = call->start_ns;
        if (jit.end_ns > call->end_ns)
            jit.end_ns = call->end_ns;
        judge->jits[judge->jit_count++] = jit;
        call->jit_count++;
    }
    return error;
}

int gv_stall_measure_chunk(struct gv_stall_run *run)
{
    struct gv_stall_orders orders = {0};
    int64_t from_ns = 0, to_ns = 0;
    int error = 0;

    if (!find_times(run, &from_ns, &to_ns))
        return 0;
    run->judge.jit_count = 0;
    for (size_t i = 0; i < run->call_count && run->any_jit && !error; i++) {
        struct gv_stall_call *call = &run->calls[i];
        call->jit_first = run->judge.jit_count;
        if (call->source == GV_STALL_MEASURED && !gv_cause_is_expected(call->rule->cause))
            error = read_jits(run, call);
    }
    if (!error)
        error = make_orders(&orders, run);
    if (!error && orders.call.count > 0)
        error = visit_ops(run, &orders, from_ns, to_ns + LATER_NS, op_is_own);
    if (!error && orders.call.count > 0)
        error = visit_hosts(run, &orders, from_ns, to_ns + LATER_NS, op_is_own);
    if (!error)
        error = make_stream_order(&orders, run);
    if (!error)
        error = visit_ops(run, &orders, from_ns, last_own(run, to_ns), op_was_seen);
    if (!error)
        error = visit_hosts(run, &orders, from_ns, last_own(run, to_ns), op_was_seen);
    if (!error)
        tell_calls(run, &orders);
    free_orders(&orders);
    return error;
}
