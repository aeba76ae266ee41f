/*
 * Evidence from the calls alone. They are replayed in order of time: which work each stream was
 * given, and what must have finished because a call that waited for it returned.
 */
#include "report/analyse/stalls/run.h"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>

/* Room for events; older ones may be overwritten. */
#define EVENTS 65536u
/* Nobody waits for smaller copies and sets. */
#define SMALL_BYTES (1 << 20)

struct gv_stall_queue {
    int64_t process, context, last_ns, last_call, count;
    int64_t long_ns;                     /* start of last_call, the last that may take long */
    int64_t finished_ns, finished_count; /* all work before this has finished; so many of count */
    int64_t capture; /* the call that began the capture it takes part in; 0: none */
    bool any;
};

/* What a call proves when it returns. */
struct gv_stall_proof {
    int64_t end_ns, from_ns, stream, context, count;
};

struct gv_stall_event {
    int64_t process, handle, stream, at_ns, count;
    int64_t capture; /* recorded into a capture: says nothing about the GPU */
};

/* A host function that was launched. */
struct gv_stall_host {
    int64_t host, process, context, stream, start_ns, end_ns;
};

struct gv_stall_replay {
    struct gv_stall_queue *queues; /* by stream; 0: unknown streams */
    size_t queue_count;
    int64_t *contexts; /* by context: all its work before this has finished */
    int64_t *legacy;   /* by context: its legacy default stream */
    size_t context_count;
    struct gv_stall_proof *proofs;
    size_t proof_count, proof_room;
    int64_t next_proof_ns; /* the earliest end_ns */
    struct gv_stall_event events[EVENTS];
    struct gv_stall_host *hosts; /* that may not have ended */
    size_t host_count, host_room;
    struct gv_stall_launch *launches; /* of kernels, graphs, host functions, if keeps_launches */
    size_t launch_count, launch_room;
    bool keeps_launches;
    bool ended;
    bool waiting; /* the statement's current row is still to be replayed */
};

static struct gv_stall_event *event_of(struct gv_stall_replay *replay, int64_t process,
                                       int64_t handle)
{
    uint64_t hash = ((uint64_t)handle >> 4) * 0x9e3779b97f4a7c15u + (uint64_t)process;

    return &replay->events[(hash >> 32) % EVENTS];
}

static int64_t finished_until(const struct gv_stall_replay *replay,
                              const struct gv_stall_queue *queue)
{
    const int64_t *context = GV_STALL_ROW(replay->contexts, replay->context_count, queue->context);

    return context && *context > queue->finished_ns ? *context : queue->finished_ns;
}

/* How many operations of a stream may be unfinished. */
static int64_t unfinished(const struct gv_stall_replay *replay, const struct gv_stall_queue *queue)
{
    if (!queue->any || queue->long_ns < finished_until(replay, queue))
        return 0;
    return queue->count - queue->finished_count;
}

static void finish_stream(struct gv_stall_queue *queue, int64_t at_ns, int64_t count)
{
    if (at_ns > queue->finished_ns)
        queue->finished_ns = at_ns;
    if (count > queue->finished_count)
        queue->finished_count = count;
}

static void prove(struct gv_stall_replay *replay, const struct gv_stall_proof *proof)
{
    int64_t *context = GV_STALL_ROW(replay->contexts, replay->context_count, proof->context);

    if (proof->stream) {
        finish_stream(&replay->queues[proof->stream], proof->from_ns, proof->count);
    } else if (context && proof->from_ns > *context) {
        *context = proof->from_ns;
    }
}

/* Takes in all that is proven by now. */
static void advance(struct gv_stall_replay *replay, int64_t now_ns)
{
    size_t kept = 0;

    if (replay->proof_count == 0 || replay->next_proof_ns > now_ns)
        return;
    replay->next_proof_ns = INT64_MAX;
    for (size_t i = 0; i < replay->proof_count; i++) {
        struct gv_stall_proof *proof = &replay->proofs[i];
        if (proof->end_ns <= now_ns) {
            prove(replay, proof);
            continue;
        }
        if (proof->end_ns < replay->next_proof_ns)
            replay->next_proof_ns = proof->end_ns;
        replay->proofs[kept++] = *proof;
    }
    replay->proof_count = kept;
}

static int expect(struct gv_stall_replay *replay, const struct gv_stall_proof *proof)
{
    int error =
        gv_array_room(&replay->proofs, replay->proof_count, &replay->proof_room, sizeof(*proof));

    if (error)
        return error;
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
    bool fine;                 /* it returned 0 */
    bool ended;                /* its operation has ended */
    bool blocks;               /* it returned when its operation had ended */
    bool hosted;               /* it launched a host function */
    struct gv_stall_host host; /* the same; host 0: it is not known to have run */
};

