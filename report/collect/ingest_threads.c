/*
 * A process's threads. Those with a segment of the spool are in memory. Of the others, which have
 * ended or rest, only the row is known: a program may have a new one for each task. 0 or -errno.
 */
#include "report/collect/ingest_state.h"

#include "report/store/array.h"
#include "trace/text.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

int gv_ingest_thread_of(struct gv_ingest *ingest, const struct gv_spool_view *view,
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

int gv_ingest_threads_forget(struct gv_ingest *ingest)
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

void gv_ingest_threads_close(struct gv_ingest *ingest)
{
    for (size_t i = 0; i < ingest->thread_count; i++)
        free(ingest->thread_list[i].pending);
    free(ingest->thread_list);
    gv_key_map_free(&ingest->threads);
    gv_known_free(&ingest->resting, ingest->database);
}
