/*
 * The evidence on one call, and the decision. measured.c gathers evidence from the GPU's
 * operations, inferred.c from the calls alone, in_flight.c for calls that have not returned.
 * cause.c decides all three in the same way.
 */
#ifndef GV_ANALYSE_STALLS_EVIDENCE_H
#define GV_ANALYSE_STALLS_EVIDENCE_H

#include "report/analyse/stalls/rule.h"
#include "report/store/time_sum.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What another process did; "call", "start", "end" and "use" in the trace. */
enum gv_other_did { GV_OTHER_CALLED, GV_OTHER_STARTED, GV_OTHER_ENDED, GV_OTHER_USED };

/* Covers the difference between the GPU's clock and the host's, and the time until the host
 * notices an end. */
#define GV_STALL_SLACK_NS 50000
/* The end of a call that has not returned. */
#define GV_STALL_FOREVER_NS (INT64_C(1) << 61)

/* What CUDA_MODULE_LOADING says. */
enum gv_stall_loading { GV_STALL_LOADING_UNKNOWN, GV_STALL_LOADING_LAZY, GV_STALL_LOADING_EAGER };

enum gv_stall_source { GV_STALL_MEASURED, GV_STALL_INFERRED, GV_STALL_IN_FLIGHT };

/* Work that the GPU had before the call. */
struct gv_stall_work {
    int64_t count;    /* measured: ended in the call; otherwise: may be unfinished */
    int64_t first_ns; /* measured: start of the first */
    int64_t last_ns;  /* measured: end of the last */
    int64_t last_start_ns;
    int64_t op;   /* measured: the last, a row of gpu_op */
    int64_t call; /* otherwise: the call that launched the last */
    /* of the host functions that ended in the call */
    int64_t host;           /* the one that took most of the call's time, a row of host_function */
    int64_t host_ns;        /* how much, */
    int64_t host_end_ns;    /* and when it ended */
    int64_t hosts_until_ns; /* when the last one ended */
};

/* A time of compiling that CUPTI recorded. */
struct gv_stall_jit {
    int64_t start_ns, end_ns;
};

/* When another process may have kept the kernel driver busy, and how. */
struct gv_stall_life {
    int64_t process; /* row, of the session; 0: outside of it */
    int64_t other;   /* row of other_process; 0: of the session */
    int64_t machine; /* as of a call */
    int64_t call;    /* row; 0: no call says so */
    enum gv_other_did did;
    int64_t at_ns; /* when it started or ended */
    int64_t start_ns, end_ns;
};

/* A call that took long, or loaded code, or has not returned. */
struct gv_stall_call {
    const struct gv_stall_rule *rule;
    enum gv_stall_source source;
    int64_t call, start_ns, end_ns, bytes;
    int64_t process, thread, api, stream, context, kernel; /* rows; 0: not known */
    int64_t machine;               /* number; other machines' processes are in nobody's way */
    bool own_stream;               /* its stream is known, and is not the legacy default stream */
    bool loads;                    /* it loaded code */
    bool lazy;                     /* CUPTI saw code reach the GPU in it */
    bool ptx;                      /* it loaded PTX that is new to this run */
    bool first_use;                /* it is its kernel's first */
    bool eager;                    /* its kernel's code reached the GPU when it was loaded */
    bool blocking;                 /* its process has CUDA_LAUNCH_BLOCKING=1 */
    enum gv_stall_loading loading; /* its process's CUDA_MODULE_LOADING */
    bool remaps;                   /* it allocates what its pool had, and gave back */
    int64_t delay_ns; /* its thread waited for a CPU for at least so long; 0: not known */
    struct gv_stall_work in_stream, in_context;
    /* measured only */
    int64_t before_ns;        /* end of its thread's previous call */
    struct gv_stall_work own; /* its own operations */
    int64_t own_start_ns;     /* start of the first; 0: not known */
    int64_t own_local_bytes, local_before_bytes;
    int64_t own_host_memory; /* CUpti_ActivityMemoryKind, the lowest; 0: none or not known */
    int64_t busy_until_ns;   /* end of the last operation that was running when it began */
    int64_t ahead;           /* operations in its stream's queue when it began */
    size_t jit_first, jit_count;
    /* inferred only */
    int64_t copied_bytes_per_us; /* speed of earlier copies of this kind; 0: none */
    int64_t freeing_ns;          /* what freeing so much memory takes; 0: little, or not known */
    /* the decision */
    enum gv_cause cause;
    int64_t jit_ns, wait_ns;
    int64_t short_ns;        /* a wait below the threshold */
    int64_t waited_until_ns; /* 0: not known */
    int64_t waited_for, drained_count, drained_ns;
    int64_t presumed;        /* call that launched what it presumably waited for */
    int64_t blocked_by;      /* call that held the lock */
    int64_t host_function;   /* most of the wait was for it */
    struct gv_stall_life by; /* other-process only */
};

static inline int64_t gv_stall_call_ns(const struct gv_stall_call *call)
{
    return call->end_ns - call->start_ns;
}

#define GV_STALL_STEPS 64

/* Calls by the highest bit of their size and of their duration. */
struct gv_stall_usual {
    uint32_t count[GV_STALL_STEPS][GV_STALL_STEPS];
};

/* Filled in by report/analyse/stalls/others.c; empty for calls that have not returned. */
struct gv_stall_others {
    struct gv_stall_life *lives;
    size_t count, room;
    struct gv_stall_usual **usual; /* by api; NULL: none was seen */
    size_t api_count;
};

/* What the decision needs besides the call itself. */
struct gv_stall_judge {
    int64_t threshold_ns;
    int64_t any_local;         /* CUPTI reports local memory: not all versions do; 0: it does not */
    struct gv_stall_jit *jits; /* of the calls of one chunk */
    size_t jit_count, jit_room;
    struct gv_stall_call *holders; /* of the lock; others may still wait for them */
    size_t holder_count, holder_room;
    size_t later_count;            /* calls that follow the one that is decided */
    struct gv_stall_call *keepers; /* of the kernel driver; other processes may wait for them */
    size_t keeper_count, keeper_room;
    struct gv_stall_others others;
};

/* A host function that ended in the call is among this work. */
static inline void gv_stall_work_ran(struct gv_stall_work *work, const struct gv_stall_call *call,
                                     int64_t host, int64_t start_ns, int64_t end_ns)
{
    int64_t ns = gv_time_overlap(start_ns, end_ns, call->start_ns, call->end_ns);

    if (ns > work->host_ns) {
        work->host = host;
        work->host_ns = ns;
        work->host_end_ns = end_ns;
    }
    if (end_ns > work->hosts_until_ns)
        work->hosts_until_ns = end_ns;
}

/* report/analyse/stalls/others.c: what such a call of that size usually takes. -1: too few were
 * seen. */
int64_t gv_stall_usual_ns(const struct gv_stall_others *others, const struct gv_stall_call *call);

/* report/analyse/stalls/cause.c: fills in the decision. Calls must come in the order of their
 * start; so many later ones, not yet decided, follow it in memory. 0 or -ENOMEM. */
int gv_stall_decide(struct gv_stall_judge *judge, struct gv_stall_call *call, size_t later_count);

#endif
