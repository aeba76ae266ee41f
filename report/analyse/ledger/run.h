/* Shared by the parts of report/analyse/ledger. */
#ifndef GV_LEDGER_RUN_H
#define GV_LEDGER_RUN_H

#include "report/analyse/gpu_unseen.h"
#include "report/analyse/stopped.h"
#include "report/analyse/idle/looks.h"
#include "report/analyse/scaled/scaled.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/stalls/causes.h"
#include "report/analyse/starting.h"
#include "report/analyse/totals/part.h"
#include "report/pass/pass.h"
#include "report/store/id_table.h"
#include "report/store/key_map.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Behind accounts and causes: time of the host outside of calls, of which looks must tell what it
 * was; SHORT: and which is launching if they do not. */
#define GV_LEDGER_OUTSIDE (GV_ACCOUNTS + GV_CAUSE_COUNT)
#define GV_LEDGER_SHORT   (GV_LEDGER_OUTSIDE + 1u)
/* What takes longer tells nothing about shorter ones, nor they about it. */
#define GV_LEDGER_LONG_NS INT64_C(100000000)

enum gv_ledger_phase { GV_LEDGER_START, GV_LEDGER_MAIN, GV_LEDGER_END, GV_LEDGER_PHASES };

/* What a call is: its entry point, and what it launches: a kernel, or from GV_LEDGER_GRAPH on one
 * of so many kinds of graphs, by their handles. 0: none. */
#define GV_LEDGER_GRAPH             0x80000000u
#define GV_LEDGER_GRAPHS            512u
#define GV_LEDGER_CALL(api, kernel) ((uint64_t)(api) << 32 | (kernel))
#define GV_LEDGER_API(what)         ((uint32_t)((what) >> 32))
#define GV_LEDGER_KERNEL(what)      ((what)&GV_LEDGER_GRAPH ? 0 : (uint32_t)(what))
#define GV_LEDGER_FUNCTION(what)    GV_LEDGER_CALL(GV_LEDGER_API(what), 0)

/* Two calls of a thread that follow each other. What is not known of one piece of time between and
 * in them is taken from others of the same pair. */
struct gv_ledger_pair {
    uint32_t thread;
    uint64_t before, after;
    uint32_t tallies; /* the first of its list, + 1 */
    uint32_t builds;  /* how often the second call loaded code that lies in no file */
    uint32_t shorter; /* if this pair is for long pieces: that of the shorter ones; else 0 */
};

/* As the first call of a pair: any. What is seen of a pair is seen of this one, too. */
#define GV_LEDGER_ANY UINT64_MAX

/* How often a pair was seen so: by a look outside of its calls, or by the stack of its second one.
 */
struct gv_ledger_tally {
    uint32_t next; /* + 1 */
    uint32_t stack;
    uint32_t verdict; /* of a look; + 1; 0: the stack of the call */
    bool is_early;    /* a look before the main phase */
    double weight;    /* of the look; of calls that were chosen at random */
    double others;    /* of other calls */
};

/* Time of one lane, phase and account; the cells of a lane add up to its run. */
struct gv_ledger_cell {
    uint32_t lane, pair;
    uint32_t stack;   /* known for each piece; 0: by the pair's tallies */
    uint32_t verdict; /* of looks in these pieces; + 1 */
    uint32_t what;
    uint32_t phase;   /* enum gv_ledger_phase */
    uint32_t group;   /* the cell whose minutes it shares, + 1; 0: it has own */
    uint32_t claimed; /* the last that took time of it, + 1 */
    struct gv_ledger_minute {
        int64_t at, ns, first_ns, count;  /* of total_ns and open_ns; first_ns: in its first half */
    } minute;                             /* the last one */
    uint32_t claimer_pair, claimer_stack; /* whose wait claims it: its pair, + 1; 0: nobody's */
    int64_t total_ns, first_ns, count;    /* first_ns: in the first half of the phase */
    int64_t open_ns, open_first_ns, open_count; /* since the lane's last opener */
    int64_t booked_ns, booked_count;            /* whoever claims it */
    int64_t before_copy_ns; /* of that: gaps until a copy to the device that another thread began */
    int64_t awaited_ns;     /* of that: copies whose stream had to wait for others */
    double error_ns;        /* of total_ns, as it was estimated from samples */
    int64_t idle_ns, idle_count,
        idle_looks;                   /* of gaps without rows of their own, whoever claims them */
    int64_t idle_most_ns, idle_at_ns; /* the longest of these, and when */
};

