#include "report/collect/ingest.h"

#include "report/analyse/names/demangle.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GV_DEMANGLED_BYTES 8192

static int gv_ingest_device(struct gv_ingest *ingest, const struct gv_record_device *device,
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

/* The row that was just added; it is not known by this number yet. */
static int gv_ingest_number(struct gv_ingest *ingest, struct gv_known *known, uint32_t number)
{
    struct gv_key key = {.part = {number}};

    return gv_known_add(known, ingest->database, &key, gv_database_last_id(ingest->database));
}

/* *row is 0 for number 0, and for one that is not known. */
static int gv_ingest_numbered(struct gv_ingest *ingest, struct gv_known *known, uint32_t number,
                              int64_t *row)
{
    struct gv_key key = {.part = {number}};

    *row = 0;
    return number ? gv_known_find(known, ingest->database, &key, row) : 0;
}

static int gv_ingest_gpu_name(struct gv_ingest *ingest, const struct gv_record_gpu_name *record,
                              const char *name)
{
    char plain[GV_DEMANGLED_BYTES];
    int64_t row;
    int error = gv_ingest_numbered(ingest, &ingest->gpu_names, record->number, &row);

    if (error || row)
        return error;
    error = gv_database_run(ingest->database, GV_STATEMENT_GPU_NAME_ADD, "iitt", ingest->process,
                            (int64_t)record->number, gv_demangle(name, plain, sizeof(plain)), name);
    return error ? error : gv_ingest_number(ingest, &ingest->gpu_names, record->number);
}

static int gv_ingest_gpu_shape(struct gv_ingest *ingest, const struct gv_record_gpu_shape *shape)
{
    int64_t row, name = 0;
    int error = gv_ingest_numbered(ingest, &ingest->gpu_shapes, shape->number, &row);

    if (!error && !row)
        error = gv_ingest_numbered(ingest, &ingest->gpu_names, shape->name, &name);
    if (error || row)
        return error;
    error = gv_database_run(
        ingest->database, GV_STATEMENT_GPU_SHAPE_ADD, "iiziiiiiiiiii", ingest->process,
        (int64_t)shape->number, name, (int64_t)shape->grid[0], (int64_t)shape->grid[1],
        (int64_t)shape->grid[2], (int64_t)shape->block[0], (int64_t)shape->block[1],
        (int64_t)shape->block[2], (int64_t)shape->registers, (int64_t)shape->static_shared_bytes,
        (int64_t)shape->dynamic_shared_bytes, (int64_t)shape->local_bytes);
    return error ? error : gv_ingest_number(ingest, &ingest->gpu_shapes, shape->number);
}

static struct gv_key gv_ingest_place_key(uint64_t device, uint64_t context, uint64_t stream)
{
    return (struct gv_key){.part = {device, context, stream}};
}

static int gv_ingest_gpu_place(struct gv_ingest *ingest, const struct gv_record_gpu_op *op,
                               int64_t *place)
{
    struct gv_key key = gv_ingest_place_key(op->device, op->context, op->stream);
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

/* What was just stored waits for its call, if it has one that is not there yet. */
static int gv_ingest_await(struct gv_ingest *ingest, uint32_t correlation, int64_t call,
                           enum gv_statement statement)
{
    if (call || !correlation)
        return 0;
    return gv_correlate_wait(&ingest->correlate, correlation, statement,
                             gv_database_last_id(ingest->database));
}

static int gv_ingest_gpu_op(struct gv_ingest *ingest, const struct gv_record_gpu_op *op)
{
    sqlite3_stmt *add;
    int64_t place, call = gv_correlate_find(&ingest->correlate, op->correlation);
    int64_t shape;
    int result, error = gv_ingest_gpu_place(ingest, op, &place);

    if (!error)
        error = gv_ingest_numbered(ingest, &ingest->gpu_shapes, op->shape, &shape);
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
    return error ? error : gv_ingest_await(ingest, op->correlation, call, GV_STATEMENT_GPU_OP_CALL);
}

static int gv_ingest_jit(struct gv_ingest *ingest, const struct gv_record_jit *jit)
{
    int64_t call = gv_correlate_find(&ingest->correlate, jit->correlation);
    int error = gv_database_run(
        ingest->database, GV_STATEMENT_JIT_ADD, "iiiiizizz", ingest->process,
        gv_ingest_time(ingest, jit->start_ns), (int64_t)jit->duration_ns, (int64_t)jit->head.result,
        (int64_t)jit->head.api, (int64_t)jit->cache_bytes, (int64_t)jit->device, call,
        call ? (int64_t)0 : (int64_t)jit->correlation);

    return error ? error : gv_ingest_await(ingest, jit->correlation, call, GV_STATEMENT_JIT_CALL);
}

static int gv_ingest_overhead(struct gv_ingest *ingest, const struct gv_record_overhead *overhead)
{
    return gv_database_run(ingest->database, GV_STATEMENT_OVERHEAD_ADD, "iiiiz", ingest->process,
                           (int64_t)overhead->overhead, gv_ingest_time(ingest, overhead->start_ns),
                           (int64_t)overhead->duration_ns, (int64_t)overhead->tid);
}

static int gv_ingest_gpu_module(struct gv_ingest *ingest, const struct gv_record_gpu_module *module)
{
    int64_t call = gv_correlate_find(&ingest->correlate, module->correlation);
    int error =
        gv_database_run(ingest->database, GV_STATEMENT_GPU_MODULE_ADD, "iiizzzzz", ingest->process,
                        (int64_t)module->module, gv_ingest_time(ingest, module->at_ns),
                        (int64_t)module->bytes, (int64_t)module->hash, (int64_t)module->tid, call,
                        call ? (int64_t)0 : (int64_t)module->correlation);

    return error ? error
                 : gv_ingest_await(ingest, module->correlation, call, GV_STATEMENT_GPU_MODULE_CALL);
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
    /* A call found by its number has to be in the trace before what refers to it. */
    switch (record->head.kind) {
    case GV_RECORD_DEVICE:
        return gv_ingest_device(ingest, &record->device, text);
    case GV_RECORD_GPU_NAME:
        return gv_ingest_gpu_name(ingest, &record->gpu_name, text);
    case GV_RECORD_GPU_SHAPE:
        return gv_ingest_gpu_shape(ingest, &record->gpu_shape);
    case GV_RECORD_GPU_OP:
        return gv_ingest_gpu_op(ingest, &record->gpu_op);
    case GV_RECORD_JIT:
        return gv_ingest_jit(ingest, &record->jit);
    case GV_RECORD_OVERHEAD:
        return gv_ingest_overhead(ingest, &record->overhead);
    case GV_RECORD_GPU_MODULE:
        return gv_ingest_gpu_module(ingest, &record->gpu_module);
    default:
        return 0;
    }
}

/* ---- the process ---- */

static const char *gv_ingest_gpu_word(uint32_t state)
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
                           gv_ingest_gpu_word(now->gpu), why_text[0] ? why_text : NULL,
                           (int64_t)now->cupti_version, library_text[0] ? library_text : NULL,
                           flushed_ns);
}

