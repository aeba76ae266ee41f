/*
 * A group of records: what a thread wrote of one call, or of one event. 0 or -errno.
 */
#include "report/collect/ingest_state.h"

#include "report/store/array.h"
#include "trace/text.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of the text that follows a record; 0 also if it is of a kind that has none. */
static uint32_t text_bytes(const union gv_record *record)
{
    switch (record->head.kind) {
    case GV_RECORD_LOAD:
        return record->load.text_bytes;
    case GV_RECORD_NAME:
        return record->name.text_bytes;
    case GV_RECORD_RANGE_TEXT:
        return record->range_text.text_bytes;
    case GV_RECORD_GPU_NAME:
        return record->gpu_name.text_bytes;
    case GV_RECORD_RECORDING:
        return record->recording.text_bytes;
    case GV_RECORD_IDLE_SAMPLE:
    case GV_RECORD_RANGE:
    case GV_RECORD_DEVICE:
        return record->head.api;
    default:
        return 0;
    }
}

/* Collects the bytes that follow records[at], at most `size`. Returns how many. */
static size_t read_bytes(const union gv_record *records, size_t count, size_t at, uint32_t bytes,
                         char *raw, size_t size)
{
    size_t used = 0;

    for (at++; at < count && records[at].head.kind == GV_RECORD_TEXT && used < bytes; at++) {
        size_t piece = records[at].head.api;
        if (piece > GV_RECORD_TEXT_BYTES)
            piece = GV_RECORD_TEXT_BYTES;
        if (piece > size - used)
            piece = size - used;
        memcpy(raw + used, records[at].text.text, piece);
        used += piece;
    }
    return used > bytes ? bytes : used;
}

/* Its text as valid UTF-8 in `out`, or NULL if empty. */
static const char *read_text(const union gv_record *records, size_t count, size_t at, char *out,
                             size_t size)
{
    char raw[GV_RECORD_TEXT_LIMIT];
    uint32_t bytes = text_bytes(&records[at]);
    size_t used = bytes ? read_bytes(records, count, at, bytes, raw, sizeof(raw)) : 0;

    return gv_text_repair(out, size, raw, used) ? out : NULL;
}

/* A longer text of a code object means damage. */
#define GV_CODE_TEXT_MOST (1u << 18)
/* More loads without their calls mean damage. */
#define GV_INGEST_PENDING_LIMIT 4096u

static void count_work(struct gv_ingest *ingest, enum gv_gpu_work work,
                       const struct gv_record_call *call)
{
    uint64_t end_ns = call->start_ns + call->duration_ns;

    if (work == GV_GPU_WORK_NONE || call->head.result != 0 ||
        (call->head.flags & GV_RECORD_UNWOUND) ||
        ((call->head.flags & GV_RECORD_HAS_BYTES) && call->bytes == 0))
        return;
    ingest->work.asked[work]++;
    if (work == GV_GPU_WORK_MOVE && end_ns > ingest->work.moves_until_ns)
        ingest->work.moves_until_ns = end_ns;
}

/* ---- host functions ---- */

static int store_host_function(struct gv_ingest *ingest, const struct gv_ingest_thread *thread,
                               const struct gv_record_host *ran)
{
    return gv_database_run(ingest->database, GV_STATEMENT_HOST_FUNCTION_RAN, "iiiii",
                           ingest->process, (int64_t)ran->number, thread->id,
                           gv_ingest_time(ingest, ran->start_ns), (int64_t)ran->duration_ns);
}

/* ---- contexts ---- */

static int store_context(struct gv_ingest *ingest, const struct gv_record_context *record)
{
    int64_t context;
    int error = gv_ingest_intern_context(ingest, record->context, &context);

    return error ? error
                 : GV_ADD(ingest->database, context_device, .context = context,
                          .device = record->device);
}

static int store_host_launch(struct gv_ingest *ingest, const struct gv_record_host *launch,
                             const struct gv_record_call *call, int64_t id)
{
    /* The call of that launch may be lost, and this may be the next one. */
    if (launch->start_ns != call->start_ns)
        return 0;
    return gv_database_run(ingest->database, GV_STATEMENT_HOST_FUNCTION_LAUNCHED, "iiiz",
                           ingest->process, (int64_t)launch->number, id, (int64_t)launch->stack);
}

/* ---- collectives of NCCL ---- */

static const struct {
    const char *name;
    int64_t bytes;
} collective_types[] = {
#define GV_COLLECTIVE_TYPE(number, name, bytes) [number] = {name, bytes},
#include "trace/collective_types.def"
};

