#include "report/collect/ingest_gpu.h"

#include "report/analyse/gpu_unseen.h"
#include "report/analyse/names/demangle.h"
#include "report/collect/ingest_control.h"
#include "report/collect/ingest_things.h"
#include "report/collect_ingest_gpu.inc"
#include "report/store/database.h"
#include "report/store/row.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

#define GV_DEMANGLED_BYTES 8192

/* A name of a launch that no operation has. */
static int add_name(void *context, sqlite3_stmt *row)
{
    const struct gv_ingest *ingest = context;
    const char *name = (const char *)sqlite3_column_text(row, 0);
    char plain[GV_DEMANGLED_BYTES];

    return gv_database_run(ingest->database, GV_STATEMENT_GPU_NAME_MADE, "itt", ingest->process,
                           gv_demangle(name, plain, sizeof(plain)), name);
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
        error = gv_database_each(trace, sql_unnamed, values, 1, add_name, ingest);
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
    return GV_ADD(ingest->database, device, .process = ingest->process, .device = device->device,
                  .name = name, .uuid = any ? uuid : NULL, .cc_major = device->cc_major,
                  .cc_minor = device->cc_minor, .multiprocessors = device->multiprocessors,
                  .memory_bytes = (int64_t)device->memory_bytes, .clock_khz = device->clock_khz,
                  .memory_clock_khz = device->memory_clock_khz);
}

/* *row is 0 for number 0, and for an unknown number. */
static int numbered(struct gv_ingest *ingest, struct gv_known *known, uint32_t number, int64_t *row)
{
    const struct gv_key key = {{number}};

    *row = 0;
    return number ? gv_known_find(known, ingest->database, &key, row) : 0;
}

static int store_name(struct gv_ingest *ingest, const struct gv_record_gpu_name *record,
                      const char *name)
{
    const struct gv_key key = {{record->number}};
    char plain[GV_DEMANGLED_BYTES];
    int64_t row;
    int error = numbered(ingest, &ingest->gpu_names, record->number, &row);

    if (error || row)
        return error;
    error = GV_ADD(ingest->database, gpu_name, .process = ingest->process, .number = record->number,
                   .name = gv_demangle(name, plain, sizeof(plain)), .linkage = name);
    return error ? error : gv_ingest_remember(ingest, &ingest->gpu_names, &key, &row);
}

static int store_shape(struct gv_ingest *ingest, const struct gv_record_gpu_shape *shape)
{
    const struct gv_key key = {{shape->number}};
    int64_t row, name = 0;
    int error = numbered(ingest, &ingest->gpu_shapes, shape->number, &row);

    if (!error && !row)
        error = numbered(ingest, &ingest->gpu_names, shape->name, &name);
    if (error || row)
        return error;
    error = GV_ADD(
        ingest->database, gpu_shape, .process = ingest->process, .number = shape->number,
        .name = name, .grid_x = shape->grid[0], .grid_y = shape->grid[1], .grid_z = shape->grid[2],
        .block_x = shape->block[0], .block_y = shape->block[1], .block_z = shape->block[2],
        .registers = shape->registers, .static_shared_bytes = shape->static_shared_bytes,
        .dynamic_shared_bytes = shape->dynamic_shared_bytes, .local_bytes = shape->local_bytes);
    return error ? error : gv_ingest_remember(ingest, &ingest->gpu_shapes, &key, &row);
}

static int intern_place(struct gv_ingest *ingest, const struct gv_record_gpu_op *op, int64_t *place)
{
    const struct gv_key key = {{op->device, op->context, op->stream}};
    int error = gv_known_find(&ingest->gpu_places, ingest->database, &key, place);

    if (error || *place)
        return error;
    error = GV_ADD(ingest->database, gpu_place, .process = ingest->process, .device = op->device,
                   .context = op->context, .stream = op->stream);
    return error ? error : gv_ingest_remember(ingest, &ingest->gpu_places, &key, place);
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
    int64_t shape, place;
    int64_t call = gv_correlate_find(&ingest->correlate, op->correlation);
    bool timed = op->start_ns != 0, sized = op->head.flags & GV_RECORD_HAS_BYTES;
    int error = intern_place(ingest, op, &place);

    if (!error)
        error = numbered(ingest, &ingest->gpu_shapes, op->shape, &shape);
    if (error)
        return error;
    error =
        GV_ADD(ingest->database, gpu_op, .place = place, .kind = op->head.api, .shape = shape,
               .start_ns = timed ? gv_ingest_time(ingest, op->start_ns) : GV_ROW_NULL,
               .duration_ns = timed ? (int64_t)op->duration_ns : GV_ROW_NULL, .call = call,
               .bytes = sized ? (int64_t)op->bytes : GV_ROW_NULL,
               .copy_kind = op->head.api == GV_GPU_COPY ? op->head.result : 0,
               .graph_node = (int64_t)op->graph_node, .correlation = call ? 0 : op->correlation);
    if (!error && timed)
        gv_live_take_op(
            &ingest->live, op->device,
            &(struct gv_live_op){
                .start_ns = gv_ingest_time(ingest, op->start_ns),
                .end_ns = gv_ingest_time(ingest, op->start_ns + op->duration_ns),
                .call = call,
                .what = shape ? shape : -((int64_t)op->head.api << 8 | (op->head.result & 15)),
            });
    if (!op->graph_node && (op->head.api == GV_GPU_KERNEL || op->head.api == GV_GPU_GRAPH))
        ingest->work.launched++;
    return error ? error : await(ingest, op->correlation, call, GV_STATEMENT_GPU_OP_CALL);
}

