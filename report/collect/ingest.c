#include "report/collect/ingest.h"

#include "report/analyse/stalls/in_flight.h"
#include "report/collect_ingest.inc"
#include "report/store/api_meaning.h"
#include "report/store/array.h"
#include "report/store/row.h"
#include "trace/mix.h"
#include "trace/schedstat.h"
#include "trace/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t gv_ingest_time(const struct gv_ingest *ingest, uint64_t clock_ns)
{
    return (int64_t)(clock_ns - ingest->epoch_ns);
}

int gv_ingest_remember(struct gv_ingest *ingest, struct gv_known *known, const struct gv_key *key,
                       int64_t *id)
{
    *id = gv_database_last_id(ingest->database);
    return gv_known_add(known, ingest->database, key, *id);
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

/* The same as valid UTF-8 in `out`, or NULL if empty. */
static const char *read_text(const union gv_record *records, size_t count, size_t at,
                             uint32_t bytes, char *out, size_t size)
{
    char raw[GV_RECORD_TEXT_LIMIT];
    size_t used = read_bytes(records, count, at, bytes, raw, sizeof(raw));

    return gv_text_repair(out, size, raw, used) ? out : NULL;
}

/* ---- threads ---- */

/*
 * A process's threads. Those with a segment of the spool are in memory. Of the others, which have
 * ended or rest, only the row is known: a program may have a new one for each task.
 */

#define GV_INGEST_THREADS 1024u

static int add_thread(struct gv_ingest *ingest, const struct gv_spool_view *view, int64_t id,
                      uint64_t position, const char *name)
{
    struct gv_key key = {.part = {view->thread}};

    int error = gv_array_room(&ingest->thread_list, ingest->thread_count, &ingest->thread_room,
                              sizeof(*ingest->thread_list));

    if (error)
        return error;
    struct gv_ingest_thread *thread = &ingest->thread_list[ingest->thread_count++];
    memset(thread, 0, sizeof(*thread));
    thread->serial = view->thread;
    thread->tid = view->tid;
    thread->id = id;
    thread->position = position;
    thread->stored_position = position;
    strncpy(thread->name, name, sizeof(thread->name) - 1);
    gv_ingest_range_thread(ingest, thread);
    return gv_key_map_add(&ingest->threads, &key, (int64_t)ingest->thread_count);
}

/* A thread that wakes up, from its row. */
static int wake_thread(struct gv_ingest *ingest, const struct gv_spool_view *view, int64_t id)
{
    int result, error;
    sqlite3_stmt *row = gv_database_prepare(ingest->database, GV_STATEMENT_THREAD_READ, &error);

    if (!row)
        return error;
    result = sqlite3_bind_int64(row, 1, id);
    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 1);
        error =
            add_thread(ingest, view, id, (uint64_t)sqlite3_column_int64(row, 0), name ? name : "");
    } else {
        error = gv_database_error(ingest->database->handle, result);
    }
    sqlite3_reset(row);
    return error || result == SQLITE_ROW ? error : -EPROTO;
}

static int find_thread(struct gv_ingest *ingest, const struct gv_spool_view *view, const char *name)
{
    struct gv_key key = {.part = {view->thread}};
    int64_t id;
    int error = gv_known_find(&ingest->resting, ingest->database, &key, &id);

    if (error)
        return error;
    if (id)
        return wake_thread(ingest, view, id);
    error = GV_ADD(ingest->database, thread, .process = ingest->process,
                   .serial = (int64_t)view->thread, .tid = view->tid, .name = name);
    return error ? error
                 : add_thread(ingest, view, gv_database_last_id(ingest->database), 0, view->comm);
}

static int intern_thread(struct gv_ingest *ingest, const struct gv_spool_view *view,
                         struct gv_ingest_thread **thread)
{
    struct gv_key key = {.part = {view->thread}};
    int64_t place = gv_key_map_find(&ingest->threads, &key);
    char name[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_COMM_BYTES)];
    int error = 0;

    gv_text_repair(name, sizeof(name), view->comm, sizeof(view->comm));
    if (place == 0) {
        error = find_thread(ingest, view, name);
        if (error)
            return error;
        place = (int64_t)ingest->thread_count;
    }
    *thread = &ingest->thread_list[place - 1];
    if (strcmp((*thread)->name, view->comm) != 0) {
        strcpy((*thread)->name, view->comm);
        error =
            gv_database_run(ingest->database, GV_STATEMENT_THREAD_NAME, "it", (*thread)->id, name);
    }
    return error;
}

/* From now on only its row is known. */
static int put_to_rest(struct gv_ingest *ingest, const struct gv_ingest_thread *thread)
{
    struct gv_key key = {.part = {thread->serial}};
    int64_t id;
    int error = gv_known_find(&ingest->resting, ingest->database, &key, &id);

    return error || id ? error : gv_known_add(&ingest->resting, ingest->database, &key, thread->id);
}

