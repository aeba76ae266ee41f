/* The summary that `gpuverify run` ends with and `gpuverify report` begins with. */
#ifndef GV_COMMANDS_SUMMARY_SUMMARY_H
#define GV_COMMANDS_SUMMARY_SUMMARY_H

#include "report/commands/summary/subject.h"

/* The whole summary. 0 or -errno. */
int gv_summary_print(const struct gv_summary *summary);

/* The most that the run would save without a finding; -1: unknown, or nothing. */
int64_t gv_summary_saves(const struct gv_run_facts *facts, enum gv_verdict_class class);

/* The summary of a program that left no trace: its name, and how it was started. */
void gv_summary_print_without(FILE *out, const char *name, const char *program,
                              enum gv_verdict_class class, int columns);

#endif
