/* Shared by the parts of report/analyse/idle. */
#ifndef GV_ANALYSE_IDLE_RUN_H
#define GV_ANALYSE_IDLE_RUN_H

#include "report/analyse/gpu_unseen.h"
#include "report/analyse/idle/reason_words.h"
#include "report/analyse/ranges/choice.h"
#include "report/store/id_table.h"
#include "report/store/key_map.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A shorter idle time is grouped with others between the same calls. */
#define GV_IDLE_LONG_NS INT64_C(100000000)
/* Between two calls without a look, a thread that takes less than this does not wait: it runs. */
#define GV_IDLE_RUNS_NS INT64_C(1000000)
/* Idle times with rows of their own; more: the shortest are grouped. */
#define GV_IDLE_LONG_MOST 4096u
/* The most groups. Beyond this, a thread's groups differ by their next call only; then not at all.
 */
#define GV_IDLE_GROUPS_MOST 2000u
/* Short idle times whose calls are looked up: all, or one of every 2^thinned. */
#define GV_IDLE_WINDOWS_MOST 65536u
/* The most reasons that one group has. */
#define GV_IDLE_TALLIES_MOST 64u
/* Rows of an idle time in the order of time; more: one for each verdict. */
#define GV_IDLE_TURNS_MOST 16u

enum gv_idle_confidence { GV_IDLE_SAMPLED, GV_IDLE_GROUPED, GV_IDLE_INFERRED };

/* Which idle time of its device. */
enum gv_idle_place { GV_IDLE_BETWEEN, GV_IDLE_FIRST, GV_IDLE_LAST };

/* What samples say, by reason, detail and line; the number of one is its index. Number 0: nothing.
 */
struct gv_idle_verdict {
    enum gv_idle_reason reason;
    char *detail;   /* NULL: none */
    int64_t stack;  /* the first with this line; 0: none */
    size_t workers; /* GV_REASON_DATA: the first of its list, + 1 */
    int64_t looks;  /* at workers with a line */
};

/* How often a line was seen in the workers of a data loader. */
struct gv_idle_worker {
    size_t next; /* + 1 */
    uint32_t line;
    int64_t stack, count;
};

struct gv_idle_sample {
    int64_t at_ns, thread;
    uint32_t verdict;
    int64_t stack; /* that the verdict is about; 0: the verdict's */
};

/* Of the stacks with one line, the one that more than half of the looks have, if there is one. */
struct gv_idle_most {
    int64_t stack, votes;
};

/* What is known of a stack of a sample. */
struct gv_idle_stack {
    enum gv_idle_reason reason; /* of its frames; GV_REASONS: they do not say */
    uint32_t line;              /* number of a text; 0: none */
};

/* A time in which a device had no work of the process. [start_ns, host_ns): until the call that
 * gave it work next; [host_ns, launched_ns): inside that call; [launched_ns, end_ns): after it. */
struct gv_idle_gap {
    enum gv_idle_place place;
    size_t lane;
    int64_t start_ns, host_ns, launched_ns, end_ns;
    int64_t previous, next; /* calls; 0: none */
    uint64_t before, after; /* what they are: api << 32 | kernel */
    bool inferred;          /* from calls alone */
};

/* Of what a call is: without the kernel. */
#define GV_IDLE_FUNCTION(what) ((what) & ~(uint64_t)UINT32_MAX)

/* A thread that drives a device; gaps of a lane do not overlap. */
struct gv_idle_lane {
    int64_t process, thread; /* 0: unknown */
    int64_t device;          /* -1: not seen */
};

/* A verdict's share of a group, or of all gaps before the same call. */
struct gv_idle_tally {
    size_t next; /* + 1 */
    uint32_t verdict;
    int64_t count;
    struct gv_idle_most most;
};

struct gv_idle_group {
    size_t lane;
    uint64_t after;
    struct gv_idle_gap first;
    int64_t gaps, total_ns, host_ns, launched_ns; /* of all; launched_ns: after the next call */
    int64_t looked_ns, inside_ns, delay_ns; /* of windows: host time; inside calls; without a CPU */
    int64_t call, call_ns;                  /* the one that took longest of a window */
    int64_t samples;
    size_t tallies, kinds; /* the first of its list, + 1; how many */
};