static int forget_threads(struct gv_ingest *ingest)
{
    size_t kept = 0;
    int error = 0;

    if (ingest->thread_count < GV_INGEST_THREADS || ingest->thread_count < ingest->thread_most)
        return 0;
    for (size_t i = 0; i < ingest->view_count; i++) {
        struct gv_key key = {.part = {ingest->views[i].thread}};
        int64_t place = gv_key_map_find(&ingest->threads, &key);
        if (place)
            ingest->thread_list[place - 1].awake = true;
    }
    gv_key_map_free(&ingest->threads);
    for (size_t i = 0; i < ingest->thread_count; i++) {
        struct gv_ingest_thread thread = ingest->thread_list[i];
        struct gv_key key = {.part = {thread.serial}};

        if (error || thread.awake || thread.pending_count > 0) {
            thread.awake = false;
            ingest->thread_list[kept++] = thread;
            error = error ? error : gv_key_map_add(&ingest->threads, &key, (int64_t)kept);
        } else {
            free(thread.pending);
            error = put_to_rest(ingest, &thread);
        }
    }
    ingest->thread_count = kept;
    ingest->thread_most = 2 * kept;
    return error;
}

static void close_threads(struct gv_ingest *ingest)
{
    for (size_t i = 0; i < ingest->thread_count; i++)
        free(ingest->thread_list[i].pending);
    free(ingest->thread_list);
    gv_key_map_free(&ingest->threads);
    gv_known_free(&ingest->resting, ingest->database);
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

static int intern_api(struct gv_ingest *ingest, uint32_t number, const struct gv_ingest_api **api)
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
    return find_api(ingest, name_text, class_text, &known->row);
}

/* 1: it is to be added; 0: *id is its row, or 0 if there is none; or -errno. */
static int is_new(struct gv_ingest *ingest, struct gv_known *known, const struct gv_key *key,
                  uint64_t number, int64_t *id)
{
    int error;

    *id = 0;
    if (number == 0)
        return 0;
    error = gv_known_find(known, ingest->database, key, id);
    return error ? error : !*id;
}

static int intern_kernel(struct gv_ingest *ingest, uint32_t number, int64_t *id)
{
    const struct gv_key key = {{number}};
    int error = is_new(ingest, &ingest->kernels, &key, number, id);

    if (error <= 0)
        return error;
    error = GV_ADD(ingest->database, kernel, .process = ingest->process, .number = number);
    return error ? error : gv_ingest_remember(ingest, &ingest->kernels, &key, id);
}

static int intern_module(struct gv_ingest *ingest, uint32_t number, int64_t *id)
{
    const struct gv_key key = {{number}};
    int error = is_new(ingest, &ingest->modules, &key, number, id);

    if (error <= 0)
        return error;
    error = GV_ADD(ingest->database, module, .process = ingest->process, .number = number);
    return error ? error : gv_ingest_remember(ingest, &ingest->modules, &key, id);
}

static int intern_context(struct gv_ingest *ingest, uint64_t handle, int64_t *id)
{
    const struct gv_key key = {{GV_PLACE_CONTEXT, handle}};
    int error = is_new(ingest, &ingest->places, &key, handle, id);

    if (error <= 0)
        return error;
    error =
        GV_ADD(ingest->database, context, .process = ingest->process, .handle = (int64_t)handle);
    return error ? error : gv_ingest_remember(ingest, &ingest->places, &key, id);
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
    error = gv_ingest_remember(ingest, &ingest->places, &key, id);
    if (error || !context)
        return error;
    key = (struct gv_key){{GV_PLACE_STREAM_CONTEXT, (uint64_t)*id}};
    return gv_known_add(&ingest->places, ingest->database, &key, context);
}

