/*
 * The calls once more, in the order of time, for processes whose GPU's side was not seen: what each
 * stream was given, and what is known to be finished because a call that returned waited for it.
 */
#include "report/analyse/stalls/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Events whose place is remembered; older ones may be forgotten. */
#define GV_STALL_EVENTS 65536u
/* Copies and sets of less are done in no time. */
#define GV_STALL_SMALL_BYTES (1 << 20)

struct gv_stall_queue {
    int64_t process, context, last_ns, last_call, count;
    int64_t long_ns;                     /* of the last that may take a while; last_call is it */
    int64_t finished_ns, finished_count; /* all before this is; so many of count */
    int64_t capture;                     /* the call that began the one it takes part in; 0: none */
    bool any;
};

/* What a call that is under way proves when it returns. */
struct gv_stall_proof {
    int64_t end_ns, from_ns, stream, context, count;
    uint32_t event; /* index + 1; 0: none */
};

struct gv_stall_event {
    int64_t process, handle, stream, at_ns, count;
    int64_t capture; /* recorded into one: it says nothing of the GPU */
};

struct gv_stall_replay {
    struct gv_stall_queue *queues; /* by stream; 0: those that are not known */
    size_t queue_count;
    int64_t *contexts; /* the run's finished_ns */
    int64_t *legacy;   /* by context: its legacy default stream */
    size_t context_count;
    struct gv_stall_proof *proofs;
    size_t proof_count, proof_room;
    int64_t next_proof_ns; /* the earliest end */
    struct gv_stall_event events[GV_STALL_EVENTS];
    bool ended;
    bool waiting; /* the statement's row is not replayed yet */
};

static struct gv_stall_event *gv_stall_replay_event(struct gv_stall_replay *replay, int64_t process,
                                                    int64_t handle)
{
    uint64_t hash = ((uint64_t)handle >> 4) * 0x9e3779b97f4a7c15u + (uint64_t)process;

    return &replay->events[(hash >> 32) % GV_STALL_EVENTS];
}

static int64_t gv_stall_replay_finished(const struct gv_stall_replay *replay,
                                        const struct gv_stall_queue *queue)
{
    const int64_t *context = GV_STALL_ROW(replay->contexts, replay->context_count, queue->context);

    return context && *context > queue->finished_ns ? *context : queue->finished_ns;
}

/* How many operations of a stream may be unfinished. */
static int64_t gv_stall_replay_unfinished(const struct gv_stall_replay *replay,
                                          const struct gv_stall_queue *queue)
{
    if (!queue->any || queue->long_ns < gv_stall_replay_finished(replay, queue))
        return 0;
    return queue->count - queue->finished_count;
}

static void gv_stall_replay_finish_stream(struct gv_stall_queue *queue, int64_t at_ns,
                                          int64_t count)
{
    if (at_ns > queue->finished_ns)
        queue->finished_ns = at_ns;
    if (count > queue->finished_count)
        queue->finished_count = count;
}

static void gv_stall_replay_prove(struct gv_stall_replay *replay,
                                  const struct gv_stall_proof *proof)
{
    int64_t *context = GV_STALL_ROW(replay->contexts, replay->context_count, proof->context);

    if (proof->stream) {
        gv_stall_replay_finish_stream(&replay->queues[proof->stream], proof->from_ns, proof->count);
    } else if (context && proof->from_ns > *context) {
        *context = proof->from_ns;
    }
}

/* All that was proven by now. */
static void gv_stall_replay_advance(struct gv_stall_replay *replay, int64_t now_ns)
{
    size_t kept = 0;

    if (replay->proof_count == 0 || replay->next_proof_ns > now_ns)
        return;
    replay->next_proof_ns = INT64_MAX;
    for (size_t i = 0; i < replay->proof_count; i++) {
        struct gv_stall_proof *proof = &replay->proofs[i];
        if (proof->end_ns <= now_ns) {
            gv_stall_replay_prove(replay, proof);
            continue;
        }
        if (proof->end_ns < replay->next_proof_ns)
            replay->next_proof_ns = proof->end_ns;
        replay->proofs[kept++] = *proof;
    }
    replay->proof_count = kept;
}

static int gv_stall_replay_expect(struct gv_stall_replay *replay,
                                  const struct gv_stall_proof *proof)
{
    if (replay->proof_count == replay->proof_room) {
        size_t room = replay->proof_room ? replay->proof_room * 2 : 16;
        void *larger = realloc(replay->proofs, room * sizeof(*replay->proofs));
        if (!larger)
            return -ENOMEM;
        replay->proofs = larger;
        replay->proof_room = room;
    }
    if (replay->proof_count == 0 || proof->end_ns < replay->next_proof_ns)
        replay->next_proof_ns = proof->end_ns;
    replay->proofs[replay->proof_count++] = *proof;
    return 0;
}

/* One call of the replay. */
struct gv_stall_step {
    struct gv_stall_api *api;
    int64_t call, start_ns, end_ns, process, stream, context, object, bytes;
    uint32_t flags;
    enum gv_call_scope scope;
    bool fine; /* it returned 0 */
};

