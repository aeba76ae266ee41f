/* Ingests the GPU side of a process. */
#include "report/collect/ingest.h"

#include "report/analyse/captured.h"
#include "report/analyse/names/demangle.h"
#include "report/collect_ingest_gpu.inc"
#include "report/store/database.h"
#include "report/store/id_table.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

#define GV_DEMANGLED_BYTES 8192

static int add_names(struct gv_ingest *ingest)
{
    sqlite3 *trace = ingest->database->handle;
    char plain[GV_DEMANGLED_BYTES];
    sqlite3_stmt *rows = NULL;
    int error = 0, result = gv_database_ask(trace, sql_unnamed, &ingest->process, 1, &rows);

    while (result == SQLITE_OK && !error) {
        int step = sqlite3_step(rows);
        const char *name = step == SQLITE_ROW ? (const char *)sqlite3_column_text(rows, 0) : NULL;

        if (name)
            error = gv_database_run(ingest->database, GV_STATEMENT_GPU_NAME_MADE, "itt",
                                    ingest->process, gv_demangle(name, plain, sizeof(plain)), name);
        else
            result = step;
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(trace, result);
}

/*
 * CUPTI keeps the first name of a function's handle. After an unload another function may get the
 * handle, and its records have the old name (on an H200 with CUDA 13.0: 1161 of 1200 kernels of a
 * program that loads and unloads). The launch has the right name, which the program asked for.
 * Nodes of graphs have no launch of their own, and keep CUPTI's name.
 */
static int fix_names(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    sqlite3 *trace = ingest->database->handle;
    const int64_t values[] = {ingest->process, gv_ingest_time(ingest, status->gpu_unloaded_ns)};

    if (!status->gpu_unloaded_ns)
        return 0;
    int error = gv_database_script(trace, sql_misnamed, values, 2);
    if (!error)
        error = add_names(ingest);
    return error ? error : gv_database_script(trace, sql_rename, values, 1);
}

/* ---- records ---- */

static int store_device(struct gv_ingest *ingest, const struct gv_record_device *device,
                        const char *name)
{
    const uint8_t *u = device->uuid;
    uint8_t any = 0;
    char uuid[48];

    for (size_t i = 0; i < sizeof(device->uuid); i++)
        any |= u[i];
    snprintf(uuid, sizeof(uuid),
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
    return gv_database_run(ingest->database, GV_STATEMENT_DEVICE_ADD, "iittzizzzz", ingest->process,
                           (int64_t)device->device, name, any ? uuid : NULL,
                           (int64_t)device->cc_major, (int64_t)device->cc_minor,
                           (int64_t)device->multiprocessors, (int64_t)device->memory_bytes,
                           (int64_t)device->clock_khz, (int64_t)device->memory_clock_khz);
}

/* The row just added; its number is not known yet. */
static int remember_last(struct gv_ingest *ingest, struct gv_known *known, uint32_t number)
{
    struct gv_key key = {.part = {number}};

    return gv_known_add(known, ingest->database, &key, gv_database_last_id(ingest->database));
}

/* *row is 0 for number 0, and for an unknown number. */
static int numbered(struct gv_ingest *ingest, struct gv_known *known, uint32_t number, int64_t *row)
{
    struct gv_key key = {.part = {number}};

    *row = 0;
    return number ? gv_known_find(known, ingest->database, &key, row) : 0;
}

static int store_name(struct gv_ingest *ingest, const struct gv_record_gpu_name *record,
                      const char *name)
{
    char plain[GV_DEMANGLED_BYTES];
    int64_t row;
    int error = numbered(ingest, &ingest->gpu_names, record->number, &row);

    if (error || row)
        return error;
    error = gv_database_run(ingest->database, GV_STATEMENT_GPU_NAME_ADD, "iitt", ingest->process,
                            (int64_t)record->number, gv_demangle(name, plain, sizeof(plain)), name);
    return error ? error : remember_last(ingest, &ingest->gpu_names, record->number);
}

static int store_shape(struct gv_ingest *ingest, const struct gv_record_gpu_shape *shape)
{
    int64_t row, name = 0;
    int error = numbered(ingest, &ingest->gpu_shapes, shape->number, &row);

    if (!error && !row)
        error = numbered(ingest, &ingest->gpu_names, shape->name, &name);
    if (error || row)
        return error;
    error = gv_database_run(
        ingest->database, GV_STATEMENT_GPU_SHAPE_ADD, "iiziiiiiiiiii", ingest->process,
        (int64_t)shape->number, name, (int64_t)shape->grid[0], (int64_t)shape->grid[1],
        (int64_t)shape->grid[2], (int64_t)shape->block[0], (int64_t)shape->block[1],
        (int64_t)shape->block[2], (int64_t)shape->registers, (int64_t)shape->static_shared_bytes,
        (int64_t)shape->dynamic_shared_bytes, (int64_t)shape->local_bytes);
    return error ? error : remember_last(ingest, &ingest->gpu_shapes, shape->number);
}

static struct gv_key place_key(uint64_t device, uint64_t context, uint64_t stream)
{
    return (struct gv_key){.part = {device, context, stream}};
}

static int intern_place(struct gv_ingest *ingest, const struct gv_record_gpu_op *op, int64_t *place)
{
    struct gv_key key = place_key(op->device, op->context, op->stream);
    int error = gv_known_find(&ingest->gpu_places, ingest->database, &key, place);

    if (error || *place)
        return error;
    error = gv_database_run(ingest->database, GV_STATEMENT_GPU_PLACE_ADD, "iiii", ingest->process,
                            (int64_t)op->device, (int64_t)op->context, (int64_t)op->stream);
    if (error)
        return error;
    *place = gv_database_last_id(ingest->database);
    return gv_known_add(&ingest->gpu_places, ingest->database, &key, *place);
}

/* The operation just stored waits for its call, if that is not stored yet. */
static int await(struct gv_ingest *ingest, uint32_t correlation, int64_t call,
                 enum gv_statement statement)
{
    if (call || !correlation)
        return 0;
    return gv_correlate_wait(&ingest->correlate, correlation, statement,
                             gv_database_last_id(ingest->database));
}

static int store_op(struct gv_ingest *ingest, const struct gv_record_gpu_op *op)
{
    sqlite3_stmt *add;
    int64_t place, call = gv_correlate_find(&ingest->correlate, op->correlation);
    int64_t shape;
    int result, error = intern_place(ingest, op, &place);

    if (!error)
        error = numbered(ingest, &ingest->gpu_shapes, op->shape, &shape);
    if (error)
        return error;
    add = gv_database_prepare(ingest->database, GV_STATEMENT_GPU_OP_ADD, &error);
    if (!add)
        return error;
    sqlite3_clear_bindings(add);
    result = sqlite3_bind_int64(add, 1, place);
    result |= sqlite3_bind_int64(add, 2, op->head.api);
    if (shape)
        result |= sqlite3_bind_int64(add, 3, shape);
    if (op->start_ns) {
        result |= sqlite3_bind_int64(add, 4, gv_ingest_time(ingest, op->start_ns));
        result |= sqlite3_bind_int64(add, 5, (int64_t)op->duration_ns);
    }
    if (call)
        result |= sqlite3_bind_int64(add, 6, call);
    if (op->head.flags & GV_RECORD_HAS_BYTES)
        result |= sqlite3_bind_int64(add, 7, (int64_t)op->bytes);
    if (op->head.api == GV_GPU_COPY && op->head.result)
        result |= sqlite3_bind_int64(add, 8, op->head.result);
    if (op->graph_node)
        result |= sqlite3_bind_int64(add, 9, (int64_t)op->graph_node);
    if (!call && op->correlation)
        result |= sqlite3_bind_int64(add, 10, op->correlation);
    if (result == SQLITE_OK)
        result = sqlite3_step(add);
    error = gv_database_error(ingest->database->handle, result);
    sqlite3_reset(add);
    if (!op->graph_node && (op->head.api == GV_GPU_KERNEL || op->head.api == GV_GPU_GRAPH))
        ingest->work.launched++;
    return error ? error : await(ingest, op->correlation, call, GV_STATEMENT_GPU_OP_CALL);
}

static int store_jit(struct gv_ingest *ingest, const struct gv_record_jit *jit)
{
    int64_t call = gv_correlate_find(&ingest->correlate, jit->correlation);
    int error = gv_database_run(
        ingest->database, GV_STATEMENT_JIT_ADD, "iiiiizizz", ingest->process,
        gv_ingest_time(ingest, jit->start_ns), (int64_t)jit->duration_ns, (int64_t)jit->head.result,
        (int64_t)jit->head.api, (int64_t)jit->cache_bytes, (int64_t)jit->device, call,
        call ? (int64_t)0 : (int64_t)jit->correlation);

    return error ? error : await(ingest, jit->correlation, call, GV_STATEMENT_JIT_CALL);
}

static int store_overhead(struct gv_ingest *ingest, const struct gv_record_overhead *overhead)
{
    return gv_database_run(ingest->database, GV_STATEMENT_OVERHEAD_ADD, "iiiiz", ingest->process,
                           (int64_t)overhead->overhead, gv_ingest_time(ingest, overhead->start_ns),
                           (int64_t)overhead->duration_ns, (int64_t)overhead->tid);
}

static int store_module(struct gv_ingest *ingest, const struct gv_record_gpu_module *module)
{
    int64_t call = gv_correlate_find(&ingest->correlate, module->correlation);
    int error =
        gv_database_run(ingest->database, GV_STATEMENT_GPU_MODULE_ADD, "iiizzzzz", ingest->process,
                        (int64_t)module->module, gv_ingest_time(ingest, module->at_ns),
                        (int64_t)module->bytes, (int64_t)module->hash, (int64_t)module->tid, call,
                        call ? (int64_t)0 : (int64_t)module->correlation);

    return error ? error : await(ingest, module->correlation, call, GV_STATEMENT_GPU_MODULE_CALL);
}

bool gv_ingest_gpu_has_text(const union gv_record *record, uint32_t *bytes)
{
    if (record->head.kind == GV_RECORD_DEVICE)
        *bytes = record->head.api;
    else if (record->head.kind == GV_RECORD_GPU_NAME)
        *bytes = record->gpu_name.text_bytes;
    else
        return false;
    return true;
}

int gv_ingest_gpu(struct gv_ingest *ingest, const union gv_record *record, const char *text)
{
    /* A call found by its number must be in the trace before rows that refer to it. */
    switch (record->head.kind) {
    case GV_RECORD_DEVICE:
        return store_device(ingest, &record->device, text);
    case GV_RECORD_GPU_NAME:
        return store_name(ingest, &record->gpu_name, text);
    case GV_RECORD_GPU_SHAPE:
        return store_shape(ingest, &record->gpu_shape);
    case GV_RECORD_GPU_OP:
        return store_op(ingest, &record->gpu_op);
    case GV_RECORD_JIT:
        return store_jit(ingest, &record->jit);
    case GV_RECORD_OVERHEAD:
        return store_overhead(ingest, &record->overhead);
    case GV_RECORD_GPU_MODULE:
        return store_module(ingest, &record->gpu_module);
    default:
        return 0;
    }
}

/* ---- the process ---- */

static const char *state_word(uint32_t state)
{
    switch (state) {
    case GV_GPU_OFF:
        return "off";
    case GV_GPU_HOST_ONLY:
        return "host-only";
    case GV_GPU_SEEN:
        return "cupti";
    default:
        return NULL;
    }
}

int gv_ingest_gpu_status(struct gv_ingest *ingest, const struct gv_spool_status *now)
{
    char why[GV_SPOOL_WHY_BYTES], why_text[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_WHY_BYTES)];
    char library[GV_SPOOL_PATH_BYTES], library_text[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_PATH_BYTES)];
    bool same = ingest->status_stored && now->gpu == ingest->status.gpu &&
                now->gpu_flushed_ns == ingest->status.gpu_flushed_ns &&
                now->gpu_interrupted == ingest->status.gpu_interrupted;
    int64_t flushed_ns = now->gpu_flushed_ns ? gv_ingest_time(ingest, now->gpu_flushed_ns) : 0;

    if (now->gpu == GV_GPU_UNKNOWN || same)
        return 0;
    gv_spool_reader_gpu(ingest->reader, why, library);
    if (now->gpu_interrupted & GV_GPU_FAILED)
        ; /* it says why */
    else if (now->gpu_interrupted & GV_GPU_TAKEN_OVER)
        snprintf(why, sizeof(why),
                 "another profiler inside the program (torch.profiler?) took CUPTI's records over: "
                 "run without it, or leave CUPTI to it with GPUVERIFY_GPU=off");
    else if (now->gpu_interrupted & GV_GPU_REFUSED_OTHER)
        snprintf(
            why, sizeof(why),
            "another profiler inside the program (torch.profiler?) was refused by CUPTI, which "
            "serves one: its own profile lacks the GPU; GPUVERIFY_GPU=off gives it back");
    if (now->gpu_started_ns && now->gpu == GV_GPU_SEEN) {
        int error =
            gv_database_run(ingest->database, GV_STATEMENT_GPU_INTERVAL, "iiz", ingest->process,
                            gv_ingest_time(ingest, now->gpu_started_ns), flushed_ns);
        if (!error && !now->gpu_whole_graphs)
            error = gv_database_set_meta(ingest->database, "graphs", "nodes");
        if (error)
            return error;
    }
    gv_text_repair(why_text, sizeof(why_text), why, strlen(why));
    gv_text_repair(library_text, sizeof(library_text), library, strlen(library));
    return gv_database_run(ingest->database, GV_STATEMENT_PROCESS_GPU, "ittztz", ingest->process,
                           state_word(now->gpu), why_text[0] ? why_text : NULL,
                           (int64_t)now->cupti_version, library_text[0] ? library_text : NULL,
                           flushed_ns);
}

