/* The summary that `gpuverify run` ends with and `gpuverify report` begins with. */
#ifndef GV_COMMANDS_SUMMARY_SUMMARY_H
#define GV_COMMANDS_SUMMARY_SUMMARY_H

#include "report/commands/summary/subject.h"

#define GV_SUMMARY_TEXT_BYTES 2048

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

/* The whole summary. 0 or -errno. */
int gv_summary_print(const struct gv_summary *summary);
/* Its beginning: the run, not what to do. 0 or -errno. */
int gv_summary_print_about(const struct gv_summary *summary);
/* Its findings, most important first. */
void gv_summary_each(const struct gv_summary *summary, gv_summary_visit *visit, void *context);

/* How busy the GPUs were, "62 % of the first 3.00 s": after operations were seen. */
#define GV_SUMMARY_BUSY_BYTES (GV_FACTS_SHARE_BYTES + GV_FACTS_SEEN_BYTES + 16)
void gv_summary_busy(const struct gv_run_facts *facts, char out[GV_SUMMARY_BUSY_BYTES]);

/* The most that the run would save without a finding; -1: unknown, or nothing. */
int64_t gv_summary_saves(const struct gv_run_facts *facts, const struct gv_finding *finding);

/* The summary of a program that left no trace: its name, and how it was started. */
void gv_summary_print_without(FILE *out, const char *name, const char *program,
                              enum gv_verdict_class class, int columns);

/* Blanks the columns of a line of levels, of [from_ns, to_ns), in which the GPU side was not seen.
 * If windows of it were, a level is of these. 0 or -errno. */
int gv_summary_blank_unseen(sqlite3 *trace, int64_t from_ns, int64_t to_ns, double *levels,
                            size_t count);

#endif