/* A part of an idle time. looks: in it; a look is counted once. */
struct gv_ledger_idle_piece {
    uint32_t cell, looks;
    int64_t from_ns, to_ns;
};

/* An idle time that gets rows of its own. */
struct gv_ledger_idle_gap {
    uint32_t lane;
    bool is_inner; /* between two operations of the lane */
    size_t piece, piece_count;
    int64_t ns, previous, next; /* calls that gave the device work: the last before, and the next */
};

/* A call, or a look at its thread, while a lane was idle, or might become so. */
struct gv_ledger_entry {
    int64_t start_ns, end_ns, call; /* call 0: a look */
    uint32_t thread, pair, stack;
    uint32_t verdict; /* of a look */
    uint32_t api;
    int32_t device;                       /* -1: not known */
    uint32_t capture_pair, capture_stack; /* as in the thread */
    bool starts;                          /* CUDA */
};

struct gv_ledger_span {
    int64_t start_ns, end_ns;
    uint32_t pair, stack, what;
    bool to_device, of_host;
    bool awaited; /* its stream had to wait for others, which worked when it was queued */
};

enum gv_use_value {
#define GV_USE_VALUE(value, words) GV_USE_##value,
#include "report/analyse/ledger/uses.def"
    GV_USE_VALUES,
    GV_USE_NONE = GV_USE_VALUES
};

/* A sample of GPM: how much of the device's units was in use. */
struct gv_ledger_use {
    int64_t from_ns, to_ns, reasons, clock_mhz;
    int64_t busy_ns, same_ns; /* that the lane worked; and one call's work, more than all others' */
    uint64_t of;              /* that call */
    int64_t collective_ns, copy_ns; /* of busy_ns: collectives, and copies or sets, alone */
    int16_t values[GV_USE_VALUES];  /* tenths of a percent; -1: not known */
};

struct gv_ledger_lane {
    int64_t process, device; /* device -1: host only */
    int64_t begin_ns, end_ns;
    int64_t main_ns, main_end_ns;    /* where the phases begin and end */
    int64_t first_ns, last_ns;       /* of its operations; host only: of the process */
    int64_t step_series;             /* 0: no steps */
    int64_t steps;                   /* in main */
    int64_t work_ns;                 /* of its operations, also of those that overlap */
    int64_t busy_until_ns;           /* no computing beyond is known yet */
    int64_t busy_since_ns;           /* the end of the last gap */
    uint32_t feeder;                 /* the thread that gave the last work */
    int64_t fed_by;                  /* with that call; 0: not known */
    bool is_collective;              /* the last computing was one; */
    int64_t beside_until_ns;         /* what computed beside it has its time until then */
    size_t busy_cell;                /* of the last computing, + 1 */
    struct gv_ledger_entry *entries; /* by start */
    size_t entry_count, entry_room, forget_at;
    struct gv_ledger_span *copies; /* disjoint, by start; those that may be in the gap */
    size_t copy_count, copy_room, copy_at;
    /* In the main phase: copies from or to the host; of these, while nothing computed; and how long
     * threads waited for the device. */
    int64_t copies_ns, copies_alone_ns, host_waits_ns;
    int64_t copied_until_ns; /* of the first */
    double copies_save;      /* what overlapping saves at best, of those for which kernels waited */
    size_t unseen_at;        /* the next unseen time of the process */
    /* The wait that opened the idle time, from then on. */
    int64_t waited_ns;
    uint32_t opener_pair, opener_stack; /* opener_pair: + 1 */
    uint32_t *open;                     /* cells with open_ns */
    size_t open_count, open_room;
    /* The same, of a wait that has not returned at the piece that is booked. */
    int64_t next_open_ns, next_waited_ns;
    uint32_t next_pair, next_stack;
    /* The last operation of the legacy default stream, which others wait for; since when they do,
     * and until when others did for those before it: such time counts once. */
    int64_t legacy_end_ns, legacy_launch_ns, serialised_from_ns, serialised_until_ns;
    uint32_t legacy_pair, legacy_stack, legacy_place;
    /* Host only: */
    bool worked, drained;
    int64_t computing_ns;       /* all busy time, for choosing a lane */
    bool is_sampled;            /* a part of it by samples */
    struct gv_ledger_use *uses; /* by time: every use_stride-th */
    size_t use_count, use_room, use_at, use_seen, use_stride;
    int64_t clock_mhz; /* the SMs' highest in them; 0: not known */
};