/* ---- resuming ---- */

static int load_place(struct gv_ingest *ingest, sqlite3_stmt *row, struct gv_known *into)
{
    struct gv_key key =
        place_key((uint64_t)sqlite3_column_int64(row, 1), (uint64_t)sqlite3_column_int64(row, 2),
                  (uint64_t)sqlite3_column_int64(row, 3));

    return gv_known_add(into, ingest->database, &key, sqlite3_column_int64(row, 0));
}

int gv_ingest_gpu_load_all(struct gv_ingest *ingest)
{
    int error = gv_ingest_each(ingest, GV_STATEMENT_GPU_NAME_ALL, gv_ingest_load_number,
                               &ingest->gpu_names);

    if (!error)
        error = gv_ingest_each(ingest, GV_STATEMENT_GPU_SHAPE_ALL, gv_ingest_load_number,
                               &ingest->gpu_shapes);
    if (!error)
        error = gv_ingest_each(ingest, GV_STATEMENT_GPU_PLACE_ALL, load_place, &ingest->gpu_places);
    ingest->inherited = ingest->resumed = true;
    return error;
}

void gv_ingest_gpu_close(struct gv_ingest *ingest)
{
    gv_known_free(&ingest->gpu_names, ingest->database);
    gv_known_free(&ingest->gpu_shapes, ingest->database);
    gv_known_free(&ingest->gpu_places, ingest->database);
    gv_correlate_free(&ingest->correlate);
}

