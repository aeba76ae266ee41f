/* Why a call was held up, where the GPU's side was seen. */
#include "report/analyse/stalls/run.h"

static int64_t gv_stall_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t gv_stall_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Compiling inside the call, in all and up to a time. */
static int gv_stall_jit(struct gv_stall_run *run, const struct gv_held *held, int64_t until_ns,
                        int64_t *all_ns, int64_t *before_ns)
{
    int result, error;
    sqlite3_stmt *rows;

    *all_ns = *before_ns = 0;
    if (!run->any_jit || gv_cause_is_expected(held->rule->cause))
        return 0;
    rows = gv_stall_statement(run, GV_STALL_JITS, &error);
    if (!rows)
        return error;
    sqlite3_bind_int64(rows, 1, held->call);
    while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
        int64_t start_ns = gv_stall_most(gv_stall_ns(rows, 0), held->start_ns);
        int64_t end_ns =
            gv_stall_least(gv_stall_ns(rows, 0) + gv_stall_duration(rows, 1), held->end_ns);
        *all_ns += gv_stall_most(end_ns - start_ns, 0);
        *before_ns += gv_stall_most(gv_stall_least(end_ns, until_ns) - start_ns, 0);
    }
    sqlite3_reset(rows);
    /* Records that overlap, or a clock that is off, must not make it longer than the call. */
    *all_ns = gv_stall_least(*all_ns, held->end_ns - held->start_ns);
    *before_ns = gv_stall_least(*before_ns, *all_ns);
    return gv_stall_error(run->trace, result);
}

/* The call waited until the last of these ended. */
static int gv_stall_waited(struct gv_stall_run *run, struct gv_held *held, enum gv_cause cause,
                           const struct gv_stall_drained *drained)
{
    int64_t until_ns = gv_stall_least(drained->last_ns, held->end_ns), before_ns;
    int error = gv_stall_jit(run, held, until_ns, &held->jit_ns, &before_ns);

    held->wait_ns = gv_stall_most(until_ns - held->start_ns - before_ns, 0);
    held->wait_ns = gv_stall_least(held->wait_ns, held->end_ns - held->start_ns - held->jit_ns);
    if (held->wait_ns < run->threshold_ns) {
        /* The GPU was done by the time that it mattered. */
        held->short_ns = held->wait_ns;
        held->wait_ns = 0;
        return error;
    }
    held->cause = cause;
    held->waited_until_ns = until_ns;
    held->waited_for = drained->op;
    held->drained_count = drained->count;
    held->drained_ns = drained->last_ns - drained->first_ns;
    return error;
}

/* Nothing that ran in the context when the call began ran on after it: it may have waited for an
 * idle context. */
static bool gv_stall_drained_all(const struct gv_held *held)
{
    return held->in_scope.count > 0 && held->busy_until_ns <= held->end_ns + GV_STALL_SLACK_NS;
}

/* The rest of the call is short enough to be its own. */
static bool gv_stall_ends_with(const struct gv_held *held, const struct gv_stall_drained *drained)
{
    int64_t rest_ns = held->end_ns - drained->last_ns;

    return rest_ns <= gv_stall_most(GV_STALL_TAIL_NS, (held->end_ns - held->start_ns) / 10);
}

/* Whether nothing speaks against this launch having needed a larger pool of local memory. */
static bool gv_stall_grows(const struct gv_stall_run *run, const struct gv_held *held)
{
    if (held->own_start_ns && held->own_start_ns + GV_STALL_SLACK_NS < held->in_scope.last_ns)
        return false;
    if (run->any_local)
        return held->own_local_bytes > held->local_before_bytes;
    /* A first launch that waits for the context although its code was there: for what else? */
    return held->first_use && held->eager;
}

static int gv_stall_cause_launch(struct gv_stall_run *run, struct gv_held *held)
{
    bool submits = (held->rule->flags & GV_CALL_SUBMITS) != 0;
    bool behind_all = held->ahead <= held->in_stream.count;

    held->guessed = !held->lazy && !(run->any_local && held->own_local_bytes > 0);
    if ((held->rule->flags & GV_CALL_LAZY) && gv_stall_drained_all(held) &&
        (held->lazy || (held->first_use && !held->eager && behind_all &&
                        gv_stall_ends_with(held, &held->in_scope) &&
                        held->own_local_bytes <= held->local_before_bytes)))
        return gv_stall_waited(run, held, GV_CAUSE_LAZY_LOAD, &held->in_scope);
    if (submits && held->in_stream.count > 0 && held->ahead >= GV_STALL_QUEUE && !behind_all)
        return gv_stall_waited(run, held, GV_CAUSE_QUEUE_FULL, &held->in_stream);
    if (submits && behind_all && gv_stall_drained_all(held) &&
        gv_stall_ends_with(held, &held->in_scope) && gv_stall_grows(run, held))
        return gv_stall_waited(run, held, GV_CAUSE_LOCAL_MEMORY, &held->in_scope);
    return 0;
}

static const struct gv_stall_drained *gv_stall_scope(const struct gv_stall_run *run,
                                                     const struct gv_held *held)
{
    const struct gv_stall_stream *stream =
        GV_STALL_ROW(run->streams, run->stream_count, held->stream);

    /* The legacy default stream waits for others, and is waited for. */
    return held->rule->scope == GV_SCOPE_STREAM && stream && !stream->legacy ? &held->in_stream
                                                                             : &held->in_scope;
}

