/* The summary that `gpuverify run` ends with and `gpuverify report` begins with. */
#ifndef GV_COMMANDS_SUMMARY_SUMMARY_H
#define GV_COMMANDS_SUMMARY_SUMMARY_H

#include "report/analyse/ended.h"
#include "report/analyse/stalls/rows.h"
#include "report/analyse/verdict/verdict.h"

#include <sqlite3.h>
#include <stdio.h>

struct gv_summary {
    sqlite3 *trace;
    const char *path; /* the trace's, for the commands that are offered */
    FILE *out;
    int columns;
    const struct gv_totals_part *part;
    const struct gv_run_facts *facts; /* of that part */
    const struct gv_verdict *verdict;
    const struct gv_ended *ended; /* how one of its processes ended, if that is known */
    bool evidence;                /* below each finding, its evidence */
};

/* The whole summary. 0 or -errno. */
int gv_summary_print(const struct gv_summary *summary);

/* The most that the run would save without a finding; -1: unknown, or nothing. */
int64_t gv_summary_saves(const struct gv_run_facts *facts, enum gv_verdict_class class);

/* The summary of a program that left no trace: its name, and how it was started. */
void gv_summary_print_without(FILE *out, const char *name, const char *program,
                              enum gv_verdict_class class, int columns);

/* report/commands/summary/notes.c: other notes on the trace, each on a line after
 * GV_SUMMARY_NOTE if `columns` is INT_MAX. The first are results that break the context.
 * `named`: printed commands name the trace. 0 or -errno. */
#define GV_SUMMARY_NOTE "  !"
int gv_summary_print_broken(const struct gv_summary *summary, bool named);
int gv_summary_print_notes(const struct gv_summary *summary, bool named);

/* report/commands/summary/stall_lines.c: the lines of the program at which most time was lost. */

/* Calls of one name that lost time at one line for one cause. */
struct gv_stall_line {
    char *where; /* empty: not known */
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

/* Unexpected ones of a part of the trace, of any device. 0 or -errno; *lines is to be freed in any
 * case. */
int gv_stall_lines_read(sqlite3 *trace, const struct gv_totals_part *part,
                        struct gv_stall_lines *lines);
void gv_stall_lines_free(struct gv_stall_lines *lines);

#endif