static int store_sample(struct gv_ingest *ingest, const struct gv_record_gpu_sample *sample)
{
    int64_t call = gv_correlate_find(&ingest->correlate, sample->correlation);
    int error =
        GV_ADD(ingest->database, gpu_sample, .process = ingest->process, .call = call,
               .start_ns = gv_ingest_time(ingest, sample->start_ns),
               .duration_ns = (int64_t)sample->duration_ns, .bias_ns = sample->bias_ns,
               .error_ns = sample->error_ns, .one_of = sample->one_of,
               .queued = sample->head.result, .correlation = call ? 0 : sample->correlation);

    return error ? error : await(ingest, sample->correlation, call, GV_STATEMENT_GPU_SAMPLE_CALL);
}

static int store_jit(struct gv_ingest *ingest, const struct gv_record_jit *jit)
{
    int64_t call = gv_correlate_find(&ingest->correlate, jit->correlation);
    int error =
        GV_ADD(ingest->database, jit, .process = ingest->process,
               .start_ns = gv_ingest_time(ingest, jit->start_ns),
               .duration_ns = (int64_t)jit->duration_ns, .operation = jit->head.result,
               .entry = jit->head.api, .cache_bytes = (int64_t)jit->cache_bytes,
               .device = jit->device, .call = call, .correlation = call ? 0 : jit->correlation);

    gv_live_take_jit(&ingest->live, gv_ingest_time(ingest, jit->start_ns),
                     gv_ingest_time(ingest, jit->start_ns + jit->duration_ns));
    return error ? error : await(ingest, jit->correlation, call, GV_STATEMENT_JIT_CALL);
}

static int store_overhead(struct gv_ingest *ingest, const struct gv_record_overhead *overhead)
{
    return GV_ADD(ingest->database, overhead, .process = ingest->process,
                  .kind = overhead->overhead,
                  .start_ns = gv_ingest_time(ingest, overhead->start_ns),
                  .duration_ns = (int64_t)overhead->duration_ns, .tid = overhead->tid);
}

static int store_module(struct gv_ingest *ingest, const struct gv_record_gpu_module *module)
{
    int64_t call = gv_correlate_find(&ingest->correlate, module->correlation);
    int error =
        GV_ADD(ingest->database, gpu_module, .process = ingest->process, .number = module->module,
               .at_ns = gv_ingest_time(ingest, module->at_ns), .bytes = (int64_t)module->bytes,
               .hash = (int64_t)module->hash, .tid = module->tid, .call = call,
               .correlation = call ? 0 : module->correlation);

    gv_live_loads(ingest->live.live, call);
    return error ? error : await(ingest, module->correlation, call, GV_STATEMENT_GPU_MODULE_CALL);
}

/* The profiler in words: what programs use, by the library of it that asks for CUPTI. */
static const char *profiler_of(const char *path)
{
    static const char *const known[][2] = {
        {"libtorch_cpu.so", "torch.profiler"},
        {"xla_cuda_plugin.so", "JAX's profiler"},
        {"libproton.so", "Proton"},
    };
    const char *file = gv_text_base(path);

    for (size_t i = 0; file && i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(file, known[i][0]) == 0)
            return known[i][1];
    return file;
}

static int store_recording(struct gv_ingest *ingest, const struct gv_record_recording *recording,
                           const char *path)
{
    static const char *const words[] = {
        [GV_RECORDING_ALL] = "seen",
        [GV_RECORDING_OPERATIONS] = "operations",
        [GV_RECORDING_OTHER] = "other",
        [GV_RECORDING_STOPPED] = "stopped",
    };
    uint16_t what = recording->head.api;
    int64_t at_ns;

    if (what >= sizeof(words) / sizeof(words[0]) || !words[what])
        return 0;
    at_ns = gv_ingest_time(ingest, recording->at_ns);
    gv_live_unseen(&ingest->live);
    gv_ingest_changed(ingest, at_ns);
    return GV_ADD(ingest->database, gpu_note, .process = ingest->process, .at_ns = at_ns,
                  .gpu = words[what], .profiler = path ? profiler_of(path) : NULL);
}