/* ---- launches without an operation ---- */

/*
 * Every successful launch is found on the GPU, or counted here. In a process that ended normally,
 * everything launched before its last flush must be there; what is not is `missing`, whatever the
 * reason. What its threads and exit handlers started later was still in CUPTI (`last flush`). CUPTI
 * returns a buffer only when every record in it is complete, so one running kernel delays all
 * others in its buffer. So in a killed process everything that is not there counts as `last flush`,
 * however old it is.
 *
 * It never counts too much: launches before the GPU side was on, or while any stream was captured,
 * are not expected. Neither are graph launches if each node is recorded (a graph may have none that
 * leaves an operation); copies count only in the last flush. Operations without a call, and lost
 * records, may belong to any of them, and are subtracted.
 */
struct gv_ingest_unseen {
    int64_t started_ns, flushed_ns;
    bool finished;
    bool whole_graphs;
    struct gv_id_table works; /* api -> enum gv_gpu_work */
    struct gv_captured_times captured;
    uint8_t *seen; /* one bit for each call with an operation */
    int64_t seen_below;
    int64_t orphans; /* kernels and whole graphs without a known call */
    int64_t missing;
    int64_t last_flush;
};

typedef int gv_ingest_unseen_row(struct gv_ingest_unseen *unseen, sqlite3_stmt *row);