static int store_collective(struct gv_ingest *ingest, const struct gv_record_collective *collective,
                            const struct gv_record_call *call, int64_t id)
{
    static const char *const kinds[] = {
#define GV_COLLECTIVE_KIND(name, number, text) [number] = (text),
#include "trace/collective_kinds.def"
    };
    unsigned int kind = collective->collective, type = collective->type;
    bool knows_type = type < sizeof(collective_types) / sizeof(collective_types[0]);

    /* The call of that collective may be lost, and this may be the next one. */
    if (collective->call_start_ns != call->start_ns || kind >= sizeof(kinds) / sizeof(kinds[0]) ||
        !kinds[kind])
        return 0;
    return GV_ADD(ingest->database, collective, .call = id, .kind = kinds[kind],
                  .communicator = (int64_t)collective->communicator,
                  .sequence = gv_row_known((int64_t)collective->sequence),
                  .rank = gv_row_known(collective->rank), .size = gv_row_known(collective->size),
                  .count = (int64_t)collective->count,
                  .type = knows_type ? collective_types[type].name : NULL,
                  .bytes = knows_type ? (int64_t)collective->count * collective_types[type].bytes
                                      : GV_ROW_NULL,
                  .root_or_peer = gv_row_known(collective->head.result));
}

/* Of the group that ends with this call. */
static int store_inside(struct gv_ingest *ingest, const union gv_record *records, size_t count,
                        int64_t id)
{
    const struct gv_record_call *call = &records[count].call;
    int error = 0;

    for (size_t i = 0; i < count && !error; i++)
        if (records[i].head.kind == GV_RECORD_INSIDE &&
            records[i].inside.call_start_ns == call->start_ns)
            error = gv_correlate_add(&ingest->correlate, ingest->database,
                                     records[i].inside.correlation, id);
    return error;
}

/* ---- nodes of graphs ---- */

static int store_clone(struct gv_ingest *ingest, uint64_t node, uint64_t original)
{
    return original ? gv_database_run(ingest->database, GV_STATEMENT_GRAPH_NODE_CLONED, "iii",
                                      ingest->process, (int64_t)node, (int64_t)original)
                    : 0;
}

/*
 * In a graph that can be launched, the driver makes nodes of child graphs nodes of the whole. They
 * have the numbers behind its own, child by child, and CUPTI does not tell of them (measured:
 * driver 580). What comes behind a child graph within a child is not known.
 */
static int store_moved(struct gv_ingest *ingest, const union gv_record *records, size_t count,
                       uint64_t call_start_ns)
{
    uint64_t whole = UINT64_MAX, next = 0;
    int error = 0;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count && !error; i++) {
            const struct gv_record_graph_node *node = &records[i].graph_node;
            uint64_t graph = node->node >> 32;

            if (node->head.kind != GV_RECORD_GRAPH_NODE || !node->original ||
                !(node->head.flags & GV_RECORD_INSTANTIATED) ||
                node->call_start_ns != call_start_ns)
                continue;
            if (pass == 0 && graph <= whole) {
                whole = graph;
                next = node->node + 1;
            } else if (pass == 1 && graph != whole) {
                if (node->head.flags & GV_RECORD_IS_GRAPH)
                    return 0;
                error = store_clone(ingest, next++, node->node);
            }
        }
    return error;
}

/* Those that the call added with which the group ends; 0: its stack is not known. */
static int store_nodes(struct gv_ingest *ingest, const union gv_record *records, size_t count,
                       int64_t stack)
{
    const struct gv_record_call *call = &records[count].call;
    int error = store_moved(ingest, records, count, call->start_ns);

    for (size_t i = 0; i < count && !error; i++)
        if (records[i].head.kind == GV_RECORD_GRAPH_NODE && !records[i].graph_node.original &&
            records[i].graph_node.call_start_ns == call->start_ns)
            error = gv_database_run(ingest->database, GV_STATEMENT_GRAPH_NODE_ADDED, "iii",
                                    ingest->process, (int64_t)records[i].graph_node.node, stack);
    return error;
}

/* ---- calls ---- */