/* A copy that is asynchronous, its host memory being pinned. */
static bool gv_stall_is_pinned(const struct gv_held *held)
{
    return held->rule->cause == GV_CAUSE_PAGEABLE_COPY && held->own_host_memory == GV_STALL_PINNED;
}

static int gv_stall_cause_copy(struct gv_stall_run *run, struct gv_held *held)
{
    const struct gv_stall_drained *drained = gv_stall_scope(run, held);

    /* It is still to come, or needs nobody to hand it on: the call has not waited for its turn. */
    if (gv_stall_is_pinned(held) || held->own_start_ns > held->end_ns + GV_STALL_SLACK_NS)
        return gv_stall_cause_launch(run, held);
    if (drained->count > 0)
        return gv_stall_waited(run, held, held->rule->cause, drained);
    return 0;
}

static int gv_stall_cause_sync(struct gv_stall_run *run, struct gv_held *held)
{
    const struct gv_stall_drained *drained = gv_stall_scope(run, held);

    int error = 0;

    if (drained->count > 0)
        error = gv_stall_waited(run, held, held->rule->cause, drained);
    if (error || held->wait_ns > 0)
        return error;
    /* For the rest of it, it waited for something unseen, or not for the GPU: it was asked to. */
    held->cause = held->rule->cause;
    held->wait_ns = held->end_ns - held->start_ns;
    return 0;
}

static int gv_stall_cause_of_call(struct gv_stall_run *run, struct gv_held *held)
{
    switch (held->rule->cause) {
    case GV_CAUSE_EXPLICIT_SYNC:
        return gv_stall_cause_sync(run, held);
    case GV_CAUSE_PAGEABLE_COPY:
    case GV_CAUSE_SYNC_COPY:
        return gv_stall_cause_copy(run, held);
    case GV_CAUSE_QUEUE_FULL:
    case GV_CAUSE_LAZY_LOAD:
        return gv_stall_cause_launch(run, held);
    default:
        if (held->rule->scope == GV_SCOPE_CONTEXT && gv_stall_drained_all(held))
            return gv_stall_waited(run, held, held->rule->cause, &held->in_scope);
        return 0;
    }
}

/* Calls that put something on the GPU and waited for it have worked that long. */
static bool gv_stall_worked(const struct gv_held *held)
{
    if (held->rule->flags & GV_CALL_WORKS)
        return true;
    if (held->lazy || held->loads)
        return true;
    if (held->first_use && held->end_ns - held->start_ns <= GV_STALL_FIRST_NS)
        return true;
    if (gv_stall_is_pinned(held) && held->in_stream.count > 0)
        return false;
    return held->rule->cause == GV_CAUSE_PAGEABLE_COPY &&
           (held->own_start_ns ? held->own_start_ns <= held->end_ns + GV_STALL_SLACK_NS
                               : held->bytes > 65536);
}

static int gv_stall_cause_measured(struct gv_stall_run *run, struct gv_held *held)
{
    int64_t unused;
    int error = gv_stall_cause_of_call(run, held);

    if (!error && held->wait_ns == 0)
        error = gv_stall_jit(run, held, 0, &held->jit_ns, &unused);
    if (!error && held->wait_ns == 0 && held->jit_ns > 0)
        held->cause = GV_CAUSE_JIT;
    return error;
}

/* A known wait for a CPU replaces `unknown` if it is half of the call. Other causes stay: a thread
 * that spins until the GPU is done may wait for a CPU at the same time. */
static void gv_stall_cause_delay(const struct gv_stall_run *run, struct gv_held *held)
{
    if (held->cause != GV_CAUSE_UNKNOWN || gv_cause_is_expected(held->rule->cause) ||
        held->delay_ns < run->threshold_ns || held->delay_ns < (held->end_ns - held->start_ns) / 2)
        return;
    held->cause = GV_CAUSE_DESCHEDULED;
    held->wait_ns = held->delay_ns;
    held->jit_ns = held->waited_until_ns = 0;
    held->waited_for = held->blocked_by = held->presumed = 0;
    held->drained_count = held->drained_ns = 0;
}

int gv_stall_causes(struct gv_stall_run *run)
{
    int error = 0;

    for (size_t i = 0; i < run->held_count && !error; i++) {
        struct gv_held *held = &run->held[i];

        held->cause = GV_CAUSE_UNKNOWN;
        if (held->measured)
            error = gv_stall_cause_measured(run, held);
        else
            gv_stall_cause_inferred(run, held);
        if (!error && (held->rule->flags & (GV_CALL_HELD | GV_CALL_HELD_ALLOC)))
            gv_stall_lock_find(run, held);
        if (!error)
            gv_stall_cause_delay(run, held);
        /* Nothing is invented. */
        if (held->cause == GV_CAUSE_UNKNOWN && !gv_stall_worked(held))
            held->wait_ns = held->end_ns - held->start_ns - held->jit_ns - held->short_ns;
        held->stalled = held->wait_ns + held->jit_ns >= run->threshold_ns;
        if (!error)
            error = gv_stall_lock_add(run, held);
    }
    return error;
}