/* Calls `take` for each row of a query; ?1 is the process. */
static int unseen_each(struct gv_ingest *ingest, struct gv_ingest_unseen *unseen, const char *sql,
                       gv_ingest_unseen_row *take)
{
    sqlite3 *trace = ingest->database->handle;
    sqlite3_stmt *rows = NULL;
    int error = 0, result = gv_database_ask(trace, sql, &ingest->process, 1, &rows);

    while (result == SQLITE_OK && !error) {
        int step = sqlite3_step(rows);
        if (step == SQLITE_ROW)
            error = take(unseen, rows);
        else
            result = step;
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(trace, result);
}

static int unseen_operation(struct gv_ingest_unseen *unseen, sqlite3_stmt *row)
{
    int64_t call = sqlite3_column_int64(row, 0);

    if (sqlite3_column_type(row, 0) == SQLITE_NULL)
        unseen->orphans += sqlite3_column_int(row, 1);
    else if (call > 0 && call < unseen->seen_below)
        unseen->seen[call / 8] |= (uint8_t)(1u << call % 8);
    return 0;
}

static int unseen_call(struct gv_ingest_unseen *unseen, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0);
    int64_t work = gv_id_table_get(&unseen->works, sqlite3_column_int64(row, 1), 0);
    int64_t start_ns = sqlite3_column_int64(row, 2), end_ns = sqlite3_column_int64(row, 3);
    bool in_time = unseen->finished && end_ns < unseen->flushed_ns;

    if (work == GV_GPU_WORK_NONE || (work == GV_GPU_WORK_GRAPH && !unseen->whole_graphs) ||
        (work == GV_GPU_WORK_MOVE && (in_time || !sqlite3_column_int(row, 4))))
        return 0;
    if (id <= 0 || id >= unseen->seen_below || unseen->seen[id / 8] >> id % 8 & 1)
        return 0;
    if (start_ns < unseen->started_ns ||
        gv_captured_times_meet(&unseen->captured, start_ns, end_ns))
        return 0;
    *(in_time ? &unseen->missing : &unseen->last_flush) += 1;
    return 0;
}

