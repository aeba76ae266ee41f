/*
 * What the GPU did while the chunk's calls were under way. The operations come in the order of
 * their storage, not of time: each finds the calls that it concerns by a search among the calls,
 * which are ordered. Zones of ids say which operations cannot concern this chunk.
 */
#include "report/analyse/stalls/run.h"
#include "report/analyse/time_sum.h"

#include "report/analyse/stalls/order.h"

#include <errno.h>
#include <stdlib.h>

/* Operations in a zone. */
#define GV_STALL_ZONE 32768
/* Calls of a place that are asked for its stream and context. */
#define GV_STALL_PLACE_TRIES 16
/* How much later than its call an operation may begin, and still be looked for. */
#define GV_STALL_LATER_NS 1000000000

/* One row of gpu_op. */
struct gv_stall_op {
    int64_t id, start_ns, end_ns, call, local_bytes, host_memory;
    const struct gv_stall_place *place;
    bool in_graph;
};

static void gv_stall_op_take(struct gv_stall_run *run, sqlite3_stmt *row, struct gv_stall_op *op)
{
    const int64_t *shape;

    op->id = sqlite3_column_int64(row, 0);
    op->place = GV_STALL_ROW(run->places, run->place_count, sqlite3_column_int64(row, 1));
    op->start_ns = gv_stall_ns(row, 2);
    op->end_ns = op->start_ns + gv_stall_duration(row, 3);
    op->call = sqlite3_column_int64(row, 4);
    shape = GV_STALL_ROW(run->shapes, run->shape_count, sqlite3_column_int64(row, 5));
    op->local_bytes = shape ? *shape : 0;
    op->in_graph = sqlite3_column_type(row, 6) != SQLITE_NULL;
    op->host_memory = sqlite3_column_int64(row, 7);
}

/* ---- once: where the places are, when the zones ran ---- */

static int gv_stall_gpu_learn(struct gv_stall_run *run, const struct gv_stall_op *op)
{
    struct gv_stall_place *place = &run->places[op->place - run->places];
    int result, error;
    sqlite3_stmt *row = gv_stall_statement(run, GV_STALL_CALL_PLACE, &error);

    if (!row)
        return error;
    place->tries++;
    sqlite3_bind_int64(row, 1, op->call);
    result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        if (!place->stream && !op->in_graph)
            place->stream = sqlite3_column_int64(row, 0);
        if (!place->context)
            place->context = sqlite3_column_int64(row, 1);
    }
    sqlite3_reset(row);
    return gv_stall_error(run->trace, result);
}

static int gv_stall_gpu_zone(struct gv_stall_run *run, const struct gv_stall_op *op)
{
    struct gv_stall_zone *zone = run->zone_count ? &run->zones[run->zone_count - 1] : NULL;

    if (!zone || gv_time_difference(op->id, zone->first_id) >= GV_STALL_ZONE) {
        if (run->zone_count == run->zone_room) {
            size_t room = run->zone_room ? run->zone_room * 2 : 64;
            void *larger = realloc(run->zones, room * sizeof(*run->zones));
            if (!larger)
                return -ENOMEM;
            run->zones = larger;
            run->zone_room = room;
        }
        zone = &run->zones[run->zone_count++];
        *zone = (struct gv_stall_zone){op->id, op->id, op->start_ns, op->end_ns};
    }
    zone->last_id = op->id;
    if (op->start_ns < zone->start_ns)
        zone->start_ns = op->start_ns;
    if (op->end_ns > zone->end_ns)
        zone->end_ns = op->end_ns;
    return 0;
}

int gv_stall_gpu_open(struct gv_stall_run *run)
{
    int result, error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_OPS, &error);

    if (!rows)
        return error;
    sqlite3_bind_int64(rows, 1, 0);
    sqlite3_bind_int64(rows, 2, INT64_MAX);
    while ((result = sqlite3_step(rows)) == SQLITE_ROW && !error) {
        struct gv_stall_op op;
        gv_stall_op_take(run, rows, &op);
        error = gv_stall_gpu_zone(run, &op);
        if (!error && op.place && op.call && op.place->tries < GV_STALL_PLACE_TRIES &&
            (!op.place->stream || !op.place->context))
            error = gv_stall_gpu_learn(run, &op);
    }
    sqlite3_reset(rows);
    return error ? error : gv_stall_error(run->trace, result);
}