static int intern_place(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
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
        error = intern_context(ingest, handle, &context);
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

static int load_all(struct gv_ingest *ingest)
{
    struct gv_ingest_load load = {.database = ingest->database};
    int error = 0;

    for (size_t i = 0; i < sizeof(ingest_loads) / sizeof(ingest_loads[0]) && !error; i++) {
        load.known = (void *)((char *)ingest + ingest_loads[i].known);
        error = gv_database_each(ingest->database->handle, ingest_loads[i].sql, &ingest->process, 1,
                                 load_key, &load);
    }
    ingest->inherited = ingest->resumed = true;
    return error ? error : gv_ingest_ranges_resume(ingest);
}

/* ---- waiting for a CPU ---- */

/* Subtracts everything that may be outside of the call. */
static uint64_t delay_less(uint64_t delay_ns, uint64_t other_ns)
{
    return delay_ns > other_ns ? delay_ns - other_ns : 0;
}

uint64_t gv_ingest_delay_least(uint64_t start_ns, uint64_t end_ns,
                               const struct gv_delay_reading *end,
                               const struct gv_delay_reading *earlier, uint64_t inside_ns)
{
    uint64_t behind_ns = end->before_ns - end_ns, least_ns = 0;

    if (end_ns < start_ns || end->before_ns < end_ns)
        return 0;
    if (inside_ns <= end->delay_ns)
        least_ns = delay_less(end->delay_ns - inside_ns, behind_ns);
    if (earlier && earlier->after_ns <= start_ns && earlier->delay_ns <= end->delay_ns) {
        uint64_t before_ns = start_ns - earlier->after_ns;
        uint64_t since_ns =
            delay_less(delay_less(end->delay_ns - earlier->delay_ns, behind_ns), before_ns);
        least_ns = since_ns > least_ns ? since_ns : least_ns;
    }
    /* The Linux kernel's clock and ours may differ slightly. */
    return least_ns < end_ns - start_ns ? least_ns : end_ns - start_ns;
}

/* For a thread of another process. False: the Linux kernel does not report it. */
static bool read_delay(uint32_t pid, uint32_t tid, uint64_t *delay_ns)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && gv_schedstat_read(fd, delay_ns);
}

/*
 * How long threads waited for a CPU inside slow calls. A program's thread reports after such a call
 * how long it has waited so far. Two such readings bound the time between them. A reading by the
 * collector during the call bounds the rest of it.
 *
 * The collector's readings are useful only inside calls: a thread that waits at that moment has not
 * been counted yet, and a wait that began before the call would be attributed to the call.
 */

/* Threads to ask the Linux kernel about in one look. */
#define GV_DELAY_READS 64u

static const struct gv_delay_sight *delay_sight_of(const struct gv_ingest *ingest, uint64_t thread,
                                                   uint64_t call_start_ns)
{
    for (size_t i = 0; i < GV_DELAY_SIGHTS; i++)
        if (ingest->delay_sights[i].thread == thread &&
            ingest->delay_sights[i].call_start_ns == call_start_ns)
            return &ingest->delay_sights[i];
    return NULL;
}

static bool delay_is_in(const struct gv_ingest *ingest, uint32_t slot,
                        const struct gv_spool_flight *call)
{
    struct gv_spool_flight now;

    return gv_spool_reader_flight(ingest->reader, slot, &now) && now.thread == call->thread &&
           now.start_ns == call->start_ns;
}

void gv_ingest_delay_look(struct gv_ingest *ingest, uint32_t pid)
{
    uint32_t reads = 0;

    for (uint32_t i = 0; i < ingest->reader->slots_count && reads < GV_DELAY_READS; i++) {
        struct gv_spool_flight call;
        uint64_t delay_ns;

        if (!gv_spool_reader_flight(ingest->reader, i, &call) ||
            delay_sight_of(ingest, call.thread, call.start_ns))
            continue;
        reads++;
        if (!read_delay(pid, call.tid, &delay_ns) || !delay_is_in(ingest, i, &call))
            continue;
        ingest->delay_sights[ingest->delay_sight_next++ % GV_DELAY_SIGHTS] =
            (struct gv_delay_sight){call.thread, call.start_ns, delay_ns};
    }
}

static int delay_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                      const struct gv_record_run_delay *record, const struct gv_record_call *call,
                      int64_t id)
{
    const struct gv_delay_reading now = {record->after_ns, record->before_ns, record->delay_ns};
    const struct gv_delay_reading earlier = thread->delay;
    const struct gv_delay_sight *sight = delay_sight_of(ingest, thread->serial, call->start_ns);
    uint64_t least_ns;

    thread->delay = now;
    /* The call of that reading may be lost, and this may be the next one. */
    if (record->call_start_ns != call->start_ns)
        return 0;
    least_ns = gv_ingest_delay_least(call->start_ns, call->start_ns + call->duration_ns, &now,
                                     earlier.before_ns ? &earlier : NULL,
                                     sight ? sight->delay_ns : UINT64_MAX);
    if (least_ns == 0)
        return 0;
    return GV_ADD(ingest->database, call_delay, .call = id, .delay_ns = (int64_t)least_ns);
}

/* ---- one group of records ---- */

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
    int error = intern_context(ingest, record->context, &context);

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

static int store_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                      const struct gv_record_call *call, int64_t module,
                      struct gv_ingest_stack *stack)
{
    int64_t id = *ingest->next_call;
    const struct gv_ingest_api *api;
    int error = intern_api(ingest, call->head.api, &api);
    struct gv_row_call *row;