static void gv_stall_step_take(const struct gv_stall_run *run, sqlite3_stmt *row,
                               struct gv_stall_step *step)
{
    struct gv_stall_api *api =
        GV_STALL_ROW(run->apis, run->api_count, sqlite3_column_int64(row, 2));
    const int64_t *process =
        GV_STALL_ROW(run->threads, run->thread_count, sqlite3_column_int64(row, 1));
    const struct gv_stall_stream *stream;

    step->api = api;
    step->call = sqlite3_column_int64(row, 0);
    step->process = process ? *process : 0;
    step->start_ns = gv_stall_ns(row, 3);
    step->end_ns = step->start_ns + gv_stall_duration(row, 4);
    step->fine = sqlite3_column_type(row, 5) != SQLITE_NULL && sqlite3_column_int64(row, 5) == 0;
    step->stream = sqlite3_column_int64(row, 6);
    step->context = sqlite3_column_int64(row, 7);
    stream = GV_STALL_ROW(run->streams, run->stream_count, step->stream);
    if (!stream)
        step->stream = 0;
    else if (!step->context)
        step->context = stream->context;
    step->object = sqlite3_column_int64(row, 8);
    step->bytes = sqlite3_column_type(row, 9) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, 9);
    step->flags = api && api->rule ? api->rule->flags : 0;
    step->scope = api && api->rule ? api->rule->scope : GV_SCOPE_NOTHING;
}

static int gv_stall_step_proves(struct gv_stall_replay *replay, const struct gv_stall_step *step)
{
    struct gv_stall_proof proof = {.end_ns = step->end_ns, .from_ns = step->start_ns};

    if (step->flags & GV_CALL_OF_EVENT) {
        const struct gv_stall_event *event =
            gv_stall_replay_event(replay, step->process, step->object);
        if (event->handle != step->object || event->process != step->process || !event->stream ||
            event->capture)
            return 0;
        proof.stream = event->stream;
        proof.from_ns = event->at_ns;
        proof.count = event->count;
    } else if (step->scope == GV_SCOPE_STREAM) {
        /* A synchronous copy that names no stream is in the default one. */
        const int64_t *legacy = GV_STALL_ROW(replay->legacy, replay->context_count, step->context);
        proof.stream = step->stream || !legacy ? step->stream : *legacy;
        if (!proof.stream)
            return 0;
        proof.count = replay->queues[proof.stream].count;
    } else if (step->scope == GV_SCOPE_CONTEXT && step->context) {
        proof.context = step->context;
    } else {
        return 0;
    }
    return gv_stall_replay_expect(replay, &proof);
}

/* The fastest copy was not held up: it tells what they take by themselves. */
static void gv_stall_step_copied(const struct gv_stall_step *step)
{
    int64_t ns = step->end_ns - step->start_ns, bytes_per_us;

    if (!step->fine || !step->api || !step->api->rule || ns <= 0 ||
        step->api->rule->cause != GV_CAUSE_SYNC_COPY || step->bytes < GV_STALL_SMALL_BYTES ||
        step->bytes > INT64_MAX / 1000)
        return;
    bytes_per_us = step->bytes * 1000 / ns;
    step->api->copies++;
    if (bytes_per_us > step->api->copied_bytes_per_us)
        step->api->copied_bytes_per_us = bytes_per_us;
}

/* A capture also takes in each stream that waits for an event of it; it ends, with an error too,
 * for all of them. */
static void gv_stall_replay_capture(struct gv_stall_replay *replay,
                                    const struct gv_stall_step *step, struct gv_stall_queue *queue)
{
    int64_t ended = queue->capture;

    if ((step->flags & GV_CALL_ENDS_CAPTURE) && ended)
        for (size_t i = 0; i < replay->queue_count; i++)
            if (replay->queues[i].capture == ended)
                replay->queues[i].capture = 0;
    if (!step->fine)
        return;
    if (step->flags & GV_CALL_BEGINS_CAPTURE)
        queue->capture = step->call;
    if (step->flags & GV_CALL_AWAITS_EVENT) {
        const struct gv_stall_event *event =
            gv_stall_replay_event(replay, step->process, step->object);
        if (event->handle == step->object && event->process == step->process && event->capture)
            queue->capture = event->capture;
    }
}

