#include "report/collect/ingest.h"

#include "report/collect/ingest_state.h"
#include "report/store/array.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A longer group means damage; it is stored as if it ended here. */
#define GV_INGEST_GROUP_LIMIT 65536u

int gv_ingest_open(struct gv_ingest *ingest, struct gv_database *database,
                   struct gv_spool_reader *reader, int64_t *next_call, struct gv_live *live)
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
    if (!ingest->process) {
        error = gv_ingest_process_add(ingest, &facts);
    } else {
        error = gv_ingest_things_resume(ingest);
        if (!error)
            error = gv_ingest_ranges_resume(ingest);
    }
    ingest->cost.process = ingest->process;
    ingest->live = (struct gv_live_process){
        .live = live,
        .id = ingest->process,
        .start_ns = gv_ingest_time(ingest, facts.attached_ns),
        .resumed = ingest->inherited,
    };
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
    gv_ingest_threads_close(ingest);
    gv_known_free(&ingest->places, ingest->database);
    gv_known_free(&ingest->kernels, ingest->database);
    gv_known_free(&ingest->modules, ingest->database);
    gv_ingest_gpu_close(ingest);
    gv_ingest_idle_close(ingest);
    gv_ingest_stacks_close(ingest);
    gv_python_code_close(&ingest->python_codes);
    gv_ingest_ranges_close(ingest);
    gv_process_cost_close(&ingest->cost);
    memset(ingest, 0, sizeof(*ingest));
}

/* The numbers of a thread's segments begin again after 2^32. */
static int compare_views(const void *left, const void *right)
{
    const struct gv_spool_view *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->sequence != b->sequence)
        return (int32_t)(a->sequence - b->sequence) < 0 ? -1 : 1;
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
    return gv_ingest_threads_forget(ingest);
}

bool gv_ingest_has_news(const struct gv_ingest *ingest)
{
    for (size_t i = 0; i < ingest->view_count; i++) {
        const struct gv_spool_view *view = &ingest->views[i];
        const struct gv_key key = {.part = {view->thread}};
        int64_t place = gv_key_map_find(&ingest->threads, &key);
        bool closed;
        uint32_t published = gv_spool_reader_published(ingest->reader, view->index, &closed);

        if (closed || place == 0)
            return true;
        if (view->thread != GV_SPOOL_IDLE_THREAD &&
            view->first_record + published != ingest->thread_list[place - 1].position)
            return true;
    }
    return gv_spool_reader_has_idle_stacks(ingest->reader);
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
    int error = gv_ingest_group(ingest, ingest->current, ingest->group, ingest->group_count);

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
                error = gv_ingest_thread_of(ingest, view, &ingest->current);
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
        error = gv_ingest_calls_flush(ingest);
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