    if (!error)
        error = intern_place(ingest, thread, api, call);
    if (!error && call->kernel != thread->kernel_number) {
        error = intern_kernel(ingest, call->kernel, &thread->kernel);
        thread->kernel_number = call->kernel;
    }
    if (!error)
        error = gv_call_batch_next(&ingest->calls, ingest->database, &row);
    if (error)
        return error;
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
    (*ingest->next_call)++;
    error = gv_ingest_range_call(ingest, thread, id);
    ingest->cost.hooked++;
    ingest->cost.correlated += call->correlation != 0;
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
    int error = store_call(ingest, thread, &call, 0, stack);

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
    int error = intern_api(ingest, load->head.api, &api);

    if (!error)
        error = intern_module(ingest, load->module, module);
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
    return expect_call(thread, gv_database_last_id(ingest->database), load->outer_start_ns);
}

static int store_name(struct gv_ingest *ingest, const struct gv_record_name *record,
                      const char *name)
{
    int64_t kernel, module;
    int error = intern_kernel(ingest, record->kernel, &kernel);

    if (!error)
        error = intern_module(ingest, record->module, &module);
    if (error || kernel == 0)
        return error;
    return gv_database_run(ingest->database, GV_STATEMENT_KERNEL_NAME, "itzzi", kernel, name,
                           module, (int64_t)record->handle, gv_ingest_time(ingest, record->at_ns));
}

static int store_unload(struct gv_ingest *ingest, const struct gv_record_unload *unload,
                        int64_t *module)
{
    int error = intern_module(ingest, unload->module, module);

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

static int store_group(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                       const union gv_record *records, size_t count)
{
    char text[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)];
    int64_t module = 0; /* made or unloaded by the group's call */
    uint64_t outer_start_ns = 0;
    struct gv_ingest_stack stack = {0};
    const struct gv_record_run_delay *delay = NULL;
    const struct gv_record_host *launch = NULL;
    const struct gv_record_collective *collective = NULL;
    int64_t id;
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        const union gv_record *record = &records[i];
        int64_t loaded = 0;
        uint32_t bytes;

        switch (record->head.kind) {
        case GV_RECORD_CALL:
            /* The call of that load may be lost, and this may be the next one. */
            if (outer_start_ns && outer_start_ns != record->call.start_ns)
                module = 0;
            outer_start_ns = 0;
            id = *ingest->next_call;
            error = store_call(ingest, thread, &record->call, module, &stack);
            if (!error && delay)
                error = delay_call(ingest, thread, delay, &record->call, id);
            if (!error && launch)
                error = store_host_launch(ingest, launch, &record->call, id);
            if (!error && i > 0)
                error = store_inside(ingest, records, i, id);
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
            error = store_load(
                ingest, thread, &record->load,
                read_text(records, count, i, record->load.text_bytes, text, sizeof(text)), &loaded);
            if (!(record->head.flags & GV_RECORD_NESTED)) {
                module = loaded;
                outer_start_ns = record->load.outer_start_ns;
            }
            break;
        case GV_RECORD_NAME:
            error = store_name(
                ingest, &record->name,
                read_text(records, count, i, record->name.text_bytes, text, sizeof(text)));
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
            error =
                gv_ingest_idle(ingest, &record->idle_sample,
                               read_text(records, count, i, record->head.api, text, sizeof(text)));
            break;
        case GV_RECORD_CHANGE:
            error = gv_ingest_change(ingest, record->change.number, record->change.at_ns);
            break;
        case GV_RECORD_RANGE_TEXT:
            error = gv_ingest_range_text(
                ingest, record->range_text.number,
                read_text(records, count, i, record->range_text.text_bytes, text, sizeof(text)));
            break;
        case GV_RECORD_RANGE:
            error =
                gv_ingest_range(ingest, thread, &record->range,
                                read_text(records, count, i, record->head.api, text, sizeof(text)));
            break;
        case GV_RECORD_RANGE_END:
            error = gv_ingest_range_end(ingest, thread, &record->range_end);
            break;
        default: /* text is read with its owner; unknown kinds are ignored */
            error = gv_ingest_gpu(ingest, record,
                                  gv_ingest_gpu_has_text(record, &bytes)
                                      ? read_text(records, count, i, bytes, text, sizeof(text))
                                      : NULL);
            break;
        }
    }
    return error;
}

/* ---- the process: what was lost, calls in flight, the end ---- */

static int store_loss(struct gv_ingest *ingest, const char *what, const char *class_name,
                      uint64_t count, uint64_t stored)
{
    if (count == stored && (ingest->status_stored || count == 0))
        return 0;
    return GV_ADD(ingest->database, loss, .process = ingest->process, .what = what,
                  .class = class_name, .count = (int64_t)count);
}

