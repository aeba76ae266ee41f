#include "report/collect/ingest.h"

#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A thread whose loads never meet their calls is damaged; don't remember more than this. */
#define GV_INGEST_PENDING_LIMIT 4096u

int64_t gv_ingest_time(const struct gv_ingest *ingest, uint64_t clock_ns)
{
    return (int64_t)(clock_ns - ingest->epoch_ns);
}

/* Collects the text that follows records[at]; returns its valid form in `out`, or NULL if empty. */
const char *gv_ingest_text(const union gv_record *records, size_t count, size_t at, uint32_t bytes,
                           char *out, size_t size)
{
    char raw[GV_RECORD_TEXT_LIMIT];
    size_t used = 0;

    for (at++; at < count && records[at].head.kind == GV_RECORD_TEXT && used < bytes; at++) {
        size_t piece = records[at].head.api;
        if (piece > GV_RECORD_TEXT_BYTES)
            piece = GV_RECORD_TEXT_BYTES;
        if (piece > sizeof(raw) - used)
            piece = sizeof(raw) - used;
        memcpy(raw + used, records[at].text.text, piece);
        used += piece;
    }
    if (used > bytes)
        used = bytes;
    return gv_text_repair(out, size, raw, used) ? out : NULL;
}

static void gv_ingest_fill_row(struct gv_call_row *row, int64_t start_ns,
                               const struct gv_ingest_thread *thread,
                               const struct gv_record_call *call)
{
    gv_call_row_set(row, GV_CALL_THREAD, thread->id);
    gv_call_row_set(row, GV_CALL_START_NS, start_ns);
    gv_call_row_set(row, GV_CALL_DURATION_NS, (int64_t)call->duration_ns);
    if (!(call->head.flags & GV_RECORD_UNWOUND))
        gv_call_row_set(row, GV_CALL_RESULT, call->head.result);
    if (thread->stream)
        gv_call_row_set(row, GV_CALL_STREAM, thread->stream);
    if (thread->context)
        gv_call_row_set(row, GV_CALL_CONTEXT, thread->context);
    if (call->head.flags & GV_RECORD_HAS_BYTES)
        gv_call_row_set(row, GV_CALL_BYTES, (int64_t)call->bytes);
    if (call->object)
        gv_call_row_set(row, GV_CALL_OBJECT, (int64_t)call->object);
    if (thread->kernel)
        gv_call_row_set(row, GV_CALL_KERNEL, thread->kernel);
    if (call->correlation)
        gv_call_row_set(row, GV_CALL_CORRELATION, call->correlation);
}

static void gv_ingest_count_work(struct gv_ingest *ingest, const struct gv_record_call *call)
{
    uint32_t names = ingest->reader->names_count;
    enum gv_gpu_work work = ingest->kinds[call->head.api < names ? call->head.api : names]->work;
    uint64_t end_ns = call->start_ns + call->duration_ns;

    if (work == GV_GPU_WORK_NONE || call->head.result != 0 ||
        (call->head.flags & GV_RECORD_UNWOUND) ||
        ((call->head.flags & GV_RECORD_HAS_BYTES) && call->bytes == 0))
        return;
    ingest->work.asked[work]++;
    if (work == GV_GPU_WORK_MOVE && end_ns > ingest->work.moves_until_ns)
        ingest->work.moves_until_ns = end_ns;
}

/* Tells the loads that stood inside this call which one it was. */
static int gv_ingest_match_loads(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                                 const struct gv_record_call *call, int64_t id)
{
    uint32_t kept = 0;
    int error = 0;

    for (uint32_t i = 0; i < thread->pending_count && !error; i++) {
        if (thread->pending[i].outer_start_ns == call->start_ns)
            error = gv_database_run(ingest->database, GV_STATEMENT_LOAD_CALL, "ii",
                                    thread->pending[i].load, id);
        else if (thread->pending[i].outer_start_ns > call->start_ns)
            thread->pending[kept++] = thread->pending[i];
    }
    thread->pending_count = kept;
    return error;
}