/* What calls of a pair took on the GPU, in a phase, by samples of their like. */
struct gv_ledger_sampled {
    uint32_t lane, pair, what, phase;
    double ns, error_ns;
    int64_t count;
};

struct gv_ledger_wait {
    int64_t start_ns, end_ns;
    uint32_t pair, stack;
    bool is_asked;
};

/* Calls that may still wait when the device runs dry: one for each thread that does so. */
#define GV_LEDGER_WAITS 16u

/* Where the first thread was most when it waited for another one: a thread without frames of the
 * program works for that line. Misra and Gries: of more stacks, those that are frequent stay. */
#define GV_LEDGER_SEEN_AT 8u

struct gv_ledger_process {
    int64_t start_ns, end_ns;
    uint32_t first_thread; /* 0: not known */
    uint32_t *lanes;
    size_t lane_count, lane_room;
    struct gv_ledger_wait waits[GV_LEDGER_WAITS];
    uint32_t wait_at;
    struct gv_starting starting;
    struct gv_ledger_seen_at {
        uint32_t stack, looks;
    } waited_at[GV_LEDGER_SEEN_AT],   /* its first thread, */
        locked_at[GV_LEDGER_SEEN_AT], /* any: for another one */
        was_at[GV_LEDGER_SEEN_AT];    /* its first thread in the main phase, whatever it did */
    uint32_t rounds;                  /* of looks: as often as its thread with most was looked at */
    bool known, has_ended, is_measured, works; /* works: of one of which only calls are known */
};

struct gv_ledger_thread {
    uint32_t process;
    uint64_t last;                        /* GV_LEDGER_CALL */
    uint32_t capture_pair, capture_stack; /* of the call that began a capture; pair: + 1; 0: none */
    uint32_t looks;
};

struct gv_ledger_launch {
    int64_t id, start_ns, end_ns;
    uint32_t thread, pair, stack, api;
    bool is_legacy; /* into the legacy default stream */
    bool awaits;    /* an event, as its stream was told */
};

/* Calls that have put work into a queue and may not have started: the last so many. */
#define GV_LEDGER_LAUNCHES (1u << 18)

struct gv_ledger_stall {
    int64_t stalled_ns;
    int64_t drained_ns; /* so long after its start, its context had no work; 0: not known */
    uint32_t what;
};

struct gv_ledger_verdict {
    uint32_t what, beside; /* these are as in struct gv_idle_look */
    int times, threads;
    struct gv_idle_lock lock;
    struct gv_idle_cpus cpus;
    char *detail; /* NULL: none */
};