static int store_lost_calls(struct gv_ingest *ingest, const struct gv_spool_status *now)
{
    int error = 0;

    for (uint32_t i = 0; i < GV_SPOOL_CLASSES && !error; i++) {
        char class_name[16], text[GV_TEXT_REPAIRED_BYTES(16)];

        if (!gv_spool_reader_class(ingest->reader, i, class_name))
            snprintf(class_name, sizeof(class_name), "class %u", i);
        gv_text_repair(text, sizeof(text), class_name, sizeof(class_name));
        error = store_loss(ingest, "call", text, now->lost_calls[i], ingest->status.lost_calls[i]);
    }
    return error;
}

static int store_environment(struct gv_ingest *ingest)
{
    static const char *const names[GV_ENVIRONMENT_COUNT] = {
#define GV_ENVIRONMENT(name, ...) #name,
#include "trace/environment.def"
    };
    char value[GV_SPOOL_VARIABLE_BYTES], text[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_VARIABLE_BYTES)];
    int error =
        gv_database_run(ingest->database, GV_STATEMENT_VARIABLE_CLEAR, "i", ingest->process);

    for (int i = 0; i < GV_ENVIRONMENT_COUNT && !error; i++) {
        gv_spool_reader_variable(ingest->reader, (enum gv_environment)i, value);
        if (value[0] != '=')
            continue;
        gv_text_repair(text, sizeof(text), value + 1, sizeof(value) - 1);
        error = GV_ADD(ingest->database, variable, .process = ingest->process, .name = names[i],
                       .value = text);
    }
    return error;
}

int gv_ingest_status(struct gv_ingest *ingest)
{
    struct gv_spool_status now, *old = &ingest->status;
    int error = 0;

    gv_spool_reader_status(ingest->reader, &now);
    const struct {
        const char *what, *class_name;
        uint64_t count, stored;
    } losses[] = {
        {"GPU record", "dropped by CUPTI", now.gpu_dropped, old->gpu_dropped},
        {"GPU record", "", now.gpu_lost, old->gpu_lost},
        {"name", "", now.lost_names, old->lost_names},
        {"load", "", now.lost_loads, old->lost_loads},
        {"thread", "", now.lost_threads, old->lost_threads},
        {"stack", "no room", now.stacks_not_taken, old->stacks_not_taken},
        {"stack", "of other threads", now.lost_stacks, old->lost_stacks},
        {"Python stack", "", now.lost_python_stacks, old->lost_python_stacks},
        {"host function", "", now.lost_host_functions, old->lost_host_functions},
        {"range", "", now.lost_ranges, old->lost_ranges},
    };
    if (now.driver_version && now.driver_version != old->driver_version)
        error = gv_database_run(ingest->database, GV_STATEMENT_PROCESS_DRIVER, "ii",
                                ingest->process, (int64_t)now.driver_version);
    if (!error && now.environment_reads != ingest->status.environment_reads)
        error = store_environment(ingest);
    if (!error)
        error = gv_ingest_gpu_status(ingest, &now);
    if (!error)
        error = gv_ingest_control(ingest);
    if (!error)
        error = store_lost_calls(ingest, &now);
    if (!error)
        error = gv_process_cost_store(&ingest->cost, &now);
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]) && !error; i++)
        error = store_loss(ingest, losses[i].what, losses[i].class_name, losses[i].count,
                           losses[i].stored);
    *old = now;
    ingest->status_stored = !error;
    return error;
}

static int store_flight(struct gv_ingest *ingest, const struct gv_spool_flight *flight)
{
    char name[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_COMM_BYTES)];
    const struct gv_ingest_api *api;
    int64_t kernel = 0;
    /* The last look at the process may have been before the call began. */
    bool seen = ingest->seen_ns > flight->start_ns;
    int64_t seen_ns = seen ? gv_ingest_time(ingest, ingest->seen_ns) : 0;
    int error = intern_api(ingest, flight->api, &api);

    gv_text_repair(name, sizeof(name), flight->comm, sizeof(flight->comm));
    if (!error && flight->detail <= UINT32_MAX)
        error = intern_kernel(ingest, (uint32_t)flight->detail, &kernel);
    if (!error)
        error =
            GV_ADD(ingest->database, flight, .process = ingest->process,
                   .thread_serial = (int64_t)flight->thread, .tid = flight->tid, .name = name,
                   .api = api->row, .start_ns = gv_ingest_time(ingest, flight->start_ns),
                   .kernel = kernel, .stream_handle = (int64_t)flight->stream, .seen_ns = seen_ns);
    return error;
}

/* A hash of the threads in calls, and their starts. */
static uint64_t shape_of_flights(struct gv_ingest *ingest)
{
    struct gv_spool_flight flight;
    uint64_t shape = 0;
    bool any = false;

    for (uint32_t i = 0; i < ingest->reader->slots_count; i++)
        if (gv_spool_reader_flight(ingest->reader, i, &flight)) {
            shape = gv_mix(shape, flight.thread);
            shape = gv_mix(shape, flight.start_ns);
            any = true;
        }
    return any ? shape | 1 : 0;
}

