/*
 * One analysis under way: the trace's small tables in memory, by row number, and the calls that are
 * looked at together. Internal to report/analyse/stalls.
 */
#ifndef GV_ANALYSE_STALLS_RUN_H
#define GV_ANALYSE_STALLS_RUN_H

#include "report/analyse/stalls/rules.h"

#include <sqlite3.h>
#include <stddef.h>

/* Calls that are looked at together; more only cost memory, fewer more passes over the GPU's
 * operations. */
#define GV_STALL_CHUNK 16384u
/* What the GPU's clock and the host's may differ by, and a host takes to notice an end. */
#define GV_STALL_SLACK_NS 50000
/* How long a call may take by itself after the wait, and the wait still explains it: */
#define GV_STALL_TAIL_NS 2000000
/* How long a kernel's first launch may take on an idle GPU, to bring its code or to make room for
 * its local memory: */
#define GV_STALL_FIRST_NS 10000000
/* How many operations a stream's queue holds: about 1024. */
#define GV_STALL_QUEUE 900

/* Operations that ended while a call was under way. */
struct gv_stall_drained {
    int64_t count;
    int64_t first_ns; /* start of the first */
    int64_t last_ns;  /* end of the last */
    int64_t op;       /* the last, row in gpu_op */
};

/* CUPTI_ACTIVITY_MEMORY_KIND_PINNED. */
#define GV_STALL_PINNED 2

/* A call that took long, or loaded code. */
struct gv_held {
    const struct gv_stall_rule *rule;
    int64_t call, start_ns, end_ns, bytes;
    int64_t process, thread, api, stream, context, kernel; /* rows; 0: not known */
    bool measured;                                         /* the GPU's side was seen */
    bool loads;                                            /* a load of code was seen in it */
    bool lazy;                                             /* code came onto the GPU in it */
    bool ptx;                                              /* the load's image is PTX */
    bool first_use;                                        /* of its kernel */
    bool eager; /* its kernel's code was put onto the GPU by the load */
    /* the GPU's side */
    struct gv_stall_drained in_stream;
    struct gv_stall_drained in_scope; /* context or device */
    int64_t own_start_ns;             /* of what it put on the GPU; 0: not known */
    int64_t own_local_bytes, local_before_bytes;
    int64_t own_host_memory; /* CUpti_ActivityMemoryKind, the least; 0: none, or not known */
    int64_t busy_until_ns;   /* end of the last operation that ran when it began */
    int64_t ahead;           /* operations that were in its stream's queue */
    /* the calls alone: work put on the GPU that was not known to be finished */
    int64_t unfinished, unfinished_call;
    int64_t unfinished_stream, unfinished_stream_call;
    int64_t delay_ns; /* for so long at least its thread waited for a processor; 0: not known */
    int64_t copied_bytes_per_us; /* by such calls before; 0: there were none */
    /* what came of it */
    bool stalled;
    enum gv_cause cause;
    bool guessed; /* the cause, from nothing more than that the kernel was new */
    int64_t jit_ns, wait_ns;
    int64_t short_ns;        /* a wait that was seen, and was shorter than the threshold */
    int64_t waited_until_ns; /* 0: not known */
    int64_t waited_for, blocked_by, drained_count, drained_ns;
    int64_t presumed; /* call that put there what it presumably waited for */
};

/* Positions in an order of the chunk's calls that belong together, by time. */
struct gv_stall_span {
    uint32_t first, count, hint;
};

struct gv_stall_process {
    bool measured;
    bool initialised;  /* a long call of the runtime was seen */
    int64_t unseen_ns; /* of what was launched from then on, not all is there */
};

struct gv_stall_api {
    const struct gv_stall_rule *rule;
    bool runtime;
    int64_t copies, copied_bytes_per_us; /* of the fastest */
};

struct gv_stall_stream {
    int64_t context;
    bool legacy;
};

struct gv_stall_kernel {
    int64_t module;
    int64_t first_call, first_ns;
};

struct gv_stall_place {
    int64_t process, context, stream;
    int tries;
};

/* Operations of neighbouring ids: when they ran. */
struct gv_stall_zone {
    int64_t first_id, last_id, start_ns, end_ns;
};

/* A call that holds the driver's lock, as long as others may wait behind it. */
struct gv_stall_holder {
    int64_t call, start_ns, end_ns, process, thread, context, waited_for, presumed;
    int64_t held_until_ns; /* at least; it may return a while after it gave the lock back */
    bool allocations_only;
    bool guessed; /* whether it held it */
};

