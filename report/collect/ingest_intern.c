#include "report/collect/ingest.h"

#include "report/store/api_meaning.h"
#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The first part of a key in `places`. */
enum gv_place {
    GV_PLACE_CONTEXT = 1,        /* handle */
    GV_PLACE_STREAM = 2,         /* handle */
    GV_PLACE_LEGACY = 3,         /* context */
    GV_PLACE_PER_THREAD = 4,     /* context, thread */
    GV_PLACE_STREAM_CONTEXT = 5, /* row of a stream -> row of its context */
};

static const char *const gv_place_kinds[] = {
    [GV_PLACE_STREAM] = "created",
    [GV_PLACE_LEGACY] = "legacy default",
    [GV_PLACE_PER_THREAD] = "per-thread default",
};

#define GV_STREAM_LEGACY     1u
#define GV_STREAM_PER_THREAD 2u

static int gv_ingest_find_api(struct gv_ingest *ingest, const char *name, const char *class_name,
                              int64_t *id)
{
    int error, result;
    sqlite3_stmt *find = gv_database_prepare(ingest->database, GV_STATEMENT_API_FIND, &error);

    if (!find)
        return error;
    sqlite3_bind_text(find, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(find, 2, class_name, -1, SQLITE_STATIC);
    result = sqlite3_step(find);
    error = gv_database_error(ingest->database->handle, result);
    *id = result == SQLITE_ROW ? sqlite3_column_int64(find, 0) : 0;
    sqlite3_reset(find);
    if (error || *id)
        return error;
    error = gv_database_run(ingest->database, GV_STATEMENT_API_ADD, "tt", name, class_name);
    *id = gv_database_last_id(ingest->database);
    return error ? error : gv_api_meaning_fill(ingest->database->handle);
}

int gv_ingest_intern_api(struct gv_ingest *ingest, uint32_t api, int64_t *id)
{
    char name[65], class_name[16];
    char name_text[GV_TEXT_REPAIRED_BYTES(64)], class_text[GV_TEXT_REPAIRED_BYTES(16)];
    uint32_t index = api < ingest->reader->names_count ? api : ingest->reader->names_count;
    int error;

    if (ingest->apis[index]) {
        *id = ingest->apis[index];
        return 0;
    }
    gv_spool_reader_name(ingest->reader, index, name, class_name);
    gv_text_repair(name_text, sizeof(name_text), name, sizeof(name));
    gv_text_repair(class_text, sizeof(class_text), class_name, sizeof(class_name));
    error = gv_ingest_find_api(ingest, name_text, class_text, id);
    if (error)
        return error;
    ingest->apis[index] = *id;
    ingest->per_thread[index] = gv_api_is_per_thread(name);
    ingest->kinds[index] = &gv_call_kinds[gv_call_kind_find(name, class_name)];
    return 0;
}

static int gv_ingest_intern_number(struct gv_ingest *ingest, struct gv_known *known,
                                   enum gv_statement add, uint32_t number, int64_t *id)
{
    struct gv_key key = {.part = {number}};
    int error = 0;

    *id = 0;
    if (number)
        error = gv_known_find(known, ingest->database, &key, id);
    if (error || number == 0 || *id)
        return error;
    error = gv_database_run(ingest->database, add, "ii", ingest->process, (int64_t)number);
    if (error)
        return error;
    *id = gv_database_last_id(ingest->database);
    return gv_known_add(known, ingest->database, &key, *id);
}

int gv_ingest_intern_kernel(struct gv_ingest *ingest, uint32_t number, int64_t *id)
{
    return gv_ingest_intern_number(ingest, &ingest->kernels, GV_STATEMENT_KERNEL_ADD, number, id);
}

int gv_ingest_intern_module(struct gv_ingest *ingest, uint32_t number, int64_t *id)
{
    return gv_ingest_intern_number(ingest, &ingest->modules, GV_STATEMENT_MODULE_ADD, number, id);
}

static int gv_ingest_intern_context(struct gv_ingest *ingest, uint64_t handle, int64_t *id)
{
    struct gv_key key = {.part = {GV_PLACE_CONTEXT, handle}};
    int error = 0;

    *id = 0;
    if (handle)
        error = gv_known_find(&ingest->places, ingest->database, &key, id);
    if (error || handle == 0 || *id)
        return error;
    error = gv_database_run(ingest->database, GV_STATEMENT_CONTEXT_ADD, "ii", ingest->process,
                            (int64_t)handle);
    if (error)
        return error;
    *id = gv_database_last_id(ingest->database);
    return gv_known_add(&ingest->places, ingest->database, &key, *id);
}

/* Which stream a handle means. The default streams have no handle of their own: they are one for
 * each context, or for each context and thread. */
static struct gv_key gv_ingest_stream_key(uint64_t handle, bool per_thread, int64_t context,
                                          int64_t thread)
{
    struct gv_key key = {.part = {GV_PLACE_STREAM, handle}};

    if (handle == GV_STREAM_PER_THREAD || (handle == 0 && per_thread))
        key = (struct gv_key){.part = {GV_PLACE_PER_THREAD, (uint64_t)context, (uint64_t)thread}};
    else if (handle == GV_STREAM_LEGACY || handle == 0)
        key = (struct gv_key){.part = {GV_PLACE_LEGACY, (uint64_t)context}};
    return key;
}

static int gv_ingest_remember_stream(struct gv_ingest *ingest, const struct gv_key *key,
                                     int64_t stream, int64_t context)
{
    struct gv_key context_key = {.part = {GV_PLACE_STREAM_CONTEXT, (uint64_t)stream}};
    int error = gv_known_add(&ingest->places, ingest->database, key, stream);

    if (!error && context)
        error = gv_known_add(&ingest->places, ingest->database, &context_key, context);
    return error;
}

static int gv_ingest_intern_stream(struct gv_ingest *ingest, const struct gv_ingest_thread *thread,
                                   uint64_t handle, bool per_thread, int64_t context, int64_t *id)
{
    struct gv_key key = gv_ingest_stream_key(handle, per_thread, context, thread->id);
    bool own = key.part[0] == GV_PLACE_PER_THREAD;
    int error = gv_known_find(&ingest->places, ingest->database, &key, id);

    if (error || *id)
        return error;
    error = gv_database_run(ingest->database, GV_STATEMENT_STREAM_ADD, "izzit", ingest->process,
                            context, own ? thread->id : (int64_t)0, (int64_t)handle,
                            gv_place_kinds[key.part[0]]);
    if (error)
        return error;
    *id = gv_database_last_id(ingest->database);
    return gv_ingest_remember_stream(ingest, &key, *id, context);
}

int gv_ingest_intern_place(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                           const struct gv_record_call *call)
{
    uint8_t flags = call->head.flags & (GV_RECORD_HAS_STREAM | GV_RECORD_HAS_CONTEXT);
    uint32_t api =
        call->head.api < ingest->reader->names_count ? call->head.api : ingest->reader->names_count;
    bool per_thread = ingest->per_thread[api] != 0;
    uint64_t handle = call->context;
    int64_t context = 0, stream = 0;
    int error = 0;

    if (ingest->kinds[api]->flags & GV_CALL_IN_OBJECT && call->object) {
        /* Which one is current by the end says nothing. */
        handle = call->object;
        flags |= GV_RECORD_HAS_CONTEXT;
    }
    if (thread->place_known && thread->place_flags == flags &&
        thread->place_per_thread == per_thread && thread->place_stream == call->stream &&
        thread->place_context == handle)
        return 0;
    if (flags & GV_RECORD_HAS_CONTEXT)
        error = gv_ingest_intern_context(ingest, handle, &context);
    if (!error && (flags & GV_RECORD_HAS_STREAM))
        error = gv_ingest_intern_stream(ingest, thread, call->stream, per_thread, context, &stream);
    struct gv_key key = {.part = {GV_PLACE_STREAM_CONTEXT, (uint64_t)stream}};
    int64_t own = 0;
    if (!error && stream)
        error = gv_known_find(&ingest->places, ingest->database, &key, &own);
    if (error)
        return error;
    bool said = stream && own == context;
    thread->place_known = true;
    thread->place_flags = flags;
    thread->place_per_thread = per_thread;
    thread->place_stream = call->stream;
    thread->place_context = handle;
    thread->stream = stream;
    thread->context = said ? 0 : context;
    return 0;
}

int gv_ingest_each(struct gv_ingest *ingest, enum gv_statement statement,
                   int (*add)(struct gv_ingest *, sqlite3_stmt *))
{
    int error, result;
    sqlite3_stmt *rows = gv_database_prepare(ingest->database, statement, &error);

    if (!rows)
        return error;
    result = sqlite3_bind_int64(rows, 1, ingest->process);
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(rows);
        if (result == SQLITE_ROW && (error = add(ingest, rows)) < 0)
            break;
    }
    if (!error)
        error = gv_database_error(ingest->database->handle, result);
    sqlite3_reset(rows);
    return error;
}

