/*
 * What is known of one call, and what follows from it. measured.c gathers it from the operations on
 * the GPU, inferred.c from the calls alone, in_flight.c for calls that have not returned; cause.c
 * decides, in the same way for all three.
 */
#ifndef GV_ANALYSE_STALLS_EVIDENCE_H
#define GV_ANALYSE_STALLS_EVIDENCE_H

#include "report/analyse/stalls/cause.h"
#include "trace/call_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What trace/call_kinds.def says of a call's kind. */
struct gv_stall_rule {
    enum gv_cause cause; /* of a wait for the GPU */
    enum gv_call_scope scope;
    uint32_t flags; /* enum gv_call_flag */
};

/* What the GPU's clock and the host's may differ by, and a host takes to notice an end. */
#define GV_STALL_SLACK_NS 50000
/* The end of a call that has not returned. */
#define GV_STALL_FOREVER_NS (INT64_C(1) << 61)

enum gv_stall_source { GV_STALL_MEASURED, GV_STALL_INFERRED, GV_STALL_IN_FLIGHT };

/* Work on the GPU that was there before the call. */
struct gv_stall_work {
    int64_t count;    /* measured: what ended in the call; else what may have been unfinished */
    int64_t first_ns; /* measured: start of the first */
    int64_t last_ns;  /* measured: end of the last */
    int64_t op;       /* measured: the last, row in gpu_op */
    int64_t call;     /* else: that put the last of it there */
};

/* Compiling, by CUPTI's records. */
struct gv_stall_jit {
    int64_t start_ns, end_ns;
};

/* A call that took long, or loaded code, or has not returned. */
struct gv_stall_call {
    const struct gv_stall_rule *rule;
    enum gv_stall_source source;
    int64_t call, start_ns, end_ns, bytes;
    int64_t process, thread, api, stream, context, kernel; /* rows; 0: not known */
    bool own_stream;  /* its stream is known, and does not wait for the others */
    bool loads;       /* a load of code was seen in it */
    bool lazy;        /* code came onto the GPU in it */
    bool ptx;         /* the load's image is PTX */
    bool first_use;   /* of its kernel */
    bool eager;       /* its kernel's code was put onto the GPU by the load */
    int64_t delay_ns; /* for so long at least its thread waited for a processor; 0: not known */
    struct gv_stall_work in_stream, in_context;
    /* measured only */
    int64_t before_ns;    /* end of the thread's call before it */
    int64_t own_start_ns; /* of what it put on the GPU; 0: not known */
    int64_t own_local_bytes, local_before_bytes;
    int64_t own_host_memory; /* CUpti_ActivityMemoryKind, the least; 0: none, or not known */
    int64_t busy_until_ns;   /* end of the last operation that ran when it began */
    int64_t ahead;           /* operations that were in its stream's queue */
    size_t jit_first, jit_count;
    /* inferred only */
    int64_t copied_bytes_per_us; /* by such calls before; 0: there were none */
    /* what follows */
    enum gv_cause cause;
    int64_t jit_ns, wait_ns;
    int64_t short_ns;        /* a wait that was shorter than the threshold */
    int64_t waited_until_ns; /* 0: not known */
    int64_t waited_for, drained_count, drained_ns;
    int64_t presumed;   /* call that put there what it presumably waited for */
    int64_t blocked_by; /* call that held the lock */
};

static inline int64_t gv_stall_call_ns(const struct gv_stall_call *call)
{
    return call->end_ns - call->start_ns;
}

/* What is known beside the calls, and of the calls before. */
struct gv_stall_judge {
    int64_t threshold_ns;
    bool any_local;            /* CUPTI said how much local memory kernels have: not all do */
    struct gv_stall_jit *jits; /* of the calls that are decided together */
    size_t jit_count, jit_room;
    struct gv_stall_call *holders; /* of the lock, as long as others may wait behind them */
    size_t holder_count, holder_room;
};

/* Never NULL: a call of an unknown class does its own work and waits for nothing. Any thread. */
const struct gv_stall_rule *gv_stall_rule_find(const char *name, const char *class_name);

/* report/analyse/stalls/cause.c: fills in what follows; in the order of the calls' start. 0 or
 * -ENOMEM. */
int gv_stall_decide(struct gv_stall_judge *judge, struct gv_stall_call *call);

#endif