/* ---- resuming ---- */

static int gv_ingest_load_name(struct gv_ingest *ingest, sqlite3_stmt *row)
{
    struct gv_key key = {.part = {(uint64_t)sqlite3_column_int64(row, 1)}};

    return gv_known_add(&ingest->gpu_names, ingest->database, &key, sqlite3_column_int64(row, 0));
}

static int gv_ingest_load_shape(struct gv_ingest *ingest, sqlite3_stmt *row)
{
    struct gv_key key = {.part = {(uint64_t)sqlite3_column_int64(row, 1)}};

    return gv_known_add(&ingest->gpu_shapes, ingest->database, &key, sqlite3_column_int64(row, 0));
}

static int gv_ingest_load_place(struct gv_ingest *ingest, sqlite3_stmt *row)
{
    struct gv_key key = gv_ingest_place_key((uint64_t)sqlite3_column_int64(row, 1),
                                            (uint64_t)sqlite3_column_int64(row, 2),
                                            (uint64_t)sqlite3_column_int64(row, 3));

    return gv_known_add(&ingest->gpu_places, ingest->database, &key, sqlite3_column_int64(row, 0));
}

int gv_ingest_gpu_load_all(struct gv_ingest *ingest)
{
    int error = gv_ingest_each(ingest, GV_STATEMENT_GPU_NAME_ALL, gv_ingest_load_name);

    if (!error)
        error = gv_ingest_each(ingest, GV_STATEMENT_GPU_SHAPE_ALL, gv_ingest_load_shape);
    if (!error)
        error = gv_ingest_each(ingest, GV_STATEMENT_GPU_PLACE_ALL, gv_ingest_load_place);
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
