/*
 * Decides why a call stalled: one function for each cause, named in causes.def.
 *
 * With the GPU side, a call waited until the last operation ended that it had to wait for. Without
 * it, work counts as unfinished until a call that waited for it returns; a call that waits for
 * unfinished work waited all of its time, except for what it usually takes. A call that has not
 * returned is treated like that, without an end.
 */
#include "report/analyse/stalls/evidence.h"
#include "report/store/array.h"

/* A call may work so long after a wait that explains it. */
#define TAIL_NS 2000000
/* A kernel's first launch may take so long on an idle GPU, to load its code or to make room for
 * its local memory; and asking how much memory is free. */
#define FIRST_NS 10000000
/* A stream's queue holds about 1024 operations. */
#define QUEUE 900
/* CUPTI_ACTIVITY_MEMORY_KIND_PINNED. */
#define PINNED 2
/* After the lock is released, a waiting thread may need so long to get it. */
#define RELEASE_NS 2000000
/* A thread that let the lock go may return so much later than the one that got it. */
#define TIE_NS 250000
/* So many calls are looked at that began after a call that may wait for them. */
#define LATER 4096

/* A call that usually takes a fifth, and took so much longer, may have waited for something that
 * keeps others out only at times: a call, or the life of a process. */
#define USUAL_TIMES    5
#define SLOWED_NS      1000000
#define SLOWED_LIFE_NS 10000000
/* The least part of a call for which its thread waited for a CPU, if that explains the call. */
#define DELAYED_PERCENT 80

/* Used without the GPU side: what a load, an unload or a free takes on an idle GPU. */
#define OWN_NS 150000
/* What making room for local memory takes. */
#define LOCAL_NS 600000
/* Destroying a context takes 50 to 73 ms on an H100 and an H200, busy or not, and 76 to 117 ms on a
 * host with four H100s. It counts as waiting only from the second limit on. */
#define CONTEXT_NS      50000000
#define CONTEXT_MOST_NS 125000000
/* Speed of a copy of pageable memory, until this program's copies show theirs. */
#define COPY_BYTES_PER_US 10000
/* A shorter copy does not count as waiting. */
#define COPY_NS 1000000
/* Reading a library takes time: 25 ms for a megabyte. With lazy loading it waits for nothing; used
 * where the loading mode is unknown. */
#define LIBRARY_NS 50000000
/* A shorter load does not count as compiling. */
#define JIT_NS 1000000

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_measured(const struct gv_stall_call *call)
{
    return call->source == GV_STALL_MEASURED;
}

/* How long the call compiled before a time. */
static int64_t compiled_until(const struct gv_stall_judge *judge, const struct gv_stall_call *call,
                              int64_t until_ns)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < call->jit_count; i++) {
        const struct gv_stall_jit *jit = &judge->jits[call->jit_first + i];
        sum_ns += most(least(jit->end_ns, until_ns) - jit->start_ns, 0);
    }
    /* Records may overlap. */
    return least(sum_ns, gv_stall_call_ns(call));
}

/* The rest of the call, after a time, is short enough to be its own. */
static bool ends_after(const struct gv_stall_call *call, int64_t at_ns)
{
    return call->end_ns - at_ns <= most(TAIL_NS, gv_stall_call_ns(call) / 10);
}

/* When the work ended; 0: not known. Without the GPU side, only the ends of host functions are. */
static int64_t ended_ns(const struct gv_stall_call *call, const struct gv_stall_work *work)
{
    if (is_measured(call))
        return least(work->last_ns, call->end_ns);
    return work->host && ends_after(call, work->hosts_until_ns)
               ? least(work->hosts_until_ns, call->end_ns)
               : 0;
}

/* The host function that took at least half of the wait, and was the last of the work, or before
 * the last. What an event is behind is not known, so its function must have ended with the call. */