static int gv_stall_replay_step(struct gv_stall_replay *replay, const struct gv_stall_step *step)
{
    struct gv_stall_queue *queue = &replay->queues[step->stream];

    gv_stall_replay_advance(replay, step->start_ns);
    gv_stall_replay_capture(replay, step, queue);
    if (!step->fine)
        return 0;
    if ((step->flags & GV_CALL_SUBMITS) && !(step->flags & GV_CALL_DRAINS) && !queue->capture) {
        /* Nothing is left of what was there before: the count begins anew. */
        if (queue->last_ns < gv_stall_replay_finished(replay, queue))
            queue->finished_count = queue->count;
        if (step->context)
            queue->context = step->context;
        queue->process = step->process;
        queue->last_ns = step->start_ns;
        queue->count++;
        if (step->bytes < 0 || step->bytes >= GV_STALL_SMALL_BYTES) {
            queue->long_ns = step->start_ns;
            queue->last_call = step->call;
            queue->any = true;
        }
    }
    if (step->flags & GV_CALL_MARKS_EVENT) {
        struct gv_stall_event *event = gv_stall_replay_event(replay, step->process, step->object);
        *event = (struct gv_stall_event){step->process,  step->object, step->stream,
                                         step->start_ns, queue->count, queue->capture};
    }
    if (step->flags & (GV_CALL_DRAINS | GV_CALL_DRAINS_IF_0))
        return gv_stall_step_proves(replay, step);
    return 0;
}

/* ---- what the calls of the chunk met ---- */

static void gv_stall_replay_tell(const struct gv_stall_run *run, struct gv_held *held)
{
    const struct gv_stall_replay *replay = run->replay;
    const struct gv_stall_api *api = GV_STALL_ROW(run->apis, run->api_count, held->api);
    int64_t last_ns = -1;

    /* A single one may have had to wait, or to make its pages. */
    if (api && api->copies >= 2)
        held->copied_bytes_per_us = api->copied_bytes_per_us;
    if (held->stream > 0 && (uint64_t)held->stream < replay->queue_count) {
        const struct gv_stall_queue *queue = &replay->queues[held->stream];
        held->unfinished_stream = gv_stall_replay_unfinished(replay, queue);
        held->unfinished_stream_call = held->unfinished_stream ? queue->last_call : 0;
    }
    for (size_t i = 0; i < replay->queue_count; i++) {
        const struct gv_stall_queue *queue = &replay->queues[i];
        int64_t count;
        if (queue->process != held->process ||
            (held->context && queue->context && queue->context != held->context))
            continue;
        count = gv_stall_replay_unfinished(replay, queue);
        held->unfinished += count;
        if (count > 0 && queue->long_ns > last_ns) {
            last_ns = queue->long_ns;
            held->unfinished_call = queue->last_call;
        }
    }
}

static int gv_stall_replay_open(struct gv_stall_run *run)
{
    struct gv_stall_replay *replay = calloc(1, sizeof(*replay));

    if (!replay)
        return -ENOMEM;
    run->replay = replay;
    replay->queue_count = run->stream_count;
    replay->context_count = run->context_count;
    replay->queues = calloc(replay->queue_count, sizeof(*replay->queues));
    replay->contexts = run->finished_ns;
    replay->legacy = calloc(replay->context_count, sizeof(*replay->legacy));
    if (!replay->queues || !replay->legacy)
        return -ENOMEM;
    for (size_t i = 1; i < run->stream_count; i++) {
        int64_t context = run->streams[i].context;
        if (run->streams[i].legacy && context > 0 && (uint64_t)context < replay->context_count)
            replay->legacy[context] = (int64_t)i;
    }
    return 0;
}

void gv_stall_replay_close(struct gv_stall_run *run)
{
    if (!run->replay)
        return;
    free(run->replay->queues);
    free(run->replay->legacy);
    free(run->replay->proofs);
    free(run->replay);
    run->replay = NULL;
}

/* Replays all that began before this call. */
static int gv_stall_replay_until(struct gv_stall_run *run, const struct gv_held *held)
{
    struct gv_stall_replay *replay = run->replay;
    sqlite3_stmt *rows = run->statements[GV_STALL_REPLAY];
    int result = SQLITE_ROW, error = 0;

    if (!rows)
        rows = gv_stall_statement(run, GV_STALL_REPLAY, &error);
    while (!error && !replay->ended) {
        struct gv_stall_step step;
        if (!replay->waiting)
            result = sqlite3_step(rows);
        replay->waiting = result == SQLITE_ROW;
        if (result != SQLITE_ROW) {
            replay->ended = true;
            break;
        }
        gv_stall_step_take(run, rows, &step);
        if (step.start_ns > held->start_ns ||
            (step.start_ns == held->start_ns && step.call >= held->call))
            break;
        replay->waiting = false;
        gv_stall_step_copied(&step);
        error = gv_stall_replay_step(replay, &step);
    }
    if (!error)
        error = gv_stall_error(run->trace, result);
    if (!error)
        gv_stall_replay_advance(replay, held->start_ns);
    return error;
}

int gv_stall_replay_look(struct gv_stall_run *run)
{
    int error = 0;

    for (size_t i = 0; i < run->held_count && !error; i++) {
        struct gv_held *held = &run->held[i];
        if (held->measured || gv_cause_is_expected(held->rule->cause))
            continue;
        if (!run->replay)
            error = gv_stall_replay_open(run);
        if (!error)
            error = gv_stall_replay_until(run, held);
        if (!error)
            gv_stall_replay_tell(run, held);
    }
    return error;
}
