/*
 * Why a call was held up: one function for each cause, named in causes.def.
 *
 * Where the GPU's side was seen, a call waited until the last operation ended that it had to wait
 * for. From the calls alone, work counts as unfinished until a call that returned proves the
 * contrary, and a call that waits for unfinished work is taken to have waited for all of its time
 * but what it usually takes. A call that has not returned is like the latter, with no end.
 */
#include "report/analyse/stalls/cause.h"

#include "report/analyse/stalls/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How long a call may take by itself after the wait, and the wait still explains it. */
#define TAIL_NS 2000000
/* How long a kernel's first launch may take on an idle GPU, to bring its code or to make room for
 * its local memory. */
#define FIRST_NS 10000000
/* How many operations a stream's queue holds: about 1024. */
#define QUEUE 900
/* CUPTI_ACTIVITY_MEMORY_KIND_PINNED. */
#define PINNED 2
/* How long it may take to go on after the lock is given back, when others want it too. */
#define RELEASE_NS 2000000

/* From the calls alone: what a load, an unload, a free take by themselves on an idle GPU. */
#define OWN_NS 150000
/* What making room for local memory takes. */
#define LOCAL_NS 600000
/* What destroying a context takes: 50 to 58 ms on an H100 and an H200, busy or not. One that takes
 * little more is not taken for one that waits. */
#define CONTEXT_NS      50000000
#define CONTEXT_MOST_NS 75000000
/* What a copy of pageable memory moves, as long as this program's copies have not shown it. */
#define COPY_BYTES_PER_US 10000
/* A copy that takes no longer is not taken for one that waits. */
#define COPY_NS 1000000
/* Reading a library takes its time: 25 ms were seen for a megabyte. With lazy loading it waits for
 * nobody, and whether that is on is not known here. */
#define LIBRARY_NS 50000000
/* Nor is a load that takes no longer for one that compiles. */
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

/* How long the call compiled, up to a time. */
static int64_t compiled_until(const struct gv_stall_judge *judge, const struct gv_stall_call *call,
                              int64_t until_ns)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < call->jit_count; i++) {
        const struct gv_stall_jit *jit = &judge->jits[call->jit_first + i];
        sum_ns += most(least(jit->end_ns, until_ns) - jit->start_ns, 0);
    }
    /* Records that overlap must not make it longer than the call. */
    return least(sum_ns, gv_stall_call_ns(call));
}

/* The call waited for this work; own_ns: what it takes by itself, where that is all that is known.
 */
static void waits_for(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                      enum gv_cause cause, const struct gv_stall_work *work, int64_t own_ns)
{
    int64_t until_ns = is_measured(call) ? least(work->last_ns, call->end_ns) : 0;
    int64_t wait_ns = gv_stall_call_ns(call) - own_ns;

    if (is_measured(call))
        wait_ns = least(until_ns - call->start_ns - compiled_until(judge, call, until_ns),
                        gv_stall_call_ns(call) - call->jit_ns);
    if (wait_ns < judge->threshold_ns) {
        /* The GPU was done by the time that it mattered. */
        call->short_ns = most(call->short_ns, wait_ns);
        return;
    }
    call->cause = cause;
    call->wait_ns = wait_ns;
    call->waited_until_ns = until_ns;
    call->waited_for = work->op;
    call->presumed = work->call;
    call->drained_count = work->count;
    call->drained_ns = work->last_ns - work->first_ns;
}

/* ---- what the evidence says ---- */

/* The context had work, and nothing that ran in it when the call began ran on after it: it may have
 * waited for an idle context. */
static bool is_drained(const struct gv_stall_call *call)
{
    return call->in_context.count > 0 && call->busy_until_ns <= call->end_ns + GV_STALL_SLACK_NS;
}

/* The rest of the call is short enough to be its own. */
static bool ends_with(const struct gv_stall_call *call, const struct gv_stall_work *work)
{
    return !is_measured(call) ||
           call->end_ns - work->last_ns <= most(TAIL_NS, gv_stall_call_ns(call) / 10);
}

/* Whether all that was in its stream's queue ended in the call. */
static bool is_behind_all(const struct gv_stall_call *call)
{
    return !is_measured(call) || call->ahead <= call->in_stream.count;
}