static int64_t host_of(const struct gv_stall_call *call, const struct gv_stall_work *work,
                       int64_t wait_ns)
{
    bool at_end = ends_after(call, work->host_end_ns), last = at_end;

    if (is_measured(call))
        last = work->host_end_ns >= work->last_ns ||
               work->last_start_ns >= work->host_end_ns - GV_STALL_SLACK_NS;
    if (!last || ((call->rule->flags & GV_CALL_OF_EVENT) && !at_end))
        return 0;
    return work->host_ns >= wait_ns - wait_ns / 2 ? work->host : 0;
}

/* Enters a wait for this work. own_ns: what the call takes by itself; used where the end of the
 * work is unknown. */
static void waits_for(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                      enum gv_cause cause, const struct gv_stall_work *work, int64_t own_ns)
{
    int64_t until_ns = ended_ns(call, work);
    int64_t wait_ns = gv_stall_call_ns(call) - own_ns;

    if (until_ns)
        wait_ns = least(until_ns - call->start_ns - compiled_until(judge, call, until_ns),
                        gv_stall_call_ns(call) - call->jit_ns);
    if (wait_ns < judge->threshold_ns) {
        /* Too short to be the cause. */
        call->short_ns = most(call->short_ns, wait_ns);
        return;
    }
    call->cause = cause;
    call->wait_ns = wait_ns;
    call->waited_until_ns = until_ns;
    call->waited_for = work->op;
    call->host_function = host_of(call, work, wait_ns);
    call->presumed = call->host_function ? 0 : work->call;
    call->drained_count = work->count;
    call->drained_ns = work->last_ns - work->first_ns;
}

/* ---- what the evidence says ---- */

/* The context had work, and all that was running when the call began ended in it: the call may
 * have waited for an idle context. */
static bool is_drained(const struct gv_stall_call *call)
{
    return call->in_context.count > 0 && call->busy_until_ns <= call->end_ns + GV_STALL_SLACK_NS;
}

/* The rest of the call is short enough to be its own. */
static bool ends_with(const struct gv_stall_call *call, const struct gv_stall_work *work)
{
    return !is_measured(call) || ends_after(call, work->last_ns);
}

/* Whether all that was in its stream's queue ended in the call. */
static bool is_behind_all(const struct gv_stall_call *call)
{
    return !is_measured(call) || call->ahead <= call->in_stream.count;
}

/* The work of the call's scope. The legacy default stream and the others wait for each other. */
static const struct gv_stall_work *in_scope(const struct gv_stall_call *call)
{
    return call->rule->scope == GV_SCOPE_STREAM && call->own_stream ? &call->in_stream
                                                                    : &call->in_context;
}

static bool is_pinned(const struct gv_stall_call *call)
{
    return call->rule->cause == GV_CAUSE_PAGEABLE_COPY && call->own_host_memory == PINNED;
}

/* A copy from pinned memory, or one that ran after the call, did not wait for its turn. */
static bool is_asynchronous(const struct gv_stall_call *call)
{
    return is_pinned(call) || call->own_start_ns > call->end_ns + GV_STALL_SLACK_NS;
}

/* Calls that only queue work, or ask for a kernel's code. */
static bool is_launch(const struct gv_stall_call *call)
{
    enum gv_cause cause = call->rule->cause;
    bool copy = cause == GV_CAUSE_PAGEABLE_COPY || cause == GV_CAUSE_SYNC_COPY;

    return cause == GV_CAUSE_QUEUE_FULL || cause == GV_CAUSE_LAZY_LOAD ||
           (copy && is_asynchronous(call));
}

/* Only "first launch" says that this launch needed something. */
static bool is_guessed(const struct gv_stall_judge *judge, const struct gv_stall_call *call)
{
    return is_launch(call) && !call->lazy && !(judge->any_local && call->own_local_bytes > 0);
}

