/* The verdict as `gpuverify run` ends with it and `gpuverify report` begins. */
#ifndef GV_COMMANDS_RUN_VERDICT_PRINT_H
#define GV_COMMANDS_RUN_VERDICT_PRINT_H

#include "report/analyse/ended.h"
#include "report/analyse/verdict/verdict.h"

#include <sqlite3.h>
#include <stdio.h>

/* Some lines: program, what happened, what held it back, and what else is to be known of the trace.
 * `path`: the trace's, for the commands that
 * are named. `ended`: how one of its processes ended, if that is known. 0 or -errno. */
int gv_verdict_print(FILE *out, sqlite3 *trace, const char *path, const struct gv_run_facts *facts,
                     const struct gv_verdict *verdict, const struct gv_ended *ended, int columns);
/* The last of these: what else is to be known of the trace, each in a line with GV_VERDICT_NOTE
 * before it if `columns` is INT_MAX. 0 or -errno. */
#define GV_VERDICT_NOTE "  !"
int gv_verdict_print_notes(FILE *out, sqlite3 *trace, const char *path,
                           const struct gv_run_facts *facts, const struct gv_ended *ended,
                           int columns);
/* Likewise, those that come first: results after which nothing on the GPU can go on. */
int gv_verdict_print_broken(FILE *out, sqlite3 *trace, const char *path,
                            const struct gv_run_facts *facts, int columns);
/* How to see more of it. */
void gv_verdict_print_more(FILE *out, const char *path);
/* The verdict of a program that left no trace: what to call it, and how it was started. */
void gv_verdict_print_without(FILE *out, const char *name, const char *program,
                              enum gv_verdict_class class, int columns);

#endif