static int gv_ingest_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                          const struct gv_record_call *call, int64_t module,
                          struct gv_ingest_stack *stack)
{
    int64_t id = *ingest->next_call, api;
    int error = gv_ingest_intern_api(ingest, call->head.api, &api);
    struct gv_call_row *row;

    if (!error)
        error = gv_ingest_intern_place(ingest, thread, call);
    if (!error && call->kernel != thread->kernel_number) {
        error = gv_ingest_intern_kernel(ingest, call->kernel, &thread->kernel);
        thread->kernel_number = call->kernel;
    }
    if (error)
        return error;
    error = gv_call_batch_next(&ingest->calls, ingest->database, &row);
    if (error)
        return error;
    gv_call_row_set(row, GV_CALL_ID, id);
    gv_call_row_set(row, GV_CALL_API, api);
    gv_ingest_fill_row(row, gv_ingest_time(ingest, call->start_ns), thread, call);
    (*ingest->next_call)++;
    gv_ingest_count_work(ingest, call);
    if (call->correlation)
        error = gv_correlate_add(&ingest->correlate, ingest->database, call->correlation, id);
    if (error)
        return error;
    if (module)
        error = gv_database_run(ingest->database, GV_STATEMENT_CALL_MODULE, "ii", id, module);
    if (!error)
        error = gv_ingest_stack_call(ingest, stack, id, call->start_ns);
    if (!error && thread->pending_count > 0)
        error = gv_ingest_match_loads(ingest, thread, call, id);
    return error;
}

static int gv_ingest_poll(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                          const struct gv_record_poll *poll, struct gv_ingest_stack *stack)
{
    struct gv_record_call call = {.head = poll->head,
                                  .start_ns = poll->start_ns,
                                  .duration_ns = poll->total_ns,
                                  .stream = poll->stream,
                                  .context = poll->context,
                                  .object = poll->object};
    int64_t id = *ingest->next_call;
    int error = gv_ingest_call(ingest, thread, &call, 0, stack);

    if (error || poll->count <= 1)
        return error;
    return gv_database_run(ingest->database, GV_STATEMENT_CALL_FOLD, "iii", id,
                           (int64_t)poll->count, (int64_t)poll->span_ns);
}

static const char *gv_ingest_image_name(uint8_t image)
{
    switch (image) {
    case GV_IMAGE_CUBIN:
        return "cubin";
    case GV_IMAGE_PTX:
        return "ptx";
    case GV_IMAGE_FATBIN:
        return "fatbin";
    default:
        return NULL;
    }
}

static const char *gv_ingest_load_kind(const struct gv_record_load *load)
{
    const char *image = gv_ingest_image_name(load->image_kind);

    switch (load->load_kind) {
    case GV_LOAD_FILE:
        return "file";
    case GV_LOAD_LIBRARY:
        return "library";
    case GV_LOAD_LINK:
        return "link";
    default:
        return image ? image : "image";
    }
}

static int gv_ingest_expect_call(struct gv_ingest_thread *thread, int64_t load,
                                 uint64_t outer_start_ns)
{
    if (thread->pending_count == thread->pending_room) {
        uint32_t room = thread->pending_room ? thread->pending_room * 2 : 8;
        if (room > GV_INGEST_PENDING_LIMIT) {
            thread->pending_count = 0;
        } else {
            void *larger = realloc(thread->pending, room * sizeof(*thread->pending));
            if (!larger)
                return -ENOMEM;
            thread->pending = larger;
            thread->pending_room = room;
        }
    }
    thread->pending[thread->pending_count++] =
        (struct gv_ingest_pending_load){.load = load, .outer_start_ns = outer_start_ns};
    return 0;
}