struct gv_ledger {
    sqlite3 *trace;
    struct gv_totals_part part;  /* what is booked */
    bool only_minutes;           /* nothing else is asked for */
    struct gv_id_table apis;     /* enum gv_api_class, gpu_work, begins a capture: 1, ends one: 2,
                                    whether its stream awaits an event, what time in it is;
                                    whether it is the runtime's; whether it works in the legacy
                                    default stream if it names none; the last tenth of the main phase
                                    in which it was made, and in how many */
    struct gv_id_table places;   /* process, device, lane + 1; whether it has worked beside the
                                    legacy default stream */
    struct gv_id_table contexts; /* device + 1 */
    struct gv_id_table streams; /* context; whether it is the legacy default one; awaits an event */
    struct gv_id_table shapes;  /* 1: of a collective; name */
    struct gv_ledger_process *processes; /* by id */
    size_t process_count;                /* one more than the highest id */
    struct gv_ledger_thread *threads;    /* by id */
    size_t thread_count;                 /* the same */
    struct gv_ledger_lane *lanes;
    size_t lane_count, lane_room;
    struct gv_gpu_unseen_list unseen;
    struct gv_stopped stopped;
    struct gv_ledger_pair *pairs; /* 0: the rest */
    size_t pair_count, pair_room;
    struct gv_key_map pair_numbers;
    struct gv_ledger_tally *tallies;
    size_t tally_count, tally_room;
    struct gv_key_map tally_numbers;
    struct gv_ledger_cell *cells;
    size_t cell_count, cell_room;
    struct gv_key_map cell_numbers;
    struct gv_ledger_stall *stalls;
    size_t stall_count, stall_room;
    struct gv_key_map stall_numbers; /* by call */
    struct gv_key_map builds;        /* calls that loaded code that lies in no file */
    struct gv_ledger_launch *launches;
    struct gv_key_map stack_reasons;        /* account + 1 of a stack's frames */
    sqlite3_stmt *frames, *checks_gradient; /* of a stack */
    struct gv_ledger_verdict *verdicts;
    size_t verdict_count, verdict_room;
    struct {
        struct gv_ledger_idle_piece *pieces; /* of gaps, and of the one that is being booked */
        size_t piece_count, piece_room, at;  /* at: where that one begins */
        struct gv_ledger_idle_gap *gaps;
        size_t gap_count, gap_room;
        int64_t least_ns; /* of a gap with rows of its own */
        uint32_t looks;   /* at what is booked now, until a piece has them */
        bool is_open;     /* what is booked is a gap */
    } idle;
    struct {
        int64_t from_ns;          /* time before is not booked: of older time, sums are kept */
        sqlite3_stmt *add, *deal; /* NULL: nothing was booked */
    } minutes;
    uint32_t *looks_seen; /* scratch of gaps.c */
    size_t looks_seen_room;
    int64_t *place_ends_ns;           /* by place: the end of its last operation */
    struct gv_id_table names;         /* of operations; whether one has run */
    struct gv_key_map beside_numbers; /* by lane, pair and what: + 1 in beside */
    struct gv_ledger_beside {
        uint32_t lane, what, pair, stack;
        int64_t waited_ns, count, first_uses;
    } * beside; /* time that streams waited, in no account */
    size_t beside_count, beside_room;
    struct gv_scaled *scaled;          /* NULL: no call was measured */
    struct gv_key_map sampled_numbers; /* by lane and pair, account, phase: + 1 in sampled */
    struct gv_ledger_sampled *sampled;
    size_t sampled_count, sampled_room;
    struct gv_pass *pass;
    struct gv_pass_sorted *looks;
};

/* lanes.c: the lanes of the trace, and their phases. */
int gv_ledger_lanes_find(struct gv_ledger *ledger);
/* lanes.c: the process of the time at lane->unseen_at, and the time: of a lane with a device,
 * one in which its side was not seen; of another, one in which calls were not recorded. -1: there
 * are no more. */
int64_t gv_ledger_unseen(const struct gv_ledger *ledger, const struct gv_ledger_lane *lane,
                         int64_t *from_ns, int64_t *until_ns);

/* looks.c: what each look says, in the order of time. */
struct gv_ledger_look {
    struct gv_pass_key key;
    uint32_t thread, stack, verdict;
};
int gv_ledger_looks_read(struct gv_ledger *ledger);
/* What a call's stack says that it was made for, as an account; `what`: it does not say. */
int gv_ledger_purpose(struct gv_ledger *ledger, uint32_t stack, uint32_t *what);

/* events.c: takes what the pass gives, and then the rest of each lane. */
int gv_ledger_take(struct gv_ledger *ledger);

/* gaps.c: books the idle time of a lane from busy_until_ns to `until_ns`, ended by the work of this
 * call; NULL: it is not known. The lane is then busy until there. */
int gv_ledger_gap(struct gv_ledger *ledger, uint32_t lane, int64_t until_ns,
                  const struct gv_ledger_launch *launch);
/* The same of a time that the lane's last feeder fills, as there is no next work. */
int gv_ledger_gap_open(struct gv_ledger *ledger, uint32_t lane, int64_t until_ns);

/* Whether such a call may return when the device has run dry. */
bool gv_ledger_may_wait(const struct gv_ledger *ledger, uint32_t api);
/* Whether it is meant to. */
bool gv_ledger_asks_to_wait(const struct gv_ledger *ledger, uint32_t api);

/* idle.c: keeps the longest gaps, and stores all in idle_time. */
void gv_ledger_idle_begin(struct gv_ledger *ledger);
int gv_ledger_idle_note(struct gv_ledger *ledger, struct gv_ledger_idle_piece piece);
int gv_ledger_idle_end(struct gv_ledger *ledger, uint32_t lane, int64_t next, bool is_inner);
struct gv_ledger_rows;
int gv_ledger_idle_store(struct gv_ledger *ledger, struct gv_ledger_rows *rows);

