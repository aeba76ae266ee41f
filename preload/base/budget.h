/*
 * How much of a thread's time we may spend to explain its slow calls: on stacks, and on reading how
 * long it waited for a CPU. The budget grows with time; up to GV_BUDGET_SAVED_NS of it can be
 * saved. For a stall, the thread may borrow. Waits that the program asked for only get what is
 * saved above GV_BUDGET_LEFT_NS.
 *
 * Only the thread itself may call these, inside a group of records.
 */
#ifndef GV_BASE_BUDGET_H
#define GV_BASE_BUDGET_H

#include "preload/base/clock.h"
#include "preload/base/thread.h"
#include "trace/own_cost.h"

#define GV_BUDGET_OF_1000_NS  2
#define GV_BUDGET_SAVED_NS    300000
#define GV_BUDGET_LEFT_NS     150000
#define GV_BUDGET_BORROWED_NS 5000000
#define GV_BUDGET_OWED_NS     60000000 /* at most: after a burst, stacks come back in 20 s */
#define GV_BUDGET_DEAREST_NS  250000   /* what took longer was interrupted */

static inline void gv_budget_grow(struct gv_thread *thread, uint64_t now_ns)
{
    uint64_t since_ns = thread->budget_at_ns;

    thread->budget_at_ns = now_ns;
    if (now_ns > since_ns) /* a thread's first time: since the clock's 0 */
        thread->budget_ns += (int64_t)((now_ns - since_ns) / 1000 * GV_BUDGET_OF_1000_NS);
    if (thread->budget_ns > GV_BUDGET_SAVED_NS)
        thread->budget_ns = GV_BUDGET_SAVED_NS;
}

static inline bool gv_budget_allows(const struct gv_thread *thread, bool can_wait)
{
    return thread->budget_ns > (can_wait ? GV_BUDGET_LEFT_NS : -GV_BUDGET_BORROWED_NS);
}

/* Takes the time since `start_ns` from the budget, and counts it as a cost. */
static inline void gv_budget_pay(struct gv_thread *thread, enum gv_own_cost what, uint64_t start_ns)
{
    uint64_t took_ns = gv_clock_now_ns() - start_ns;

    gv_own_cost_add(gv_process.spool.header->own_cost, what, took_ns);
    thread->budget_ns -= (int64_t)(took_ns < GV_BUDGET_DEAREST_NS ? took_ns : GV_BUDGET_DEAREST_NS);
    if (thread->budget_ns < -GV_BUDGET_OWED_NS)
        thread->budget_ns = -GV_BUDGET_OWED_NS;
}

#endif
