/* The summary that `gpuverify run` ends with and `gpuverify report` begins with. */
#ifndef GV_COMMANDS_SUMMARY_SUMMARY_H
#define GV_COMMANDS_SUMMARY_SUMMARY_H

#include "report/commands/summary/subject.h"

/* The whole summary. 0 or -errno. */
int gv_summary_print(const struct gv_summary *summary);

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
