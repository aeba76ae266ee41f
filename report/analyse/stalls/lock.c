/* Calls that wait behind another thread's call, because that holds the driver's lock. */
#include "report/analyse/stalls/run.h"

#include <errno.h>
#include <stdlib.h>

/* How long it may take to go on after the lock is given back, when others want it too. */
#define GV_STALL_RELEASE_NS 2000000

static bool gv_stall_lock_blocks(const struct gv_stall_holder *holder, const struct gv_held *held,
                                 int64_t threshold_ns)
{
    int64_t rest_ns = held->end_ns - holder->end_ns;
    int64_t allowed_ns = (held->end_ns - held->start_ns) / 5;

    if (holder->process != held->process || holder->thread == held->thread ||
        (holder->allocations_only && !(held->rule->flags & GV_CALL_HELD_ALLOC)))
        return false;
    if (holder->context && held->context && holder->context != held->context)
        return false;
    if (allowed_ns < GV_STALL_RELEASE_NS)
        allowed_ns = GV_STALL_RELEASE_NS;
    /* What the call does by itself may come after. */
    if (!(held->rule->flags & GV_CALL_WORKS) && rest_ns > allowed_ns)
        return false;
    if (held->end_ns < holder->end_ns - GV_STALL_SLACK_NS)
        return holder->held_until_ns - held->start_ns >= threshold_ns &&
               held->end_ns >= holder->held_until_ns - GV_STALL_SLACK_NS;
    return holder->end_ns - held->start_ns >= threshold_ns;
}

/* Nobody who comes now can wait for those that have ended. */
static void gv_stall_lock_forget(struct gv_stall_run *run, int64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->holder_count; i++)
        if (run->holders[i].end_ns >= now_ns)
            run->holders[kept++] = run->holders[i];
    run->holder_count = kept;
}

/* Whether the lock is a better reason than the one that was found. */
static bool gv_stall_lock_explains(const struct gv_stall_holder *found, const struct gv_held *held,
                                   int64_t wait_ns)
{
    /* The lock is known to be held: that comes before what a new kernel might have needed. */
    if (held->guessed && !found->guessed &&
        (held->cause == GV_CAUSE_LAZY_LOAD || held->cause == GV_CAUSE_LOCAL_MEMORY))
        return wait_ns + wait_ns / 10 >= held->wait_ns;
    /* It would have waited for the same operation by itself. */
    if (held->wait_ns > 0 && held->wait_ns + held->wait_ns / 10 >= wait_ns && held->waited_for &&
        held->waited_for == found->waited_for)
        return false;
    return wait_ns > held->wait_ns;
}

void gv_stall_lock_find(struct gv_stall_run *run, struct gv_held *held)
{
    const struct gv_stall_holder *found = NULL;

    for (size_t i = 0; i < run->holder_count; i++) {
        const struct gv_stall_holder *holder = &run->holders[i];
        if (gv_stall_lock_blocks(holder, held, run->threshold_ns) &&
            (!found || holder->end_ns > found->end_ns))
            found = holder;
    }
    if (!found)
        return;
    int64_t wait_ns =
        (found->end_ns < held->end_ns ? found->end_ns : held->end_ns) - held->start_ns;
    if (wait_ns > held->end_ns - held->start_ns - held->jit_ns)
        wait_ns = held->end_ns - held->start_ns - held->jit_ns;
    if (!gv_stall_lock_explains(found, held, wait_ns))
        return;
    held->cause = GV_CAUSE_LOCK;
    held->wait_ns = wait_ns;
    held->blocked_by = found->call;
    held->waited_for = found->waited_for;
    held->presumed = found->presumed;
    held->drained_count = held->drained_ns = 0;
    held->waited_until_ns = held->start_ns + wait_ns;
}

/* When a call that waited may have given the lock back: not before what it waited for had ended. */
static int64_t gv_stall_lock_until(const struct gv_held *held)
{
    int64_t late_ns = (held->end_ns - held->start_ns) / 10;

    if (held->waited_until_ns)
        return held->waited_until_ns;
    return held->end_ns - (late_ns < GV_STALL_RELEASE_NS ? late_ns : GV_STALL_RELEASE_NS);
}

int gv_stall_lock_add(struct gv_stall_run *run, const struct gv_held *held)
{
    bool all = (held->rule->flags & GV_CALL_HOLDS) || held->cause == GV_CAUSE_LAZY_LOAD ||
               held->cause == GV_CAUSE_LOCAL_MEMORY;
    bool allocations = held->cause == GV_CAUSE_QUEUE_FULL || held->cause == GV_CAUSE_PAGEABLE_COPY;

    if (held->end_ns - held->start_ns < run->threshold_ns || !(all || allocations))
        return 0;
    gv_stall_lock_forget(run, held->start_ns);
    if (run->holder_count == run->holder_room) {
        size_t room = run->holder_room ? run->holder_room * 2 : 16;
        void *larger = realloc(run->holders, room * sizeof(*run->holders));
        if (!larger)
            return -ENOMEM;
        run->holders = larger;
        run->holder_room = room;
    }
    run->holders[run->holder_count++] = (struct gv_stall_holder){
        .call = held->call,
        .start_ns = held->start_ns,
        .end_ns = held->end_ns,
        .held_until_ns = gv_stall_lock_until(held),
        .process = held->process,
        .thread = held->thread,
        .context = held->context,
        .waited_for = held->waited_for,
        .presumed = held->presumed,
        .allocations_only = !all,
        .guessed = held->guessed,
    };
    return 0;
}