/* The work that the call waits for if it waits for its stream's: the legacy default stream waits
 * for others, and is waited for. */
static const struct gv_stall_work *in_scope(const struct gv_stall_call *call)
{
    return call->rule->scope == GV_SCOPE_STREAM && call->own_stream ? &call->in_stream
                                                                    : &call->in_context;
}

static bool is_pinned(const struct gv_stall_call *call)
{
    return call->rule->cause == GV_CAUSE_PAGEABLE_COPY && call->own_host_memory == PINNED;
}

/* A copy that needs nobody to hand it on, or is still to come: it has not waited for its turn. */
static bool is_asynchronous(const struct gv_stall_call *call)
{
    return is_pinned(call) || call->own_start_ns > call->end_ns + GV_STALL_SLACK_NS;
}

/* Calls that only hand work to the GPU, or ask for the code of a kernel. */
static bool is_launch(const struct gv_stall_call *call)
{
    enum gv_cause cause = call->rule->cause;
    bool copy = cause == GV_CAUSE_PAGEABLE_COPY || cause == GV_CAUSE_SYNC_COPY;

    return cause == GV_CAUSE_QUEUE_FULL || cause == GV_CAUSE_LAZY_LOAD ||
           (copy && is_asynchronous(call));
}

/* A launch of which nothing but its being the first says that it needed something. */
static bool is_guessed(const struct gv_stall_judge *judge, const struct gv_stall_call *call)
{
    return is_launch(call) && !call->lazy && !(judge->any_local && call->own_local_bytes > 0);
}

/* Calls that put something on the GPU and waited for it have worked that long. */
static bool has_worked(const struct gv_stall_call *call)
{
    if ((call->rule->flags & GV_CALL_WORKS) || call->lazy || call->loads)
        return true;
    if (call->first_use && gv_stall_call_ns(call) <= FIRST_NS)
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
    drains_context_in(judge, call, cause, OWN_NS);
}

static void destroys_context(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                             enum gv_cause cause)
{
    if (is_measured(call) || gv_stall_call_ns(call) >= CONTEXT_MOST_NS)
        drains_context_in(judge, call, cause, CONTEXT_NS);
}

/* A library is compiled when it is read, and put onto the GPU later. */
static void loads_code(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                       enum gv_cause cause)
{
    bool module = (call->rule->flags & GV_CALL_DRAINS) != 0;

    if (is_measured(call) || module || (!call->ptx && gv_stall_call_ns(call) >= LIBRARY_NS))
        drains_context(judge, call, cause);
}