static int gv_ingest_load_context(struct gv_ingest *ingest, sqlite3_stmt *row)
{
    struct gv_key key = {.part = {GV_PLACE_CONTEXT, (uint64_t)sqlite3_column_int64(row, 1)}};

    return gv_known_add(&ingest->places, ingest->database, &key, sqlite3_column_int64(row, 0));
}

static int gv_ingest_load_stream(struct gv_ingest *ingest, sqlite3_stmt *row)
{
    const char *kind = (const char *)sqlite3_column_text(row, 2);
    bool own = kind && strcmp(kind, gv_place_kinds[GV_PLACE_PER_THREAD]) == 0;
    struct gv_key key =
        gv_ingest_stream_key((uint64_t)sqlite3_column_int64(row, 1), own,
                             sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4));

    return gv_ingest_remember_stream(ingest, &key, sqlite3_column_int64(row, 0),
                                     sqlite3_column_int64(row, 3));
}

static int gv_ingest_load_kernel(struct gv_ingest *ingest, sqlite3_stmt *row)
{
    struct gv_key key = {.part = {(uint64_t)sqlite3_column_int64(row, 1)}};

    return gv_known_add(&ingest->kernels, ingest->database, &key, sqlite3_column_int64(row, 0));
}

static int gv_ingest_load_module(struct gv_ingest *ingest, sqlite3_stmt *row)
{
    struct gv_key key = {.part = {(uint64_t)sqlite3_column_int64(row, 1)}};

    return gv_known_add(&ingest->modules, ingest->database, &key, sqlite3_column_int64(row, 0));
}

int gv_ingest_intern_load_all(struct gv_ingest *ingest)
{
    int error = gv_ingest_load_threads(ingest);

    if (!error)
        error = gv_ingest_each(ingest, GV_STATEMENT_CONTEXT_ALL, gv_ingest_load_context);
    if (!error)
        error = gv_ingest_each(ingest, GV_STATEMENT_STREAM_ALL, gv_ingest_load_stream);
    if (!error)
        error = gv_ingest_each(ingest, GV_STATEMENT_KERNEL_ALL, gv_ingest_load_kernel);
    if (!error)
        error = gv_ingest_each(ingest, GV_STATEMENT_MODULE_ALL, gv_ingest_load_module);
    if (!error)
        error = gv_ingest_gpu_load_all(ingest);
    return error;
}
