#include "report/collect/ingest.h"

#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer group is damage; it is stored as if it ended here. */
#define GV_INGEST_GROUP_LIMIT 65536u

/* Joins arguments (NUL after each) as a shell would need them to be written. */
static void gv_ingest_join_arguments(const struct gv_spool_facts *facts, char *out, size_t size)
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

static int gv_ingest_add_process(struct gv_ingest *ingest, const struct gv_spool_facts *facts)
{
    char joined[2 * GV_SPOOL_ARGUMENTS_BYTES];
    static char arguments[GV_TEXT_REPAIRED_BYTES(sizeof(joined))];
    char program[GV_TEXT_REPAIRED_BYTES(sizeof(facts->program))];
    char executable[GV_TEXT_REPAIRED_BYTES(sizeof(facts->executable))];
    char directory[GV_TEXT_REPAIRED_BYTES(sizeof(facts->directory))];

    gv_ingest_join_arguments(facts, joined, sizeof(joined));
    gv_text_repair(arguments, sizeof(arguments), joined, sizeof(joined));
    gv_text_repair(program, sizeof(program), facts->program, sizeof(facts->program));
    gv_text_repair(executable, sizeof(executable), facts->executable, sizeof(facts->executable));
    gv_text_repair(directory, sizeof(directory), facts->directory, sizeof(facts->directory));
    int error = gv_database_run(ingest->database, GV_STATEMENT_PROCESS_ADD, "iiiittttii",
                                (int64_t)facts->identity, (int64_t)facts->pid,
                                (int64_t)facts->parent_pid, (int64_t)facts->process_start_ticks,
                                program, executable, arguments, directory, (int64_t)facts->forked,
                                gv_ingest_time(ingest, facts->attached_ns));
    ingest->process = gv_database_last_id(ingest->database);
    return error;
}

static int gv_ingest_find_process(struct gv_ingest *ingest, const struct gv_spool_facts *facts)
{
    int error, result;
    sqlite3_stmt *find = gv_database_prepare(ingest->database, GV_STATEMENT_PROCESS_FIND, &error);

    if (!find)
        return error;
    sqlite3_bind_int64(find, 1, (int64_t)facts->identity);
    result = sqlite3_step(find);
    error = gv_database_error(ingest->database->handle, result);
    ingest->process = result == SQLITE_ROW ? sqlite3_column_int64(find, 0) : 0;
    sqlite3_reset(find);
    return error;
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
    gv_spool_reader_facts(reader, &facts);
    ingest->epoch_ns = facts.clock.epoch_ns;
    ingest->apis = calloc((size_t)reader->names_count + 1, sizeof(*ingest->apis));
    ingest->per_thread = calloc((size_t)reader->names_count + 1, sizeof(*ingest->per_thread));
    ingest->kinds = calloc((size_t)reader->names_count + 1, sizeof(*ingest->kinds));
    if (!ingest->apis || !ingest->per_thread || !ingest->kinds)
        return -ENOMEM;
    error = gv_ingest_find_process(ingest, &facts);
    if (error)
        return error;
    return ingest->process ? gv_ingest_intern_load_all(ingest)
                           : gv_ingest_add_process(ingest, &facts);
}

void gv_ingest_close(struct gv_ingest *ingest)
{
    free(ingest->apis);
    free(ingest->per_thread);
    free(ingest->kinds);
    free(ingest->views);
    free(ingest->group);
    free(ingest->held.list);
    free(ingest->consumed.list);
    gv_ingest_close_threads(ingest);
    gv_known_free(&ingest->places, ingest->database);
    gv_known_free(&ingest->kernels, ingest->database);
    gv_known_free(&ingest->modules, ingest->database);
    gv_ingest_gpu_close(ingest);
    memset(ingest, 0, sizeof(*ingest));
}

static int gv_ingest_compare(const void *left, const void *right)
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
    if (ingest->reader->segments > ingest->view_room) {
        size_t room = ingest->reader->segments;
        void *larger = realloc(ingest->views, room * sizeof(*ingest->views));
        if (!larger)
            return -ENOMEM;
        ingest->views = larger;
        ingest->view_room = room;
    }
    for (uint32_t i = 0; i < ingest->reader->segments; i++)
        if (gv_spool_reader_look(ingest->reader, i, &ingest->views[ingest->view_count]))
            ingest->view_count++;
    if (ingest->view_count > 1)
        qsort(ingest->views, ingest->view_count, sizeof(*ingest->views), gv_ingest_compare);
    return gv_ingest_forget_threads(ingest);
}

static int gv_ingest_keep_segment(struct gv_ingest_segments *segments, uint32_t index)
{
    if (segments->count == segments->room) {
        size_t room = segments->room ? segments->room * 2 : 64;
        void *larger = realloc(segments->list, room * sizeof(*segments->list));
        if (!larger)
            return -ENOMEM;
        segments->list = larger;
        segments->room = room;
    }
    segments->list[segments->count++] = index;
    return 0;
}