/* Whether an unexplained call may have worked all the time. */
static bool has_worked(const struct gv_stall_call *call)
{
    bool asks = !(call->rule->flags & GV_CALL_HELD) && (call->rule->flags & GV_CALL_HELD_MEMORY);

    if ((call->rule->flags & GV_CALL_WORKS) || call->lazy || call->loads)
        return true;
    if ((call->first_use || asks) && gv_stall_call_ns(call) <= FIRST_NS)
        return true;
    if (is_pinned(call) && call->in_stream.count > 0)
        return false;
    return call->rule->cause == GV_CAUSE_PAGEABLE_COPY &&
           (call->own_start_ns ? call->own_start_ns <= call->end_ns + GV_STALL_SLACK_NS
                               : call->bytes > 65536);
}

/* ---- the causes ---- */

typedef void proof(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                   enum gv_cause cause);

static void drains_context_in(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                              enum gv_cause cause, int64_t own_ns)
{
    if (call->rule->cause == cause && call->rule->scope == GV_SCOPE_CONTEXT && is_drained(call))
        waits_for(judge, call, cause, &call->in_context, own_ns);
}

static void drains_context(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                           enum gv_cause cause)
{
    /* Without the GPU side, nobody knows how much of it was work. */
    if (is_measured(call) || gv_stall_call_ns(call) / 2 >= call->freeing_ns)
        drains_context_in(judge, call, cause, OWN_NS + call->freeing_ns);
}

static void destroys_context(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                             enum gv_cause cause)
{
    if (is_measured(call) || gv_stall_call_ns(call) >= CONTEXT_MOST_NS)
        drains_context_in(judge, call, cause, CONTEXT_NS);
}

/* Loading a library compiles it; its code reaches the GPU later. */
static void loads_code(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                       enum gv_cause cause)
{
    bool module = (call->rule->flags & GV_CALL_DRAINS) != 0;
    bool library =
        call->loading == GV_STALL_LOADING_EAGER ||
        (call->loading == GV_STALL_LOADING_UNKNOWN && gv_stall_call_ns(call) >= LIBRARY_NS);

    if (is_measured(call) || module || (!call->ptx && library))
        drains_context(judge, call, cause);
}

static void loads_code_late(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                            enum gv_cause cause)
{
    /* A call that asks for a kernel without launching it comes before the first launch. */
    bool first = call->first_use || (!is_measured(call) && !(call->rule->flags & GV_CALL_SUBMITS));

    if (is_launch(call) && (call->rule->flags & GV_CALL_LAZY) && is_drained(call) &&
        (call->lazy ||
         (first && !call->eager && is_behind_all(call) && ends_with(call, &call->in_context) &&
          call->own_local_bytes <= call->local_before_bytes)))
        waits_for(judge, call, cause, &call->in_context, OWN_NS);
}

static void fills_queue(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                        enum gv_cause cause)
{
    bool full = is_measured(call) ? call->ahead >= QUEUE && !is_behind_all(call)
                                  : call->in_stream.count >= QUEUE;

    if (is_launch(call) && (call->rule->flags & GV_CALL_SUBMITS) && call->in_stream.count > 0 &&
        full)
        waits_for(judge, call, cause, &call->in_stream, 0);
}

/* Whether this launch may have needed a larger pool of local memory. */
static bool may_grow_local_memory(const struct gv_stall_judge *judge,
                                  const struct gv_stall_call *call)
{
    if (call->own_start_ns && call->own_start_ns + GV_STALL_SLACK_NS < call->in_context.last_ns)
        return false;
    if (is_measured(call) && judge->any_local)
        return call->own_local_bytes > call->local_before_bytes;
    /* A first launch whose code was there has no other reason to wait for its context. */
    return call->first_use && call->eager;
}

static void grows_local_memory(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                               enum gv_cause cause)
{
    if (is_launch(call) && (call->rule->flags & GV_CALL_SUBMITS) && is_behind_all(call) &&
        is_drained(call) && ends_with(call, &call->in_context) &&
        may_grow_local_memory(judge, call))
        waits_for(judge, call, cause, &call->in_context, LOCAL_NS);
}

