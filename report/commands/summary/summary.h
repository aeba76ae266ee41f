/* The summary that `gpuverify run` ends with and `gpuverify report` begins with. */
#ifndef GV_COMMANDS_SUMMARY_SUMMARY_H
#define GV_COMMANDS_SUMMARY_SUMMARY_H

#include "report/commands/summary/subject.h"

/* The whole summary. 0 or -errno. */
int gv_summary_print(const struct gv_summary *summary);
/* Its beginning: the run, not what to do. 0 or -errno. */
int gv_summary_print_about(const struct gv_summary *summary);
/* The summary of a program that left no trace: its name, and how it was started. */
void gv_summary_print_without(FILE *out, const char *name, const char *program,
                              enum gv_verdict_class class, int columns);

#endif
