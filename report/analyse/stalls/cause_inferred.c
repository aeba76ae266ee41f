/*
 * Why a call was held up, where only the calls are known. Work counts as unfinished until a call
 * that returned proves the contrary; a call that waits for unfinished work is then taken to have
 * waited for all of its time but what it usually takes.
 */
#include "report/analyse/stalls/run.h"

/* What a load, an unload, a free take by themselves on an idle GPU. */
#define GV_STALL_OWN_NS 150000
/* What making room for local memory takes. */
#define GV_STALL_LOCAL_NS 600000
/* What destroying a context takes: 50 to 58 ms on an H100 and an H200, busy or not. One that takes
 * little more is not taken for one that waits. */
#define GV_STALL_CONTEXT_NS      50000000
#define GV_STALL_CONTEXT_MOST_NS 75000000
/* What a copy of pageable memory moves, as long as this program's copies have not shown it. */
#define GV_STALL_COPY_BYTES_PER_US 10000
/* A copy that takes no longer is not taken for one that waits. */
#define GV_STALL_COPY_NS 1000000
/* Reading a library takes its time: 25 ms were seen for a megabyte. With lazy loading it waits for
 * nobody, and whether that is on is not known here. */
#define GV_STALL_LIBRARY_NS 50000000
/* Nor is a load that takes no longer for one that compiles. */
#define GV_STALL_JIT_NS 1000000

static void gv_stall_infer(struct gv_held *held, enum gv_cause cause, int64_t own_ns,
                           int64_t unfinished, int64_t last_call)
{
    int64_t duration_ns = held->end_ns - held->start_ns;

    if (own_ns >= duration_ns)
        return;
    held->cause = cause;
    held->wait_ns = duration_ns - own_ns;
    held->presumed = last_call;
    held->drained_count = unfinished;
}

static int64_t gv_stall_own_ns(enum gv_cause cause)
{
    if (cause == GV_CAUSE_CONTEXT)
        return GV_STALL_CONTEXT_NS;
    return cause == GV_CAUSE_LOCAL_MEMORY ? GV_STALL_LOCAL_NS : GV_STALL_OWN_NS;
}

static void gv_stall_infer_in_context(struct gv_held *held, enum gv_cause cause)
{
    int64_t own_ns = gv_stall_own_ns(cause);

    if (cause == GV_CAUSE_CONTEXT && held->end_ns - held->start_ns < GV_STALL_CONTEXT_MOST_NS)
        return;
    if (held->unfinished > 0)
        gv_stall_infer(held, cause, own_ns, held->unfinished, held->unfinished_call);
}

/* PTX is compiled, unless the driver's cache has it. */
static void gv_stall_infer_jit(struct gv_held *held)
{
    int64_t duration_ns = held->end_ns - held->start_ns;

    if (!held->ptx || held->cause != GV_CAUSE_UNKNOWN || duration_ns < GV_STALL_JIT_NS)
        return;
    held->cause = GV_CAUSE_JIT;
    held->jit_ns = duration_ns - GV_STALL_OWN_NS;
}

/* A library is compiled when it is read, and put onto the GPU later. */
static void gv_stall_infer_load(struct gv_held *held)
{
    bool module = (held->rule->flags & GV_CALL_DRAINS) != 0;

    if (module || (!held->ptx && held->end_ns - held->start_ns >= GV_STALL_LIBRARY_NS))
        gv_stall_infer_in_context(held, GV_CAUSE_MODULE_LOAD);
}

static void gv_stall_infer_launch(struct gv_held *held)
{
    bool lazy = (held->rule->flags & GV_CALL_LAZY) != 0;

    held->guessed = true;
    if (lazy && !held->eager && (held->first_use || !(held->rule->flags & GV_CALL_SUBMITS)))
        gv_stall_infer_in_context(held, GV_CAUSE_LAZY_LOAD);
    else if (held->unfinished_stream >= GV_STALL_QUEUE)
        gv_stall_infer(held, GV_CAUSE_QUEUE_FULL, 0, held->unfinished_stream,
                       held->unfinished_stream_call);
    else if (lazy && held->eager && held->first_use)
        gv_stall_infer_in_context(held, GV_CAUSE_LOCAL_MEMORY);
}

/* What a copy takes by itself. */
static int64_t gv_stall_copy_own_ns(const struct gv_held *held)
{
    int64_t bytes_per_us =
        held->copied_bytes_per_us ? held->copied_bytes_per_us : GV_STALL_COPY_BYTES_PER_US;
    int64_t own_us = held->bytes / bytes_per_us;

    /* A file may say anything. */
    return own_us < INT64_MAX / 2000 ? GV_STALL_OWN_NS / 10 + own_us * 1000 : INT64_MAX / 2;
}

/* A copy that waited and one that merely took its time look alike: half of it must be waiting. */
static void gv_stall_infer_copy(const struct gv_stall_run *run, struct gv_held *held)
{
    const struct gv_stall_stream *stream =
        GV_STALL_ROW(run->streams, run->stream_count, held->stream);
    int64_t own_ns = gv_stall_copy_own_ns(held);
    bool all = !stream || stream->legacy;
    int64_t unfinished = all ? held->unfinished : held->unfinished_stream;

    if (held->end_ns - held->start_ns < GV_STALL_COPY_NS)
        return;
    if (unfinished > 0 && own_ns < (held->end_ns - held->start_ns) / 2)
        gv_stall_infer(held, held->rule->cause, own_ns, unfinished,
                       all ? held->unfinished_call : held->unfinished_stream_call);
}

void gv_stall_cause_inferred(const struct gv_stall_run *run, struct gv_held *held)
{
    switch (held->rule->cause) {
    case GV_CAUSE_EXPLICIT_SYNC:
        gv_stall_infer(held, GV_CAUSE_EXPLICIT_SYNC, 0, 0, 0);
        break;
    case GV_CAUSE_PAGEABLE_COPY:
    case GV_CAUSE_SYNC_COPY:
        gv_stall_infer_copy(run, held);
        break;
    case GV_CAUSE_QUEUE_FULL:
    case GV_CAUSE_LAZY_LOAD:
        gv_stall_infer_launch(held);
        break;
    case GV_CAUSE_MODULE_LOAD:
        gv_stall_infer_load(held);
        break;
    default:
        if (held->rule->scope != GV_SCOPE_NOTHING && held->rule->cause != GV_CAUSE_UNKNOWN)
            gv_stall_infer_in_context(held, held->rule->cause);
        break;
    }
    gv_stall_infer_jit(held);
}