/* What a copy takes by itself. */
static int64_t copy_own_ns(const struct gv_stall_call *call)
{
    int64_t bytes_per_us =
        call->copied_bytes_per_us ? call->copied_bytes_per_us : COPY_BYTES_PER_US;
    int64_t own_us = call->bytes / bytes_per_us;

    /* The file is not trusted. */
    return own_us < INT64_MAX / 2000 ? OWN_NS / 10 + own_us * 1000 : INT64_MAX / 2;
}

static void copies(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                   enum gv_cause cause)
{
    const struct gv_stall_work *work = in_scope(call);
    int64_t own_ns = copy_own_ns(call);
    /* Without the GPU side, waiting and slow copying look alike: half of the call must be
     * waiting. */
    bool waited = is_measured(call) ||
                  (gv_stall_call_ns(call) >= COPY_NS && own_ns < gv_stall_call_ns(call) / 2);

    if (call->rule->cause == cause && !is_asynchronous(call) && work->count > 0 && waited)
        waits_for(judge, call, cause, work, own_ns);
}

static void asks_to_wait(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                         enum gv_cause cause)
{
    const struct gv_stall_work *work = in_scope(call);

    if (call->rule->cause != cause)
        return;
    if (work->count > 0)
        waits_for(judge, call, cause, work, 0);
    if (call->cause == cause)
        return;
    /* It waited for something else, as the program asked it to. */
    call->cause = cause;
    call->wait_ns = gv_stall_call_ns(call);
}

/* How long it waited for its own work. What the call does before that work begins is no wait,
 * unless other work was ahead of it. */
static int64_t own_wait_ns(const struct gv_stall_judge *judge, const struct gv_stall_call *call)
{
    const struct gv_stall_work *context = &call->in_context;
    int64_t until_ns = least(call->own.last_ns, call->end_ns);
    bool queued =
        call->in_stream.count > 0 ||
        (context->count > 0 && context->last_ns <= call->own_start_ns + GV_STALL_SLACK_NS);

    if (!queued)
        return until_ns - most(call->own_start_ns, call->start_ns);
    return until_ns - call->start_ns - compiled_until(judge, call, until_ns);
}

/* Also asked when another cause was found, which is right if it explains more than half. Without
 * the GPU side, the variable is proof enough, except that a first launch may have loaded its code.
 */
static void waits_for_itself(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                             enum gv_cause cause)
{
    int64_t wait_ns = gv_stall_call_ns(call) - call->jit_ns;

    if (!call->blocking || !gv_stall_rule_launches(call->rule))
        return;
    if (is_measured(call))
        wait_ns = call->own.count > 0 && call->own.last_ns <= call->end_ns + GV_STALL_SLACK_NS
                      ? least(own_wait_ns(judge, call), wait_ns)
                      : 0;
    else if (call->first_use && gv_stall_call_ns(call) <= FIRST_NS)
        wait_ns = 0;
    if (wait_ns < most(judge->threshold_ns, 1)) {
        call->short_ns = most(call->short_ns, wait_ns);
        return;
    }
    if (call->source != GV_STALL_IN_FLIGHT &&
        (call->jit_ns > wait_ns || call->wait_ns > wait_ns / 2))
        return;
    call->cause = cause;
    call->wait_ns = wait_ns;
    call->waited_until_ns = is_measured(call) ? least(call->own.last_ns, call->end_ns) : 0;
    call->waited_for = call->own.op;
    call->presumed = is_measured(call) ? 0 : call->call;
    call->drained_count = is_measured(call) ? call->own.count : 1;
    call->drained_ns = call->own.last_ns - call->own.first_ns;
}

/* PTX is compiled, unless the driver's cache has it. */
static void compiles(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                     enum gv_cause cause)
{
    (void)judge;
    if (!is_measured(call) && call->ptx && gv_stall_call_ns(call) >= JIT_NS)
        call->jit_ns = gv_stall_call_ns(call) - OWN_NS;
    if (call->jit_ns > 0)
        call->cause = cause;
}

