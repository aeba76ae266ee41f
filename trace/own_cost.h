/* What gpuverify itself costs a process: trace/own_cost.def. */
#ifndef GV_TRACE_OWN_COST_H
#define GV_TRACE_OWN_COST_H

#include <stdatomic.h>
#include <stdint.h>

enum gv_own_cost {
#define GV_OWN_COST(name, ...) GV_OWN_COST_##name,
#include "trace/own_cost.def"
    GV_OWN_COST_COUNT
};

/* A hook that took longer is not measured. */
#define GV_OWN_COST_HOOK_MOST_NS 20000u
/* Nothing takes longer, but in a damaged spool. */
#define GV_OWN_COST_MOST_NS UINT64_C(3600000000000)

struct gv_own_cost_total {
    _Atomic uint64_t count;
    _Atomic uint64_t total_ns;
    _Atomic uint64_t spared; /* how often it was not done, such as to stay within its budget */
};

/* Any thread, also signal handlers. */
static inline void gv_own_cost_add(struct gv_own_cost_total *totals, enum gv_own_cost what,
                                   uint64_t duration_ns)
{
    atomic_fetch_add_explicit(&totals[what].count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&totals[what].total_ns, duration_ns, memory_order_relaxed);
}

/* The same. */
static inline void gv_own_cost_spare(struct gv_own_cost_total *totals, enum gv_own_cost what)
{
    atomic_fetch_add_explicit(&totals[what].spared, 1, memory_order_relaxed);
}

#endif
