/*
 * What a process's records call by a number or a handle: hooked calls, kernels, modules, contexts,
 * streams. A row of each is added when it is first seen.
 */
#include "report/collect/ingest_state.h"

#include "report/collect_ingest_things.inc"
#include "report/store/api_meaning.h"
#include "trace/text.h"

#include <stddef.h>

/* Adds the row just inserted to those known. */
static int remember(struct gv_ingest *ingest, struct gv_known *known, const struct gv_key *key,
                    int64_t *id)
{
    *id = gv_database_last_id(ingest->database);
    return gv_known_add(known, ingest->database, key, *id);
}

/* ---- things known by number or handle ---- */

/* The first part of a key in `places`. */
enum gv_place {
    GV_PLACE_CONTEXT = 1,        /* handle */
    GV_PLACE_STREAM = 2,         /* handle */
    GV_PLACE_LEGACY = 3,         /* context */
    GV_PLACE_PER_THREAD = 4,     /* context, thread */
    GV_PLACE_STREAM_CONTEXT = 5, /* row of a stream -> row of its context */
};

static const char *const place_kinds[] = {
    [GV_PLACE_STREAM] = "created",
    [GV_PLACE_LEGACY] = "legacy default",
    [GV_PLACE_PER_THREAD] = "per-thread default",
};

#define GV_STREAM_LEGACY     1u
#define GV_STREAM_PER_THREAD 2u

static int find_api(struct gv_ingest *ingest, const char *name, const char *class_name, int64_t *id)
{
    int error =
        gv_database_find(ingest->database, GV_STATEMENT_API_FIND, id, "tt", name, class_name);

    if (error || *id)
        return error;
    error = GV_ADD(ingest->database, api, .name = name, .class = class_name);
    *id = gv_database_last_id(ingest->database);
    return error ? error : gv_api_meaning_fill(ingest->database->handle);
}

int gv_ingest_intern_api(struct gv_ingest *ingest, uint32_t number,
                         const struct gv_ingest_api **api)
{
    char name[65], class_name[16];
    char name_text[GV_TEXT_REPAIRED_BYTES(64)], class_text[GV_TEXT_REPAIRED_BYTES(16)];
    uint32_t names = ingest->reader->names_count;
    struct gv_ingest_api *known = &ingest->apis[number < names ? number : names];

    *api = known;
    if (known->row)
        return 0;
    gv_spool_reader_name(ingest->reader, number < names ? number : names, name, class_name);
    gv_text_repair(name_text, sizeof(name_text), name, sizeof(name));
    gv_text_repair(class_text, sizeof(class_text), class_name, sizeof(class_name));
    known->per_thread = gv_api_is_per_thread(name);
    known->kind = &gv_call_kinds[gv_call_kind_find(name, class_name)];
    gv_live_know_api(ingest->live.live, name_text, class_text, &known->live);
    return find_api(ingest, name_text, class_text, &known->row);
}

int gv_ingest_intern(struct gv_ingest *ingest, struct gv_known *known, struct gv_key key,
                     enum gv_table table, const void *row, int64_t *id)
{
    int error = gv_known_find(known, ingest->database, &key, id);

    if (error || *id)
        return error;
    error = gv_row_add(ingest->database, table, row, 1);
    return error ? error : remember(ingest, known, &key, id);
}

int gv_ingest_intern_kernel(struct gv_ingest *ingest, uint32_t number, int64_t *id)
{
    *id = 0;
    return number ? GV_INTERN(ingest, kernels, (struct gv_key){{number}}, id, kernel,
                              .process = ingest->process, .number = number)
                  : 0;
}

int gv_ingest_intern_module(struct gv_ingest *ingest, uint32_t number, int64_t *id)
{
    *id = 0;
    return number ? GV_INTERN(ingest, modules, (struct gv_key){{number}}, id, module,
                              .process = ingest->process, .number = number)
                  : 0;
}

int gv_ingest_intern_context(struct gv_ingest *ingest, uint64_t handle, int64_t *id)
{
    *id = 0;
    return handle ? GV_INTERN(ingest, places, ((struct gv_key){{GV_PLACE_CONTEXT, handle}}), id,
                              context, .process = ingest->process, .handle = (int64_t)handle)
                  : 0;
}

/* The stream of a handle. Default streams have no handle of their own: there is one for each
 * context, or for each context and thread. */
static struct gv_key stream_key(uint64_t handle, bool per_thread, int64_t context, int64_t thread)
{
    struct gv_key key = {.part = {GV_PLACE_STREAM, handle}};