static bool is_blocking(const struct gv_stall_run *run, int64_t process)
{
    const struct gv_stall_process *row = GV_STALL_ROW(run->processes, run->process_count, process);

    return row && row->blocking;
}

static void take_step(const struct gv_stall_run *run, sqlite3_stmt *row, struct gv_stall_step *step)
{
    struct gv_stall_api *api =
        GV_STALL_ROW(run->apis, run->api_count, sqlite3_column_int64(row, 2));
    const struct gv_stall_stream *stream;

    step->api = api;
    step->call = sqlite3_column_int64(row, 0);
    step->process = gv_id_table_get(&run->threads, sqlite3_column_int64(row, 1), 0);
    step->start_ns = gv_time_column(row, 3);
    step->end_ns = step->start_ns + gv_time_column_duration(row, 4);
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
    step->ended = sqlite3_column_int(row, 10) != 0;
    step->hosted = sqlite3_column_type(row, 11) != SQLITE_NULL;
    step->host = (struct gv_stall_host){0};
    if (sqlite3_column_type(row, 12) != SQLITE_NULL)
        step->host = (struct gv_stall_host){
            .host = sqlite3_column_int64(row, 11),
            .process = step->process,
            .context = step->context,
            .stream = step->stream,
            .start_ns = gv_time_column(row, 12),
            .end_ns = gv_time_column(row, 12) + gv_time_column_duration(row, 13),
        };
    step->flags = api && api->rule ? api->rule->flags : 0;
    step->scope = api && api->rule ? api->rule->scope : GV_SCOPE_NOTHING;
    step->blocks =
        api && api->rule && gv_stall_rule_launches(api->rule) && is_blocking(run, step->process);
}

static int step_proves(struct gv_stall_replay *replay, const struct gv_stall_step *step)
{
    struct gv_stall_proof proof = {.end_ns = step->end_ns,
                                   .from_ns = step->start_ns + (step->blocks ? 1 : 0)};

    if (step->flags & GV_CALL_OF_EVENT) {
        const struct gv_stall_event *event = event_of(replay, step->process, step->object);
        if (event->handle != step->object || event->process != step->process || !event->stream ||
            event->capture)
            return 0;
        proof.stream = event->stream;
        proof.from_ns = event->at_ns;
        proof.count = event->count;
    } else if (step->scope == GV_SCOPE_STREAM) {
        /* A synchronous copy without a stream is in the default stream. */
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
    return expect(replay, &proof);
}

/* The fastest copy did not wait: it shows the speed. */
static void step_copied(const struct gv_stall_step *step)
{
    int64_t ns = step->end_ns - step->start_ns, bytes_per_us;

    if (!step->fine || !step->api || !step->api->rule || ns <= 0 ||
        step->api->rule->cause != GV_CAUSE_SYNC_COPY || step->bytes < SMALL_BYTES ||
        step->bytes > INT64_MAX / 1000)
        return;
    bytes_per_us = step->bytes * 1000 / ns;
    step->api->copies++;
    if (bytes_per_us > step->api->copied_bytes_per_us)
        step->api->copied_bytes_per_us = bytes_per_us;
}

/* A stream that waits for an event of a capture joins it. The capture ends for all its streams,
 * with an error too. */
static void step_captures(struct gv_stall_replay *replay, const struct gv_stall_step *step,
                          struct gv_stall_queue *queue)
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
        const struct gv_stall_event *event = event_of(replay, step->process, step->object);
        if (event->handle == step->object && event->process == step->process && event->capture)
            queue->capture = event->capture;
    }
}

static int keep_launch(struct gv_stall_replay *replay, const struct gv_stall_step *step)
{
    int error;

    if (!replay->keeps_launches || !((step->flags & GV_CALL_LAZY) || step->hosted))
        return 0;
    error = gv_array_room(&replay->launches, replay->launch_count, &replay->launch_room,
                          sizeof(*replay->launches));
    if (!error)
        replay->launches[replay->launch_count++] = (struct gv_stall_launch){
            step->call, step->stream, step->start_ns, (step->flags & GV_CALL_MEETS) != 0};
    return error;
}