/* When a call released the lock, at the earliest: when what it waited for had ended. */
static int64_t held_until_ns(const struct gv_stall_call *holder)
{
    return holder->waited_until_ns && holder->cause != GV_CAUSE_LOCK
               ? holder->waited_until_ns
               : holder->end_ns - least(gv_stall_call_ns(holder) / 10, RELEASE_NS);
}

/* Keeps the context's lock until it returns. */
static bool holds_lock(const struct gv_stall_call *call)
{
    return (call->rule->flags & GV_CALL_HOLDS) || call->cause == GV_CAUSE_LAZY_LOAD ||
           call->cause == GV_CAUSE_LOCAL_MEMORY;
}

/* Keeps only allocations out. */
static bool holds_allocations(const struct gv_stall_call *call)
{
    return call->cause == GV_CAUSE_QUEUE_FULL || call->cause == GV_CAUSE_PAGEABLE_COPY;
}

/* From when on one call keeps another out; INT64_MAX: it does not. A call that waits for a lock
 * does not hold it yet, and that of memory is taken only after a wait for the GPU. */
static int64_t keeps_out_from_ns(const struct gv_stall_call *holder,
                                 const struct gv_stall_call *call)
{
    uint32_t flags = call->rule->flags;
    bool other = holder->context && call->context && holder->context != call->context;

    if (holder->process != call->process || holder->thread == call->thread)
        return INT64_MAX;
    if (!other && (flags & GV_CALL_HELD) && holds_lock(holder))
        return holder->start_ns + (holder->cause == GV_CAUSE_LOCK ? holder->wait_ns : 0);
    if (!other && (flags & GV_CALL_HELD_ALLOC) && holds_allocations(holder))
        return holder->start_ns;
    if ((holder->rule->flags & GV_CALL_HOLDS_MEMORY) &&
        (flags & (other ? GV_CALL_HELD_ALL_MEMORY : GV_CALL_HELD_MEMORY | GV_CALL_HELD_ALL_MEMORY)))
        return holder->start_ns + holder->wait_ns;
    return INT64_MAX;
}

/* Whether the call came out late enough for having waited for the holder. Of two calls that keep
 * the lock until they return, the one that returned first had it first. If they returned together,
 * it was the one that began well before, unless it had `waited` for others by then. */
static bool comes_out_after(const struct gv_stall_judge *judge, const struct gv_stall_call *call,
                            const struct gv_stall_call *holder, bool waited)
{
    bool both = (holder->rule->flags & GV_CALL_HOLDS_MEMORY) && holds_lock(call);
    int64_t early_ns = held_until_ns(holder);

    if (both && llabs(call->end_ns - holder->end_ns) < TIE_NS &&
        llabs(call->start_ns - holder->start_ns) >= TIE_NS)
        return waited || call->start_ns > holder->start_ns;
    if (call->start_ns <= holder->start_ns)
        return call->end_ns >= holder->end_ns;
    if (both || call->end_ns >= holder->end_ns - GV_STALL_SLACK_NS)
        return call->end_ns >= holder->end_ns - GV_STALL_SLACK_NS;
    return call->end_ns >= early_ns - GV_STALL_SLACK_NS &&
           early_ns - call->start_ns >= judge->threshold_ns;
}

/* What kept a call waiting: calls that had the lock, one after the other. */
struct gv_stall_queueing {
    const struct gv_stall_call *holder; /* the one that kept it longest */
    int64_t longest_ns, wait_ns, until_ns;
};

/* Adds a call that kept it waiting from then on. They must come in the order of their start. */
static void add_holder(const struct gv_stall_judge *judge, const struct gv_stall_call *call,
                       const struct gv_stall_call *holder, int64_t from_ns,
                       struct gv_stall_queueing *queueing)
{
    int64_t until_ns = least(holder->end_ns, call->end_ns);
    int64_t kept_ns = until_ns - most(most(call->start_ns, from_ns), queueing->until_ns);