/* copies.c: copies for which kernels waited are such only where overlapping would save enough. */
void gv_ledger_copies_judge(struct gv_ledger *ledger);

/* sampled.c: a call of a lane of which only calls are known; after all of them, moves the lane's
 * time from `unknown` to what the calls put on the GPU. */
int gv_ledger_sampled_take(struct gv_ledger *ledger, uint32_t lane, const struct gv_pass_call *call,
                           uint32_t pair);
int gv_ledger_sampled_move(struct gv_ledger *ledger);

/* book.c */
struct gv_ledger_piece {
    int64_t from_ns, to_ns;
    uint32_t pair, stack, verdict, what;
    bool before_copy, awaited; /* as in the cells */
};
int gv_ledger_pair_of(struct gv_ledger *ledger, uint32_t thread, uint64_t before, uint64_t after,
                      uint32_t *pair);
/* Replaces `*pair` by its twin for pieces of GV_LEDGER_LONG_NS and more. */
int gv_ledger_pair_long(struct gv_ledger *ledger, uint32_t *pair);
int gv_ledger_count_look(struct gv_ledger *ledger, uint32_t pair, uint32_t verdict, uint32_t stack,
                         bool is_early);
int gv_ledger_count_stack(struct gv_ledger *ledger, uint32_t pair, uint32_t stack, uint32_t one_of);
/* The cell like this one, or a coarser one. It moves when the next one is made. */
int gv_ledger_cell_of(struct gv_ledger *ledger, const struct gv_ledger_cell *wanted,
                      struct gv_ledger_cell **cell);
/* Not what nobody knows of a lane of which only calls are known: it may have been busy. */
bool gv_ledger_is_lost(const struct gv_ledger_lane *lane, uint32_t what);
/* What is idle goes to the next opener too, until that is known. */
int gv_ledger_book(struct gv_ledger *ledger, uint32_t lane, const struct gv_ledger_piece *piece);
/* gaps.c: books one piece of idle or unknown time, as far as it was recorded. */
int gv_ledger_book_unknown(struct gv_ledger *ledger, uint32_t lane,
                           const struct gv_ledger_piece *piece);
/* Takes a time back from what the lane's last computing was booked (busy_cell), as far as it lies
 * in that one's phase. */
int gv_ledger_take_back(struct gv_ledger *ledger, uint32_t lane, int64_t *from_ns, int64_t *to_ns);
/* From now on, idle time of the lane is claimed by a wait of waited_ns. */
int gv_ledger_open(struct gv_ledger *ledger, uint32_t lane, int64_t waited_ns, uint32_t pair,
                   uint32_t stack);

/* The device had no work. */
static inline bool gv_ledger_is_idle(uint32_t what)
{
    return what >= GV_ACCOUNTS ||
           (gv_account_say(what).group != GV_ACCOUNT_BUSY && what != GV_ACCOUNT_NOT_SEEN);
}

static inline int64_t gv_ledger_within(int64_t from_ns, int64_t to_ns, int64_t low_ns,
                                       int64_t high_ns)
{
    if (from_ns < low_ns)
        from_ns = low_ns;
    if (to_ns > high_ns)
        to_ns = high_ns;
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* What of a time is booked in the main phase, but for a choice of threads or ranges. */
static inline int64_t gv_ledger_main_ns(const struct gv_ledger *ledger,
                                        const struct gv_ledger_lane *lane, int64_t from_ns,
                                        int64_t to_ns)
{
    const struct gv_totals_part *part = &ledger->part;

    return gv_ledger_within(from_ns > part->from_ns ? from_ns : part->from_ns,
                            to_ns < part->to_ns ? to_ns : part->to_ns, lane->main_ns,
                            lane->main_end_ns);
}

static inline int64_t gv_ledger_api(const struct gv_ledger *ledger, uint32_t api, size_t column)
{
    return gv_id_table_get(&ledger->apis, api, column);
}

static inline bool gv_ledger_launches_graph(const struct gv_ledger *ledger, uint64_t what)
{
    return gv_ledger_api(ledger, GV_LEDGER_API(what), 1) == GV_GPU_WORK_GRAPH;
}

#endif