/* When the function began, all that its stream had before it was finished. */
static int expect_host(struct gv_stall_replay *replay, const struct gv_stall_step *step)
{
    struct gv_stall_proof proof = {.end_ns = step->host.start_ns,
                                   .from_ns = step->start_ns,
                                   .stream = step->stream,
                                   .count = replay->queues[step->stream].count - 1};
    size_t kept = 0;
    int error = step->stream ? expect(replay, &proof) : 0;

    proof.end_ns = step->host.end_ns;
    proof.from_ns++;
    proof.count++;
    if (!error && step->stream)
        error = expect(replay, &proof);
    if (error)
        return error;
    if (replay->host_count == replay->host_room) {
        for (size_t i = 0; i < replay->host_count; i++)
            if (replay->hosts[i].end_ns >= step->start_ns)
                replay->hosts[kept++] = replay->hosts[i];
        replay->host_count = kept;
    }
    error = gv_array_room(&replay->hosts, replay->host_count, &replay->host_room,
                          sizeof(*replay->hosts));
    if (!error)
        replay->hosts[replay->host_count++] = step->host;
    return error;
}

static int submit(struct gv_stall_replay *replay, const struct gv_stall_step *step,
                  struct gv_stall_queue *queue)
{
    /* All earlier work has finished: count anew. */
    if (queue->last_ns < finished_until(replay, queue))
        queue->finished_count = queue->count;
    if (step->context)
        queue->context = step->context;
    queue->process = step->process;
    queue->last_ns = step->start_ns;
    queue->count++;
    if (step->bytes < 0 || step->bytes >= SMALL_BYTES) {
        queue->long_ns = step->start_ns;
        queue->last_call = step->call;
        queue->any = true;
    }
    if (step->host.host)
        return expect_host(replay, step);
    if (!step->ended)
        return keep_launch(replay, step);
    /* So has all earlier work of its stream. */
    finish_stream(queue, step->start_ns + 1, queue->count);
    return 0;
}

static int replay_step(struct gv_stall_replay *replay, const struct gv_stall_step *step)
{
    struct gv_stall_queue *queue = &replay->queues[step->stream];
    bool blocks;
    int error = 0;

    advance(replay, step->start_ns);
    step_captures(replay, step, queue);
    if (!step->fine)
        return 0;
    blocks = step->blocks && !queue->capture;
    /* In an unknown stream, an end proves nothing about other work. */
    if ((step->flags & GV_CALL_SUBMITS) && !(step->flags & GV_CALL_DRAINS) && !queue->capture &&
        (step->stream || !(step->ended || blocks)))
        error = submit(replay, step, queue);
    if (step->flags & GV_CALL_MARKS_EVENT) {
        struct gv_stall_event *event = event_of(replay, step->process, step->object);
        *event = (struct gv_stall_event){step->process,  step->object, step->stream,
                                         step->start_ns, queue->count, queue->capture};
    }
    if (!error && ((step->flags & (GV_CALL_DRAINS | GV_CALL_DRAINS_IF_0)) || blocks))
        error = step_proves(replay, step);
    return error;
}

/* ---- what a call met ---- */

void gv_stall_infer(const struct gv_stall_run *run, struct gv_stall_call *call)
{
    const struct gv_stall_replay *replay = run->replay;
    const struct gv_stall_api *api = GV_STALL_ROW(run->apis, run->api_count, call->api);
    const struct gv_stall_queue *own =
        GV_STALL_ROW(replay->queues, replay->queue_count, call->stream);
    int64_t last_ns = -1;

    /* A single copy may have waited, or faulted pages in. */
    if (api && api->copies >= 2)
        call->copied_bytes_per_us = api->copied_bytes_per_us;
    /* What is captured runs later: CUDA_LAUNCH_BLOCKING does not make it wait. */
    call->blocking = call->blocking && !(own && own->capture);
    for (size_t i = 0; i < replay->queue_count; i++) {
        const struct gv_stall_queue *queue = &replay->queues[i];
        int64_t count = unfinished(replay, queue);
        if (count > 0 && i > 0 && i == (uint64_t)call->stream)
            call->in_stream = (struct gv_stall_work){.count = count, .call = queue->last_call};
        if (queue->process != call->process ||
            (call->context && queue->context && queue->context != call->context))
            continue;
        call->in_context.count += count;
        if (count > 0 && queue->long_ns > last_ns) {
            last_ns = queue->long_ns;
            call->in_context.call = queue->last_call;
        }
    }
    for (size_t i = 0; i < replay->host_count; i++) {
        const struct gv_stall_host *host = &replay->hosts[i];
        if (host->process != call->process || host->end_ns <= call->start_ns ||
            host->end_ns > call->end_ns + GV_STALL_SLACK_NS)
            continue;
        if (host->stream && host->stream == call->stream)
            gv_stall_work_ran(&call->in_stream, call, host->host, host->start_ns, host->end_ns);
        if (!call->context || !host->context || host->context == call->context)
            gv_stall_work_ran(&call->in_context, call, host->host, host->start_ns, host->end_ns);
    }
}