    if (handle == GV_STREAM_PER_THREAD || (handle == 0 && per_thread))
        key = (struct gv_key){.part = {GV_PLACE_PER_THREAD, (uint64_t)context, (uint64_t)thread}};
    else if (handle == GV_STREAM_LEGACY || handle == 0)
        key = (struct gv_key){.part = {GV_PLACE_LEGACY, (uint64_t)context}};
    return key;
}

static int intern_stream(struct gv_ingest *ingest, const struct gv_ingest_thread *thread,
                         uint64_t handle, bool per_thread, int64_t context, int64_t *id)
{
    struct gv_key key = stream_key(handle, per_thread, context, thread->id);
    bool own = key.part[0] == GV_PLACE_PER_THREAD;
    int error = gv_known_find(&ingest->places, ingest->database, &key, id);

    if (error || *id)
        return error;
    error = GV_ADD(ingest->database, stream, .process = ingest->process, .context = context,
                   .thread = own ? thread->id : 0, .handle = (int64_t)handle,
                   .kind = place_kinds[key.part[0]]);
    if (error)
        return error;
    error = remember(ingest, &ingest->places, &key, id);
    if (error || !context)
        return error;
    key = (struct gv_key){{GV_PLACE_STREAM_CONTEXT, (uint64_t)*id}};
    return gv_known_add(&ingest->places, ingest->database, &key, context);
}

int gv_ingest_intern_place(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                           const struct gv_ingest_api *api, const struct gv_record_call *call)
{
    uint8_t flags = call->head.flags & (GV_RECORD_HAS_STREAM | GV_RECORD_HAS_CONTEXT);
    uint64_t handle = call->context;
    int64_t context = 0, stream = 0;
    int error = 0;

    if (api->kind->flags & GV_CALL_IN_OBJECT && call->object) {
        /* The context that is current at the end says nothing. */
        handle = call->object;
        flags |= GV_RECORD_HAS_CONTEXT;
    }
    if (thread->place_known && thread->place_flags == flags &&
        thread->place_per_thread == api->per_thread && thread->place_stream == call->stream &&
        thread->place_context == handle)
        return 0;
    if (flags & GV_RECORD_HAS_CONTEXT)
        error = gv_ingest_intern_context(ingest, handle, &context);
    if (!error && (flags & GV_RECORD_HAS_STREAM))
        error = intern_stream(ingest, thread, call->stream, api->per_thread, context, &stream);
    struct gv_key key = {.part = {GV_PLACE_STREAM_CONTEXT, (uint64_t)stream}};
    int64_t own = 0;
    if (!error && stream)
        error = gv_known_find(&ingest->places, ingest->database, &key, &own);
    if (error)
        return error;
    bool said = stream && own == context;
    thread->place_known = true;
    thread->place_flags = flags;
    thread->place_per_thread = api->per_thread;
    thread->place_stream = call->stream;
    thread->place_context = handle;
    thread->stream = stream;
    thread->context = said ? 0 : context;
    return 0;
}

/* ---- resuming ---- */

static const struct {
    const char *sql;
    size_t known; /* in struct gv_ingest */
} ingest_loads[] = {
    {sql_threads, offsetof(struct gv_ingest, resting)},
    {sql_places, offsetof(struct gv_ingest, places)},
    {sql_kernels, offsetof(struct gv_ingest, kernels)},
    {sql_modules, offsetof(struct gv_ingest, modules)},
    {sql_gpu_names, offsetof(struct gv_ingest, gpu_names)},
    {sql_gpu_shapes, offsetof(struct gv_ingest, gpu_shapes)},
    {sql_gpu_places, offsetof(struct gv_ingest, gpu_places)},
    {sql_range_texts, offsetof(struct gv_ingest, ranges.texts)},
};

struct gv_ingest_load {
    struct gv_database *database;
    struct gv_known *known;
};

/* A row, and the parts of its key. */
static int load_key(void *context, sqlite3_stmt *row)
{
    const struct gv_ingest_load *load = context;
    struct gv_key key = {{0}};

    for (int i = 1; i < sqlite3_column_count(row); i++)
        key.part[i - 1] = (uint64_t)sqlite3_column_int64(row, i);
    return gv_known_add(load->known, load->database, &key, sqlite3_column_int64(row, 0));
}

int gv_ingest_things_resume(struct gv_ingest *ingest)
{
    struct gv_ingest_load load = {.database = ingest->database};
    int error = 0;

    for (size_t i = 0; i < sizeof(ingest_loads) / sizeof(ingest_loads[0]) && !error; i++) {
        load.known = (void *)((char *)ingest + ingest_loads[i].known);
        error = gv_database_each(ingest->database->handle, ingest_loads[i].sql, &ingest->process, 1,
                                 load_key, &load);
    }
    ingest->inherited = ingest->resumed = true;
    return error;
}