/* Gives the loads inside this call its row. */
static int match_loads(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                       const struct gv_record_call *call, int64_t id)
{
    size_t kept = 0;
    int error = 0;

    for (size_t i = 0; i < thread->pending_count && !error; i++) {
        if (thread->pending[i].outer_start_ns == call->start_ns)
            error = gv_database_run(ingest->database, GV_STATEMENT_LOAD_CALL, "ii",
                                    thread->pending[i].load, id);
        else if (thread->pending[i].outer_start_ns > call->start_ns)
            thread->pending[kept++] = thread->pending[i];
    }
    thread->pending_count = kept;
    return error;
}

int gv_ingest_calls_flush(struct gv_ingest *ingest)
{
    const unsigned count = ingest->calls.count;

    ingest->calls.count = 0;
    return gv_row_add(ingest->database, GV_TABLE_call, ingest->calls.rows, count);
}

static int count_cost(struct gv_ingest *ingest, const struct gv_call_kind_row *kind,
                      const struct gv_record_call *call)
{
    ingest->cost.hooked++;
    if (call->correlation != 0 && ingest->scanned.gpu == GV_GPU_SEEN)
        gv_process_cost_count_correlated(&ingest->cost,
                                         kind->work == GV_GPU_WORK_GRAPH ? call->object : 0);
    return kind->class == GV_CLASS_GRAPH && call->bytes && !(call->head.flags & GV_RECORD_HAS_BYTES)
               ? gv_process_cost_note_graph(&ingest->cost, call->object, call->bytes)
               : 0;
}

/* `count` calls: polls share a row. */
static int store_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                      const struct gv_record_call *call, uint64_t count, int64_t module,
                      struct gv_ingest_stack *stack)
{
    int64_t id = *ingest->next_call;
    const struct gv_ingest_api *api;
    int error = gv_ingest_intern_api(ingest, call->head.api, &api);
    struct gv_row_call *row;

    if (!error)
        error = gv_ingest_intern_place(ingest, thread, api, call);
    if (!error && call->kernel != thread->kernel_number) {
        error = gv_ingest_intern_kernel(ingest, call->kernel, &thread->kernel);
        thread->kernel_number = call->kernel;
    }
    if (!error && ingest->calls.count == GV_ROW_BATCH)
        error = gv_ingest_calls_flush(ingest);
    if (error)
        return error;
    row = &ingest->calls.rows[ingest->calls.count++];
    *row = (struct gv_row_call){
        .id = id,
        .thread = thread->id,
        .api = api->row,
        .start_ns = gv_ingest_time(ingest, call->start_ns),
        .duration_ns = (int64_t)call->duration_ns,
        .result = call->head.flags & GV_RECORD_UNWOUND ? GV_ROW_NULL : call->head.result,
        .stream = thread->stream,
        .context = thread->context,
        .bytes = call->head.flags & GV_RECORD_HAS_BYTES ? (int64_t)call->bytes : GV_ROW_NULL,
        .object = (int64_t)call->object,
        .kernel = thread->kernel,
        .correlation = call->correlation,
    };
    gv_live_take_call(&ingest->live, &api->live,
                      &(struct gv_live_call){
                          .id = id,
                          .thread = thread->id,
                          .api = api->row,
                          .start_ns = row->start_ns,
                          .end_ns = row->start_ns + row->duration_ns,
                          .count = (int64_t)count,
                          .bytes = row->bytes == GV_ROW_NULL ? 0 : row->bytes,
                          .result = row->result == GV_ROW_NULL ? 0 : row->result,
                      });
    (*ingest->next_call)++;
    error = gv_ingest_range_call(ingest, thread, id);
    if (!error)
        error = count_cost(ingest, api->kind, call);
    count_work(ingest, api->kind->work, call);
    if (!error && call->correlation)
        error = gv_correlate_add(&ingest->correlate, ingest->database, call->correlation, id);
    if (!error && module)
        error = GV_ADD(ingest->database, call_module, .call = id, .module = module);
    if (!error && call->head.flags & GV_RECORD_HAS_SECOND)
        error = GV_ADD(ingest->database, call_object, .call = id, .object = (int64_t)call->stream);
    if (!error)
        error = gv_ingest_stack_of_call(ingest, stack, id, call->start_ns);
    if (!error && thread->pending_count > 0)
        error = match_loads(ingest, thread, call, id);
    return error;
}