/* ---- for each chunk ---- */

typedef int gv_stall_op_visit(struct gv_stall_run *run, struct gv_stall_order *order,
                              const struct gv_stall_op *op);

/* Visits the operations of all zones that ran between two times. */
static int gv_stall_gpu_visit(struct gv_stall_run *run, struct gv_stall_order *order,
                              int64_t from_ns, int64_t to_ns, gv_stall_op_visit *visit)
{
    int result = SQLITE_DONE, error = 0;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_OPS, &error);

    for (size_t i = 0; i < run->zone_count && !error; i++) {
        const struct gv_stall_zone *zone = &run->zones[i];
        if (zone->end_ns < from_ns || zone->start_ns > to_ns)
            continue;
        sqlite3_reset(rows);
        sqlite3_bind_int64(rows, 1, zone->first_id);
        sqlite3_bind_int64(rows, 2, zone->last_id);
        while (!error && (result = sqlite3_step(rows)) == SQLITE_ROW) {
            struct gv_stall_op op;
            gv_stall_op_take(run, rows, &op);
            if (op.place && op.end_ns >= from_ns && op.start_ns <= to_ns)
                error = visit(run, order, &op);
        }
        if (!error)
            error = gv_stall_error(run->trace, result);
    }
    if (rows)
        sqlite3_reset(rows);
    return error;
}

static int gv_stall_op_own(struct gv_stall_run *run, struct gv_stall_order *order,
                           const struct gv_stall_op *op)
{
    struct gv_held *held = op->call ? gv_stall_order_call(order, run->held, op->call) : NULL;

    if (!held)
        return 0;
    if (!held->own_start_ns || op->start_ns < held->own_start_ns)
        held->own_start_ns = op->start_ns;
    if (op->local_bytes > held->own_local_bytes)
        held->own_local_bytes = op->local_bytes;
    if (op->host_memory && (!held->own_host_memory || op->host_memory < held->own_host_memory))
        held->own_host_memory = op->host_memory;
    return 0;
}

static void gv_stall_drained_add(struct gv_stall_drained *drained, const struct gv_stall_op *op)
{
    if (!drained->count || op->start_ns < drained->first_ns)
        drained->first_ns = op->start_ns;
    if (!drained->count || op->end_ns > drained->last_ns) {
        drained->last_ns = op->end_ns;
        drained->op = op->id;
    }
    drained->count++;
}

static bool gv_stall_op_in_scope(const struct gv_held *held, const struct gv_stall_op *op)
{
    return !held->context || !op->place->context || held->context == op->place->context;
}

/* Asked once for each operation, and not by each thread that waited when it ended. */
static int gv_stall_op_launch(struct gv_stall_run *run, const struct gv_stall_op *op)
{
    struct gv_stall_launch *launch = &run->launch;
    int result, error;
    sqlite3_stmt *row;

    if (launch->call == op->call)
        return 0;
    row = gv_stall_statement(run, GV_STALL_CALL_START, &error);
    if (!row)
        return error;
    sqlite3_bind_int64(row, 1, op->call);
    result = sqlite3_step(row);
    launch->call = op->call;
    launch->found = result == SQLITE_ROW;
    launch->start_ns = launch->found ? sqlite3_column_int64(row, 0) : 0;
    launch->thread = launch->found ? sqlite3_column_int64(row, 1) : 0;
    sqlite3_reset(row);
    return gv_stall_error(run->trace, result);
}

/* Whether it was launched before the call began. What another thread launched meanwhile cannot
 * have been waited for. */
static int gv_stall_op_launched_before(struct gv_stall_run *run, const struct gv_held *held,
                                       const struct gv_stall_op *op, bool *before)
{
    int error;

    *before = true;
    if (op->start_ns <= held->start_ns || !op->call || gv_cause_is_expected(held->rule->cause))
        return 0;
    error = gv_stall_op_launch(run, op);
    if (!error && run->launch.found)
        *before = run->launch.thread == held->thread ? op->call < held->call
                                                     : run->launch.start_ns < held->start_ns;
    return error;
}