/* A part of the host time of a gap: around a sample, or all of it. */
struct gv_idle_window {
    size_t lane, owner; /* a long gap; a group if it is short */
    bool is_short;
    uint32_t verdict;
    bool sampled;
    int64_t stack;
    int64_t start_ns, end_ns;
    int64_t inside_ns, called_ns; /* in calls; when the first of them began */
    int64_t delay_ns;             /* in calls, without a CPU */
    int64_t call, call_ns;        /* the one that took longest of it */
    int64_t previous;
};

/* A call that is shorter does not look up how long it had no CPU. */
#define GV_IDLE_DELAY_NS INT64_C(100000)

struct gv_idle_run {
    sqlite3 *trace;
    int64_t from_ns, until_ns;            /* only what is in this time */
    const struct gv_range_choice *ranges; /* idle time in these; NULL: all of it */
    bool aarch64;                         /* the machine that recorded */
    struct gv_id_table threads;           /* process */
    struct gv_id_table python;            /* by id of the process: whether it ran Python */

    struct gv_idle_stack *stacks; /* by id, + 1 in stack_numbers */
    size_t stack_count, stack_room;
    char **lines; /* by number - 1 */
    size_t line_count, line_room;
    struct gv_idle_verdict *verdicts;
    size_t verdict_count, verdict_room;
    struct gv_idle_worker *workers;
    size_t worker_count, worker_room;
    struct gv_key_map stack_numbers, line_numbers, verdict_numbers;
    struct gv_idle_sample *samples; /* by thread, then by time */
    size_t sample_count, sample_room;

    struct gv_gpu_unseen_list unseen;
    struct gv_idle_lane *lanes;
    size_t lane_count, lane_room;
    struct gv_idle_gap *gaps; /* long ones */
    size_t gap_count, gap_room;
    int64_t long_ns; /* at least so long */
    struct gv_idle_group *groups;
    size_t group_count, group_room;
    struct gv_idle_tally *tallies;
    size_t tally_count, tally_room;
    struct gv_key_map lane_numbers, group_numbers, after_numbers;
    struct gv_idle_group *afters; /* only tallies: of a thread, by what came next */
    size_t after_count, after_room;
    struct gv_idle_window *windows;
    size_t window_count, window_room;
    unsigned int thinned;
    uint64_t short_gaps;
};

/* analysis.c: begins with nothing. 0 or -errno. */
int gv_idle_run_open(sqlite3 *trace, struct gv_idle_run **run);
void gv_idle_run_close(struct gv_idle_run *run);

/* samples.c: reads all looks, and decides what each says. */
int gv_idle_samples_read(struct gv_idle_run *run);
/* What the frames of a stack say that its line does; GV_REASONS: nothing. */
int gv_idle_stack_reason(sqlite3 *trace, int64_t stack, enum gv_idle_reason *reason);
/* The first sample of a thread at `at_ns` or later; it may be another thread's, or the end. */
size_t gv_idle_samples_from(const struct gv_idle_run *run, int64_t thread, int64_t at_ns);
/* Counts one look. */
void gv_idle_most_add(struct gv_idle_most *most, int64_t stack);

/* gaps.c: finds the idle times. */
int gv_idle_gaps_find(struct gv_idle_run *run);

/* groups.c: takes the part [from_ns, to_ns) of an idle time that the GPU side, or the calls, show;
 * of it what is in the run's time, and in the chosen ranges. */
int gv_idle_gap_take(struct gv_idle_run *run, const struct gv_idle_gap *gap, int64_t from_ns,
                     int64_t to_ns);
int gv_idle_lane(struct gv_idle_run *run, int64_t process, int64_t device, int64_t thread,
                 size_t *lane);
/* What was seen in other idle times of a thread before such a call; NULL: nothing. Of a
 * GV_IDLE_FUNCTION: whatever kernel it launched. */
const struct gv_idle_group *gv_idle_others(const struct gv_idle_run *run, int64_t thread,
                                           uint64_t after);
/* Then finds what time of them was inside calls. */
int gv_idle_calls_pass(struct gv_idle_run *run);

/* rows.c: stores them. */
int gv_idle_rows_store(struct gv_idle_run *run);

#endif