static int store_poll(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                      const struct gv_record_poll *poll, struct gv_ingest_stack *stack)
{
    struct gv_record_call call = {.head = poll->head,
                                  .start_ns = poll->start_ns,
                                  .duration_ns = poll->total_ns,
                                  .stream = poll->stream,
                                  .context = poll->context,
                                  .object = poll->object};
    int64_t id = *ingest->next_call;
    int error = store_call(ingest, thread, &call, poll->count ? poll->count : 1, 0, stack);

    if (error || poll->count <= 1)
        return error;
    ingest->cost.hooked += poll->count - 1;
    return GV_ADD(ingest->database, call_fold, .call = id, .count = (int64_t)poll->count,
                  .span_ns = (int64_t)poll->span_ns);
}

static const char *const image_names[] = {
    [GV_IMAGE_CUBIN] = "cubin",
    [GV_IMAGE_PTX] = "ptx",
    [GV_IMAGE_FATBIN] = "fatbin",
};
static const char *const load_names[] = {
    [GV_LOAD_FILE] = "file",
    [GV_LOAD_LIBRARY] = "library",
    [GV_LOAD_LINK] = "link",
};

/* NULL: unknown. */
static const char *name_of(const char *const *names, size_t count, unsigned int number)
{
    return number < count ? names[number] : NULL;
}
#define GV_NAME_OF(names, number) name_of(names, sizeof(names) / sizeof((names)[0]), number)

static int expect_call(struct gv_ingest_thread *thread, int64_t load, uint64_t outer_start_ns)
{
    int error;

    if (thread->pending_count == GV_INGEST_PENDING_LIMIT)
        thread->pending_count = 0;
    error = gv_array_room(&thread->pending, thread->pending_count, &thread->pending_room,
                          sizeof(*thread->pending));
    if (error)
        return error;
    thread->pending[thread->pending_count++] =
        (struct gv_ingest_pending_load){.load = load, .outer_start_ns = outer_start_ns};
    return 0;
}

static int store_load(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                      const struct gv_record_load *load, const char *name, int64_t *module)
{
    const struct gv_ingest_api *api;
    int error = gv_ingest_intern_api(ingest, load->head.api, &api);

    if (!error)
        error = gv_ingest_intern_module(ingest, load->module, module);
    if (error)
        return error;
    bool in_object = load->head.flags & GV_RECORD_IN_OBJECT;
    int64_t bytes = load->head.flags & GV_RECORD_HAS_BYTES ? (int64_t)load->bytes : 0;
    const char *image = GV_NAME_OF(image_names, load->image_kind);
    const char *kind = GV_NAME_OF(load_names, load->load_kind);
    if (!kind)
        kind = image ? image : "image";
    error = GV_ADD(ingest->database, load, .thread = thread->id, .api = api->row,
                   .start_ns = gv_ingest_time(ingest, load->start_ns),
                   .duration_ns = (int64_t)load->duration_ns, .result = load->head.result,
                   .kind = kind, .image = image, .name = in_object ? NULL : name, .bytes = bytes,
                   .hash = (int64_t)load->hash, .handle = (int64_t)load->handle, .module = *module,
                   .library = in_object ? name : NULL);
    if (error)
        return error;
    gv_live_load(ingest->live.live, kind, (int64_t)load->duration_ns);
    return expect_call(thread, gv_database_last_id(ingest->database), load->outer_start_ns);
}

static int store_name(struct gv_ingest *ingest, const struct gv_record_name *record,
                      const char *name)
{
    int64_t kernel, module;
    int error = gv_ingest_intern_kernel(ingest, record->kernel, &kernel);

    if (!error)
        error = gv_ingest_intern_module(ingest, record->module, &module);
    if (error || kernel == 0)
        return error;
    return gv_database_run(ingest->database, GV_STATEMENT_KERNEL_NAME, "itzzi", kernel, name,
                           module, (int64_t)record->handle, gv_ingest_time(ingest, record->at_ns));
}

static int store_unload(struct gv_ingest *ingest, const struct gv_record_unload *unload,
                        int64_t *module)
{
    int error = gv_ingest_intern_module(ingest, unload->module, module);

    if (error || *module == 0)
        return error;
    return gv_database_run(ingest->database, GV_STATEMENT_MODULE_UNLOAD, "ii", *module,
                           gv_ingest_time(ingest, unload->at_ns));
}

/* Its text is longer than others. */
static int store_code(struct gv_ingest *ingest, const struct gv_record_python_code *code,
                      const union gv_record *records, size_t count, size_t at)
{
    uint64_t all = (uint64_t)code->file_bytes + code->function_bytes + code->table_bytes;
    uint32_t bytes = (uint32_t)all;
    char *text = all <= GV_CODE_TEXT_MOST ? malloc(bytes + 1) : NULL;
    int error = 0;

    if (!text)
        return all <= GV_CODE_TEXT_MOST ? -ENOMEM : 0;
    error = gv_python_code_store(&ingest->python_codes, code, text,
                                 read_bytes(records, count, at, bytes, text, bytes));
    free(text);
    return error ? error : gv_ingest_stack_code(ingest, code->number);
}

