/* The summary of a trace, as `gpuverify report` and `gpuverify run` print it. */
#ifndef GV_REPORT_SUMMARY_H
#define GV_REPORT_SUMMARY_H

#include <sqlite3.h>
#include <stdio.h>

/* How wide its text is on what it is printed to. */
int gv_summary_columns(FILE *out);
/* 0, or -EIO: the trace cannot be read (a message was given). */
int gv_summary_print(FILE *out, sqlite3 *trace, const char *path);
/* The same, only the verdict, the worst stalls, and how to see more. */
int gv_summary_print_short(FILE *out, sqlite3 *trace, const char *path);

#endif