enum gv_stall_statement {
#define GV_STALL_STATEMENT(name, sql) GV_STALL_##name,
#include "report/analyse/stalls/statements.def"
    GV_STALL_STATEMENT_COUNT
};

struct gv_stall_replay;

/* The call that an operation came from. */
struct gv_stall_launch {
    int64_t call; /* 0: none was asked for yet */
    int64_t thread, start_ns;
    bool found;
};

struct gv_stall_run {
    struct gv_stall_launch launch; /* of the operation that was looked at last */
    sqlite3 *trace;
    int64_t threshold_ns;
    sqlite3_stmt *statements[GV_STALL_STATEMENT_COUNT];
    /* by row number; the counts are one more than the highest */
    struct gv_stall_process *processes;
    struct gv_stall_api *apis;
    struct gv_stall_stream *streams;
    struct gv_stall_kernel *kernels;
    struct gv_stall_place *places;
    int64_t *threads;     /* -> process */
    int64_t *shapes;      /* -> local_bytes */
    int64_t *finished_ns; /* by context, from the calls alone: all that began before has ended */
    bool *modules;        /* whether its code is put onto the GPU when it is loaded */
    size_t process_count, api_count, stream_count, kernel_count, place_count, thread_count,
        shape_count, context_count, module_count;
    struct gv_stall_zone *zones;
    size_t zone_count, zone_room;
    bool any_measured, any_jit;
    bool any_local; /* CUPTI said how much local memory kernels have: not all versions do */
    /* the chunk */
    struct gv_held *held;
    size_t held_count;
    struct gv_stall_holder *holders;
    size_t holder_count, holder_room;
    struct gv_stall_replay *replay;
    int64_t next_id; /* of a row of stall */
};

/* report/analyse/stalls/run.c: 0 or -errno. */
int gv_stall_run_open(struct gv_stall_run *run, sqlite3 *trace, int64_t threshold_ns);
void gv_stall_run_close(struct gv_stall_run *run);
/* The statement, reset; NULL: see *error. */
sqlite3_stmt *gv_stall_statement(struct gv_stall_run *run, enum gv_stall_statement statement,
                                 int *error);
int gv_stall_execute(sqlite3 *trace, const char *sql);
/* -errno of the last step's result. */
int gv_stall_error(sqlite3 *trace, int result);
/* array[row], or NULL for a row that there is none of. */
#define GV_STALL_ROW(array, count, row)                                                            \
    ((row) > 0 && (uint64_t)(row) < (count) ? &(array)[row] : NULL)

/* A time or duration of a file that may say anything: such that sums of them cannot overflow. */
static inline int64_t gv_stall_ns(sqlite3_stmt *row, int column)
{
    const int64_t most = INT64_C(1) << 60;
    int64_t ns = sqlite3_column_int64(row, column);

    return ns > most ? most : ns < -most ? -most : ns;
}
static inline int64_t gv_stall_duration(sqlite3_stmt *row, int column)
{
    int64_t ns = gv_stall_ns(row, column);

    return ns < 0 ? 0 : ns;
}

/* report/analyse/stalls/callers.c: fills temp.stall_caller, the line to be moved of stacks whose
 * innermost one is a helper's. */
int gv_stall_callers_find(sqlite3 *trace);

/* report/analyse/stalls/calls.c: reads the next chunk of calls, by start; 0 of them: no more. */
int gv_stall_calls_next(struct gv_stall_run *run);

/* report/analyse/stalls/gpu.c: what the GPU did meanwhile. */
int gv_stall_gpu_open(struct gv_stall_run *run);
int gv_stall_gpu_look(struct gv_stall_run *run);

/* report/analyse/stalls/replay.c: what was on the GPU, from the calls alone. */
int gv_stall_replay_look(struct gv_stall_run *run);
void gv_stall_replay_close(struct gv_stall_run *run);

/* report/analyse/stalls/cause.c, report/analyse/stalls/cause_inferred.c: why each was held up. */
int gv_stall_causes(struct gv_stall_run *run);
void gv_stall_cause_inferred(const struct gv_stall_run *run, struct gv_held *held);

/* report/analyse/stalls/lock.c: in the order of the calls' start. Blocks `held` if that explains
 * more than what is known so far. */
void gv_stall_lock_find(struct gv_stall_run *run, struct gv_held *held);
int gv_stall_lock_add(struct gv_stall_run *run, const struct gv_held *held);

/* report/analyse/stalls/store.c */
int gv_stall_store(struct gv_stall_run *run);
/* report/analyse/stalls/stall_advice.c: gives every stall that has none its advice. */
int gv_stall_advise(struct gv_stall_run *run);

#endif
