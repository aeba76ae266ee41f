/*
 * How much of a thread's time we may spend: on explaining its calls (stacks, and reading how long
 * it waited for a CPU), and on the events of samples. A budget grows with the time in which the
 * thread makes calls, so that one that was idle for an hour does not spend that hour's in its next
 * request. For a stall, the thread may borrow. Waits that the program asked for only get what is
 * saved above GV_BUDGET_LEFT_NS.
 *
 * Each has its own, so that the first stacks of a program do not keep it from being sampled.
 *
 * Only the thread itself may call these; for stacks, inside a group of records.
 */
#ifndef GV_BASE_BUDGET_H
#define GV_BASE_BUDGET_H

#include "preload/base/clock.h"
#include "preload/base/thread.h"
#include "trace/own_cost.h"

#define GV_BUDGET_STACKS_OF_1000 2
#define GV_BUDGET_PAIRS_OF_1000  3

#define GV_BUDGET_ACTIVE_NS   20000000 /* a longer pause counts as that; so much can be saved */
#define GV_BUDGET_LEFT_NS     20000    /* half of what can be saved */
#define GV_BUDGET_BORROWED_NS 5000000
#define GV_BUDGET_OWED_NS     60000000 /* at most: after a burst, stacks come back in 20 s */
#define GV_BUDGET_DEAREST_NS  250000   /* what took longer was interrupted */

static inline void gv_budget_grow(struct gv_budget *budget, int of_1000, uint64_t now_ns)
{
    uint64_t since_ns = now_ns > budget->at_ns ? now_ns - budget->at_ns : 0;
    int64_t active_ns = since_ns < GV_BUDGET_ACTIVE_NS ? (int64_t)since_ns : GV_BUDGET_ACTIVE_NS;

    budget->at_ns = now_ns;
    budget->left_ns += active_ns * of_1000 / 1000;
    if (budget->left_ns > GV_BUDGET_ACTIVE_NS / 1000 * of_1000)
        budget->left_ns = GV_BUDGET_ACTIVE_NS / 1000 * of_1000;
}

static inline void gv_budget_spend(struct gv_budget *budget, uint64_t took_ns, uint64_t dearest_ns)
{
    budget->left_ns -= (int64_t)(took_ns < dearest_ns ? took_ns : dearest_ns);
    if (budget->left_ns < -GV_BUDGET_OWED_NS)
        budget->left_ns = -GV_BUDGET_OWED_NS;
}

/* Of stacks. */
static inline bool gv_budget_allows(const struct gv_thread *thread, bool can_wait)
{
    return thread->stacks.left_ns > (can_wait ? GV_BUDGET_LEFT_NS : -GV_BUDGET_BORROWED_NS);
}

/* Takes the time since `start_ns` from the budget of stacks, and counts it as a cost. */
static inline void gv_budget_pay(struct gv_thread *thread, enum gv_own_cost what, uint64_t start_ns)
{
    uint64_t took_ns = gv_clock_now_ns() - start_ns;

    gv_own_cost_add(gv_process.spool.header->own_cost, what, took_ns);
    gv_budget_spend(&thread->stacks, took_ns, GV_BUDGET_DEAREST_NS);
}

#endif