static int gv_ingest_flush(struct gv_ingest *ingest)
{
    int error = gv_ingest_group(ingest, ingest->current, ingest->group, ingest->group_count);

    ingest->current->position += ingest->group_count;
    ingest->group_count = 0;
    for (size_t i = 0; i < ingest->held.count && !error; i++)
        error = gv_ingest_keep_segment(&ingest->consumed, ingest->held.list[i]);
    ingest->held.count = 0;
    return error;
}

static int gv_ingest_hold(struct gv_ingest *ingest, const union gv_record *record)
{
    if (ingest->group_count == ingest->group_room) {
        size_t room = ingest->group_room ? ingest->group_room * 2 : 64;
        void *larger = realloc(ingest->group, room * sizeof(*ingest->group));
        if (!larger)
            return -ENOMEM;
        ingest->group = larger;
        ingest->group_room = room;
    }
    ingest->group[ingest->group_count++] = *record;
    if ((record->head.flags & GV_RECORD_MORE) && ingest->group_count < GV_INGEST_GROUP_LIMIT)
        return 0;
    return gv_ingest_flush(ingest);
}

/* Records that nobody will bring any more: the file that had them is gone, or damage. */
static int gv_ingest_gap(struct gv_ingest *ingest, uint64_t from, uint64_t to)
{
    struct gv_ingest_thread *thread = ingest->current;
    int error = 0;

    /* What stands before the gap has no continuation any more. */
    if (ingest->group_count > 0)
        error = gv_ingest_flush(ingest);
    thread->position = to;
    return error ? error
                 : gv_database_run(ingest->database, GV_STATEMENT_LOSS_ADD, "itti", ingest->process,
                                   "record", "missing in the spool", (int64_t)(to - from));
}

/*
 * Reads what is new in one segment. A segment that is missing before it in a living process is one
 * that was still free when the scan passed it: the thread waits for the next scan. Only when the
 * process is gone is a gap a gap.
 */
static int gv_ingest_segment(struct gv_ingest *ingest, const struct gv_spool_view *view, bool final,
                             size_t *stored)
{
    struct gv_ingest_thread *thread = ingest->current;
    bool closed;
    uint32_t published = gv_spool_reader_published(ingest->reader, view->index, &closed);
    uint64_t next = thread->position + ingest->group_count;
    int error = 0;

    if (view->first_record > next && !final)
        ingest->waits = true;
    if (ingest->waits)
        return 0;
    if (view->first_record > next) {
        error = gv_ingest_gap(ingest, next, view->first_record);
        next = view->first_record;
    }
    uint64_t skip = next - view->first_record;
    for (uint32_t i = skip < published ? (uint32_t)skip : published; i < published && !error; i++) {
        union gv_record record;

        gv_spool_reader_record(ingest->reader, view->index, i, &record);
        error = gv_ingest_hold(ingest, &record);
        (*stored)++;
    }
    if (error || !closed)
        return error;
    return gv_ingest_keep_segment(ingest->group_count ? &ingest->held : &ingest->consumed,
                                  view->index);
}

/* Ends the run of the current thread's segments. */
static int gv_ingest_leave_thread(struct gv_ingest *ingest, bool final)
{
    int error = 0;

    if (!ingest->current)
        return 0;
    if (final && ingest->group_count > 0)
        error = gv_ingest_flush(ingest);
    ingest->group_count = ingest->held.count = 0;
    return error;
}

static int gv_ingest_store_position(struct gv_ingest *ingest)
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

    while (!error && ingest->view_next < ingest->view_count && count < limit) {
        const struct gv_spool_view *view = &ingest->views[ingest->view_next++];

        if (!ingest->current || ingest->current->serial != view->thread) {
            error = gv_ingest_leave_thread(ingest, final);
            if (!error)
                error = gv_ingest_store_position(ingest);
            if (!error)
                error = gv_ingest_intern_thread(ingest, view, &ingest->current);
            ingest->waits = false;
        }
        if (!error)
            error = gv_ingest_segment(ingest, view, final, &count);
    }
    *done = ingest->view_next == ingest->view_count;
    if (!error && *done)
        error = gv_ingest_leave_thread(ingest, final);
    if (!error)
        error = gv_ingest_store_position(ingest);
    if (!error)
        error = gv_call_batch_flush(&ingest->calls, ingest->database);
    *stored += count;
    return error;
}

void gv_ingest_committed(struct gv_ingest *ingest)
{
    for (size_t i = 0; i < ingest->consumed.count; i++)
        gv_spool_reader_give_back(ingest->reader, ingest->consumed.list[i]);
    ingest->consumed.count = 0;
}