static int gv_ingest_load(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                          const struct gv_record_load *load, const char *name, int64_t *module)
{
    int64_t api;
    int error = gv_ingest_intern_api(ingest, load->head.api, &api);

    if (!error)
        error = gv_ingest_intern_module(ingest, load->module, module);
    if (error)
        return error;
    bool in_object = load->head.flags & GV_RECORD_IN_OBJECT;
    int64_t bytes = load->head.flags & GV_RECORD_HAS_BYTES ? (int64_t)load->bytes : 0;
    error = gv_database_run(ingest->database, GV_STATEMENT_LOAD_ADD, "iiiiitttzzzzt", thread->id,
                            api, gv_ingest_time(ingest, load->start_ns), (int64_t)load->duration_ns,
                            (int64_t)load->head.result, gv_ingest_load_kind(load),
                            gv_ingest_image_name(load->image_kind), in_object ? NULL : name, bytes,
                            (int64_t)load->hash, (int64_t)load->handle, *module,
                            in_object ? name : NULL);
    if (error)
        return error;
    return gv_ingest_expect_call(thread, gv_database_last_id(ingest->database),
                                 load->outer_start_ns);
}

static int gv_ingest_name(struct gv_ingest *ingest, const struct gv_record_name *record,
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

static int gv_ingest_unload(struct gv_ingest *ingest, const struct gv_record_unload *unload,
                            int64_t *module)
{
    int error = gv_ingest_intern_module(ingest, unload->module, module);

    if (error || *module == 0)
        return error;
    return gv_database_run(ingest->database, GV_STATEMENT_MODULE_UNLOAD, "ii", *module,
                           gv_ingest_time(ingest, unload->at_ns));
}

int gv_ingest_group(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                    const union gv_record *records, size_t count)
{
    char text[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)];
    int64_t module = 0; /* that the group's call made or unloaded */
    uint64_t outer_start_ns = 0;
    struct gv_ingest_stack stack = {0};
    const struct gv_record_run_delay *delay = NULL;
    int64_t id;
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        const union gv_record *record = &records[i];
        int64_t loaded = 0;
        uint32_t bytes;

        switch (record->head.kind) {
        case GV_RECORD_CALL:
            /* The call of that load may have been lost, and this be the next one. */
            if (outer_start_ns && outer_start_ns != record->call.start_ns)
                module = 0;
            outer_start_ns = 0;
            id = *ingest->next_call;
            error = gv_ingest_call(ingest, thread, &record->call, module, &stack);
            if (!error && delay)
                error = gv_ingest_delay_call(ingest, thread, delay, &record->call, id);
            module = 0;
            delay = NULL;
            break;
        case GV_RECORD_POLL:
            error = gv_ingest_poll(ingest, thread, &record->poll, &stack);
            break;
        case GV_RECORD_LOAD:
            error = gv_ingest_load(
                ingest, thread, &record->load,
                gv_ingest_text(records, count, i, record->load.text_bytes, text, sizeof(text)),
                &loaded);
            if (!(record->head.flags & GV_RECORD_NESTED)) {
                module = loaded;
                outer_start_ns = record->load.outer_start_ns;
            }
            break;
        case GV_RECORD_NAME:
            error = gv_ingest_name(
                ingest, &record->name,
                gv_ingest_text(records, count, i, record->name.text_bytes, text, sizeof(text)));
            break;
        case GV_RECORD_UNLOAD:
            error = gv_ingest_unload(ingest, &record->unload, &module);
            break;
        case GV_RECORD_RUN_DELAY:
            delay = &record->run_delay;
            break;
        case GV_RECORD_OBJECT:
        case GV_RECORD_STACK:
        case GV_RECORD_FRAMES_OF_STACK:
        case GV_RECORD_PYTHON_FRAME:
        case GV_RECORD_STACK_OF_CALL:
            error = gv_ingest_stack(ingest, &stack, record, records + i + 1, count - i - 1);
            break;
        default: /* text is read with its owner; what is unknown is left out */
            error = gv_ingest_gpu(ingest, record,
                                  gv_ingest_gpu_has_text(record, &bytes)
                                      ? gv_ingest_text(records, count, i, bytes, text, sizeof(text))
                                      : NULL);
            break;
        }
    }
    return error;
}