    if (kept_ns < judge->threshold_ns)
        return;
    queueing->wait_ns += kept_ns;
    queueing->until_ns = until_ns;
    if (kept_ns < queueing->longest_ns)
        return;
    queueing->longest_ns = kept_ns;
    queueing->holder = holder;
}

static void waits_behind(const struct gv_stall_judge *judge, const struct gv_stall_call *call,
                         const struct gv_stall_call *holder, struct gv_stall_queueing *queueing)
{
    int64_t from_ns = keeps_out_from_ns(holder, call);

    if (from_ns != INT64_MAX && comes_out_after(judge, call, holder, queueing->holder))
        add_holder(judge, call, holder, from_ns, queueing);
}

/* Whether the lock explains the call better than what was found. */
static bool is_better(const struct gv_stall_judge *judge, const struct gv_stall_call *holder,
                      const struct gv_stall_call *call, int64_t wait_ns)
{
    /* Neither has returned: the one that began first has the lock. */
    if (call->source == GV_STALL_IN_FLIGHT)
        return true;
    /* A lock that was certainly held wins over a guess: over a first launch, and, without the GPU
     * side, over any wait, if its holder did not wait itself. */
    if (((call->cause == GV_CAUSE_LAZY_LOAD || call->cause == GV_CAUSE_LOCAL_MEMORY) &&
         is_guessed(judge, call) && !is_guessed(judge, holder)) ||
        (!is_measured(call) && (holder->rule->flags & GV_CALL_HOLDS_MEMORY) && !holder->wait_ns))
        return wait_ns + wait_ns / 10 >= call->wait_ns;
    /* Its own work ends last in any case. */
    if (call->cause == GV_CAUSE_LAUNCH_BLOCKING)
        return wait_ns > call->wait_ns / 2;
    /* Without the lock it would have waited for the same operation. */
    if (call->wait_ns > 0 && call->wait_ns + call->wait_ns / 10 >= wait_ns &&
        ((call->waited_for && call->waited_for == holder->waited_for) ||
         (call->host_function && call->host_function == holder->host_function)))
        return false;
    return wait_ns > call->wait_ns;
}

static void is_locked_out(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                          enum gv_cause cause)
{
    struct gv_stall_queueing queueing = {.until_ns = INT64_MIN};
    const struct gv_stall_call *holder;
    int64_t wait_ns;

    for (size_t i = 0; i < judge->holder_count; i++)
        waits_behind(judge, call, &judge->holders[i], &queueing);
    /* The lock is not fair: a thread that pins piece by piece gets it again and again. */
    for (size_t i = 1; call->cause == GV_CAUSE_UNKNOWN && i <= judge->later_count && i <= LATER &&
                       call[i].start_ns < call->end_ns;
         i++)
        waits_behind(judge, call, &call[i], &queueing);
    holder = queueing.holder;
    /* The rest must be short, unless the call does work of its own. */
    if (!holder ||
        (!(call->rule->flags & GV_CALL_WORKS) &&
         call->end_ns - queueing.until_ns > most(gv_stall_call_ns(call) / 5, RELEASE_NS)))
        return;
    wait_ns = least(queueing.wait_ns, gv_stall_call_ns(call) - call->jit_ns);
    if (!is_better(judge, holder, call, wait_ns))
        return;
    call->cause = cause;
    call->wait_ns = wait_ns;
    call->blocked_by = holder->call;
    call->waited_for = holder->waited_for;
    call->presumed = holder->presumed;
    call->host_function = holder->host_function;
    call->drained_count = call->drained_ns = 0;
    call->waited_until_ns = queueing.until_ns;
}

/* ---- another process ---- */

/* When a call let other processes go, at the earliest: unregistering keeps them for 85 % of it. */
static int64_t kept_until_ns(const struct gv_stall_call *keeper)
{
    int64_t ns = gv_stall_call_ns(keeper);

    return keeper->end_ns -
           (keeper->rule->cause == GV_CAUSE_HOST_UNREGISTER ? ns / 5 : least(ns / 10, RELEASE_NS));
}