static int unseen_find(struct gv_ingest *ingest, struct gv_ingest_unseen *unseen)
{
    sqlite3 *trace = ingest->database->handle;
    int error;

    unseen->seen_below = *ingest->next_call;
    unseen->seen = calloc((size_t)unseen->seen_below / 8 + 1, 1);
    if (!unseen->seen)
        return -ENOMEM;
    error = gv_id_table_read(&unseen->works, trace, "SELECT id, gpu_work FROM api");
    if (!error)
        error = gv_captured_open(trace, ingest->process);
    if (!error)
        error = gv_captured_times_read(&unseen->captured, trace);
    if (!error)
        error = gv_captured_close(trace);
    if (!error)
        error = unseen_each(ingest, unseen, sql_operations, unseen_operation);
    if (!error)
        error = unseen_each(ingest, unseen, sql_launches, unseen_call);
    return error;
}

/* Subtracts known losses that may be the same, each lost record once. If lost calls may have
 * begun a capture, nothing counts as missing. */
static int unseen_known(struct gv_ingest_unseen *unseen, sqlite3_stmt *row)
{
    int64_t lost = sqlite3_column_int64(row, 0);
    int64_t missing = unseen->missing - unseen->orphans - lost;

    lost = missing < 0 ? -missing : 0;
    if (lost > unseen->last_flush)
        lost = unseen->last_flush;
    unseen->last_flush -= lost;
    unseen->missing = missing > 0 && !sqlite3_column_int(row, 1) ? missing : 0;
    return 0;
}

static int unseen_store(struct gv_ingest *ingest, struct gv_ingest_unseen *unseen)
{
    int error = unseen_each(ingest, unseen, sql_lost, unseen_known);

    if (!error && unseen->missing > 0)
        error = gv_database_run(ingest->database, GV_STATEMENT_LOSS_SET, "itti", ingest->process,
                                "GPU record", "missing", unseen->missing);
    if (!error && unseen->last_flush > 0)
        error = gv_database_run(ingest->database, GV_STATEMENT_LOSS_SET, "itti", ingest->process,
                                "GPU operation", "last flush", unseen->last_flush);
    return error;
}

/* Whether anything can be missing: counting is cheap compared with finding what. */
static bool unseen_any(const struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    const struct gv_ingest_work *work = &ingest->work;
    uint64_t graphs = status->gpu_whole_graphs ? work->asked[GV_GPU_WORK_GRAPH] : 0;

    return status->gpu == GV_GPU_SEEN &&
           (ingest->inherited || !status->gpu_finished ||
            work->asked[GV_GPU_WORK_KERNEL] + graphs > work->launched ||
            work->moves_until_ns >= status->gpu_flushed_ns);
}

static int count_unseen(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    struct gv_ingest_unseen unseen = {
        .started_ns =
            status->gpu_started_ns ? gv_ingest_time(ingest, status->gpu_started_ns) : INT64_MIN,
        .flushed_ns =
            status->gpu_flushed_ns ? gv_ingest_time(ingest, status->gpu_flushed_ns) : INT64_MIN,
        .finished = status->gpu_finished,
        .whole_graphs = status->gpu_whole_graphs,
    };
    int error =
        gv_database_run(ingest->database, GV_STATEMENT_GPU_LOSS_CLEAR, "i", ingest->process);

    if (error || !unseen_any(ingest, status))
        return error;
    error = unseen_find(ingest, &unseen);
    if (!error)
        error = unseen_store(ingest, &unseen);
    gv_id_table_free(&unseen.works);
    gv_captured_times_free(&unseen.captured);
    free(unseen.seen);
    return error;
}

int gv_ingest_gpu_end(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    bool late = ingest->resumed || ingest->correlate.given_up;
    int error =
        late ? gv_database_script(ingest->database->handle, sql_match_late, &ingest->process, 1)
             : 0;

    /* The analysis needs the memory. If anything still comes, it is looked up in the trace. */
    ingest->resumed |= ingest->correlate.calls != NULL;
    gv_correlate_free(&ingest->correlate);
    if (!error)
        error = fix_names(ingest, status);
    return error ? error : count_unseen(ingest, status);
}