static int replay_open(struct gv_stall_run *run)
{
    struct gv_stall_replay *replay = calloc(1, sizeof(*replay));

    if (!replay)
        return -ENOMEM;
    run->replay = replay;
    replay->queue_count = run->stream_count;
    replay->context_count = run->context_count;
    replay->queues = calloc(replay->queue_count, sizeof(*replay->queues));
    replay->contexts = calloc(replay->context_count, sizeof(*replay->contexts));
    replay->legacy = calloc(replay->context_count, sizeof(*replay->legacy));
    if (!replay->queues || !replay->contexts || !replay->legacy)
        return -ENOMEM;
    for (size_t i = 1; i < run->stream_count; i++) {
        int64_t context = run->streams[i].context;
        if (run->streams[i].legacy && context > 0 && (uint64_t)context < replay->context_count)
            replay->legacy[context] = (int64_t)i;
    }
    return 0;
}

void gv_stall_infer_close(struct gv_stall_run *run)
{
    if (!run->replay)
        return;
    free(run->replay->queues);
    free(run->replay->contexts);
    free(run->replay->legacy);
    free(run->replay->proofs);
    free(run->replay->launches);
    free(run->replay->hosts);
    free(run->replay);
    run->replay = NULL;
}

/* Replays the calls that began before this one; all of them for NULL. */
static int replay_until(struct gv_stall_run *run, sqlite3_stmt *rows,
                        const struct gv_stall_call *call)
{
    struct gv_stall_replay *replay = run->replay;
    int result = SQLITE_ROW, error = 0;

    while (!error && !replay->ended) {
        struct gv_stall_step step;
        if (!replay->waiting)
            result = sqlite3_step(rows);
        replay->waiting = result == SQLITE_ROW;
        if (result != SQLITE_ROW) {
            replay->ended = true;
            break;
        }
        take_step(run, rows, &step);
        if (call && (step.start_ns > call->start_ns ||
                     (step.start_ns == call->start_ns && step.call >= call->call)))
            break;
        replay->waiting = false;
        step_copied(&step);
        error = replay_step(replay, &step);
    }
    if (!error)
        error = gv_database_error(run->trace, result);
    if (!error)
        advance(replay, call ? call->start_ns : INT64_MAX);
    return error;
}

int gv_stall_infer_chunk(struct gv_stall_run *run)
{
    int error = 0;

    for (size_t i = 0; i < run->call_count && !error; i++) {
        struct gv_stall_call *call = &run->calls[i];
        sqlite3_stmt *rows = run->statements[GV_STALL_REPLAY];
        /* What a requested wait was for is known only of host functions. */
        if (call->source != GV_STALL_INFERRED ||
            (gv_cause_is_expected(call->rule->cause) && !run->any_host))
            continue;
        if (!run->replay)
            error = replay_open(run);
        if (!error && !rows)
            rows = gv_stall_statement(run, GV_STALL_REPLAY, &error);
        if (!error)
            error = replay_until(run, rows, call);
        if (!error)
            gv_stall_infer(run, call);
    }
    return error;
}

int gv_stall_infer_now(struct gv_stall_run *run, int64_t process, struct gv_stall_launch *first,
                       struct gv_stall_launch *meeting, int64_t *count)
{
    const struct gv_stall_replay *replay;
    sqlite3_stmt *rows = NULL;
    int error = replay_open(run);

    *count = 0;
    if (!error)
        rows = gv_stall_statement(run, GV_STALL_REPLAY_LAST, &error);
    if (error)
        return error;
    replay = run->replay;
    run->replay->keeps_launches = true;
    sqlite3_bind_int64(rows, 1, process);
    error = replay_until(run, rows, NULL);
    sqlite3_reset(rows);
    for (size_t i = 0; i < replay->launch_count && !error; i++) {
        const struct gv_stall_launch *launch = &replay->launches[i];
        if (launch->start_ns < finished_until(replay, &replay->queues[launch->stream]))
            continue;
        if ((*count)++ == 0)
            *first = *launch;
        if (launch->meets && meeting->call == 0)
            *meeting = *launch;
    }
    return error;
}