int gv_ingest_group(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                    const union gv_record *records, size_t count)
{
    char text[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)];
    int64_t module = 0; /* made or unloaded by the group's call */
    uint64_t outer_start_ns = 0;
    struct gv_ingest_stack stack = {0};
    const struct gv_record_run_delay *delay = NULL;
    const struct gv_record_host *launch = NULL;
    const struct gv_record_collective *collective = NULL;
    int64_t id, of_call;
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        const union gv_record *record = &records[i];
        const char *said = read_text(records, count, i, text, sizeof(text));
        int64_t loaded = 0;

        switch (record->head.kind) {
        case GV_RECORD_CALL:
            /* The call of that load may be lost, and this may be the next one. */
            if (outer_start_ns && outer_start_ns != record->call.start_ns)
                module = 0;
            outer_start_ns = 0;
            id = *ingest->next_call;
            of_call = stack.of_call_start_ns == record->call.start_ns ? stack.of_call : 0;
            error = store_call(ingest, thread, &record->call, 1, module, &stack);
            if (!error && delay)
                error = gv_ingest_delay_call(ingest, thread, delay, &record->call, id);
            if (!error && launch)
                error = store_host_launch(ingest, launch, &record->call, id);
            if (!error && i > 0)
                error = store_inside(ingest, records, i, id);
            if (!error && i > 0)
                error = store_nodes(ingest, records, i, of_call);
            if (!error && collective)
                error = store_collective(ingest, collective, &record->call, id);
            module = 0;
            delay = NULL;
            launch = NULL;
            collective = NULL;
            break;
        case GV_RECORD_POLL:
            error = store_poll(ingest, thread, &record->poll, &stack);
            break;
        case GV_RECORD_LOAD:
            error = store_load(ingest, thread, &record->load, said, &loaded);
            if (!(record->head.flags & GV_RECORD_NESTED)) {
                module = loaded;
                outer_start_ns = record->load.outer_start_ns;
            }
            break;
        case GV_RECORD_NAME:
            error = store_name(ingest, &record->name, said);
            break;
        case GV_RECORD_UNLOAD:
            error = store_unload(ingest, &record->unload, &module);
            break;
        case GV_RECORD_CONTEXT:
            error = store_context(ingest, &record->device_of_context);
            break;
        case GV_RECORD_RUN_DELAY:
            delay = &record->run_delay;
            break;
        case GV_RECORD_HOST_LAUNCH:
            launch = &record->host;
            break;
        case GV_RECORD_COLLECTIVE:
            collective = &record->collective;
            break;
        case GV_RECORD_INSIDE: /* with its call */
            break;
        case GV_RECORD_GRAPH_NODE: /* those that are no clones: with their call */
            error = store_clone(ingest, record->graph_node.node, record->graph_node.original);
            break;
        case GV_RECORD_HOST_FUNCTION:
            error = store_host_function(ingest, thread, &record->host);
            break;
        case GV_RECORD_STACK:
        case GV_RECORD_PYTHON_FRAMES:
        case GV_RECORD_STACK_OF_CALL:
        case GV_RECORD_STACK_COPY:
            error = gv_ingest_stack_part(ingest, &stack, record);
            break;
        case GV_RECORD_PYTHON_CODE:
            error = store_code(ingest, &record->python_code, records, count, i);
            break;
        case GV_RECORD_IDLE_SAMPLE:
            error = gv_ingest_idle(ingest, &record->idle_sample, said);
            break;
        case GV_RECORD_CHANGE:
            error = gv_ingest_change(ingest, record->change.number, record->change.at_ns);
            break;
        case GV_RECORD_RANGE_TEXT:
            error = gv_ingest_range_text(ingest, record->range_text.number, said);
            break;
        case GV_RECORD_RANGE:
            error = gv_ingest_range(ingest, thread, &record->range, said);
            break;
        case GV_RECORD_RANGE_END:
            error = gv_ingest_range_end(ingest, thread, &record->range_end);
            break;
        default: /* text is read with its owner; unknown kinds are ignored */
            error = gv_ingest_gpu(ingest, record, said);
            break;
        }
    }
    return error;
}