/* Adds a call of another process that keeps others out until it returns, or nearly so. */
static void keeps_waiting(const struct gv_stall_judge *judge, const struct gv_stall_call *call,
                          const struct gv_stall_call *keeper, struct gv_stall_queueing *queueing)
{
    if (keeper->process != call->process && keeper->machine == call->machine &&
        (keeper->rule->flags & GV_CALL_KEEPS_OTHERS) && call->end_ns >= kept_until_ns(keeper))
        add_holder(judge, call, keeper, keeper->start_ns, queueing);
}

/* Whether the rest of the call is short, or what it usually takes. If that is not known (-1), only
 * one call can explain it. */
static bool is_kept_out(const struct gv_stall_call *call, const struct gv_stall_queueing *queueing,
                        int64_t own_ns)
{
    int64_t ns = gv_stall_call_ns(call);

    return queueing->holder && queueing->wait_ns > own_ns &&
           ns - queueing->wait_ns <= ns / 5 + most(own_ns, 0) &&
           (own_ns >= 0 || queueing->wait_ns == queueing->longest_ns);
}

/* How long the call waited for something that keeps others out at times: they coincide for most of
 * the call, and it usually takes much less. */
static int64_t slowed_ns(const struct gv_stall_call *call, const struct gv_stall_life *life,
                         int64_t own_ns)
{
    int64_t ns = gv_stall_call_ns(call), excess_ns = ns - own_ns;
    int64_t wait_ns =
        least(least(life->end_ns, call->end_ns) - most(life->start_ns, call->start_ns), excess_ns);

    if (own_ns < 0 || ns / USUAL_TIMES < own_ns ||
        excess_ns < (life->did == GV_OTHER_CALLED ? SLOWED_NS : SLOWED_LIFE_NS) ||
        wait_ns < excess_ns / 5 * 4)
        return 0;
    return wait_ns;
}

static bool is_nearer(const struct gv_stall_call *call, const struct gv_stall_life *life)
{
    return llabs(life->at_ns - call->start_ns) < llabs(call->by.at_ns - call->start_ns);
}

/* Takes the longest wait of those that explain the call; of several, the one that is nearest. */
static void take_other(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                       enum gv_cause cause, const struct gv_stall_life *life, int64_t wait_ns)
{
    /* The time in which it waited for a CPU is not the other process's. */
    wait_ns = least(wait_ns, gv_stall_call_ns(call) - call->delay_ns);
    if (wait_ns < judge->threshold_ns || wait_ns < call->wait_ns ||
        life->process == call->process || life->machine != call->machine ||
        (wait_ns == call->wait_ns && !is_nearer(call, life)))
        return;
    call->cause = cause;
    call->wait_ns = wait_ns;
    call->by = *life;
}

static struct gv_stall_life life_of(const struct gv_stall_call *call)
{
    return (struct gv_stall_life){.process = call->process,
                                  .call = call->call,
                                  .machine = call->machine,
                                  .did = GV_OTHER_CALLED,
                                  .at_ns = call->start_ns,
                                  .start_ns = call->start_ns,
                                  .end_ns = call->end_ns};
}

/* A call of another process explains more than that the process came or went, and this more than
 * that it is there. */