/* A copy waits for what ends before its own operation begins. */
static bool gv_stall_op_is_later(const struct gv_held *held, const struct gv_stall_op *op)
{
    enum gv_cause cause = held->rule->cause;

    return (cause == GV_CAUSE_PAGEABLE_COPY || cause == GV_CAUSE_SYNC_COPY) && held->own_start_ns &&
           op->end_ns > held->own_start_ns + GV_STALL_SLACK_NS;
}

static int gv_stall_op_in_call(struct gv_stall_run *run, struct gv_held *held,
                               const struct gv_stall_op *op)
{
    bool in_scope = gv_stall_op_in_scope(held, op), before;
    bool in_stream = held->stream && held->stream == op->place->stream;
    int error;

    if (held->call == op->call || gv_stall_op_is_later(held, op) || !(in_scope || in_stream))
        return 0;
    error = gv_stall_op_launched_before(run, held, op, &before);
    if (error || !before)
        return error;
    if (in_scope)
        gv_stall_drained_add(&held->in_scope, op);
    if (in_stream)
        gv_stall_drained_add(&held->in_stream, op);
    return 0;
}

/* It ended: in the call that each thread of the process was in just then. */
static int gv_stall_op_ended(struct gv_stall_run *run, struct gv_stall_order *order,
                             const struct gv_stall_op *op)
{
    struct gv_stall_span *threads;
    size_t count = gv_stall_order_threads(order, op->place->process, &threads);
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        struct gv_held *held =
            gv_stall_order_ending(order, run->held, &threads[i], op->end_ns - GV_STALL_SLACK_NS);
        if (held && held->start_ns < op->end_ns)
            error = gv_stall_op_in_call(run, held, op);
    }
    return error;
}

static int gv_stall_op_seen(struct gv_stall_run *run, struct gv_stall_order *order,
                            const struct gv_stall_op *op)
{
    gv_stall_order_running(order, run->held, op->place->context, op->start_ns, op->end_ns,
                           op->local_bytes);
    gv_stall_order_queued(order, run->held, op->place->stream, op->start_ns, op->end_ns);
    return gv_stall_op_ended(run, order, op);
}

static bool gv_stall_gpu_times(const struct gv_stall_run *run, int64_t *from_ns, int64_t *to_ns)
{
    bool any = false;

    for (size_t i = 0; i < run->held_count; i++) {
        const struct gv_held *held = &run->held[i];
        if (!held->measured)
            continue;
        if (!any || held->start_ns < *from_ns)
            *from_ns = held->start_ns;
        if (!any || held->end_ns > *to_ns)
            *to_ns = held->end_ns;
        any = true;
    }
    *to_ns += GV_STALL_SLACK_NS;
    return any;
}

/* What stands in a queue before a call's own operation may run long after the call. */
static int64_t gv_stall_gpu_last_own(const struct gv_stall_run *run, int64_t to_ns)
{
    for (size_t i = 0; i < run->held_count; i++)
        if (run->held[i].own_start_ns > to_ns)
            to_ns = run->held[i].own_start_ns;
    return to_ns;
}

int gv_stall_gpu_look(struct gv_stall_run *run)
{
    struct gv_stall_order order;
    int64_t from_ns = 0, to_ns = 0;
    int error;

    if (!gv_stall_gpu_times(run, &from_ns, &to_ns))
        return 0;
    error = gv_stall_order_make(&order, run);
    if (!error && order.call_count > 0)
        error =
            gv_stall_gpu_visit(run, &order, from_ns, to_ns + GV_STALL_LATER_NS, gv_stall_op_own);
    if (!error)
        error = gv_stall_order_streams(&order, run);
    if (!error)
        error = gv_stall_gpu_visit(run, &order, from_ns, gv_stall_gpu_last_own(run, to_ns),
                                   gv_stall_op_seen);
    if (!error)
        gv_stall_order_finish(&order, run->held);
    gv_stall_order_free(&order);
    return error;
}
