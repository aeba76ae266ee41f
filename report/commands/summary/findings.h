/* The findings of a summary, as they are told. One thread. */
#ifndef GV_COMMANDS_SUMMARY_FINDINGS_H
#define GV_COMMANDS_SUMMARY_FINDINGS_H

#include "report/analyse/stalls/rows.h"
#include "report/commands/summary/subject.h"

/* A finding, as it is told. */
struct gv_summary_item {
    const char *name;    /* "": not a finding, but a text below the one before */
    int64_t stall, idle; /* that it is about; 0: none */
    int64_t cost_ns;     /* -1: it is not about time */
    int64_t saves_ns;    /* -1: not known */
    bool good;           /* it costs nothing */
    bool may;            /* it is not sure */
    const char *evidence;
    char text[GV_SUMMARY_TEXT_BYTES];
    char fix[GV_SUMMARY_TEXT_BYTES]; /* "fix: ..." or "next: ..." */
};

typedef void gv_summary_visit(void *context, const struct gv_summary_item *item);

/* What is to be explained next. */
struct gv_summary_next {
    int64_t stall, idle; /* the first of each; 0: none */
    bool flight;         /* an unfinished call is among the findings */
};

/* Passes on the findings, most important first. */
struct gv_summary_next gv_summary_each(const struct gv_summary *summary, gv_summary_visit *visit,
                                       void *context);

/* report/commands/summary/costs.c: the time that a finding concerns; -1: it is not about time. */
int64_t gv_summary_cost(const struct gv_run_facts *facts, const struct gv_finding *finding);
/* The most that the run would save without it; -1: unknown, or nothing. */
int64_t gv_summary_saves(const struct gv_run_facts *facts, const struct gv_finding *finding);
/* The GPU must do its work in any case: without a stall the run gets shorter by at most the idle
 * time of the busiest device. */
int64_t gv_summary_saves_of_wait(const struct gv_run_facts *facts, int64_t lost_ns);

/* ---- report/commands/summary/stall_lines.c: the lines of the program at which most time was lost
 */

/* Calls of one name that lost time at one line for one cause; or calls that waited behind those of
 * one name at one line, which are no stalls themselves: there is the line to change. */
struct gv_stall_line {
    char *where; /* empty: not known */
    int64_t stack;
    const char *holder; /* the name of the call in the way; NULL: none, or it is a stall */
    const struct gv_stall_row *worst;
    const char *kernel; /* that all of them launched; or else NULL */
    int64_t count;
    int64_t lost_ns;
    int64_t behind_count, behind_ns; /* calls that waited for these, and lost so much themselves */
    bool waits_behind;               /* it is among the calls that another line counts so */
};

struct gv_stall_lines {
    struct gv_stall_line *lines; /* most time first, unexplained ones last */
    size_t count;
    struct gv_stall_rows rows;
};

/* Of the unexpected stalls of a part of the trace, of any device. 0 or -errno; *lines is to be
 * freed in any case. */
int gv_stall_lines_read(sqlite3 *trace, const struct gv_totals_part *part,
                        struct gv_stall_lines *lines);
void gv_stall_lines_free(struct gv_stall_lines *lines);

#endif