static void waits_for_process(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                              enum gv_cause cause)
{
    const struct gv_stall_others *others = &judge->others;
    struct gv_stall_queueing queueing = {.until_ns = INT64_MIN};
    struct gv_stall_life life;
    int64_t own_ns = 0;

    if (!(call->rule->flags & GV_CALL_HELD_BY_OTHERS) || others->count == 0)
        return;
    if (call->rule->flags & GV_CALL_WORKS)
        own_ns = gv_stall_usual_ns(others, call);
    for (size_t i = 0; i < judge->keeper_count; i++)
        keeps_waiting(judge, call, &judge->keepers[i], &queueing);
    for (size_t i = 1; i <= judge->later_count && i <= LATER && call[i].start_ns < call->end_ns;
         i++)
        keeps_waiting(judge, call, &call[i], &queueing);
    if (is_kept_out(call, &queueing, own_ns)) {
        life = life_of(queueing.holder);
        take_other(judge, call, cause, &life, queueing.wait_ns);
    }
    for (size_t i = 0; i < judge->keeper_count && call->cause != cause; i++) {
        life = life_of(&judge->keepers[i]);
        take_other(judge, call, cause, &life, slowed_ns(call, &life, own_ns));
    }
    for (int used = 0; used <= 1 && call->cause != cause; used++)
        for (size_t i = 0; i < others->count; i++)
            if ((others->lives[i].did == GV_OTHER_USED) == used)
                take_other(judge, call, cause, &others->lives[i],
                           slowed_ns(call, &others->lives[i], own_ns));
    if (call->cause == cause)
        call->blocked_by = call->by.call;
}

/* Comes after all other causes: a thread that spins until the GPU is done may wait for a CPU at
 * the same time. */
static void waits_for_cpu(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                          enum gv_cause cause)
{
    if (call->delay_ns < judge->threshold_ns ||
        call->delay_ns < gv_stall_call_ns(call) / 100 * DELAYED_PERCENT)
        return;
    call->cause = cause;
    call->wait_ns = call->delay_ns;
}

/* Mapping takes all of the call: memory that the pool still has costs a few microseconds. */
static void maps_again(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                       enum gv_cause cause)
{
    (void)judge;
    if (!call->remaps)
        return;
    call->cause = cause;
    call->wait_ns = gv_stall_call_ns(call);
}

/* Without an explanation the whole call counts as waiting, unless it may have worked. */
static void is_unexplained(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                           enum gv_cause cause)
{
    (void)judge;
    (void)cause;
    if (!has_worked(call))
        call->wait_ns = gv_stall_call_ns(call) - call->short_ns;
}

/* ---- the decision ---- */

static proof *const proofs[] = {
#define GV_CAUSE(name, text, expected, waits, proof, ...) proof,
#include "report/analyse/stalls/causes.def"
};

/* Remembers a call for those that begin before it ends, and forgets those that ended. */
static int remember(struct gv_stall_call **list, size_t *count, size_t *room,
                    const struct gv_stall_call *call)
{
    size_t kept = 0;
    int error;

    for (size_t i = 0; i < *count; i++)
        if ((*list)[i].end_ns >= call->start_ns)
            (*list)[kept++] = (*list)[i];
    *count = kept;
    error = gv_array_room(list, *count, room, sizeof(*call));
    if (!error)
        (*list)[(*count)++] = *call;
    return error;
}

/* Remembers a call that keeps others out: of the process, and other processes. */
static int remember_holder(struct gv_stall_judge *judge, const struct gv_stall_call *call)
{
    int error = 0;

    if (gv_stall_call_ns(call) < judge->threshold_ns || !call->thread)
        return 0;
    if (holds_lock(call) || holds_allocations(call))
        error = remember(&judge->holders, &judge->holder_count, &judge->holder_room, call);
    if (!error && judge->others.count > 0 &&
        (call->rule->flags & (GV_CALL_KEEPS_OTHERS | GV_CALL_SLOWS_OTHERS)))
        error = remember(&judge->keepers, &judge->keeper_count, &judge->keeper_room, call);
    return error;
}

int gv_stall_decide(struct gv_stall_judge *judge, struct gv_stall_call *call, size_t later_count)
{
    judge->later_count = later_count;
    call->cause = GV_CAUSE_UNKNOWN;
    call->jit_ns = compiled_until(judge, call, call->end_ns);
    for (int i = 0; i < GV_CAUSE_COUNT; i++)
        if (call->cause == GV_CAUSE_UNKNOWN || i == GV_CAUSE_LAUNCH_BLOCKING || i == GV_CAUSE_LOCK)
            proofs[i](judge, call, (enum gv_cause)i);
    return remember_holder(judge, call);
}