static void loads_code_late(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                            enum gv_cause cause)
{
    /* Who asks for a kernel without launching it asks before its first use. */
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

/* Whether nothing speaks against this launch having needed a larger pool of local memory. */
static bool may_grow_local_memory(const struct gv_stall_judge *judge,
                                  const struct gv_stall_call *call)
{
    if (call->own_start_ns && call->own_start_ns + GV_STALL_SLACK_NS < call->in_context.last_ns)
        return false;
    if (is_measured(call) && judge->any_local)
        return call->own_local_bytes > call->local_before_bytes;
    /* A first launch that waits for the context although its code was there: for what else? */
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

    /* A file may say anything. */
    return own_us < INT64_MAX / 2000 ? OWN_NS / 10 + own_us * 1000 : INT64_MAX / 2;
}

static void copies(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                   enum gv_cause cause)
{
    const struct gv_stall_work *work = in_scope(call);
    int64_t own_ns = copy_own_ns(call);
    /* From the calls alone, a copy that waited and one that merely took its time look alike: half
     * of it must be waiting. */
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
    /* It waited for something unseen, or not for the GPU: it was asked to. */
    call->cause = cause;
    call->wait_ns = gv_stall_call_ns(call);
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

/* When a call that waited may have given the lock back: not before what it waited for had ended. */
static int64_t held_until_ns(const struct gv_stall_call *holder)
{
    return holder->waited_until_ns
               ? holder->waited_until_ns
               : holder->end_ns - least(gv_stall_call_ns(holder) / 10, RELEASE_NS);
}

/* Holds the lock as long as it takes. */
static bool holds_lock(const struct gv_stall_call *call)
{
    return (call->rule->flags & GV_CALL_HOLDS) || call->cause == GV_CAUSE_LAZY_LOAD ||
           call->cause == GV_CAUSE_LOCAL_MEMORY;
}

/* Only allocations wait behind it. */
static bool holds_allocations(const struct gv_stall_call *call)
{
    return call->cause == GV_CAUSE_QUEUE_FULL || call->cause == GV_CAUSE_PAGEABLE_COPY;
}

static bool keeps_out(const struct gv_stall_judge *judge, const struct gv_stall_call *holder,
                      const struct gv_stall_call *call)
{
    int64_t rest_ns = call->end_ns - holder->end_ns;

    if (holder->process != call->process || holder->thread == call->thread ||
        !(call->rule->flags &
          (holds_lock(holder) ? GV_CALL_HELD | GV_CALL_HELD_ALLOC : GV_CALL_HELD_ALLOC)))
        return false;
    if (holder->context && call->context && holder->context != call->context)
        return false;
    /* What the call does by itself may come after. */
    if (!(call->rule->flags & GV_CALL_WORKS) &&
        rest_ns > most(gv_stall_call_ns(call) / 5, RELEASE_NS))
        return false;
    if (call->end_ns < holder->end_ns - GV_STALL_SLACK_NS)
        return held_until_ns(holder) - call->start_ns >= judge->threshold_ns &&
               call->end_ns >= held_until_ns(holder) - GV_STALL_SLACK_NS;
    return holder->end_ns - call->start_ns >= judge->threshold_ns;
}

/* Whether the lock is a better reason than the one that was found. */
static bool is_better(const struct gv_stall_judge *judge, const struct gv_stall_call *holder,
                      const struct gv_stall_call *call, int64_t wait_ns)
{
    /* Neither returns: the one that began first is in the way. */
    if (call->source == GV_STALL_IN_FLIGHT)
        return true;
    /* The lock is known to be held: that comes before what a new kernel might have needed. */
    if ((call->cause == GV_CAUSE_LAZY_LOAD || call->cause == GV_CAUSE_LOCAL_MEMORY) &&
        is_guessed(judge, call) && !is_guessed(judge, holder))
        return wait_ns + wait_ns / 10 >= call->wait_ns;
    /* It would have waited for the same operation by itself. */
    if (call->wait_ns > 0 && call->wait_ns + call->wait_ns / 10 >= wait_ns && call->waited_for &&
        call->waited_for == holder->waited_for)
        return false;
    return wait_ns > call->wait_ns;
}

static void is_locked_out(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                          enum gv_cause cause)
{
    const struct gv_stall_call *holder = NULL;

    for (size_t i = 0; i < judge->holder_count; i++)
        if (keeps_out(judge, &judge->holders[i], call) &&
            (!holder || judge->holders[i].end_ns > holder->end_ns))
            holder = &judge->holders[i];
    if (!holder)
        return;
    int64_t wait_ns = least(least(holder->end_ns, call->end_ns) - call->start_ns,
                            gv_stall_call_ns(call) - call->jit_ns);
    if (!is_better(judge, holder, call, wait_ns))
        return;
    call->cause = cause;
    call->wait_ns = wait_ns;
    call->blocked_by = holder->call;
    call->waited_for = holder->waited_for;
    call->presumed = holder->presumed;
    call->drained_count = call->drained_ns = 0;
    call->waited_until_ns = call->start_ns + wait_ns;
}

/* A thread that spins until the GPU is done may wait for a CPU at the same time: this is only what
 * nothing else explains. */
static void waits_for_cpu(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                          enum gv_cause cause)
{
    if (call->delay_ns < judge->threshold_ns || call->delay_ns < gv_stall_call_ns(call) / 2)
        return;
    call->cause = cause;
    call->wait_ns = call->delay_ns;
}

/* Nothing is invented. */
static void is_unexplained(const struct gv_stall_judge *judge, struct gv_stall_call *call,
                           enum gv_cause cause)
{
    (void)judge;
    (void)cause;
    if (!has_worked(call))
        call->wait_ns = gv_stall_call_ns(call) - call->short_ns;
}

/* ---- the decision ---- */

static const struct {
    const char *name, *why, *advice_in_flight;
    struct {
        const char *part, *text;
    } advice[4]; /* the last row is empty */
    bool expected, waits;
    proof *proof;
} causes[] = {
#define GV_ADVICE(part, text) {part, text},
#define GV_CAUSE(name, text, expected, waits, proof, why, advice, advice_in_flight)                \
    {text, why, advice_in_flight, {advice}, expected, waits, proof},
#include "report/analyse/stalls/causes.def"
};

/* Remembers a call that keeps others out. Nobody who comes now can wait for those that ended. */
static int remember_holder(struct gv_stall_judge *judge, const struct gv_stall_call *call)
{
    size_t kept = 0;

    if (gv_stall_call_ns(call) < judge->threshold_ns || !call->thread ||
        !(holds_lock(call) || holds_allocations(call)))
        return 0;
    for (size_t i = 0; i < judge->holder_count; i++)
        if (judge->holders[i].end_ns >= call->start_ns)
            judge->holders[kept++] = judge->holders[i];
    judge->holder_count = kept;
    if (judge->holder_count == judge->holder_room) {
        size_t room = judge->holder_room ? judge->holder_room * 2 : 16;
        void *larger = realloc(judge->holders, room * sizeof(*judge->holders));
        if (!larger)
            return -ENOMEM;
        judge->holders = larger;
        judge->holder_room = room;
    }
    judge->holders[judge->holder_count++] = *call;
    return 0;
}

int gv_stall_decide(struct gv_stall_judge *judge, struct gv_stall_call *call)
{
    call->cause = GV_CAUSE_UNKNOWN;
    call->jit_ns = compiled_until(judge, call, call->end_ns);
    for (int i = 0; i < GV_CAUSE_COUNT; i++)
        if (call->cause == GV_CAUSE_UNKNOWN || i == GV_CAUSE_LOCK)
            causes[i].proof(judge, call, (enum gv_cause)i);
    return remember_holder(judge, call);
}

/* ---- the tables ---- */

/* The flags' short names, as call_kinds.def writes them. */
enum {
#define GV_CALL_FLAG(name, bit) name = GV_CALL_##name,
#include "trace/call_flags.def"
};

const struct gv_stall_rule *gv_stall_rule_find(const char *name, const char *class_name)
{
    static const struct gv_stall_rule rules[GV_KIND_COUNT + 1] = {
#define GV_CALL_KIND(name, class, cause, scope, work, memory, flags)                               \
    [GV_KIND_##name] = {GV_CAUSE_##cause, GV_SCOPE_##scope, (uint32_t)(flags)},
#include "trace/call_kinds.def"
        [GV_KIND_COUNT] = {GV_CAUSE_UNKNOWN, GV_SCOPE_NOTHING, GV_CALL_WORKS},
    };

    return &rules[gv_call_kind_find(name, class_name)];
}

const char *gv_cause_name(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT ? causes[cause].name : NULL;
}

const char *gv_cause_why(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT ? causes[cause].why : NULL;
}

bool gv_cause_waits(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT && causes[cause].waits;
}

bool gv_cause_is_expected(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT && causes[cause].expected;
}

bool gv_cause_is_unknown(const char *name)
{
    return name && strcmp(name, causes[GV_CAUSE_UNKNOWN].name) == 0;
}

enum gv_cause gv_cause_find(const char *name)
{
    for (unsigned int i = 0; i < GV_CAUSE_COUNT; i++)
        if (strcmp(causes[i].name, name) == 0)
            return (enum gv_cause)i;
    return GV_CAUSE_COUNT;
}

const char *gv_cause_advice(enum gv_cause cause, const char *call)
{
    for (size_t i = 0; cause < GV_CAUSE_COUNT && causes[cause].advice[i].text; i++)
        if (!causes[cause].advice[i].part[0] ||
            (call && strstr(call, causes[cause].advice[i].part)))
            return causes[cause].advice[i].text;
    return "";
}

const char *gv_cause_advice_in_flight(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT ? causes[cause].advice_in_flight : "";
}