int gv_ingest_flights_clear(struct gv_ingest *ingest)
{
    ingest->flights_shape = 0;
    return gv_database_run(ingest->database, GV_STATEMENT_FLIGHT_CLEAR, "i", ingest->process);
}

int gv_ingest_flights(struct gv_ingest *ingest)
{
    uint64_t shape = shape_of_flights(ingest);
    int error;

    /* Finding causes reads much of the trace, so it is done once for each set of calls. */
    if (shape && shape == ingest->flights_shape)
        return gv_database_run(ingest->database, GV_STATEMENT_FLIGHT_SEEN, "iz", ingest->process,
                               ingest->seen_ns ? gv_ingest_time(ingest, ingest->seen_ns) : 0);
    error = gv_ingest_flights_clear(ingest);
    for (uint32_t i = 0; i < ingest->reader->slots_count && !error; i++) {
        struct gv_spool_flight flight;

        if (gv_spool_reader_flight(ingest->reader, i, &flight))
            error = store_flight(ingest, &flight);
    }
    if (!error)
        error = gv_flight_causes(ingest->database, ingest->process);
    if (!error)
        ingest->flights_shape = shape;
    return error;
}

/* Nobody knows how full they were. */
static int store_cut(struct gv_ingest *ingest)
{
    uint64_t most = (uint64_t)ingest->reader->segments_cut * GV_SPOOL_SEGMENT_RECORDS;

    if (most == 0)
        return 0;
    return GV_ADD(ingest->database, loss, .process = ingest->process, .what = "record",
                  .class = "at most: the spool was cut", .count = (int64_t)most);
}

int gv_ingest_end(struct gv_ingest *ingest, bool became_another)
{
    struct gv_spool_status status;
    int error;

    gv_spool_reader_status(ingest->reader, &status);
    bool knows_code = status.exit_code_known && !status.dying;
    bool ended = (status.exiting || knows_code) && !status.dying;
    int64_t end_ns = status.ended_ns ? gv_ingest_time(ingest, status.ended_ns) : 0;
    const char *how = became_another ? "exec" : ended ? "exit" : "killed";
    int64_t killer = status.dying ? status.exit_signal : 0, code = status.exit_code;
    error = gv_database_run(ingest->database, GV_STATEMENT_PROCESS_END, "iztpi", ingest->process,
                            end_ns, how, knows_code ? &code : NULL, killer);
    if (!error)
        error = gv_ingest_status(ingest);
    if (!error)
        error = store_cut(ingest);
    if (!error)
        error = gv_ingest_flights(ingest);
    if (!error)
        error = gv_ingest_idle_end(ingest);
    if (!error)
        error = gv_ingest_gpu_end(ingest, &ingest->scanned);
    if (!error)
        error = gv_python_code_end(&ingest->python_codes);
    return error;
}

/* ---- segments ---- */

/* A longer group means damage; it is stored as if it ended here. */
#define GV_INGEST_GROUP_LIMIT 65536u

/* Joins arguments (NUL after each), quoted for a shell. */
static void join_arguments(const struct gv_spool_facts *facts, char *out, size_t size)
{
    size_t used = 0;

    for (uint32_t at = 0; at < facts->arguments_bytes && used + 4 < size;) {
        const char *argument = facts->arguments + at;
        bool plain = *argument && !strpbrk(argument, " \t\n\"'\\$`&|;<>(){}*?[]~#!");

        if (used > 0)
            out[used++] = ' ';
        if (!plain)
            out[used++] = '\'';
        for (const char *c = argument; *c && used + 6 < size; c++) {
            if (*c == '\'' && !plain) {
                memcpy(out + used, "'\\''", 4);
                used += 4;
            } else {
                out[used++] = *c;
            }
        }
        if (!plain)
            out[used++] = '\'';
        at += (uint32_t)strlen(argument) + 1;
    }
    out[used] = '\0';
}

static int add_rank(struct gv_ingest *ingest, const struct gv_rank *rank)
{
    const char *const texts[] = {rank->job, rank->host, rank->container}, *known[3];
    char repaired[3][GV_TEXT_REPAIRED_BYTES(GV_RANK_TEXT_BYTES)];

    for (int i = 0; i < 3; i++)
        known[i] = gv_text_repair(repaired[i], sizeof(repaired[i]), texts[i], GV_RANK_TEXT_BYTES)
                       ? repaired[i]
                       : NULL;
    return GV_ADD(ingest->database, process_rank, .process = ingest->process,
                  .rank = gv_row_known(rank->rank), .local_rank = gv_row_known(rank->local_rank),
                  .world_size = gv_row_known(rank->world_size), .job = known[0], .host = known[1],
                  .container = known[2]);
}

