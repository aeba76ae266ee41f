/*
 * What the summary tells of the ledger: the lane that computes most, its findings, and the others.
 * Texts come from the trace: escape them for printing.
 */
#ifndef GV_COMMANDS_SUMMARY_LEDGER_H
#define GV_COMMANDS_SUMMARY_LEDGER_H

#include "report/commands/summary/subject.h"
#include "report/show/format.h"

/* Findings that are told; the others are in the view `findings`. */
#define GV_SUMMARY_FINDINGS 3u
#define GV_SUMMARY_LANES    4u
#define GV_SUMMARY_PHASES   3u /* start, main, end */
#define GV_SUMMARY_MAIN     1u
#define GV_SUMMARY_LITTLE   100 /* what is below one hundredth of the run is not told */
#define GV_SUMMARY_MUCH     10  /* a start that loses a tenth of the run comes before its steps */

struct gv_summary_finding {
    int64_t id; /* f1 */
    unsigned phase;
    char what[40], place[400];
    char title[GV_SUMMARY_TEXT_BYTES / 2], fix[GV_SUMMARY_TEXT_BYTES], then[256];
    int64_t lost_ns, saves_ns; /* saves_ns -1: nothing of itself */
    bool sure;                 /* measured */
    bool seldom;               /* not in each step */
};

/* The time of a phase, or of all. */
struct gv_summary_time {
    int64_t busy_ns, idle_ns, unknown_ns, no_request_ns, not_seen_ns;
    int64_t lost_busy_ns; /* of busy_ns, that may be saved */
    int64_t copy_ns;      /* of busy_ns */
};

struct gv_summary_lane {
    int64_t id, process, pid, device, steps; /* device -1: host only */
    int64_t begin_ns;                        /* its process's first call */
    int64_t median_ns;                       /* of its steps; 0: it has none */
    struct gv_summary_time phases[GV_SUMMARY_PHASES];
    struct gv_summary_finding first; /* id 0: it has none */
};

struct gv_summary_ledger {
    struct gv_summary_lane lanes[GV_SUMMARY_LANES]; /* the one that computes most first */
    size_t lanes_told;
    int64_t lane_count;
    struct gv_summary_finding findings[GV_SUMMARY_FINDINGS]; /* of the first lane */
    size_t told;
    int64_t finding_count; /* of it, where the told ones are from */
    bool stepped;          /* they are of its steps; or else of the run */
    int64_t shown_ns;      /* of the steps or the run, without what is in no share */
};

/* 0 or -errno. */
int gv_summary_ledger_read(const struct gv_summary *summary, struct gv_summary_ledger *ledger);

/* Of the whole lane, or of its main phase. */
struct gv_summary_time gv_summary_time_of(const struct gv_summary_lane *lane, bool only_main);
int64_t gv_summary_time_sum(const struct gv_summary_time *time);

/* A time of a step, or of all, as findings are told. */
int64_t gv_summary_each_ns(const struct gv_summary_ledger *ledger, int64_t ns);
int64_t gv_summary_lost_ns(const struct gv_summary_ledger *ledger,
                           const struct gv_summary_finding *finding);

/* What no told finding is about: of the time that may be saved. */
int64_t gv_summary_rest_ns(const struct gv_summary_ledger *ledger);
/* "No findings: the GPU was busy for 98 % of the steps, where it was seen" */
void gv_summary_say_none(const struct gv_summary_ledger *ledger, char out[GV_SUMMARY_TEXT_BYTES]);

/* "52 %", "0.4 %". */
const char *gv_summary_share(int64_t ns, int64_t all_ns, char out[GV_FORMAT_BYTES]);

/* "fix: ..." with what limits afterwards; "" if nothing is known. as_for: the finding that said
 * this fix before; 0: none. */
void gv_summary_fix(const struct gv_summary *summary, const struct gv_summary_finding *finding,
                    int64_t as_for, char out[GV_SUMMARY_TEXT_BYTES]);

#endif