bool gv_ingest_gpu_has_text(const union gv_record *record, uint32_t *bytes)
{
    if (record->head.kind == GV_RECORD_DEVICE)
        *bytes = record->head.api;
    else if (record->head.kind == GV_RECORD_GPU_NAME)
        *bytes = record->gpu_name.text_bytes;
    else if (record->head.kind == GV_RECORD_RECORDING)
        *bytes = record->recording.text_bytes;
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
    case GV_RECORD_GPU_SAMPLE:
        return store_sample(ingest, &record->gpu_sample);
    case GV_RECORD_JIT:
        return store_jit(ingest, &record->jit);
    case GV_RECORD_OVERHEAD:
        return store_overhead(ingest, &record->overhead);
    case GV_RECORD_GPU_MODULE:
        return store_module(ingest, &record->gpu_module);
    case GV_RECORD_RECORDING:
        return store_recording(ingest, &record->recording, text);
    default:
        return 0;
    }
}

/* ---- the process ---- */

static const char *const state_words[] = {
    [GV_GPU_OFF] = "off",
    [GV_GPU_HOST_ONLY] = "host-only",
    [GV_GPU_SEEN] = "cupti",
    [GV_GPU_SAMPLED] = "sampled",
};

int gv_ingest_gpu_status(struct gv_ingest *ingest, const struct gv_spool_status *now)
{
    char why[GV_SPOOL_WHY_BYTES], why_text[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_WHY_BYTES)];
    char library[GV_SPOOL_PATH_BYTES], library_text[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_PATH_BYTES)];
    bool same = ingest->status_stored && now->gpu == ingest->status.gpu &&
                now->gpu_flushed_ns == ingest->status.gpu_flushed_ns &&
                now->gpu_failed == ingest->status.gpu_failed;
    const char *state_word =
        now->gpu < sizeof(state_words) / sizeof(state_words[0]) ? state_words[now->gpu] : NULL;
    int64_t flushed_ns = now->gpu_flushed_ns ? gv_ingest_time(ingest, now->gpu_flushed_ns) : 0;

    /* `now` tells of records that are still to be stored. */
    gv_live_flushed(&ingest->live, now->gpu == GV_GPU_SEEN,
                    ingest->scanned.gpu_flushed_ns
                        ? gv_ingest_time(ingest, ingest->scanned.gpu_flushed_ns)
                        : 0);
    if (now->gpu == GV_GPU_UNKNOWN || same)
        return 0;
    gv_spool_reader_gpu(ingest->reader, why, library);
    if (now->gpu_started_ns && now->gpu == GV_GPU_SEEN) {
        int error =
            GV_ADD(ingest->database, gpu_interval, .process = ingest->process, .number = 1,
                   .start_ns = gv_ingest_time(ingest, now->gpu_started_ns), .end_ns = flushed_ns);
        if (!error && !now->gpu_whole_graphs)
            error = gv_database_set_meta(ingest->database, "graphs", "nodes");
        if (error)
            return error;
    }
    gv_text_repair(why_text, sizeof(why_text), why, strlen(why));
    gv_text_repair(library_text, sizeof(library_text), library, strlen(library));
    return gv_database_run(ingest->database, GV_STATEMENT_PROCESS_GPU, "ittztz", ingest->process,
                           state_word, why_text[0] ? why_text : NULL, (int64_t)now->cupti_version,
                           library_text[0] ? library_text : NULL, flushed_ns);
}

void gv_ingest_gpu_close(struct gv_ingest *ingest)
{
    gv_known_free(&ingest->gpu_names, ingest->database);
    gv_known_free(&ingest->gpu_shapes, ingest->database);
    gv_known_free(&ingest->gpu_places, ingest->database);
    gv_correlate_free(&ingest->correlate);
}

/* ---- launches without an operation ---- */

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

/* A time of the process; the earliest one if it is unknown. */
static int64_t known_time(const struct gv_ingest *ingest, uint64_t clock_ns)
{
    return clock_ns ? gv_ingest_time(ingest, clock_ns) : INT64_MIN;
}

static int count_unseen(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    const struct gv_gpu_seen seen = {
        .process = ingest->process,
        .started_ns = known_time(ingest, status->gpu_started_ns),
        .flushed_ns = known_time(ingest, status->gpu_flushed_ns),
        .finished = status->gpu_finished,
        .whole_graphs = status->gpu_whole_graphs,
    };
    int error =
        gv_database_run(ingest->database, GV_STATEMENT_GPU_LOSS_CLEAR, "i", ingest->process);

    if (error || !unseen_any(ingest, status))
        return error;
    return gv_gpu_unseen_count(ingest->database->handle, &seen);
}

int gv_ingest_gpu_end(struct gv_ingest *ingest, const struct gv_spool_status *status)
{
    bool late = ingest->resumed || ingest->correlate.given_up;
    int error =
        late ? gv_database_script(ingest->database->handle, sql_match_late, &ingest->process, 1)
             : 0;

    if (!error)
        error = gv_ingest_control_end(ingest);
    /* The analysis needs the memory. If anything still comes, it is looked up in the trace. */
    ingest->resumed |= ingest->correlate.calls != NULL;
    gv_correlate_free(&ingest->correlate);
    if (!error)
        error = fix_names(ingest, status);
    return error ? error : count_unseen(ingest, status);
}
