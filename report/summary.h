/* The summary of a trace, as `gpuverify report` and `gpuverify run` print it. */
#ifndef GV_REPORT_SUMMARY_H
#define GV_REPORT_SUMMARY_H

#include <sqlite3.h>
#include <stdio.h>

/* 0, or -EIO: the trace cannot be read (a message was given). */
int gv_summary_print(FILE *out, sqlite3 *trace, const char *path);

#endif