static int add_process(struct gv_ingest *ingest, const struct gv_spool_facts *facts)
{
    char joined[2 * GV_SPOOL_ARGUMENTS_BYTES];
    static char arguments[GV_TEXT_REPAIRED_BYTES(sizeof(joined))];
    char program[GV_TEXT_REPAIRED_BYTES(sizeof(facts->program))];
    char executable[GV_TEXT_REPAIRED_BYTES(sizeof(facts->executable))];
    char directory[GV_TEXT_REPAIRED_BYTES(sizeof(facts->directory))];

    join_arguments(facts, joined, sizeof(joined));
    gv_text_repair(arguments, sizeof(arguments), joined, sizeof(joined));
    gv_text_repair(program, sizeof(program), facts->program, sizeof(facts->program));
    gv_text_repair(executable, sizeof(executable), facts->executable, sizeof(facts->executable));
    gv_text_repair(directory, sizeof(directory), facts->directory, sizeof(facts->directory));
    int error =
        GV_ADD(ingest->database, process, .identity = (int64_t)facts->identity, .pid = facts->pid,
               .parent_pid = facts->parent_pid, .start_ticks = (int64_t)facts->process_start_ticks,
               .program = program, .executable = executable, .arguments = arguments,
               .directory = directory, .forked = facts->forked,
               .start_ns = gv_ingest_time(ingest, facts->attached_ns));
    ingest->process = gv_database_last_id(ingest->database);
    return error ? error : add_rank(ingest, &facts->rank);
}

int gv_ingest_open(struct gv_ingest *ingest, struct gv_database *database,
                   struct gv_spool_reader *reader, int64_t *next_call)
{
    struct gv_spool_facts facts;
    int error;

    memset(ingest, 0, sizeof(*ingest));
    ingest->database = database;
    ingest->reader = reader;
    ingest->next_call = next_call;
    ingest->changed_ns = INT64_MIN; /* another collector may have stopped in between */
    gv_spool_reader_facts(reader, &facts);
    ingest->epoch_ns = facts.clock.epoch_ns;
    gv_process_cost_open(&ingest->cost, database, reader, &facts.clock);
    ingest->apis = calloc((size_t)reader->names_count + 1, sizeof(*ingest->apis));
    if (!ingest->apis)
        return -ENOMEM;
    error = gv_database_find(database, GV_STATEMENT_PROCESS_FIND, &ingest->process, "i",
                             (int64_t)facts.identity);
    if (error)
        return error;
    error = ingest->process ? load_all(ingest) : add_process(ingest, &facts);
    ingest->cost.process = ingest->process;
    ingest->python_codes =
        (struct gv_python_codes){.database = database, .process = ingest->process};
    return error;
}

void gv_ingest_close(struct gv_ingest *ingest)
{
    free(ingest->apis);
    free(ingest->views);
    free(ingest->group);
    free(ingest->held.list);
    free(ingest->consumed.list);
    close_threads(ingest);
    gv_known_free(&ingest->places, ingest->database);
    gv_known_free(&ingest->kernels, ingest->database);
    gv_known_free(&ingest->modules, ingest->database);
    gv_ingest_gpu_close(ingest);
    gv_ingest_idle_close(ingest);
    gv_ingest_stacks_close(ingest);
    gv_python_code_close(&ingest->python_codes);
    gv_ingest_ranges_close(ingest);
    memset(ingest, 0, sizeof(*ingest));
}

static int compare_views(const void *left, const void *right)
{
    const struct gv_spool_view *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return 0;
}

int gv_ingest_scan(struct gv_ingest *ingest)
{
    int error = gv_spool_reader_refresh(ingest->reader);

    if (error)
        return error;
    gv_spool_reader_status(ingest->reader, &ingest->scanned);
    ingest->view_count = ingest->view_next = 0;
    ingest->current = NULL;
    ingest->group_count = ingest->held.count = 0;
    while (!error && ingest->reader->segments > ingest->view_room)
        error = gv_array_room(&ingest->views, ingest->view_room, &ingest->view_room,
                              sizeof(*ingest->views));
    if (error)
        return error;
    for (uint32_t i = 0; i < ingest->reader->segments; i++)
        if (gv_spool_reader_look(ingest->reader, i, &ingest->views[ingest->view_count]))
            ingest->view_count++;
    if (ingest->view_count > 1)
        qsort(ingest->views, ingest->view_count, sizeof(*ingest->views), compare_views);
    return forget_threads(ingest);
}

static int keep_segment(struct gv_ingest_segments *segments, uint32_t index)
{
    int error =
        gv_array_room(&segments->list, segments->count, &segments->room, sizeof(*segments->list));

    if (!error)
        segments->list[segments->count++] = index;
    return error;
}

