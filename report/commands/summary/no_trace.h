/* The summary of a program that left no trace. */
#ifndef GV_COMMANDS_SUMMARY_NO_TRACE_H
#define GV_COMMANDS_SUMMARY_NO_TRACE_H

#include <stdio.h>

enum gv_no_trace {
#define GV_NO_TRACE(name, meaning, next) GV_NO_TRACE_##name,
#include "report/commands/summary/no_trace.def"
};

/* name: the trace's, if it had one; program: how it was started. */
void gv_no_trace_print(FILE *out, const char *name, const char *program, enum gv_no_trace why,
                       int columns);

#endif