static int store_held(struct gv_ingest *ingest)
{
    int error = store_group(ingest, ingest->current, ingest->group, ingest->group_count);

    ingest->current->position += ingest->group_count;
    ingest->group_count = 0;
    for (size_t i = 0; i < ingest->held.count && !error; i++)
        error = keep_segment(&ingest->consumed, ingest->held.list[i]);
    ingest->held.count = 0;
    return error;
}

static int hold_record(struct gv_ingest *ingest, const union gv_record *record)
{
    int error = gv_array_room(&ingest->group, ingest->group_count, &ingest->group_room,
                              sizeof(*ingest->group));

    if (error)
        return error;
    ingest->group[ingest->group_count++] = *record;
    if ((record->head.flags & GV_RECORD_MORE) && ingest->group_count < GV_INGEST_GROUP_LIMIT)
        return 0;
    return store_held(ingest);
}

/* Counts records that are gone for ever: their file is gone or damaged. */
static int store_gap(struct gv_ingest *ingest, uint64_t from, uint64_t to)
{
    struct gv_ingest_thread *thread = ingest->current;
    int error = 0;

    /* What comes before the gap is not continued. */
    if (ingest->group_count > 0)
        error = store_held(ingest);
    thread->position = to;
    return error ? error
                 : gv_database_run(ingest->database, GV_STATEMENT_LOSS_ADD, "itti", ingest->process,
                                   "record", "missing in the spool", (int64_t)(to - from));
}

/*
 * Reads the new records of one segment. In a living process, a missing segment before it was still
 * free when the scan passed it, so the thread waits for the next scan. Only in an ended process is
 * it a real gap.
 */
static int read_segment(struct gv_ingest *ingest, const struct gv_spool_view *view, bool final,
                        size_t *stored)
{
    struct gv_ingest_thread *thread = ingest->current;
    bool closed;
    uint32_t published = gv_spool_reader_published(ingest->reader, view->index, &closed);
    uint64_t next = thread->position + ingest->group_count;
    int error = 0;

    if (!final)
        gv_spool_reader_prepare(ingest->reader); /* a flood uses them up while we are here */
    if (view->first_record > next && !final)
        ingest->waits = true;
    if (ingest->waits)
        return 0;
    if (view->first_record > next) {
        error = store_gap(ingest, next, view->first_record);
        next = view->first_record;
    }
    uint64_t skip = next - view->first_record;
    for (uint32_t i = skip < published ? (uint32_t)skip : published; i < published && !error; i++) {
        union gv_record record;

        gv_spool_reader_record(ingest->reader, view->index, i, &record);
        error = hold_record(ingest, &record);
        (*stored)++;
    }
    if (error || !closed)
        return error;
    return keep_segment(ingest->group_count ? &ingest->held : &ingest->consumed, view->index);
}

/* Ends the run of the current thread's segments. */
static int leave_thread(struct gv_ingest *ingest, bool final)
{
    int error = 0;

    if (!ingest->current)
        return 0;
    if (final && ingest->group_count > 0)
        error = store_held(ingest);
    ingest->group_count = ingest->held.count = 0;
    return error;
}

static int store_position(struct gv_ingest *ingest)
{
    struct gv_ingest_thread *thread = ingest->current;
    int error;

    if (!thread || thread->position == thread->stored_position)
        return 0;
    error = gv_database_run(ingest->database, GV_STATEMENT_THREAD_RECORDS, "ii", thread->id,
                            (int64_t)thread->position);
    thread->stored_position = thread->position;
    return error;
}

int gv_ingest_step(struct gv_ingest *ingest, size_t limit, bool final, bool *done, size_t *stored)
{
    size_t count = 0;
    int error = 0;

    ingest->final = final;
    while (!error && ingest->view_next < ingest->view_count && count < limit) {
        const struct gv_spool_view *view = &ingest->views[ingest->view_next++];

        if (!ingest->current || ingest->current->serial != view->thread) {
            error = leave_thread(ingest, final);
            if (!error)
                error = store_position(ingest);
            if (!error)
                error = intern_thread(ingest, view, &ingest->current);
            ingest->waits = false;
        }
        if (!error)
            error = read_segment(ingest, view, final, &count);
    }
    *done = ingest->view_next == ingest->view_count;
    if (!error && *done)
        error = leave_thread(ingest, final);
    if (!error)
        error = store_position(ingest);
    if (!error)
        error = gv_call_batch_flush(&ingest->calls, ingest->database);
    if (!error)
        error = gv_process_cost_add_calls(&ingest->cost);
    *stored += count;
    return error;
}

void gv_ingest_committed(struct gv_ingest *ingest)
{
    for (size_t i = 0; i < ingest->consumed.count; i++)
        gv_spool_reader_give_back(ingest->reader, ingest->consumed.list[i]);
    ingest->consumed.count = 0;
    gv_ingest_stacks_committed(ingest);
    gv_ingest_control_committed(ingest);
}
